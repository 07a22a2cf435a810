import DispatchAuthority
import QueueModel
import SequenceCRDT
import WireProtocol

/// The server without sockets, files, clock and random numbers: events in, actions out.
///
/// Every method except the queries is an event in the past tense. It returns the actions, in order;
/// the driver performs them and reports the results as further events. The same events with the
/// same arguments give the same actions, so a simulation can drive it.
///
/// The path of a device's batch: `frameReceived` queues it in its workspace. As soon as no
/// transaction is in flight, the core validates the waiting batches of all workspaces, applies them
/// to the content in memory and hands them to the store as one `commit` task. `storeFinished`
/// publishes the result: acknowledgements, fan-out, positions. One transaction is in flight at a
/// time; batches that arrive meanwhile go into the next.
///
///     frames ──▶ Connections ──▶ Admission ──▶ Arrivals ──▶ ResidentWorkspaces ──▶ store
///                     ▲                                             │                │
///                     └──────────── what became durable ◀──────────┴────────────────┘
package struct ServerCore: Sendable {
  package let configuration: ServerConfiguration
  /// Checks an address (kind, address) that a device registers for push.
  let targetCheck: @Sendable (String, String) -> PushTargetCheck

  var connections: Connections
  var workspaces: ResidentWorkspaces
  var admission: Admission
  var arrivals: Arrivals
  /// Answers without a connection whose workspaces must be loaded first.
  var waitingPosts: [WorkspaceID: [PostedAnswer]] = [:]
  var commitInFlight: CommitInFlight?
  var storeHealth: StoreHealth
  var unpushed = UnpushedSearch()
  var stopping: Stopping?
  var actions = ActionList()

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
    self.targetCheck = targetCheck
    connections = Connections(configuration)
    workspaces = ResidentWorkspaces(configuration)
    arrivals = Arrivals(configuration)
    admission = Admission(configuration, secretHash: secretHash)
    storeHealth = StoreHealth(configuration)
  }

  /// Whether the server is running normally: it is not stopping, and the store works.
  package var isHealthy: Bool { stopping == nil && storeHealth.works }
  /// Whether a stop was requested.
  package var isStopping: Bool { stopping != nil }
  /// Workspaces in memory, with or without content.
  package var residentWorkspaces: Int { workspaces.count }

  // MARK: - Events

  /// A connection was accepted and speaks WebSocket.
  ///
  /// - Parameter acceptedAt: when it was accepted, before any upgrade; the deadline counts from it.
  package mutating func connectionOpened(
    _ id: ConnectionID, source: String, acceptedAt: ServerTime, at now: ServerTime
  ) -> [ServerAction] {
    connections.open(id, from: source, acceptedAt: acceptedAt, at: now)
    if stopping != nil {
      refuse(id, .unavailable, "the server is stopping", retryAfter: 1_000, at: now)
    } else if connections.hasTooMany {
      refuse(id, .unavailable, "the server has too many connections", retryAfter: 5_000, at: now)
    }
    return actions.take()
  }

  /// Bytes arrived, with or without a complete frame. Needed until `authenticated`.
  package mutating func bytesReceived(
    _ count: Int, on id: ConnectionID, at now: ServerTime
  ) -> [ServerAction] {
    connections.received(rawBytes: count, on: id, &actions, at: now)
    return actions.take()
  }

  /// A ping or a pong of WebSocket arrived: it costs as much as a frame.
  package mutating func controlFrameReceived(
    _ count: Int, on id: ConnectionID, at now: ServerTime
  ) -> [ServerAction] {
    guard connections[id]?.isClosing == false else { return [] }
    _ = withConnections { $0.admit(count, from: id, &$1, at: now) }
    return actions.take()
  }

  /// One WebSocket message arrived.
  ///
  /// - Parameter generator: the source of tokens.
  package mutating func frameReceived(
    _ bytes: [UInt8], on id: ConnectionID, at now: ServerTime,
    using generator: inout some RandomNumberGenerator
  ) -> [ServerAction] {
    // A frame that arrives while the connection is being closed is dropped.
    guard let connection = connections[id], !connection.isClosing else { return [] }
    guard withConnections({ $0.admit(bytes.count, from: id, &$1, at: now) }) else {
      return actions.take()
    }
    let frame: Frame
    do {
      frame = try FrameCodec.decode(bytes)
    } catch {
      fault(id, .malformed, "frame: \(error.message) at byte \(error.offset)")
      return actions.take()
    }
    switch connection.phase {
    case .stranger(let stranger):
      if case .nothing = stranger.asked {
        greeted(connection, with: frame, at: now, using: &generator)
      } else {
        faultEarly(id)
      }
    case .joined(let member):
      received(frame, from: connection, member.session, at: now, using: &generator)
    case .joining: faultEarly(id)
    case .closing: break
    }
    return actions.take()
  }

  private mutating func faultEarly(_ id: ConnectionID) {
    fault(id, .unexpected, "a frame arrived before the answer to the first one")
  }

  /// The driver's count of unsent bytes of a connection changed.
  package mutating func bytesBuffered(_ count: Int, on id: ConnectionID) -> [ServerAction] {
    connections[id]?.outgoing.driverHolds(count)
    connections.flush(id, &actions)
    return actions.take()
  }

  /// A connection has ended, whichever side closed it.
  package mutating func connectionClosed(_ id: ConnectionID, at now: ServerTime) -> [ServerAction] {
    guard let connection = connections[id] else { return [] }
    connections.remove(id)
    noteDepartures()
    if let session = connection.session {
      workspaces[session.workspace]?.usedAt = now.uptimeMilliseconds
    }
    finishStopIfDone(at: now)
    return actions.take()
  }

  /// The store has finished a task.
  package mutating func storeFinished(
    _ id: StoreTaskID, _ outcome: StoreOutcome, at now: ServerTime
  ) -> [ServerAction] {
    finished(actions.finished(id), outcome, at: now)
    finishStopIfDone(at: now)
    return actions.take()
  }

  /// The process must stop: announces it, stores accepted data, closes connections.
  package mutating func stopRequested(at now: ServerTime) -> [ServerAction] {
    guard stopping == nil else { return [] }
    stopping = Stopping(deadline: now.uptimeMilliseconds + configuration.times.stopMilliseconds)
    let goAway = GoAway(
      reconnectAfterMillisecondsMin: configuration.advice.goAwayMillisecondsMin,
      reconnectAfterMillisecondsMax: configuration.advice.goAwayMillisecondsMax,
      reason: "the server stops")
    for id in connections.ids { send(.goAway(goAway), to: id) }
    stageCommit(at: now)
    finishStopIfDone(at: now)
    return actions.take()
  }

  /// Time has passed; call this several times a second.
  package mutating func clockTicked(at now: ServerTime) -> [ServerAction] {
    connections.timePassed(&actions, at: now)
    noteDepartures()
    for id in workspaces.idsWithPresenceDue { sendPresenceIfDue(of: id, at: now) }
    checkTokens(at: now)
    pushDue(at: now)
    stageCommit(at: now)
    unloadIdle(at: now)
    probeStorage(at: now)
    finishStopIfDone(at: now)
    return actions.take()
  }

  /// Sends presence to all members, if it changed.
  mutating func sendPresenceIfDue(of id: WorkspaceID, at now: ServerTime) {
    workspaces.sendPresenceIfDue(of: id, &connections, &actions, at: now)
    noteDepartures()
  }

  // MARK: - Connections

  /// Runs `body` on the connections, and records departures that it caused.
  mutating func withConnections<Value>(
    _ body: (inout Connections, inout ActionList) -> Value
  ) -> Value {
    defer { noteDepartures() }
    return body(&connections, &actions)
  }

  /// Removes connections that have ended or are being closed from their workspaces.
  mutating func noteDepartures() {
    for departure in connections.takeDepartures() {
      let session = departure.session
      arrivals.forget(departure.connection, of: session.workspace)
      workspaces[session.workspace]?.requests.endOpenRequests(of: departure.connection)
      connections.endOutputs(of: departure.connection, &actions)
      guard departure.wasMember else { continue }
      workspaces.presenceChanged(in: session.workspace)
      workspaces.touch(session.device, of: session.workspace)
    }
  }

  mutating func send(_ frame: Frame, to id: ConnectionID) {
    withConnections { $0.send(frame, to: id, &$1) }
  }

  mutating func close(_ id: ConnectionID, _ code: CloseCode, _ reason: String) {
    withConnections { $0.close(id, code, reason, &$1) }
  }

  /// Refuses the connection and closes it.
  mutating func refuse(
    _ id: ConnectionID, _ code: RefusalCode, _ message: String, retryAfter: UInt32? = nil,
    at now: ServerTime
  ) {
    withConnections { $0.refuse(id, code, message, retryAfter: retryAfter, &$1, at: now) }
  }

  /// Answers a violation of the protocol and closes.
  mutating func fault(_ id: ConnectionID, _ code: FaultCode, _ message: String) {
    withConnections { $0.fault(id, code, message, &$1) }
  }
}
