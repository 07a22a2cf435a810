import ArgumentParser
import SyncServer

/// Compacts a workspace.
struct CompactCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Drop deleted text, dead places and the log; works while serving.",
    discussion: """
      The server does it by itself when there is much to drop and every device has seen \
      everything. Nothing that shows is lost, and cancelled messages can still be restored.
      """)

  @OptionGroup var data: DataOptions

  @Flag(help: "Do not wait for devices that have not seen everything: they get a snapshot.")
  var now = false

  @Flag(help: "Print JSON.")
  var json = false

  @Argument(help: "The workspace.")
  var workspace = ServerAdministration.workspaceNameDefault

  func run() throws {
    let log = try ServerAdministration(dataDirectory: data.resolved)
      .compact(workspaceName: workspace, waitsForDevices: !now)
    if json {
      try StandardOutput.write(json: log)
    } else {
      try StandardOutput.write(log.text)
      if log.waitsForCompaction {
        StandardError.write(
          "It will be done when every device has seen everything; --now does not wait.\n")
      }
    }
  }
}

/// Shows the logs.
struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show each workspace's epoch, log and share of what is dead, and pushes.")

  @OptionGroup var data: DataOptions

  @Option(help: "Only this workspace.")
  var workspace: String?

  @Flag(help: "Print JSON.")
  var json = false

  func run() throws {
    let administration = ServerAdministration(dataDirectory: data.resolved)
    var list = try administration.logs(workspaceName: workspace)
    let pushes = try administration.pushState()
    list.pushes = pushes
    if json {
      try StandardOutput.write(json: list)
    } else if list.workspaces.isEmpty {
      StandardError.write("No workspace yet. `cospool-server pair` creates one.\n")
    } else {
      for log in list.workspaces { try StandardOutput.write(log.text) }
      try StandardOutput.write(pushes.text)
    }
    if let problem = list.problem { throw problem }
  }
}
