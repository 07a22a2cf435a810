import Basics
import Foundation
import Hummingbird
import HummingbirdCore
import LocalAPI
import Logging
import NIOCore
import NIOPosix
import ProcessResources
import ServiceLifecycle
import SyncClient
import Synchronization
import Systemd

/// Why the daemon ended.
struct DaemonFailure: Error, Equatable {
  /// What happened and what to do.
  var message: String
  var exitCode: Int32
}

/// One store, its connection to the server, and the local API in front of it.
struct Daemon: Sendable {
  var dataDirectory: String
  var settings: SettingsStore
  var environment: [String: String]
  var logger: Logger
  /// How long requests in flight may take when the daemon must stop.
  var stopGrace = Duration.seconds(5)
  /// The interval of the events that show a reader that the connection works.
  var heartbeatPeriod = EventStream.heartbeatPeriodDefault
  /// The receiver of notices that the daemon stops, or still lives; nil if there is none.
  var notifier: ServiceNotifier?
  /// Sockets that the service manager passed.
  var passedSockets: [Int32] = []
  /// What a data directory that holds nothing yet gets as its settings; empty: no file.
  var firstSettings: [SettingName: SettingValue] = [:]
  /// Called with the socket's path when it answers, before any agent starts.
  var ready: @Sendable (String) -> Void

  /// The number of connections that are served at once; further ones wait.
  static let connectionsMax = 256

  /// Why it ended without an error.
  enum End: Hashable, Sendable {
    /// It was asked to stop.
    case stopped
    /// It was asked to stop once no agent runs, to be started again.
    case idle
  }

  /// The reason of its end, once there is one.
  private final class Ending: Sendable {
    let end = Mutex<End?>(nil)
  }

  /// Opens the store and serves until `stop` yields, or nothing runs after `whenIdle` did; then
  /// ends cleanly.
  @discardableResult
  func run(
    stop: AsyncStream<Void>, whenIdle: AsyncStream<Void> = AsyncStream { $0.finish() }
  ) async throws(DaemonFailure) -> End {
    // Chosen before the store is opened, so that a path that cannot work leaves nothing behind.
    var place = try SocketPath.choose(
      dataDirectory: dataDirectory,
      runtimeDirectories: SocketPath.runtimeDirectories(environment: environment))
    let isFirst = isEmpty
    let client = try await open()
    if isFirst { writeFirstSettings(client) }
    do {
      try place.prepare(dataDirectory: dataDirectory)
      let end = try await serve(client, at: place, stop: stop, whenIdle: whenIdle)
      // The lock is still held, so this is our socket, not that of the next daemon.
      place.remove()
      await client.close()
      return end
    } catch {
      place.remove()
      await client.close()
      throw error
    }
  }

