import DispatchAuthority
import QueueModel
import SequenceCRDT
import WireProtocol

/// The server without its sockets, files, clock and dice: events in, actions out.
///
/// Every method but the queries is an event in the past tense. It returns what is to be done, in
/// order; the driver does it and reports what came of it with further events. The same events
/// with the same arguments give the same actions, so a simulation can drive it.
///
/// A device's batch takes this way: `frameReceived` puts it into its workspace's inbox; as soon
/// as no transaction is in flight, the waiting batches of all workspaces are validated, applied to
/// the content in memory and handed to the store as one `commit` task; `storeFinished` makes them
/// visible: acknowledgements, fan-out, positions. One transaction is in flight at a time, and what
/// arrives meanwhile makes up the next.
package struct ServerCore: Sendable {
  package let configuration: ServerConfiguration
  /// SHA-256 in production: tokens and codes are looked up and stored by it.
  let secretHash: @Sendable ([UInt8]) -> [UInt8]
  /// What is thought of an address (kind, address) that a device registers for push.
  let targetCheck: @Sendable (String, String) -> PushTargetCheck

  var connections: [ConnectionID: Connection] = [:]
  var workspaces: [WorkspaceID: ResidentWorkspace] = [:]
  /// Workspaces whose presence changed since it was told.
  var presenceDue: Set<WorkspaceID> = []
  /// Workspaces with devices whose rows in the store are out of date.
  var touchesDue: Set<WorkspaceID> = []
  /// Connections that wait for a workspace to be read or to be quiet, in order: to be welcomed, or
  /// to be sent a snapshot.
  var waitingJoins: [WorkspaceID: [ConnectionID]] = [:]
  var loading: Set<WorkspaceID> = []
  /// Who waits for a state that is being packed.
  var packing: [PackedState: [ConnectionID]] = [:]
  /// Answers without a connection whose workspaces are still to be read.
  var waitingPosts: [WorkspaceID: [PostedAnswer]] = [:]
  var ready = ReadyWorkspaces()
  var commitInFlight: CommitInFlight?
  private var tasks: [StoreTaskID: Purpose] = [:]
  private var lastTask: UInt64 = 0
  var throttle: PairingThrottle
  var storeHealth: StoreHealth
  var tokenCheck: TokenCheck
  var touchedAt: Int64 = .min / 2
  var hasLookedForUnpushed = false
  var stopping: Stopping?
  private var actions: [ServerAction] = []

  /// Why a task was given to the store.
  enum Purpose: Sendable {
    case redeem(ConnectionID, PairRequest, source: String)
    case authenticate(ConnectionID)
    /// A code that a device asked for.
    case addCode(ConnectionID, request: UInt64, PairingCode, CodeProposal)
    case findLapsed
    case load(WorkspaceID)
    case catchUp(ConnectionID)
    case packSnapshot(PackedState)
    case commit
    case saveSnapshot(WorkspaceID)
    case join(WorkspaceID, ConnectionID)
    case findUnpushed
    case probe
  }

  /// A state that is being packed for devices.
  struct PackedState: Hashable, Sendable {
    var workspace: WorkspaceID
    var prefix: LogPrefix
  }

  /// A graceful stop under way.
  struct Stopping: Hashable, Sendable {
    var deadline: Int64
    var isFinished = false
  }

  package init(
    configuration: ServerConfiguration = ServerConfiguration(),
    targetCheck: @escaping @Sendable (String, String) -> PushTargetCheck = PushTargetCheck.ofKind,
    secretHash: @escaping @Sendable ([UInt8]) -> [UInt8]
  ) {
    self.configuration = configuration
    self.secretHash = secretHash
    self.targetCheck = targetCheck
    storeHealth = StoreHealth(configuration)
    tokenCheck = TokenCheck(everyMilliseconds: configuration.tokenCheckMilliseconds)
    throttle = PairingThrottle(
      failuresMax: configuration.pairing.failuresMax,
      pauseMilliseconds: configuration.pairing.pauseMilliseconds)
  }

  /// Whether the server can do its work: it is not stopping, and the store works.
  package var isHealthy: Bool { stopping == nil && storeHealth.works }
  /// Whether a stop was requested.
  package var isStopping: Bool { stopping != nil }
  package var connectionCount: Int { connections.count }
  /// Workspaces in memory, content or not.
  package var residentWorkspaces: Int { workspaces.count }

  // MARK: - Events

  /// A connection was accepted and speaks WebSocket.
  ///
  /// - Parameter acceptedAt: when it was accepted, before any upgrade; the deadline counts from it.
  package mutating func connectionOpened(
    _ id: ConnectionID, source: String, acceptedAt: ServerTime, at now: ServerTime
  ) -> [ServerAction] {
    precondition(connections[id] == nil, "a connection opens once")
    connections[id] = Connection(
      id: id, source: source, openedAt: acceptedAt.uptimeMilliseconds,
      frames: TokenBucket(
        perSecond: configuration.frames.perSecond, burst: configuration.frames.burst,
        uptimeMilliseconds: now.uptimeMilliseconds),
      bytes: TokenBucket(
        perSecond: configuration.bytes.perSecond, burst: configuration.bytes.burst,
        uptimeMilliseconds: now.uptimeMilliseconds))
    if stopping != nil {
      refuse(id, .unavailable, "the server is stopping", retryAfter: 1_000, at: now)
    } else if connections.count > configuration.connectionsMax {
      refuse(id, .unavailable, "the server has too many connections", retryAfter: 5_000, at: now)
    }
    return takeActions()
  }

  /// Bytes arrived, whether they make up a frame already or not. Needed until `authenticated`.
  package mutating func bytesReceived(
    _ count: Int, on id: ConnectionID, at now: ServerTime
  ) -> [ServerAction] {
    guard let connection = connections[id], !connection.isClosing else { return [] }
    connections[id]?.rawBytes += count
    if connection.session == nil,
      connection.rawBytes + count > configuration.preAuthenticationBytesMax
    {
      refuse(id, .authenticationBudget, "too many bytes before authentication", at: now)
    }
    return takeActions()
  }

  /// A ping or a pong of WebSocket arrived: it costs what a frame does.
  package mutating func controlFrameReceived(
    _ count: Int, on id: ConnectionID, at now: ServerTime
  ) -> [ServerAction] {
    guard let connection = connections[id], !connection.isClosing else { return [] }
    _ = admit(count, from: connection, at: now)
    return takeActions()
  }

  /// One WebSocket message arrived.
  ///
  /// - Parameter generator: where tokens come from.
  package mutating func frameReceived(
    _ bytes: [UInt8], on id: ConnectionID, at now: ServerTime,
    using generator: inout some RandomNumberGenerator
  ) -> [ServerAction] {
    // A frame may be under way while the connection is being closed: dropped.
    guard let connection = connections[id], !connection.isClosing else { return [] }
    guard admit(bytes.count, from: connection, at: now) else { return takeActions() }
    let frame: Frame
    do {
      frame = try FrameCodec.decode(bytes)
    } catch {
      fault(id, .malformed, "frame: \(error.message) at byte \(error.offset)")
      return takeActions()
    }
    switch connection.phase {
    case .greeting:
      greeted(connection, with: frame, at: now, using: &generator)
    case .joined(let session):
      received(frame, from: connection, session, at: now, using: &generator)
    case .pairing, .authenticating, .joining:
      fault(id, .unexpected, "a frame came before the answer to the first one")
    case .closing:
      break
    }
    return takeActions()
  }

  /// The driver's count of unsent bytes of a connection changed.
  package mutating func bytesBuffered(_ count: Int, on id: ConnectionID) -> [ServerAction] {
    guard connections[id] != nil else { return [] }
    connections[id]?.outgoing.driverHolds(count)
    flush(id)
    return takeActions()
  }

  /// A connection is gone, whoever closed it.
  package mutating func connectionClosed(_ id: ConnectionID, at now: ServerTime) -> [ServerAction] {
    if let connection = connections.removeValue(forKey: id) {
      if let session = connection.session { left(id, session, at: now) }
      finishStopIfDone(at: now)
    }
    return takeActions()
  }

  /// The store has done a task.
  package mutating func storeFinished(
    _ id: StoreTaskID, _ outcome: StoreOutcome, at now: ServerTime
  ) -> [ServerAction] {
    guard let purpose = tasks.removeValue(forKey: id) else {
      preconditionFailure("the store finished a task it was not given")
    }
    finished(purpose, outcome, at: now)
    finishStopIfDone(at: now)
    return takeActions()
  }

  /// The process is to stop: say so, store what is there, close.
  package mutating func stopRequested(at now: ServerTime) -> [ServerAction] {
    guard stopping == nil else { return [] }
    stopping = Stopping(deadline: now.uptimeMilliseconds + configuration.stopMilliseconds)
    let goAway = FrameCodec.encode(
      .goAway(
        GoAway(
          reconnectAfterMillisecondsMin: configuration.goAwayMillisecondsMin,
          reconnectAfterMillisecondsMax: configuration.goAwayMillisecondsMax,
          reason: "the server stops")))
    for id in connections.keys.sorted() where connections[id]?.isClosing == false {
      transmit(goAway, to: id)
    }
    stageCommit(at: now)
    finishStopIfDone(at: now)
    return takeActions()
  }

  // MARK: - Actions

  mutating func act(_ action: ServerAction) {
    actions.append(action)
  }

  mutating func takeActions() -> [ServerAction] {
    defer { actions = [] }
    return actions
  }

  mutating func ask(_ task: StoreTask, for purpose: Purpose) {
    lastTask += 1
    let id = StoreTaskID(rawValue: lastTask)
    tasks[id] = purpose
    act(.store(id, task))
  }

  mutating func send(_ frame: Frame, to id: ConnectionID) {
    transmit(FrameCodec.encode(frame), to: id)
  }

  /// Sends a frame, or queues it behind what waits.
  mutating func transmit(_ bytes: [UInt8], to id: ConnectionID) {
    guard
      let isSent = connections[id]?.outgoing.offer(bytes, window: configuration.sendWindowBytes)
    else { return }
    if isSent {
      act(.send(bytes, to: [id]))
    } else {
      cutIfSlow(id)
    }
  }

  /// Sends the same bytes to many.
  mutating func broadcast(_ bytes: [UInt8], to ids: [ConnectionID]) {
    var now: [ConnectionID] = []
    for id in ids {
      guard
        let isSent = connections[id]?.outgoing.offer(bytes, window: configuration.sendWindowBytes)
      else { continue }
      if isSent { now.append(id) } else { cutIfSlow(id) }
    }
    if !now.isEmpty { act(.send(bytes, to: now)) }
  }

  /// Sends what waits and fits the window.
  mutating func flush(_ id: ConnectionID) {
    while let frame = connections[id]?.outgoing.next(window: configuration.sendWindowBytes) {
      act(.send(frame, to: [id]))
    }
  }

  private mutating func cutIfSlow(_ id: ConnectionID) {
    guard let connection = connections[id], !connection.isClosing,
      connection.outgoing.waitingBytes > configuration.slowConsumerBytesMax
    else { return }
    act(.report(.slowConsumerCut(id, bytes: connection.outgoing.waitingBytes)))
    retire(id)
    act(.abort(id, reason: "the receiver is too slow"))
  }

  /// Ends a connection's session; only its `connectionClosed` is still to come.
  mutating func retire(_ id: ConnectionID) {
    guard let session = connections[id]?.session else {
      connections[id]?.phase = .closing
      return
    }
    connections[id]?.phase = .closing
    forget(id, session)
  }

  mutating func close(_ id: ConnectionID, _ code: CloseCode, _ reason: String) {
    guard connections[id]?.isClosing == false else { return }
    retire(id)
    // Whatever waits behind the window goes with the connection; the device asks again.
    act(.close(id, code: code, reason: reason))
  }

  /// Refuses the connection and closes it.
  mutating func refuse(
    _ id: ConnectionID, _ code: RefusalCode, _ message: String, retryAfter: UInt32? = nil,
    at now: ServerTime
  ) {
    guard connections[id]?.isClosing == false else { return }
    act(.report(.refused(id, code, message: message)))
    let refusal = Refusal(
      code: code, message: message, retryAfterMilliseconds: retryAfter,
      serverMilliseconds: now.wallMilliseconds)
    act(.send(FrameCodec.encode(.refused(refusal)), to: [id]))
    close(id, .policyViolation, message)
  }

  /// Answers a violation of the protocol and closes.
  mutating func fault(_ id: ConnectionID, _ code: FaultCode, _ message: String) {
    guard connections[id]?.isClosing == false else { return }
    act(.report(.faulted(id, message: message)))
    let fault = ProtocolFault(code: code.rawValue, message: message)
    act(.send(FrameCodec.encode(.error(fault)), to: [id]))
    close(id, code == .tooLarge ? .messageTooBig : .protocolError, message)
  }
}
