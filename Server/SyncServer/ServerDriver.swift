import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import NetworkAddresses
import ProcessResources
import PushDelivery
import QueueModel
import ServerCore
import WireProtocol

/// Runs the core on one event loop: socket events go in; actions come out and are performed in
/// order.
///
/// Everything here happens on `loop`; closures that leave it carry the driver in a `NIOLoopBound`.
/// The store works on its own thread, one task after the other. A second thread packs data for
/// devices that were away, so that no commit waits for it.
final class ServerDriver {
  /// The actions to perform: one can raise events whose actions must not overtake it.
  private struct ActionQueue {
    var waiting: CircularBuffer<ServerAction> = []
    var isBeingDone = false
  }

  /// The stage of the server's life.
  private enum Stage {
    case running(ticks: RepeatedTask?)
    case stopping(ticks: RepeatedTask?, EventLoopPromise<Void>)
    /// Everything is stored; channels may still be open.
    case stopped(EventLoopPromise<Void>)
  }

  let loop: any EventLoop
  let options: SyncServerOptions
  let clock = ProcessClock()
  let store: StoreRunner
  var files: FileRequests
  let journal: ServerJournal
  /// The setup of pushes.
  let setup: PushSetup
  /// Carries out push orders; nil if the store has none.
  private(set) var pushes: PushService?
  private(set) var postedAnswers = PostedAnswers()
  var sockets: TCPSockets
  /// The order in which input is processed.
  private(set) lazy var turns = makeTurns()
  var peers = Peers()
  private(set) var core: ServerCore
  private var actions = ActionQueue()
  private var stage = Stage.running(ticks: nil)

  init(
    loop: any EventLoop, options: SyncServerOptions, storage: any ServerStorage,
    storeThreads: StoreThreads, blobThread: NIOThreadPool, pushing: PushSetup.Reading,
    security: CertificateReloader.Reading?, logger: Logger
  ) {
    self.loop = loop
    self.options = options
    store = StoreRunner(storage, threads: storeThreads, loop: loop, clock: clock)
    files = FileRequests(options, thread: blobThread)
    journal = ServerJournal(logger, loop: loop, clock: clock)
    sockets = TCPSockets(
      options,
      security: security.map {
        CertificateReloader($0, loop: loop, thread: blobThread, logger: logger)
      })
    core = ServerCore(
      configuration: options.core, targetCheck: PushComposer.check, secretHash: secretHash)
    setup = PushSetup(
      loop: loop, directory: options.dataDirectory, storeThread: storeThreads.tasks, first: pushing,
      logger: logger)
    guard let queue = storage as? any PushQueue else { return }
    let pushes = PushService(
      loop: loop, queue: queue, storeThread: storeThreads.tasks, setup: setup,
      schedule: options.pushSchedule, logger: logger
    ) { [unowned self] report in
      run(core.pushTargetReported(report, at: clock.now))
    }
    self.pushes = pushes
    setup.onChange = { [unowned pushes] in pushes.setUpAnew() }
  }

  var bound: NIOLoopBound<ServerDriver> { NIOLoopBound(self, eventLoop: loop) }
  var isStopped: Bool { if case .stopped = stage { true } else { false } }
  /// Whether the server works, its store's thread included: a task that waits too long shows that
  /// the thread does not. An answer of any kind shows that the loop works.
  var isHealthy: Bool {
    core.isHealthy && store.waitMilliseconds < options.storeMilliseconds
  }

