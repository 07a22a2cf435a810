import Foundation
import Hummingbird
import HummingbirdCore
import LocalAPI
import Logging
import NIOCore
import ServiceLifecycle
import SyncClient
import Synchronization
import Systemd

/// The listener of the page: the local API once more, on a port, behind `WebAccessMiddleware`; with
/// TLS if other machines can reach it.
///
/// It listens at the address of the setting `web`, as soon as that is set.
final class WebListener: Sendable {
  /// The number of connections that are served at once; further ones wait. A page holds one for
  /// events; strangers have theirs in `WebPlaces`.
  static let connectionsMax = 128
  /// A client that connects and sends no request, or not the whole one, is closed after this time.
  static let idleSeconds: Int64 = 60

  let keys: WebKeys

  private let places = WebPlaces()
  private let executor: LoopExecutor?
  private let logger: Logger

  private struct State {
    /// The requested settings.
    var wanted: WebSettings?
    /// It listens, with this port.
    var served: WebSettings?
    /// It does not listen, for this reason.
    var problem: String?
    var task: Task<Void, Never>?
    /// The latest change, for which the next one waits.
    var change: Task<Void, Never>?
    var isOver = false
    /// Sockets that the service manager passed or keeps; this process keeps them open as well.
    var held: [Int32]
    /// Whether the service manager keeps one.
    var isKept: Bool
    /// The connections of each browser, to be closed when its key ends.
    var channels: [String: [ObjectIdentifier: any Channel]] = [:]
  }

  private let state: Mutex<State>
  /// Keeps the socket while the daemon is restarted, so that no other program takes the port; nil
  /// without a service manager.
  private let notifier: ServiceNotifier?

  /// The service manager's name of the socket that it keeps.
  private static let keptName = "page"

  /// - Parameters:
  ///   - executor: serves the requests; nil if none is ever served.
  ///   - passed: sockets that the service manager passed.
  init(
    keys: WebKeys, executor: LoopExecutor?, logger: Logger, notifier: ServiceNotifier? = nil,
    passed: [Int32] = []
  ) {
    self.keys = keys
    self.executor = executor
    self.logger = logger
    self.notifier = notifier
    state = Mutex(State(held: passed, isKept: !passed.isEmpty))
  }

  /// How the page is served; nil if it is not.
  var served: WebSettings? { state.withLock { $0.served } }

  /// The origins of the page, by the value of a browser's Host.
  var origins: [String: String] {
    guard let served else { return [:] }
    var origins: [String: String] = [:]
    // `localhost` is not allowed, too: another user's program may listen at the other loopback
    // address on the same port. A page of that name would ask it, and it could pass on the daemon's
    // proof.
    if served.address.isLoopback { origins["\(served.address)"] = "http://\(served.address)" }
    if let origin = served.elsewhere { origins[origin.authority] = "\(origin)" }
    return origins
  }

  /// Why it does not listen although it should.
  var problem: String? { state.withLock { $0.problem } }

  // MARK: - Listening

  /// From now on, listens only there; the task ends when it listens, or fails.
  ///
  /// A request over this listener must not wait for it, because it ends with the listener.
  @discardableResult
  func follow(_ wanted: WebSettings?, api: APIHandlers) -> Task<Void, Never> {
    state.withLock { state in
      let before = state.change
      let change = Task {
        await before?.value
        await self.turn(to: wanted, api: api)
      }
      state.change = change
      return change
    }
  }

  /// Ends permanently.
  func end() async {
    state.withLock { $0.isOver = true }
    await stop()
  }

  private func turn(to wanted: WebSettings?, api: APIHandlers) async {
    if wanted == nil { giveUpSockets() }
    let isNew = state.withLock { state in
      defer { state.wanted = wanted }
      return state.wanted != wanted || (wanted != nil && state.served == nil)
    }
    guard isNew else { return }
    await stop()
    guard let wanted, let executor, !state.withLock({ $0.isOver }) else {
      return state.withLock { $0.problem = nil }
    }
    let (outcomes, outcome) = AsyncStream<(any Error)?>.makeStream()
    let server: PageServer<RouterResponder<APIContext>>
    do {
      server = try self.server(as: wanted, api: api, executor: executor)
    } catch {
      return state.withLock { $0.problem = "The page cannot be served: \(error)." }
    }
    let task = Task(executorPreference: executor) {
      do {
        try await server.run(on: try self.socket(at: wanted.address)) { port in
          // Set before the first request is read, which may have waited for the daemon.
          self.state.withLock { state in
            (state.problem, state.served) = (nil, wanted)
            state.served?.address.port = port
          }
          outcome.yield(nil)
        }
      } catch {
        outcome.yield(error)
      }
      outcome.finish()
    }
    state.withLock { $0.task = task }
    for await error in outcomes {
      if let text = error.map(WebListener.text) {
        state.withLock { $0.problem = "The page cannot be served on \(wanted.address): \(text)." }
      }
      break
    }
    if let problem { logger.warning("\(problem)") }
  }

