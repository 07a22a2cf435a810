import Logging
import NIOCore
import NIOPosix
import NIOWebSocket
import PushDelivery
import QueueModel
import ServerCore
import WireProtocol

/// Runs the core on one event loop: sockets' events go in, actions come out and are done in order.
///
/// Everything here happens on `loop`; closures that leave it carry the driver in a `NIOLoopBound`.
/// The store works on a thread of its own, one task after the other.
final class ServerDriver {
  /// A WebSocket connection as the driver holds it.
  private struct Peer {
    var channel: any Channel
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
  let storeThread: NIOThreadPool
  let blobs: BlobShelf
  let blobThread: NIOThreadPool
  /// What is pushed with.
  let gear: PushGear
  /// Carries push orders out; nil where the store keeps none.
  private(set) var pushes: PushService?
  /// Answers of buttons that the core has not settled.
  private(set) var postedAnswers: [PostedAnswerID: EventLoopPromise<PostedAnswerOutcome>] = [:]
  private var lastPostedAnswer: UInt64 = 0
  /// Requests for files under way.
  var blobSeats = 0
  private let logger: Logger
  private var core: ServerCore
  private var generator = SystemRandomNumberGenerator()
  private var peers: [ConnectionID: Peer] = [:]
  private var lastConnection: UInt64 = 0
  /// TCP connections, upgraded or not.
  private var channels: [ObjectIdentifier: any Channel] = [:]
  private var actions: CircularBuffer<ServerAction> = []
  private var isActing = false
  /// Connections with something to write out. The latest goes first: somebody waits for what a batch
  /// leads to elsewhere, nobody for the answer to whoever sent it.
  private var unflushed: [ConnectionID] = []
  private var ticks: RepeatedTask?
  private var stopPromise: EventLoopPromise<Void>?
  private(set) var isStopped = false

  init(
    loop: any EventLoop, options: SyncServerOptions, storage: any ServerStorage,
    storeThread: NIOThreadPool, blobThread: NIOThreadPool, pushing: PushGear.Reading, logger: Logger
  ) {
    self.loop = loop
    self.options = options
    self.storage = storage
    self.storeThread = storeThread
    self.blobThread = blobThread
    blobs = BlobShelf(dataDirectory: options.dataDirectory, quotaBytes: options.blobQuotaBytes)
    self.logger = logger
    core = ServerCore(
      configuration: options.core, targetCheck: PushComposer.check, secretHash: secretHash)
    gear = PushGear(
      loop: loop, directory: options.dataDirectory, storeThread: storeThread, first: pushing,
      logger: logger)
    guard let queue = storage as? any PushQueue else { return }
    let pushes = PushService(
      loop: loop, queue: queue, storeThread: storeThread, gear: gear,
      schedule: options.pushSchedule, logger: logger
    ) { [unowned self] report in
      run(
        core.pushTargetReported(
          report.target.id, of: report.target.device, in: report.workspace,
          registeredAt: report.target.registeredAt, isValid: report.isValid,
          reason: report.reason, at: clock.now))
    }
    self.pushes = pushes
    gear.onChange = { [unowned pushes] in pushes.setUpAnew() }
  }

  var bound: NIOLoopBound<ServerDriver> { NIOLoopBound(self, eventLoop: loop) }
  var isHealthy: Bool { core.isHealthy }
  var connectionCount: Int { peers.count }
  var residentWorkspaces: Int { core.residentWorkspaces }