  func start() {
    let interval = TimeAmount.milliseconds(options.tickMilliseconds)
    let bound = bound
    stage = .running(
      ticks: loop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
        bound.value.timePassed()
      })
  }

  private func timePassed() {
    run(core.clockTicked(at: clock.now))
    let uptime = clock.now.uptimeMilliseconds
    setup.timePassed(uptime: uptime)
    journal.storeIfDue(in: store, at: uptime)
    writeConnectedDevices(at: uptime)
    pushes?.timePassed()
    sockets.security?.timePassed(uptime: uptime)
  }

  /// Stops gracefully; the future completes when every connection has ended.
  func stop() -> EventLoopFuture<Void> {
    switch stage {
    case .stopping(_, let promise), .stopped(let promise): return promise.futureResult
    case .running(let ticks):
      let promise = loop.makePromise(of: Void.self)
      stage = .stopping(ticks: ticks, promise)
      run(core.stopRequested(at: clock.now))
      return promise.futureResult
    }
  }

  private func makeTurns() -> InputTurns {
    InputTurns { [unowned self] afterSockets in
      let bound = bound
      // The loop polls sockets once no task is due.
      if afterSockets {
        loop.scheduleTask(in: .microseconds(20)) { bound.value.turns.giveTurns() }
      } else {
        loop.execute { bound.value.turns.giveTurns() }
      }
    }
  }

  // MARK: - TCP

  /// A TCP connection was accepted.
  ///
  /// - Returns: whether there is room for it.
  func channelOpened(_ channel: any Channel) -> Bool {
    guard !isStopped else { return false }
    return takes(sockets.opened(channel, uptime: clock.now.uptimeMilliseconds))
  }

  func channelClosed(_ channel: any Channel) {
    sockets.closed(channel)
    finishStopIfDone()
  }

  /// The head of a request arrived.
  ///
  /// - Returns: whether there is room for it.
  func requested(_ head: HTTPRequestHead, on channel: any Channel) -> Bool {
    let arrival = sockets.requested(head, on: channel, uptime: clock.now.uptimeMilliseconds)
    let hasPlace = takes(arrival)
    if !hasPlace { channel.closeAtOnce() }
    return hasPlace
  }

  /// Closes a connection that lost its place.
  ///
  /// - Returns: whether the new one has a place.
  private func takes(_ arrival: TCPSockets.Arrival) -> Bool {
    switch arrival {
    case .refused: return false
    case .taken(let loser):
      loser?.closeAtOnce()
      return true
    }
  }

  // MARK: - WebSocket

  /// A connection was upgraded.
  func opened(_ channel: any Channel, acceptedAt: ServerTime) -> ConnectionID {
    journal.metrics.connectionsOpened += 1
    let source = sockets.source(of: channel)
    let id = peers.add(channel, from: source)
    run(core.connectionOpened(id, source: source, acceptedAt: acceptedAt, at: clock.now))
    return id
  }

  func received(_ count: Int, on id: ConnectionID) {
    run(core.bytesReceived(count, on: id, at: clock.now))
  }

  /// A ping or a pong arrived: it counts as a frame.
  func receivedControl(_ count: Int, on id: ConnectionID) {
    run(core.controlFrameReceived(count, on: id, at: clock.now))
  }

  func received(_ message: [UInt8], on id: ConnectionID) {
    var generator = SystemRandomNumberGenerator()
    run(core.frameReceived(message, on: id, at: clock.now, using: &generator))
  }

  func closed(_ id: ConnectionID) {
    if let device = peers.remove(id) { journal.left(id, device) }
    run(core.connectionClosed(id, at: clock.now))
  }

  /// A device was authenticated on a connection.
  private func joined(_ id: ConnectionID, _ device: DeviceID, of workspace: WorkspaceID) {
    peers.joined(
      id,
      ConnectedDevice(workspace: workspace, device: device, since: clock.now.wallMilliseconds))
  }

  // MARK: - Answers without a connection

  /// Passes an answer to the core; the future returns the result.
  func post(
    _ answer: AnswerRequest, by device: DeviceID, in workspace: WorkspaceID
  ) -> EventLoopFuture<PostedAnswerOutcome> {
    let promise = loop.makePromise(of: PostedAnswerOutcome.self)
    let id = postedAnswers.add(promise)
    run(core.answerPosted(id, answer, by: device, in: workspace, at: clock.now))
    return promise.futureResult
  }

  // MARK: - Actions

  /// Performs actions after those that are still waiting: an action can raise events whose actions
  /// must not overtake it.
  private func run(_ more: [ServerAction]) {
    for action in more {
      if case .send(let bytes, let ids) = action { peers.willSend(bytes.count, to: ids) }
      actions.waiting.append(action)
    }
    guard !actions.isBeingDone else { return }
    actions.isBeingDone = true
    while true {
      while let action = actions.waiting.popFirst() { act(action) }
      guard let channel = peers.takeUnflushed() else { break }
      channel.flush()
    }
    actions.isBeingDone = false
  }

  private func act(_ action: ServerAction) {
    switch action {
    case .send(let bytes, let ids): send(bytes, to: ids)
    case .close(let id, let code, let reason): close(id, code, reason)
    case .abort(let id, _): peers.channel(of: id)?.closeAtOnce()
    case .setReading(let id, let isOn):
      guard let channel = peers.channel(of: id) else { return }
      channel.setOption(ChannelOptions.autoRead, value: isOn).whenFailure { _ in
        channel.close(mode: .all, promise: nil)
      }
    case .authenticated(let id, let workspace):
      peers.channel(of: id)?.pipeline
        .fireUserInboundEventTriggered(DeviceKnown(workspace: workspace))
    case .store(let id, let task): perform(task, as: id)
    case .pushOrdersStored: pushes?.ordersStored()
    case .liveStatus(let order): pushes?.show(order)
    case .testPush(let target, let id): test(target, for: id)
    case .answerSettled(let id, let outcome): postedAnswers.settle(id, outcome)
    case .contentReleased: Heap.giveBackFreed()
    case .report(let report): note(report)
    case .stopped:
      guard case .stopping(let ticks, let promise) = stage else { return }
      stage = .stopped(promise)
      ticks?.cancel()
      postedAnswers.giveUp()
      for channel in sockets.all { linger(channel) }
      finishStopIfDone()
    }
  }

  private func test(_ target: PushTargetRecord, for id: ConnectionID) {
    guard let pushes else {
      return run(core.pushTested(for: id, problem: "this server does not push", at: clock.now))
    }
    let bound = bound
    pushes.test(target) { problem in
      let driver = bound.value
      driver.run(driver.core.pushTested(for: id, problem: problem, at: driver.clock.now))
    }
  }

  private func note(_ report: ServerReport) {
    if case .joined(let id, let workspace, let device, _) = report {
      joined(id, device, of: workspace)
    }
    journal.note(report) { peers.source(of: $0) }
  }

  private func send(_ bytes: [UInt8], to ids: [ConnectionID]) {
    let frame = WebSocketFrame(fin: true, opcode: .binary, data: ByteBuffer(bytes: bytes))
    let (count, bound) = (bytes.count, bound)
    for id in ids {
      peers.beginWriting(to: id)?.write(frame).whenComplete { _ in
        bound.value.sent(count, on: id)
      }
    }
  }

  private func sent(_ count: Int, on id: ConnectionID) {
    guard let unsent = peers.sent(count, on: id) else { return }
    run(core.bytesBuffered(unsent, on: id))
  }

  private func close(_ id: ConnectionID, _ code: CloseCode, _ reason: String) {
    guard let channel = peers.beginClosing(id) else { return }
    var data = ByteBuffer()
    data.write(webSocketErrorCode: WebSocketErrorCode(codeNumber: Int(code.rawValue)))
    // A control frame has at most 125 bytes.
    data.writeBytes(reason.utf8.prefix(120))
    channel.writeAndFlush(
      WebSocketFrame(fin: true, opcode: .connectionClose, data: data), promise: nil)
    linger(channel)
  }

  /// Gives the peer time to read the sent data, then closes. Closing at once could destroy that
  /// data: the kernel resets a connection that has unread input.
  private func linger(_ channel: any Channel) {
    channel.setOption(ChannelOptions.autoRead, value: true).whenFailure { _ in
      channel.close(mode: .all, promise: nil)
    }
    channel.eventLoop.scheduleTask(in: .milliseconds(options.lingerMilliseconds)) {
      channel.closeAtOnce()
    }
  }

  private func perform(_ task: StoreTask, as id: StoreTaskID) {
    store.perform(task, as: id) { [self] outcome, time in
      if case .commit(let batch) = task, case .committed = outcome {
        journal.metrics.committed(batch, in: time)
      }
      run(core.storeFinished(id, outcome, at: clock.now))
    }
  }

  private func finishStopIfDone() {
    guard case .stopped(let promise) = stage, sockets.count == 0 else { return }
    promise.succeed()
  }
}

/// Notifies the handlers of a channel that its device is known.
struct DeviceKnown {
  let workspace: WorkspaceID
}
