package import QueueModel
package import SequenceCRDT
package import WireProtocol

/// The state for readers.
extension ClientCore {
  package var replica: Replica { connection.replica }

  package var problem: ConnectionProblem? { connection.problem }

  /// The devices of the workspace, as last reported by the server.
  package var devices: [DevicePresence] { connection.devices }

  package var lastSyncedWall: Int64? { connection.lastSyncedWall }

  /// The maximum number of messages in a session for a local enqueue.
  package var queueSizeMax: Int {
    get { connection.queueSizeMax }
    set { connection.queueSizeMax = newValue }
  }

  /// The address of the paired server.
  package var server: String? { connection.credentials?.server }

  /// Whether a server decides about leases, or this device itself.
  package var hasServer: Bool { connection.hasServer }

  /// Whether the server has everything, and the device has all that the server is known to have.
  package var isSynced: Bool { connection.isSynced }

  /// The latest reading of the server's clock.
  package var serverClock: ServerClock? { connection.serverClock }

  /// The executor's counts; empty if there is none.
  package var executionCounts: ExecutionCounts {
    execution.executor?.counters ?? ExecutionCounts()
  }

  /// The attempts that agents work on here, by session.
  package var running: [SessionID: StartOrder] { execution.running }

  /// The attempts on other devices that block sessions of this one, as the authority last reported.
  package var runsElsewhere: [SessionID: AttemptElsewhere] {
    execution.executor?.runsElsewhere ?? [:]
  }

  /// Whether the agent of a session is being stopped for a reason other than these: a user's
  /// request, the deletion of its session, or the end of the program.
  package func isStoppedForLease(_ session: SessionID) -> Bool {
    let reason = execution.executor?.sessions[session]?.work.stopReason
    return reason == .fenced || reason == .serverLost
  }

  /// How this device runs messages; nil if this program runs none.
  package var executionSettings: ExecutionSettings? { execution.executor?.settings }

  /// Whether a user works at the prompt of a session's agent, as far as reported.
  package func isBusy(_ session: SessionID) -> Bool {
    execution.executor?.busy.contains(session) ?? false
  }

  /// The choices of users at this device about single sessions.
  package var sessionChoices: SessionChoices { execution.choices }

  /// The sessions that would run here if a user at this device allowed it.
  package var unconsented: [SessionID] {
    execution.executor?.unconsented(in: replica.workspace) ?? []
  }

  /// Why nothing starts here though messages wait, by session; see `StartObstacle`. Empty if this
  /// program runs no agents.
  ///
  /// - Parameter chosen: the requested sessions; nil: all.
  /// - Complexity: O(chosen sessions × sessions with a run + their messages).
  package func startObstacles(
    of chosen: [SessionID]? = nil, at context: EventContext
  ) -> [SessionID: StartObstacle] {
    guard let executor = execution.executor else { return [:] }
    let workspace = replica.workspace
    let context = connection.corrected(context)
    var obstacles: [SessionID: StartObstacle] = [:]
    for session in chosen ?? workspace.sessions().filter({ $0.waiting > 0 }).map(\.id) {
      obstacles[session] = executor.obstacle(of: session, in: workspace, at: context)
    }
    return obstacles
  }

  /// The number of refused, invalid moves of tasks.
  package var illegalTaskMoves: Int { tasks.illegalMoves }

  /// Answers that wait to be sent, by request.
  package var pendingAnswers: [PendingAnswer] { tasks.pendingAnswers }

  /// Whether a request was answered or closed, even if its host has not written that yet.
  package func isSettled(_ request: RequestID) -> Bool { tasks.isSettled(request) }

  /// Whether the authority was asked about an answer, and has not replied.
  package func isAsked(_ request: RequestID) -> Bool { tasks.isAsked(request) }

  /// The displayed notifications, in order of their time.
  package var notifications: [DeviceNotification] { inbox.inbox.inOrder }

  /// Whether the user looks at this device, as far as reported.
  package func isVisible(now: Int64) -> Bool { inbox.isVisible(now: now) }
}

extension ClientCore {
  /// The state of the connection, for users.
  package enum Condition: Hashable, Sendable {
    case notPaired
    case disabled
    case connecting
    case connected(sinceWall: Int64)
    case waiting(until: Int64)
    case refused
  }

  package var condition: Condition {
    switch connection.state {
    case .idle(.refused): .refused
    case .idle: idleCondition
    case .waiting(let until): .waiting(until: until)
    case .connecting, .greeting: .connecting
    case .live(let live): .connected(sinceWall: live.sinceWall)
    }
  }

  private var idleCondition: Condition {
    if connection.credentials == nil { return .notPaired }
    return replica.record.isSyncEnabled ? .waiting(until: .max) : .disabled
  }

  /// The latest known log position of the server.
  package var head: UInt64 {
    let position = connection.replica.record.prefix.position
    guard case .live(let live) = connection.state else { return position }
    return max(live.head, position)
  }

  /// How far operations have been synced.
  package enum Progress: Hashable, Sendable {
    case onThisDevice
    case onServer
    case seen([DeviceID])
  }

  /// How far an operation range of this device has been synced.
  package func progress(of range: OperationRange) -> Progress {
    guard connection.replica.record.outbox.overlap(with: range) == nil else { return .onThisDevice }
    guard let position = connection.replica.receipts.position(of: range.replica, seq: range.last)
    else {
      return .onServer
    }
    let seen = devices.filter {
      $0.device != connection.replica.record.device && $0.seenLogPosition >= position
    }
    return seen.isEmpty ? .onServer : .seen(seen.map(\.device))
  }
}

extension ClientCore {
  /// Whether a transport that is being opened is still wanted.
  package func expects(_ id: TransportID) -> Bool { connection.current == id }
}

extension ClientCore {
  /// The messages of this device that the server is not known to have: `Replica.unsentMessages`.
  package mutating func unsentMessages(
    store: some ReplicaStore
  ) throws(Replica.Fault) -> [(message: MessageID, operation: OperationID)] {
    try connection.replica.unsentMessages(store: store)
  }

  /// How far an operation of this device has been sent: queued, in an unanswered batch, delivered,
  /// or failed with the server's reason. A failed one is sent again with the next connection.
  package func sending(of id: OperationID) -> (status: QueueStatus, refusal: String?) {
    if !connection.replica.record.outbox.contains(id) { return (.delivered, nil) }
    let refusal = problem?.message ?? "no reason given"
    switch connection.state {
    case .idle(.refused):
      return (.failed, refusal)
    case .live(let live):
      if live.sending == .refused { return (.failed, refusal) }
      let isUnderWay = live.window.flights.contains { flight in
        flight.ranges.contains {
          $0.replica == id.replica && $0.first <= id.seq && id.seq <= $0.last
        }
      }
      return (isUnderWay ? .awaitingAck : .queued, nil)
    case .idle, .waiting, .connecting, .greeting:
      return (.queued, nil)
    }
  }
}
