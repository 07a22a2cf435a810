package import QueueModel
package import SequenceCRDT
package import WireProtocol

/// What readers see.
extension ClientCore {
  package var replica: Replica { connection.replica }

  package var problem: ConnectionProblem? { connection.problem }

  /// The devices of the workspace as the server told last.
  package var devices: [DevicePresence] { connection.devices }

  package var lastSyncedWall: Int64? { connection.lastSyncedWall }

  /// How many messages a session may hold for a local enqueue to be taken.
  package var queueSizeMax: Int {
    get { connection.queueSizeMax }
    set { connection.queueSizeMax = newValue }
  }

  /// The address of the paired server.
  package var server: String? { connection.credentials?.server }

  /// Whether a server decides about leases, or this device for itself.
  package var hasServer: Bool { connection.hasServer }

  /// Whether the server has everything and the device all that is known to be there.
  package var isSynced: Bool { connection.isSynced }

  /// The server's clock as it was read last.
  package var serverClock: ServerClock? { connection.serverClock }

  /// The executor's counts; nothing if there is none.
  package var executionCounts: ExecutionCounts {
    execution.executor?.counters ?? ExecutionCounts()
  }

  /// What agents work on here, by session.
  package var running: [SessionID: StartOrder] { execution.running }

  /// The attempts that keep sessions of this device on another one, as the authority said last.
  package var runsElsewhere: [SessionID: AttemptElsewhere] {
    execution.executor?.runsElsewhere ?? [:]
  }

  /// Whether the agent of a session is being stopped though no person stopped it, nobody deleted its session,
  /// and the program is not to end.
  package func isStoppedForLease(_ session: SessionID) -> Bool {
    let reason = execution.executor?.sessions[session]?.work.stopReason
    return reason == .fenced || reason == .serverLost
  }

  /// How this device runs messages; nil if this program runs none.
  package var executionSettings: ExecutionSettings? { execution.executor?.settings }

  /// Whether somebody works at the prompt of a session's agent, as far as was told.
  package func isBusy(_ session: SessionID) -> Bool {
    execution.executor?.busy.contains(session) ?? false
  }

  /// What people at this device said of single sessions.
  package var sessionChoices: SessionChoices { execution.choices }

  /// The sessions that would run here if a person at this device let them.
  package var unconsented: [SessionID] {
    execution.executor?.unconsented(in: replica.workspace) ?? []
  }

  /// Why nothing starts here though messages wait, by session; see `StartObstacle`. Empty if this
  /// program runs no agents.
  ///
  /// - Parameter chosen: the sessions that are asked for; nil: all.
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

  /// Moves of tasks that were refused here because they are none.
  package var illegalTaskMoves: Int { tasks.illegalMoves }

  /// Answers that wait to be sent, by request.
  package var pendingAnswers: [PendingAnswer] { tasks.pendingAnswers }

  /// Whether a request was answered or closed, whatever its host has written so far.
  package func isSettled(_ request: RequestID) -> Bool { tasks.isSettled(request) }

  /// Whether the authority was asked about an answer, and has not said anything.
  package func isAsked(_ request: RequestID) -> Bool { tasks.isAsked(request) }

  /// What stands, in the order it came about.
  package var notifications: [DeviceNotification] { inbox.inbox.inOrder }

  /// Whether the person looks at this device, as far as anybody said.
  package func isVisible(now: Int64) -> Bool { inbox.isVisible(now: now) }
}

extension ClientCore {
  /// Where the connection stands, for people.
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

  /// The log position that the server is known to have reached.
  package var head: UInt64 {
    let position = connection.replica.record.prefix.position
    guard case .live(let live) = connection.state else { return position }
    return max(live.head, position)
  }

  /// How far operations have come.
  package enum Progress: Hashable, Sendable {
    case onThisDevice
    case onServer
    case seen([DeviceID])
  }

  /// How far an operation range of this device has come.
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

  /// How far an operation of this device has come on its way to the server: queued, in a batch that
  /// the server has not answered, delivered, or failed, and why the server refused it; with the next
  /// connection that is sent again.
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
