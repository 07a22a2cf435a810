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

  /// How long a stop may take before the process ends all the same. Saying goodbye takes a few
  /// seconds; what was acknowledged is on disk, whatever holds it up.
  private static let stopLimit = Duration.seconds(30)

  func runUntilSignalled() async throws {
    var configuration = ServiceGroupConfiguration(
      services: [.init(service: self, successTerminationBehavior: .gracefullyShutdownGroup)],
      gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
    configuration.maximumGracefulShutdownDuration = ServerService.stopLimit
    // Nothing here ends sooner when it is cancelled: the process does.
    configuration.maximumCancellationDuration = .seconds(5)
    try await ServiceGroup(configuration: configuration).run()
  }
}
