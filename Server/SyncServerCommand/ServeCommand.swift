import ArgumentParser
import Logging
import SyncServer

/// Serves until SIGTERM or SIGINT.
struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serve devices until SIGTERM or SIGINT (the default).",
    discussion: """
      Prints one line, "listening on ws://HOST:PORT", when ready. Logs go to standard error. \
      `GET /healthz` answers 200 while the server works.
      """)

  @OptionGroup var data: DataOptions

  @Option(help: "The address to listen on.")
  var host = "127.0.0.1"

  @Option(help: "The port to listen on; 0 takes a free one.")
  var port = SyncServerOptions.portDefault

  @Option(help: "trace, debug, info, notice, warning or error.")
  var logLevel = "notice"

  func validate() throws {
    guard (0...65_535).contains(port) else {
      throw ValidationError("--port takes 0 to 65535.")
    }
    guard Logger.Level(rawValue: logLevel) != nil else {
      throw ValidationError("--log-level takes trace, debug, info, notice, warning or error.")
    }
  }

  func run() async throws {
    LoggingSystem.bootstrap { StreamLogHandler.standardError(label: $0) }
    var logger = Logger(label: "cospool-server")
    logger.logLevel = Logger.Level(rawValue: logLevel) ?? .notice
    let service = ServerService(
      options: SyncServerOptions(dataDirectory: data.resolved, host: host, port: port),
      logger: logger)
    try await service.runUntilSignalled()
  }
}