  func start() {
    let interval = TimeAmount.milliseconds(options.tickMilliseconds)
    let bound = bound
    ticks = loop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
      let driver = bound.value
      let releases = driver.core.releases
      driver.run(driver.core.clockTicked(at: driver.clock.now))
      if driver.core.releases != releases { HeapMemory.giveBackFreed() }
      driver.gear.timePassed(uptime: driver.clock.now.uptimeMilliseconds)
      driver.pushes?.timePassed()
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

  // MARK: - TCP

  /// A TCP connection was accepted.
  ///
  /// - Returns: whether there is room for it.
  func channelOpened(_ channel: any Channel) -> Bool {
    guard channels.count < options.core.connectionsMax + 256, !isStopped else { return false }
    channels[ObjectIdentifier(channel)] = channel
    return true
  }

  func channelClosed(_ channel: any Channel) {
    channels[ObjectIdentifier(channel)] = nil
    finishStopIfDone()
  }

  // MARK: - WebSocket

  /// A connection was upgraded.
  func opened(_ channel: any Channel, acceptedAt: Moment) -> ConnectionID {
    lastConnection += 1
    let id = ConnectionID(rawValue: lastConnection)
    peers[id] = Peer(channel: channel)
    let source = channel.remoteAddress?.ipAddress ?? "local"
    run(core.connectionOpened(id, source: source, acceptedAt: acceptedAt, at: clock.now))
    return id
  }

  func received(_ count: Int, on id: ConnectionID) {
    run(core.bytesReceived(count, on: id, at: clock.now))
  }

  func received(_ message: [UInt8], on id: ConnectionID) {
    run(core.frameReceived(message, on: id, at: clock.now, using: &generator))
  }

  func closed(_ id: ConnectionID) {
    guard peers.removeValue(forKey: id) != nil else { return }
    run(core.connectionClosed(id, at: clock.now))
  }

  // MARK: - Answers without a connection

  /// Has the core take an answer; the future says what became of it.
  func post(
    _ answer: AnswerRequest, by device: DeviceID, in workspace: WorkspaceID
  ) -> EventLoopFuture<PostedAnswerOutcome> {
    lastPostedAnswer += 1
    let id = PostedAnswerID(rawValue: lastPostedAnswer)
    let promise = loop.makePromise(of: PostedAnswerOutcome.self)
    postedAnswers[id] = promise
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
    case .answerSettled(let id, let outcome):
      postedAnswers.removeValue(forKey: id)?.succeed(outcome)
    case .report(let report): log(report)
    case .stopped:
      isStopped = true
      ticks?.cancel()
      for promise in postedAnswers.values { promise.succeed(.unavailable) }
      postedAnswers = [:]
      for channel in channels.values { linger(channel) }
      finishStopIfDone()
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
    storeThread.runIfActive(eventLoop: loop) { storage.perform(task) }.whenComplete { result in
      let driver = bound.value
      let outcome: StoreOutcome =
        switch result {
        case .success(let outcome): outcome
        case .failure(let error):
          .failed(StorageFault(code: .unavailable, message: "the store's thread: \(error)"))
        }
      driver.run(driver.core.storeFinished(id, outcome, at: driver.clock.now))
    }
  }

  private func finishStopIfDone() {
    guard isStopped, channels.isEmpty else { return }
    stopPromise?.succeed()
  }

  private func log(_ report: ServerReport) {
    switch report {
    case .paired(let workspace, let device, let name):
      logger.info(
        "paired device \(device) (\(ShownName.text(name))) with workspace \(workspace)")
    case .joined(let id, let workspace, let device, let name):
      let shown = ShownName.text(name)
      logger.debug(
        "connection \(id.rawValue): device \(device) (\(shown)) joined workspace \(workspace)")
    case .refused(let id, let code, let message):
      logger.info("connection \(id.rawValue): refused (\(code.rawValue)): \(message)")
    case .faulted(let id, let message):
      logger.info("connection \(id.rawValue): protocol fault: \(message)")
    case .slowConsumerCut(let id, let bytes):
      logger.warning("connection \(id.rawValue): cut, \(bytes) bytes were waiting for it")
    case .revoked(let id, let device):
      logger.notice("connection \(id.rawValue): device \(device) was revoked")
    case .stateJoined(let workspace):
      logger.notice("workspace \(workspace): joined with the state of a device that held more")
    case .storageFailed(let fault):
      logger.error("the store failed: \(fault)")
    case .storageRecovered:
      logger.notice("the store works again")
    }
  }
}

/// Tells the handlers of a channel that its device is known.
struct ConnectionAuthenticated {}