  /// Whether the data directory has neither settings nor a store, nor one that was set aside.
  private var isEmpty: Bool {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: dataDirectory)) ?? []
    return !names.contains { $0 == "config.json" || $0.hasPrefix("cospool.sqlite") }
  }

  private func writeFirstSettings(_ client: QueueClient) {
    guard !firstSettings.isEmpty else { return }
    do {
      try settings.set(firstSettings.map { ($0.key, $0.value) }) { client.apply($0) }
    } catch {
      logger.warning("the first settings were not written: \(error)")
    }
  }

  private func open() async throws(DaemonFailure) -> QueueClient {
    do {
      var configuration = settings.configuration(dataDirectory: dataDirectory)
      configuration.proxyVariables = environment
      return try await QueueClient.open(configuration, logger: logger)
    } catch .locked(let path) {
      throw DaemonFailure(message: Daemon.occupied(path), exitCode: ExitStatus.failed)
    } catch {
      throw DaemonFailure(message: error.description, exitCode: error.exitCode)
    }
  }

  /// About the daemon that holds a data directory. Without its socket no command finds it.
  private static func occupied(_ path: String) -> String {
    let holder = DirectoryLock.holder(ofFile: path + "/lock")
    let advice =
      holder.map {
        "If cospool does not find it, its socket was removed: kill \($0), then start again."
      }
      ?? "Or choose another --data."
    return
      "another daemon\(holder.map { ", process \($0)," } ?? "") uses \(path). Use that one with "
      + "cospool, or stop it. \(advice)"
  }

  private func serve(
    _ client: QueueClient, at place: SocketPath, stop: AsyncStream<Void>,
    whenIdle: AsyncStream<Void>
  ) async throws(DaemonFailure) -> End {
    let output = OutputFolder(dataDirectory: dataDirectory)
    let slots = HookSlots()
    let executor = LoopExecutor()
    let web = WebListener(
      keys: WebKeys(dataDirectory: dataDirectory), executor: executor, logger: logger,
      notifier: notifier, passed: passedSockets)
    let turns = TurnAccess(
      socket: place.agentPath,
      dataDirectory: URL(filePath: dataDirectory).path(percentEncoded: false))
    let api = APIHandlers(
      client: client, settings: settings, output: output, slots: slots,
      conversations: TerminalConversations(client: client), web: web, turns: turns,
      daemon: answer(of: client, at: place), heartbeatPeriod: heartbeatPeriod)
    let (agentsWait, agentsMayStart) = AsyncStream<Void>.makeStream()
    let (noticesWait, noticesMayStart) = AsyncStream<Void>.makeStream()
    let (webWaits, webMayStart) = AsyncStream<Void>.makeStream()
    let (turnsWait, turnsMayAsk) = AsyncStream<Void>.makeStream()
    let application = served(api.router(), at: place.path, executor) {
      ready(place.path)
      turnsMayAsk.finish()
      noticesMayStart.finish()
      webMayStart.finish()
    }
    let agentAPI = served(
      api.router(takesAgentsAlone: true), at: place.agentPath, executor
    ) { agentsMayStart.finish() }
    // Ended in reverse order: the API first, then the agents, then the connection, which sends
    // their reports.
    let (idle, isIdle) = AsyncStream<Void>.makeStream()
    let agents = agentService(
      client, output: output, slots: slots, turns: turns, drained: { isIdle.finish() })
    var services = ServiceGroupConfiguration(
      services: [
        WatchdogService(notifier: notifier, executor: executor),
        SyncService(client: client, logger: logger),
        LateService(
          base: NotifyService(client: client, turns: turns, logger: logger), start: noticesWait),
        LateService(base: agents, start: agentsWait),
        LocalAPIService(
          application: application, agentApplication: agentAPI, agentStart: turnsWait,
          executor: executor),
        WebService(listener: web, api: api, start: webWaits),
      ].map(Daemon.named),
      logger: apiLogger)
    let stopTime = stopGrace + agents.grace + AgentService.stopLimit
    services.maximumGracefulShutdownDuration = stopTime
    let group = ServiceGroup(configuration: services)
    return try await run(
      group, of: client, at: place, stop: stop, within: stopTime, whenIdle: whenIdle, idle: idle)
  }

  private func run(
    _ group: ServiceGroup, of client: QueueClient, at place: SocketPath, stop: AsyncStream<Void>,
    within stopTime: Duration, whenIdle: AsyncStream<Void>, idle: AsyncStream<Void>
  ) async throws(DaemonFailure) -> End {
    let ending = Ending()
    do {
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask { try await group.run() }
        tasks.addTask {
          for await _ in stop {
            logger.info("stopping")
            ending.end.withLock { $0 = .stopped }
            announceStop(within: stopTime)
            // This comes first: the services stop one after the other, and requests may take long.
            await client.execution.drain()
            await group.triggerGracefulShutdown()
          }
          // Ends when the group ends, which cancels this task.
          while !Task.isCancelled { try await Task.sleep(for: .seconds(3600)) }
        }
        tasks.addTask {
          for await _ in whenIdle {
            await drain(client, until: idle)
            ending.end.withLock { $0 = $0 ?? .idle }
            await group.triggerGracefulShutdown()
          }
          while !Task.isCancelled { try await Task.sleep(for: .seconds(3600)) }
        }
        try await tasks.next()
        tasks.cancelAll()
      }
    } catch is CancellationError {
      return ending.end.withLock { $0 } ?? .stopped
    } catch {
      throw DaemonFailure(
        message: "the local API cannot be served on \(place.path): \(error)",
        exitCode: ExitStatus.failed)
    }
    return ending.end.withLock { $0 } ?? .stopped
  }
}

extension Daemon {
  /// Running turns may take any time; by default, a service manager would give them 90 seconds.
  private func announceStop(within time: Duration) {
    notifier?.send("STOPPING=1\nEXTEND_TIMEOUT_USEC=\(Int64(time / .microseconds(1)))")
  }

  /// Prevents starts, and returns when nothing runs.
  private func drain(_ client: QueueClient, until idle: AsyncStream<Void>) async {
    logger.info("stopping when no agent is running")
    notifier?.send("STATUS=stops when no agent is running; starts no messages")
    await client.execution.drain()
    for await _ in idle {}
  }

