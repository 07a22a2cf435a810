import Basics
import Foundation
import Logging
import ServiceLifecycle
import SyncServer
import Systemd
import UnixSignals

/// The server as a service that ends with SIGTERM or SIGINT.
struct ServerService: Service {
  let options: SyncServerOptions
  let logger: Logger
  /// Who is told that it listens, lives and stops; nil where nobody is.
  let notifier: ServiceNotifier?

  func run() async throws {
    let server = try await SyncServer.start(options, logger: logger)
    do {
      try StandardOutput.write("listening on \(server.url)")
    } catch {
      // It serves all the same: `pair` says where.
      logger.warning("\(error.message)")
    }
    if let port = server.metricsPort { logger.notice("metrics are served on port \(port)") }
    logger.notice("version \(Version.number) serves \(options.dataDirectory) on \(server.url)")
    notifier?.send("READY=1\nSTATUS=listening on \(server.url)")
    await withTaskGroup(of: Void.self) { tasks in
      tasks.addTask { await notifier?.keepAlive { await server.takesWork() } }
      // Ends with an error only where the task is cancelled; the server is stopped either way.
      try? await gracefulShutdown()
      tasks.cancelAll()
    }
    logger.notice("stopping")
    notifier?.send("STOPPING=1")
    let logger = logger
    await server.stop(within: ServerService.stopLimit) { stage in
      let limit = Int(ServerService.stopLimit)
      logger.error(
        "the stop took longer than \(limit) s (\(stage)); what was acknowledged is stored")
      // At once: what runs at an exit could wait for the same thing.
      _exit(ExitStatus.failed)
    }
  }

  /// How long a stop may take before the process ends all the same. Saying goodbye takes a few
  /// seconds; what was acknowledged is on disk, whatever holds it up.
  private static let stopLimit: Double = 30

  func runUntilSignalled() async throws {
    let configuration = ServiceGroupConfiguration(
      services: [
        // Under a name: all its options would show in the log otherwise.
        .init(
          service: self, successTerminationBehavior: .gracefullyShutdownGroup,
          serviceName: "ServerService")
      ],
      gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
    try await ServiceGroup(configuration: configuration).run()
  }
}
