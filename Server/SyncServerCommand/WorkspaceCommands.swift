import ArgumentParser
import Foundation
import SyncServer

/// What workspaces take and may take.
struct WorkspaceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "workspace",
    abstract: "List, rename, export or delete workspaces, and set what they may take.",
    subcommands: [
      WorkspaceListCommand.self, WorkspaceShowCommand.self, WorkspaceQuotaCommand.self,
      WorkspaceRenameCommand.self, WorkspaceExportCommand.self, WorkspaceDeleteCommand.self,
    ])
}

struct WorkspaceListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the workspaces with what they take.")

  @OptionGroup var data: DataOptions

  @Flag(help: "Print JSON; sizes are bytes, quotas as they are set.")
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

  @Flag(help: "Print JSON; sizes are bytes, quotas as they are set.")
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
    commandName: "quota", abstract: "Set what a workspace may take.",
    discussion: """
      What is not given stays as it is; --reset first puts all back to the settings of the server \
      (serve --workspace-quota, --daily-quota, --blob-quota). A server that runs follows within \
      seconds. What is past a quota is refused with the code limitReached, which devices show; what \
      is there can be read.

      EXAMPLES
        cospool-server workspace quota team --storage 2048 --daily 256
        cospool-server workspace quota team --reset
      """)

  @OptionGroup var data: DataOptions

  @Option(help: ArgumentHelp("MiB of its log and state.", valueName: "n"))
  var storage: Int?

  @Option(
    help: ArgumentHelp(
      "Letters, places and changes ever made: what memory goes by; a message takes three or more.",
      valueName: "n"))
  var units: Int?

  @Option(help: ArgumentHelp("MiB of changes on a day (UTC).", valueName: "n"))
  var daily: Int?

  @Option(help: ArgumentHelp("MiB of attachments, each counted as 4 KiB or more.", valueName: "n"))
  var files: Int?

  @Flag(help: "As the server's settings say, but for what is given.")
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
      throw ValidationError("--storage, --daily and --files take 0 to 1048576.")
    }
    guard units ?? 0 >= 0 else { throw ValidationError("--units takes 0 or more.") }
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
    abstract: "Give a workspace another name; its devices go on as they are.",
    discussion: """
      New codes need the new name: cospool-server pair --workspace team. The old name is free then: pair \
      makes a new, empty workspace of it where that is asked for by --workspace.

      EXAMPLES
        cospool-server workspace rename default team
      """)

  @OptionGroup var data: DataOptions

  @Flag(help: "Print JSON.")
  var json = false

  @Argument(help: "The workspace's name.")
  var name: String

  @Argument(help: "The new one.")
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
    abstract: "Write what people see of a workspace as JSON.",
    discussion: """
      Sessions, messages and threads, as `cospool import` reads them on a device; no keys, and no \
      files of attachments. Works while the server runs. What is at the path already is replaced only \
      with --force.

      EXAMPLES
        cospool-server workspace export team team.json
        cospool-server workspace export team -

      Root reads as the account that the data belong to, and the file is written as that one: with - the \
      shell writes it.
      """)

  @OptionGroup var data: DataOptions

  @Flag(help: "Replace an existing file.")
  var force = false

  @Argument(help: "The workspace's name.")
  var name: String

  @Argument(help: "Where to write; - is standard output.")
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
        .failed, "\(file) is there already. Choose another name, or say --force.")
    } catch {
      // What was begun is no document.
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
      Its devices keep what they have, and are told to pair again. Their queues belong to this workspace: a code for \
      them is one of cospool-server pair --workspace-id, with the id that cospool status says there. It is begun \
      anew then; restart a server that runs first.
      """)

  @OptionGroup var data: DataOptions

  @Flag(help: "Delete without asking; needed, since nothing brings it back.")
  var yes = false

  @Flag(help: "Print the deleted workspace as JSON.")
  var json = false

  @Argument(help: "The workspace's name.")
  var name: String

  func validate() throws {
    guard yes else {
      throw ValidationError(
        "Nothing brings a deleted workspace back. Say --yes to delete it: cospool-server workspace "
          + "delete NAME --yes")
    }
  }

  func run() throws {
    let deleted = try ServerAdministration(dataDirectory: data.resolved)
      .deleteWorkspace(named: name)
    try StandardOutput.write(
      deleted, asJSON: json, text: "Deleted workspace \(deleted.name.debugDescription).")
  }
}

/// Shows what happened about access.
struct WorkspaceLogCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log",
    abstract: "Show who paired, joined, was refused or revoked, and who decided requests.",
    discussion: """
      The newest 5,000 of each kind and workspace are kept: code, paired, joined, refused, revoked, quota, decided, \
      renamed, deleted. No text of a client is among them. The serving process writes the same to its log \
      (`access denied: …, source ADDRESS`, for programs that shut addresses out).
      """)

  @OptionGroup var data: DataOptions

  @Option(help: "Only what concerns this workspace.")
  var workspace: String?

  @Option(help: ArgumentHelp("How many entries, the newest.", valueName: "n"))
  var limit = 100

  @Flag(help: "Print JSON; times are milliseconds since 1970.")
  var json = false

  func validate() throws {
    guard (1...100_000).contains(limit) else {
      throw ValidationError("--limit takes 1 to 100000.")
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
