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

/// Runs the core on one event loop: sockets' events go in, actions come out and are done in order.
///
/// Everything here happens on `loop`; closures that leave it carry the driver in a `NIOLoopBound`.
/// The store works on a thread of its own, one task after the other, and a second one
/// packs what devices lack that were away, which holds up no commit.
final class ServerDriver {
  /// A WebSocket connection as the driver holds it.
  private struct Peer {
    var channel: any Channel
    /// The address it came from.
    var source: String
    /// The device that was let in by it; nil until then.
    var device: ConnectedDevice?
    /// Bytes of messages that were handed over and are not in the kernel's hands yet.
    var unsentBytes = 0
    /// It stands in `unflushed`.
    var isUnflushed = false
    var isClosing = false
  }

  let loop: any EventLoop
  let options: SyncServerOptions
  let clock = ProcessClock()
  let storage: any ServerStorage
  let storeThreads: StoreThreads
  let blobs: BlobStore
  let blobThread: NIOThreadPool
  /// The certificate of new connections; nil where TLS is none of the server's.
  let security: CertificateReloader?
  /// What is pushed with.
  let setup: PushSetup
  /// Carries push orders out; nil where the store keeps none.
  private(set) var pushes: PushService?
  private(set) var postedAnswers = PostedAnswers()
  /// Requests for files under way, by workspace.
  var blobSeats: [WorkspaceID: Int] = [:]
  let logger: Logger
  private var core: ServerCore
  private var generator = SystemRandomNumberGenerator()
  private var peers: [ConnectionID: Peer] = [:]
  private var lastConnection: UInt64 = 0
  /// TCP connections, upgraded or not, and where they come from.
  private var channels: [ObjectIdentifier: (channel: any Channel, source: String)] = [:]
  private var places: Places
  /// Whose input is looked at next.
  private(set) lazy var turns = makeTurns()
  private var actions: CircularBuffer<ServerAction> = []
  private var isActing = false
  /// When the store was given what it has not done yet, uptime.
  private var storeTasks: [StoreTaskID: Int64] = [:]
  /// Connections with something to write out. The latest goes first: somebody waits for what a batch
  /// leads to elsewhere, nobody for the answer to whoever sent it.
  private var unflushed: [ConnectionID] = []
  /// What happened about access and is not stored yet.
  var pendingAudit = PendingAudit()
  /// What was said of who is connected.
  var said = SaidOfDevices()
  var metrics = ServerMetrics()
  private var ticks: RepeatedTask?
  private var stopPromise: EventLoopPromise<Void>?
  private(set) var isStopped = false

  init(
    loop: any EventLoop, options: SyncServerOptions, storage: any ServerStorage,
    storeThreads: StoreThreads, blobThread: NIOThreadPool, pushing: PushSetup.Reading,
    security: CertificateReloader.Reading?, logger: Logger
  ) {
    self.loop = loop
    self.options = options
    self.storage = storage
    self.storeThreads = storeThreads
    self.blobThread = blobThread
    blobs = BlobStore(
      dataDirectory: options.dataDirectory, quotaBytes: options.files.quotaBytes,
      freeSpace: options.freeSpace)
    self.logger = logger
    self.security = security.map {
      CertificateReloader($0, loop: loop, thread: blobThread, logger: logger)
    }
    places = Places(rules: options.places)
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

  var storeThread: NIOThreadPool { storeThreads.tasks }
  var bound: NIOLoopBound<ServerDriver> { NIOLoopBound(self, eventLoop: loop) }
  /// Whether the server does its work: also the store's thread, of which a question that waits too long
  /// tells. The loop tells by answering at all.
  var isHealthy: Bool {
    core.isHealthy && storeWaitMilliseconds < options.storeMilliseconds
  }
  /// How long the oldest task of the store waits.
  var storeWaitMilliseconds: Int64 {
    let oldest = storeTasks.values.min() ?? .max
    return clock.now.uptimeMilliseconds - min(oldest, clock.now.uptimeMilliseconds)
  }
  var storeTaskCount: Int { storeTasks.count }
  var connectionCount: Int { peers.count }
  var connectedDevices: [ConnectedDevice] { peers.values.compactMap(\.device) }
  var channelCount: Int { channels.count }
  var unsentBytes: Int { peers.values.reduce(0) { $0 + $1.unsentBytes } }
  /// The address that a connection came from.
  func source(of id: ConnectionID) -> String { peers[id]?.source ?? "unknown" }
  var residentWorkspaces: Int { core.residentWorkspaces }

  func start() {
    let interval = TimeAmount.milliseconds(options.tickMilliseconds)
    let bound = bound
    ticks = loop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
      let driver = bound.value
      driver.run(driver.core.clockTicked(at: driver.clock.now))
      driver.setup.timePassed(uptime: driver.clock.now.uptimeMilliseconds)
      driver.storeAudit(at: driver.clock.now.uptimeMilliseconds)
      driver.sayWhoIsConnected(at: driver.clock.now.uptimeMilliseconds)
      driver.pushes?.timePassed()
      driver.security?.timePassed(uptime: driver.clock.now.uptimeMilliseconds)
    }
  }

