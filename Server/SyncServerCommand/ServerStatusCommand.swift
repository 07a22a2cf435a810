import ArgumentParser
import SyncServer

/// Shows the logs.
struct ServerStatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show the server, each workspace's log, whether it can be read, and pushes.")

  @OptionGroup var data: DataOptions

  @Option(help: "Only this workspace.")
  var workspace: String?

  @Flag(help: "Print JSON.")
  var json = false

  func run() async throws {
    let administration = ServerAdministration(dataDirectory: data.resolved)
    var list = try administration.logs(workspaceName: workspace)
    let pushes = try administration.pushState()
    list.pushes = pushes
    let server = await administration.serverState()
    list.server = server
    if json {
      try StandardOutput.write(json: list)
    } else if list.workspaces.isEmpty {
      try StandardOutput.write(server.text())
      StandardError.write("No workspace yet. `cospool-server pair` creates one.\n")
    } else {
      try StandardOutput.write(server.text())
      for log in list.workspaces { try StandardOutput.write(log.text) }
      try StandardOutput.write(pushes.text)
    }
    if let problem = list.problem { throw problem }
  }
}
