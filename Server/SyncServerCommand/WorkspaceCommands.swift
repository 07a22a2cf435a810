import ArgumentParser
import Foundation
import SyncServer

/// Lists and manages workspaces.
struct WorkspaceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "workspace",
    abstract: "List, rename, export or delete workspaces, and set their quotas.",
    subcommands: [
      WorkspaceListCommand.self, WorkspaceShowCommand.self, WorkspaceQuotaCommand.self,
      WorkspaceRenameCommand.self, WorkspaceExportCommand.self, WorkspaceDeleteCommand.self,
    ])
}

struct WorkspaceListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the workspaces with their sizes.")

  @OptionGroup var data: DataOptions

  @Flag(help: "Print JSON; sizes are in bytes.")
  var json = false

  func run() throws {
    let list = try ServerAdministration(dataDirectory: data.resolved).workspaces()
    if json {
      try StandardOutput.write(json: list)
    } else if list.workspaces.isEmpty {
      StandardError.write("No workspace yet. `cospool-server pair` creates one.\n")
    } else {
      for workspace in list.workspaces { try StandardOutput.write(workspace.text) }
    }
  }
}

struct WorkspaceShowCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show one workspace.")

  @OptionGroup var data: DataOptions

  @Flag(help: "Print JSON; sizes are in bytes.")
  var json = false

  @Argument(help: "The workspace's name.")
  var name: String

  func run() throws {
    let workspace = try ServerAdministration(dataDirectory: data.resolved).workspace(named: name)
    try StandardOutput.write(workspace, asJSON: json, text: workspace.text)
  }
}

struct WorkspaceQuotaCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quota", abstract: "Set a workspace's quotas.",
    discussion: """
      Quotas that you do not name stay as they are; --reset first resets all of them to the \
      server's options (serve --workspace-quota, --daily-quota, --blob-quota). A running server \
      applies them within seconds. The server refuses changes beyond a quota with the code \
      limitReached, which devices show; existing data stays readable.

      EXAMPLES
        cospool-server workspace quota team --storage 2048 --daily 256
        cospool-server workspace quota team --reset
      """)

  @OptionGroup var data: DataOptions

  @Option(help: ArgumentHelp("The MiB of its log and state.", valueName: "n"))
  var storage: Int?

  @Option(
    help: ArgumentHelp(
      "The number of letters, places and changes ever made, which determines the memory; a "
        + "message takes three or more.",
      valueName: "n"))
  var units: Int?

  @Option(help: ArgumentHelp("The MiB of changes in a day (UTC).", valueName: "n"))
  var daily: Int?

  @Option(
    help: ArgumentHelp("The MiB of attachments; each counts as at least 4 KiB.", valueName: "n"))
  var files: Int?

  @Flag(help: "Reset all quotas that you do not name to the server's options.")
  var reset = false

  @Flag(help: "Print JSON.")
  var json = false

  @Argument(help: "The workspace's name.")
  var name: String

  func validate() throws {
    guard reset || [storage, units, daily, files].contains(where: { $0 != nil }) else {
      throw ValidationError("Give --storage, --units, --daily or --files, or --reset.")
    }
    for value in [storage, daily, files].compactMap({ $0 })
    where !(0...1_048_576).contains(value) {
      throw ValidationError("--storage, --daily and --files: give 0 to 1048576.")
    }
    guard units ?? 0 >= 0 else { throw ValidationError("--units: give 0 or more.") }
  }

  func run() throws {
    let workspace = try ServerAdministration(dataDirectory: data.resolved).setQuota(
      ServerAdministration.Quota(storage: storage, units: units, daily: daily, files: files),
      resets: reset, ofWorkspaceNamed: name)
    try StandardOutput.write(workspace, asJSON: json, text: workspace.text)
  }
}

