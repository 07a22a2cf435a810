import ArgumentParser
import SyncServer

/// Shows the state of the server, its workspaces and its pushes.
struct ServerStatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show the server, workspaces with their devices and logs, and pushes.")

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
    list.devices = try administration.devices(workspaceName: workspace).devices
    if json {
      try StandardOutput.write(json: list)
    } else if list.workspaces.isEmpty {
      try StandardOutput.write(server.text())
      StandardError.write("No workspace yet. `cospool-server pair` creates one.\n")
    } else {
      try StandardOutput.write(server.text())
      for log in list.workspaces {
        try StandardOutput.write(log.text)
        try StandardOutput.write(list.devicesText(of: log.workspace))
      }
      try StandardOutput.write(pushes.text)
    }
    if let problem = list.problem { throw problem }
  }
}