  /// The daemon's answer about itself.
  private func answer(of client: QueueClient, at place: SocketPath) -> DaemonAnswer {
    DaemonAnswer(
      version: Version.number, processID: Int(getpid()), startedAt: client.time,
      dataDirectory: dataDirectory, socket: place.path,
      threadQueue: client.settings.queueEnabled, queueSizeMax: client.settings.maxQueueSize)
  }

  /// A service under its type's name in logs and errors: otherwise its whole content would appear
  /// there, including the environment.
  private static func named(
    _ service: any Service
  ) -> ServiceGroupConfiguration.ServiceConfiguration {
    .init(service: service, serviceName: "\(type(of: service))")
  }

  /// Events that the HTTP server logs as information are detail here.
  private var apiLogger: Logger {
    var apiLogger = logger
    apiLogger.logLevel = logger.logLevel <= .debug ? logger.logLevel : max(.notice, logger.logLevel)
    return apiLogger
  }

  private func served(
    _ router: Router<APIHandlers.Context>, at path: String, _ executor: LoopExecutor,
    running: @escaping @Sendable () -> Void
  ) -> some Service {
    Application(
      router: router,
      server: HTTPServerBuilder { HeldHTTPChannel(base: HTTP1Channel(responder: $0)) },
      configuration: ApplicationConfiguration(
        address: .unixDomainSocket(path: path),
        availableConnectionsDelegate: .maximum(Daemon.connectionsMax, logger: apiLogger)),
      onServerRunning: { _ in
        chmod(path, 0o600)
        running()
      }, eventLoopGroupProvider: .shared(executor.group), logger: apiLogger)
  }

  private func agentService(
    _ client: QueueClient, output: OutputFolder, slots: HookSlots, turns: TurnAccess,
    drained: @escaping @Sendable () -> Void
  ) -> AgentService {
    AgentService(
      client: client, output: output, slots: slots, access: turns, environment: environment,
      grace: .seconds(client.settings.agents.graceSeconds),
      logger: logger, drained: drained)
  }
}

/// Serves the local API on one thread, which accepts, reads, executes and answers. Only the store's
/// work is handed to another thread.
struct LocalAPIService: Service {
  var application: any Service
  /// The same for the agents that the daemon starts.
  var agentApplication: any Service
  /// Ends when agents may send requests.
  var agentStart: AsyncStream<Void>
  var executor: LoopExecutor

  func run() async throws {
    let result: Result<Void, any Error>
    do {
      try await withTaskExecutorPreference(executor) {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
          tasks.addTask { try await application.run() }
          tasks.addTask {
            await cancelWhenGracefulShutdown { for await _ in agentStart {} }
            guard !Task.isCancelled, !Task.isShuttingDownGracefully else { return }
            try await agentApplication.run()
          }
          while try await tasks.next() != nil {}
        }
      }
      result = .success(())
    } catch {
      result = .failure(error)
    }
    // All of its tasks have ended.
    try await executor.group.shutdownGracefully()
    try result.get()
  }
}

/// A service that starts programs, which it may when the daemon is ready.
struct LateService<Base: Service>: Service {
  var base: Base
  /// Ends when it may begin.
  var start: AsyncStream<Void>

  func run() async throws {
    // A shutdown ends the wait, too, and the service sees that itself.
    await cancelWhenGracefulShutdown { for await _ in start {} }
    try await base.run()
  }
}

/// Reports that the daemon lives, while the thread that serves the local API accepts work.
struct WatchdogService: Service {
  var notifier: ServiceNotifier?
  var executor: LoopExecutor

  func run() async throws {
    await cancelWhenGracefulShutdown {
      await notifier?.keepAlive { try? await executor.group.next().submit {}.get() }
      // A service that returns would end the others.
      while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
    }
  }
}

/// Keeps the connection to the server for as long as the daemon runs.
struct SyncService: Service {
  var client: QueueClient
  var logger: Logger

  /// The wait after the connection's driver itself failed, which has nothing to do with the
  /// network.
  static let restartDelay = Duration.seconds(5)

  func run() async throws {
    await cancelWhenGracefulShutdown {
      while !Task.isCancelled {
        do {
          try await client.run()
        } catch is CancellationError {
          return
        } catch {
          logger.error("sync stopped: \(error); starting it again in \(SyncService.restartDelay)")
        }
        // The queues still work without it. Cancellation ends the wait early.
        try? await Task.sleep(for: SyncService.restartDelay)
      }
    }
  }
}
