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
  /// Reports to the service manager that the server listens, is alive and stops; nil without a
  /// manager.
  let notifier: ServiceNotifier?

  func run() async throws {
    let server = try await SyncServer.start(options, logger: logger)
    do {
      try StandardOutput.write("listening on \(server.url)")
    } catch {
      // The server still works; `pair` prints its address.
      logger.warning("\(error.message)")
    }
    if let port = server.metricsPort { logger.notice("metrics are served on port \(port)") }
    logger.notice("version \(Version.number) serves \(options.dataDirectory) on \(server.url)")
    notifier?.send("READY=1\nSTATUS=listening on \(server.url)")
    await withTaskGroup(of: Void.self) { tasks in
      tasks.addTask { await notifier?.keepAlive { await server.takesWork() } }
      // It throws only if the task is cancelled, and the server stops in either case.
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
      // Exits at once: cleanup at a normal exit could wait for the same thing.
      _exit(ExitStatus.failed)
    }
  }

  /// How many seconds a stop may take before the process ends anyway. Closing the connections takes
  /// a few seconds. All acknowledged data is already on disk.
  private static let stopLimit: Double = 30

  func runUntilSignalled() async throws {
    let configuration = ServiceGroupConfiguration(
      services: [
        // The log shows this name. The default name would contain all options of the service.
        .init(
          service: self, successTerminationBehavior: .gracefullyShutdownGroup,
          serviceName: "ServerService")
      ],
      gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
    try await ServiceGroup(configuration: configuration).run()
  }
}