struct WorkspaceRenameCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rename",
    abstract: "Rename a workspace; its devices are not affected.",
    discussion: """
      New codes need the new name: cospool-server pair --workspace team. The old name becomes \
      free: pair --workspace NAME --new creates a new, empty workspace with it.

      EXAMPLES
        cospool-server workspace rename default team
      """)

  @OptionGroup var data: DataOptions

  @Flag(help: "Print JSON.")
  var json = false

  @Argument(help: "The workspace's name.")
  var name: String

  @Argument(help: "The new name.")
  var newName: String

  func run() throws {
    let renamed = try ServerAdministration(dataDirectory: data.resolved)
      .renameWorkspace(named: name, to: newName)
    try StandardOutput.write(renamed, asJSON: json, text: renamed.text)
  }
}

struct WorkspaceExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Export the visible contents of a workspace as JSON.",
    discussion: """
      The document holds sessions, messages and threads, as `cospool import` reads them on a \
      device, but no keys and no attached files. It works while the server runs. An existing \
      file is replaced only with --force.

      EXAMPLES
        cospool-server workspace export team team.json
        cospool-server workspace export team -

      If root runs it, it reads and writes as the account that owns the data. With -, the shell \
      writes the file.
      """)

  @OptionGroup var data: DataOptions

  @Flag(help: "Replace an existing file.")
  var force = false

  @Argument(help: "The workspace's name.")
  var name: String

  @Argument(help: "The file to write; - is standard output.")
  var file: String

  func run() throws {
    let document = try ServerAdministration(dataDirectory: data.resolved)
      .exportWorkspace(named: name)
    guard file != "-" else { return try StandardOutput.write(document) }
    do {
      let options: Data.WritingOptions = force ? .atomic : .withoutOverwriting
      try document.write(to: URL(filePath: file), options: options)
    } catch CocoaError.fileWriteFileExists {
      throw SyncServerError(
        .failed, "\(file) already exists. Choose another name, or add --force.")
    } catch {
      // An incomplete file is not a valid document.
      if !force { try? FileManager.default.removeItem(atPath: file) }
      throw SyncServerError.disk(file, "cannot be written", error)
    }
    StandardError.write("Written: \(file)\n")
  }
}

struct WorkspaceDeleteCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Delete a workspace with its log, devices and files.",
    discussion: """
      Its devices keep their data, and have to be paired again. Their queues belong to this \
      workspace, so they need a code from cospool-server pair --workspace-id, with the id that \
      cospool status shows on a device. That creates the workspace again; if a server is \
      running, restart it first.
      """)

  @OptionGroup var data: DataOptions

  @Flag(help: "Confirm the deletion, which cannot be undone.")
  var yes = false

  @Flag(help: "Print the deleted workspace as JSON.")
  var json = false

  @Argument(help: "The workspace's name.")
  var name: String

  func validate() throws {
    guard yes else {
      throw ValidationError(
        "A deleted workspace cannot be restored. To delete it, add --yes: cospool-server "
          + "workspace delete NAME --yes")
    }
  }

  func run() throws {
    let deleted = try ServerAdministration(dataDirectory: data.resolved)
      .deleteWorkspace(named: name)
    try StandardOutput.write(
      deleted, asJSON: json, text: "Deleted workspace \(deleted.name.debugDescription).")
  }
}

/// Shows the audit of access.
struct WorkspaceLogCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log",
    abstract: "Show who paired, joined, was refused or revoked, and who decided requests.",
    discussion: """
      The server keeps the newest 5,000 entries of each kind and workspace: code, paired, \
      joined, refused, revoked, quota, decided, renamed, deleted. They contain no text from \
      clients. The serving process writes the same to its log (`access denied: …, source \
      ADDRESS`, for programs that block addresses).
      """)

  @OptionGroup var data: DataOptions

  @Option(help: "Only entries of this workspace.")
  var workspace: String?

  @Option(help: ArgumentHelp("The number of entries, newest first.", valueName: "n"))
  var limit = 100

  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    guard (1...100_000).contains(limit) else {
      throw ValidationError("--limit: give 1 to 100000.")
    }
  }

  func run() throws {
    let log = try ServerAdministration(dataDirectory: data.resolved)
      .accessLog(workspaceName: workspace, limit: limit)
    if json {
      try StandardOutput.write(json: log)
    } else {
      for entry in log.entries { try StandardOutput.write(entry.text) }
    }
  }
}