  private static func text(of error: any Error) -> String {
    switch (error as? IOError)?.errnoCode {
    case EADDRINUSE: "another program uses the port. Choose another one: cospool web --port N"
    case EADDRNOTAVAIL: "this machine does not have that address. To list its addresses: ip address"
    case EACCES: "the system does not allow the port. Choose one above 1023: cospool web --port N"
    default: "\(error)"
    }
  }

  private func stop() async {
    let (task, channels) = state.withLock { state in
      defer { (state.task, state.served, state.channels) = (nil, nil, [:]) }
      return (state.task, state.channels.values.flatMap(\.values))
    }
    task?.cancel()
    for channel in channels { channel.close(promise: nil) }
    await task?.value
  }

  /// The socket to serve on, for its server to close: a kept one if it listens there, otherwise a
  /// fresh one, which the service manager keeps. That copy would block the port if it were opened
  /// again.
  private func socket(at address: WebAddress) throws -> Int32 {
    var held = state.withLock { state in
      state.held.first { ListeningSocket.isListening($0, at: address) }
    }
    if held == nil {
      giveUpSockets()
      let fresh = try ListeningSocket.open(at: address)
      guard let notifier else { return fresh }
      notifier.keep(fresh, as: WebListener.keptName)
      state.withLock { ($0.held, $0.isKept) = ([fresh], true) }
      held = fresh
    }
    let copy = held.map { fcntl($0, F_DUPFD_CLOEXEC, 0) } ?? -1
    guard copy >= 0 else { throw IOError(errnoCode: errno, reason: "dup") }
    return copy
  }

  /// Closes the held socket, and removes it from the service manager.
  private func giveUpSockets() {
    let (held, wasKept) = state.withLock { state in
      defer { (state.held, state.isKept) = ([], false) }
      return (state.held, state.isKept)
    }
    for socket in held { close(socket) }
    if wasKept { notifier?.forget(WebListener.keptName) }
  }

  private func server(
    as wanted: WebSettings, api: APIHandlers, executor: LoopExecutor
  ) throws(WebCertificate.Problem) -> PageServer<RouterResponder<APIContext>> {
    if let missing = wanted.missing { throw WebCertificate.Problem(description: missing) }
    var certificate: WebCertificate?
    // On this machine's own address no client needs a certificate.
    if !wanted.address.isLoopback, let chain = wanted.certificateFile, let key = wanted.keyFile {
      certificate = try WebCertificate(chainFile: chain, keyFile: key, logger: logger)
    }
    var quiet = logger
    // Events that the HTTP server logs as information are detail here.
    quiet.logLevel = max(.notice, logger.logLevel)
    return PageServer(
      responder: api.webRouter().buildResponder(), certificate: certificate, places: places,
      idleSeconds: WebListener.idleSeconds, connectionsMax: WebListener.connectionsMax,
      group: executor.group, logger: quiet)
  }

  // MARK: - Connections

  /// Records that a connection belongs to a browser.
  func note(_ channel: any Channel, of browser: String) {
    places.knows(channel)
    let id = ObjectIdentifier(channel)
    let isNew = state.withLock {
      $0.channels[browser, default: [:]].updateValue(channel, forKey: id) == nil
    }
    guard isNew else { return }
    channel.closeFuture.whenComplete { [weak self] _ in
      self?.state.withLock { state in
        state.channels[browser]?[id] = nil
        if state.channels[browser]?.isEmpty == true { state.channels[browser] = nil }
      }
    }
  }

  /// Disconnects browsers whose keys are no longer valid, even while they read.
  func cutOff(_ browsers: [String], except spared: ObjectIdentifier?) {
    let channels = state.withLock { state in
      browsers.flatMap { state.channels.removeValue(forKey: $0) ?? [:] }
    }
    for (id, channel) in channels where id != spared { channel.close(promise: nil) }
  }
}

/// Begins to serve the page if the setting requires it, and ends before the services that it uses.
struct WebService: Service {
  var listener: WebListener
  var api: APIHandlers
  /// Ends when the daemon is ready.
  var start: AsyncStream<Void>

  func run() async throws {
    await cancelWhenGracefulShutdown { for await _ in start {} }
    if !Task.isShuttingDownGracefully, !Task.isCancelled {
      await listener.follow(api.settings.current.web, api: api).value
    }
    // An error elsewhere ends it, too.
    try? await gracefulShutdown()
    await listener.end()
  }
}