  /// Stops gracefully; the future ends when every connection is gone.
  func stop() -> EventLoopFuture<Void> {
    if let stopPromise { return stopPromise.futureResult }
    let promise = loop.makePromise(of: Void.self)
    stopPromise = promise
    run(core.stopRequested(at: clock.now))
    return promise.futureResult
  }

  private func makeTurns() -> InputTurns {
    InputTurns { [unowned self] afterSockets in
      let bound = bound
      // The loop looks at sockets once no task is due.
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
    let source = channel.remoteAddress?.ipAddress ?? "local"
    guard takePlace(for: channel, from: source) else { return false }
    channels[ObjectIdentifier(channel)] = (channel, source)
    return true
  }

  func channelClosed(_ channel: any Channel) {
    channels[ObjectIdentifier(channel)] = nil
    places.gone(ObjectIdentifier(channel))
    finishStopIfDone()
  }

  /// The device of a connection is known.
  func authenticated(_ channel: any Channel) {
    places.authenticated(ObjectIdentifier(channel))
  }

  /// Where a connection comes from, or, where a proxy that is trusted passes it on, its request.
  func source(of channel: any Channel) -> String {
    channels[ObjectIdentifier(channel)]?.source ?? "local"
  }

  /// The head of a request came. Behind a proxy that is trusted, it says where from.
  ///
  /// - Returns: whether there is room for it.
  func requested(_ head: HTTPRequestHead, on channel: any Channel) -> Bool {
    guard !options.trustedProxies.isEmpty, let peer = channel.remoteAddress?.ipAddress else {
      return true
    }
    let forwarded = head.headers[canonicalForm: "x-forwarded-for"].map(String.init)
    let source = ForwardedSource.find(
      peer: peer, forwarded: forwarded, trusted: options.trustedProxies)
    guard source != self.source(of: channel) else { return true }
    channels[ObjectIdentifier(channel)]?.source = source
    guard places.isUnknown(ObjectIdentifier(channel)) else { return true }
    places.gone(ObjectIdentifier(channel))
    let hasPlace = takePlace(for: channel, from: source)
    if !hasPlace { channel.closeAtOnce() }
    return hasPlace
  }

  private func takePlace(for channel: any Channel, from source: String) -> Bool {
    let arrival = places.arrived(
      ObjectIdentifier(channel), from: source, uptime: clock.now.uptimeMilliseconds)
    guard case .taken(let other) = arrival else { return false }
    if let other { channels[other]?.channel.closeAtOnce() }
    return true
  }

  // MARK: - WebSocket

  /// A connection was upgraded.
  func opened(_ channel: any Channel, acceptedAt: ServerTime) -> ConnectionID {
    lastConnection += 1
    metrics.connectionsOpened += 1
    let id = ConnectionID(rawValue: lastConnection)
    let source = source(of: channel)
    peers[id] = Peer(channel: channel, source: source)
    run(core.connectionOpened(id, source: source, acceptedAt: acceptedAt, at: clock.now))
    return id
  }

  func received(_ count: Int, on id: ConnectionID) {
    run(core.bytesReceived(count, on: id, at: clock.now))
  }

  /// A ping or a pong arrived: it counts as a frame does.
  func receivedControl(_ count: Int, on id: ConnectionID) {
    run(core.controlFrameReceived(count, on: id, at: clock.now))
  }

  func received(_ message: [UInt8], on id: ConnectionID) {
    run(core.frameReceived(message, on: id, at: clock.now, using: &generator))
  }

  func closed(_ id: ConnectionID) {
    guard let peer = peers.removeValue(forKey: id) else { return }
    if let peer = peer.device {
      said.hasChanged = true
      logger.info(
        "left",
        metadata: [
          "connection": "\(id.rawValue)", "device": "\(peer.device)",
          "workspace": "\(peer.workspace)",
        ])
    }
    run(core.connectionClosed(id, at: clock.now))
  }

  /// A device was let in by a connection.
  func joined(_ id: ConnectionID, _ device: DeviceID, of workspace: WorkspaceID) {
    peers[id]?.device = ConnectedDevice(
      workspace: workspace, device: device, since: clock.now.wallMilliseconds)
    // A channel that is closed has no handlers any more.
    try? peers[id]?.channel.pipeline.syncOperations.handler(type: TurnHandler.self).group =
      .workspace(workspace)
    said.hasChanged = true
  }

  // MARK: - Answers without a connection

  /// Has the core take an answer; the future says what became of it.
  func post(
    _ answer: AnswerRequest, by device: DeviceID, in workspace: WorkspaceID
  ) -> EventLoopFuture<PostedAnswerOutcome> {
    let promise = loop.makePromise(of: PostedAnswerOutcome.self)
    let id = postedAnswers.add(promise)
    run(core.answerPosted(id, answer, by: device, in: workspace, at: clock.now))
    return promise.futureResult
  }

  // MARK: - Actions

  /// Does the actions after those that are still to be done: an action can raise events whose
  /// actions must not overtake it.
  private func run(_ more: [ServerAction]) {
    for action in more {
      if case .send(let bytes, let ids) = action {
        for id in ids { peers[id]?.unsentBytes += bytes.count }
      }
      actions.append(action)
    }
    guard !isActing else { return }
    isActing = true
    while true {
      while let action = actions.popFirst() { act(action) }
      guard let id = unflushed.popLast() else { break }
      peers[id]?.isUnflushed = false
      peers[id]?.channel.flush()
    }
    isActing = false
  }

  private func act(_ action: ServerAction) {
    switch action {
    case .send(let bytes, let ids): send(bytes, to: ids)
    case .close(let id, let code, let reason): close(id, code, reason)
    case .abort(let id, _): peers[id]?.channel.closeAtOnce()
    case .setReading(let id, let isOn):
      guard let channel = peers[id]?.channel else { return }
      channel.setOption(ChannelOptions.autoRead, value: isOn).whenFailure { _ in
        channel.close(mode: .all, promise: nil)
      }
    case .authenticated(let id):
      peers[id]?.channel.pipeline.fireUserInboundEventTriggered(ConnectionAuthenticated())
    case .store(let id, let task): perform(task, as: id)
    case .pushOrdersStored: pushes?.ordersStored()
    case .liveStatus(let order): pushes?.show(order)
    case .testPush(let target, let id): test(target, for: id)
    case .answerSettled(let id, let outcome): postedAnswers.settle(id, outcome)
    case .contentReleased: Heap.giveBackFreed()
    case .report(let report): log(report)
    case .stopped:
      isStopped = true
      ticks?.cancel()
      postedAnswers.giveUp()
      for (channel, _) in channels.values { linger(channel) }
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

  private func send(_ bytes: [UInt8], to ids: [ConnectionID]) {
    let frame = WebSocketFrame(fin: true, opcode: .binary, data: ByteBuffer(bytes: bytes))
    let count = bytes.count
    for id in ids {
      guard let peer = peers[id] else { continue }
      if !peer.isUnflushed {
        peers[id]?.isUnflushed = true
        unflushed.append(id)
      }
      let bound = bound
      peer.channel.write(frame).whenComplete { _ in bound.value.sent(count, on: id) }
    }
  }

  private func sent(_ count: Int, on id: ConnectionID) {
    guard var peer = peers[id] else { return }
    peer.unsentBytes -= count
    peers[id] = peer
    run(core.bytesBuffered(peer.unsentBytes, on: id))
  }

  private func close(_ id: ConnectionID, _ code: CloseCode, _ reason: String) {
    guard let peer = peers[id], !peer.isClosing else { return }
    peers[id]?.isClosing = true
    var data = ByteBuffer()
    data.write(webSocketErrorCode: WebSocketErrorCode(codeNumber: Int(code.rawValue)))
    // A control frame has at most 125 bytes.
    data.writeBytes(reason.utf8.prefix(120))
    peer.channel.writeAndFlush(
      WebSocketFrame(fin: true, opcode: .connectionClose, data: data), promise: nil)
    linger(peer.channel)
  }

  /// Leaves the other side time to read what was sent, then closes. Closing at once could destroy
  /// it: the kernel resets a connection that has unread input.
  private func linger(_ channel: any Channel) {
    channel.setOption(ChannelOptions.autoRead, value: true).whenFailure { _ in
      channel.close(mode: .all, promise: nil)
    }
    channel.eventLoop.scheduleTask(in: .milliseconds(options.lingerMilliseconds)) {
      channel.closeAtOnce()
    }
  }

  private func perform(_ task: StoreTask, as id: StoreTaskID) {
    let storage = storage
    let bound = bound
    storeTasks[id] = clock.now.uptimeMilliseconds
    let thread = task.isPacking ? storeThreads.packing : storeThread
    thread.runIfActive(eventLoop: loop) {
      let start = ContinuousClock.now
      return (storage.perform(task), start.duration(to: .now))
    }.whenComplete { result in
      let driver = bound.value
      driver.storeTasks[id] = nil
      let outcome: StoreOutcome =
        switch result {
        case .success((let outcome, let time)):
          driver.counted(outcome, of: task, time)
        case .failure(let error):
          .failed(StorageFault(code: .unavailable, message: "the store's thread: \(error)"))
        }
      driver.run(driver.core.storeFinished(id, outcome, at: driver.clock.now))
    }
  }

  /// - Returns: the outcome, once what it took is counted.
  private func counted(
    _ outcome: StoreOutcome, of task: StoreTask, _ time: Duration
  ) -> StoreOutcome {
    guard case .commit(let batch) = task, case .committed = outcome else { return outcome }
    metrics.committed(
      batches: batch.appends.count, bytes: batch.appends.reduce(0) { $0 + $1.delta.count },
      seconds: time / .seconds(1))
    return outcome
  }

  private func finishStopIfDone() {
    guard isStopped, channels.isEmpty else { return }
    stopPromise?.succeed()
  }
}

/// Tells the handlers of a channel that its device is known.
struct ConnectionAuthenticated {}
