import Logging
import ServiceLifecycle
import SyncServer
import UnixSignals

/// The server as a service that ends with SIGTERM or SIGINT.
struct ServerService: Service {
  let options: SyncServerOptions
  let logger: Logger

  func run() async throws {
    let server = try await SyncServer.start(options, logger: logger)
    StandardOutput.write("listening on \(server.url)")
    logger.info("serving \(options.dataDirectory)")
    // Ends with an error only where the task is cancelled; the server is stopped either way.
    try? await gracefulShutdown()
    logger.notice("stopping")
    await server.stop()
  }

  func runUntilSignalled() async throws {
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: [.init(service: self, successTerminationBehavior: .gracefullyShutdownGroup)],
        gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
    try await group.run()
  }
}
