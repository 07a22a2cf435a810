import QueueModel
import SequenceCRDT
import WireProtocol

/// The notifications of this device, and its preferences for them.
///
/// ```text
/// a notification   delivered ──stored──▶ shown ──dismissed, answered, crowded out──▶ ended
///                            ──over already──▶ known, never shown
///
/// a preference     set ──connection──▶ sent; sent again on every connection
///
/// the connection   there ──missed──▶ missed for 30 s ──something waits for it──▶ reported, once
///                    ▲                                                            │
///                    └──────────────────── there again ───────────────────────────┘
/// ```
struct InboxMachine: Sendable {
  typealias Action = ClientCore.Action

  /// Since when there has been no connection.
  enum Missing: Hashable, Sendable {
    /// It is established, or not expected.
    case no
    /// Since when, on the clock that never steps and on the device's.
    case since(Int64, wall: Int64)
    /// At the due time, nothing waited for the connection. If something begins to wait later, that
    /// is an event of its own.
    case long(wall: Int64)
    /// The driver was notified.
    case reported
  }

  /// The preferences that the server was sent on a connection.
  struct Sent: Hashable, Sendable {
    var connection: TransportID
    var isVisible = false
    var preferences: NotificationPreferences?
  }

  private(set) var inbox = DeviceInbox()
  /// The time until which the user looks at the device, on the clock that never steps.
  private var visibleUntil: Int64?
  private var preferences = NotificationPreferences()
  private var sent: Sent?
  /// Open questions, and whether a caller waits for their answers.
  private var questions: [UInt64: (request: InboxRequest, isAwaited: Bool)] = [:]
  private var missing = Missing.no

  /// After this time a missing connection is reported if something waits for it.
  static let missingMilliseconds: Int64 = 30_000

  /// Whether the user looks at this device, as far as reported.
  func isVisible(now: Int64) -> Bool { visibleUntil.map { $0 > now } ?? false }

  /// When notifications need a call of `timePassed`.
  var deadline: Int64? {
    var times: [Int64] = []
    if case .since(let since, _) = missing {
      times.append(since + InboxMachine.missingMilliseconds)
    }
    if let visibleUntil { times.append(visibleUntil) }
    return times.min()
  }

  /// The store's notifications.
  mutating func loaded(_ loaded: LoadedNotifications) {
    inbox = DeviceInbox(loaded)
  }

  /// Checks the machine against itself.
  ///
  /// - Throws: `InvariantViolation` naming the first contradiction.
  func checkInvariants() throws(InvariantViolation) {
    try inbox.checkInvariants()
    guard sent != nil || questions.values.allSatisfy(\.isAwaited) else {
      throw InvariantViolation(reason: "the server was sent preferences over no connection")
    }
  }
}

extension InboxMachine {
  // MARK: - Inbox

  /// The server delivers a notification: it is stored before the answer is sent.
  mutating func received(
    _ notification: InboxNotification, on id: TransportID,
    over connection: ConnectionMachine, at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    try taken(notification, connection, at: context, store: store)
      + [.send(id, .notified(notification.position))]
  }

  /// Stores a notification that is not known yet.
  private mutating func taken(
    _ notification: InboxNotification, _ connection: ConnectionMachine, at context: EventContext,
    store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    // While operations are missing, the state of a request is unknown.
    let isOver =
      notification.awaitsPerson && !notification.isAwaited(in: connection.replica.workspace)
    guard
      let changes = inbox.changes(
        receiving: notification, isOver: isOver, wall: connection.time(at: context))
    else { return [] }
    // This one replaces an earlier one of the same message.
    let earlier = try notification.message.map { message throws(Replica.Fault) in
      try end(connection, store: store) { $0.message == message }
    }
    try keep(changes, connection, store: store)
    return (earlier ?? []) + changes.ended.map { .notificationEnded($0, .crowdedOut) }
      + changes.received.map { .notified($0) }
  }

  /// Agents of this device asked or ended.
  mutating func received(
    _ news: [InboxNotification], _ connection: ConnectionMachine, at context: EventContext,
    store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    var actions: [Action] = []
    for var notification in news where !preferences.off.contains(notification.category) {
      notification.position = inbox.lastPosition
      actions += try taken(notification, connection, at: context, store: store)
    }
    return actions
  }

  /// A request was answered: it is no longer shown.
  mutating func requestEnded(
    _ request: RequestID, _ connection: ConnectionMachine, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    try end(connection, store: store) { $0.request == request }
  }

  /// Ends requests that no task awaits, and merges whose text was chosen.
  private mutating func endSettledRequests(
    _ connection: ConnectionMachine, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    try end(connection, store: store) {
      !$0.isAwaited(in: connection.replica.workspace)
    }
  }

  private mutating func end(
    _ connection: ConnectionMachine, store: some ReplicaStore,
    where isOver: (InboxNotification) -> Bool
  ) throws(Replica.Fault) -> [Action] {
    guard let changes = inbox.changes(endingRequests: isOver) else { return [] }
    // An agent may wait for later changes; a notification that returns after a loss of power ends
    // again.
    try keep(changes, waitsForDisk: false, connection, store: store)
    return changes.ended.map { .notificationEnded($0, .settled) }
  }

  /// The user dismisses notifications.
  mutating func dismissed(
    _ names: [OperationID], _ connection: ConnectionMachine, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    var changes = NotificationChanges()
    changes.ended = names.filter { inbox.standing[$0] != nil }
    guard !changes.isEmpty else { return [] }
    try keep(changes, connection, store: store)
    return changes.ended.map { .notificationEnded($0, .dismissed) }
  }

  /// A program of this device showed a notification.
  mutating func announced(
    _ name: OperationID, _ connection: ConnectionMachine, store: some ReplicaStore
  ) throws(Replica.Fault) {
    guard inbox.standing[name]?.isAnnounced == false else { return }
    var changes = NotificationChanges()
    changes.announced = [name]
    try keep(changes, connection, store: store)
  }

  private mutating func keep(
    _ changes: NotificationChanges, waitsForDisk: Bool = true, _ connection: ConnectionMachine,
    store: some ReplicaStore
  ) throws(Replica.Fault) {
    var transaction = StoreTransaction(record: connection.replica.record)
    transaction.waitsForDisk = waitsForDisk
    transaction.notifications = changes
    try connection.replica.commit(transaction, to: store)
    inbox.stored(changes)
  }

  // MARK: - Preferences

  /// Reports how long the user looks at the device; nil: no longer.
  mutating func visibilityChanged(
    forMilliseconds duration: Int64?, over connection: ConnectionMachine, at context: EventContext
  ) -> [Action] {
    visibleUntil = duration.map { context.now + max(0, $0) }
    return sendPreferences(over: connection, at: context)
  }

  /// The device's notification preferences were set.
  mutating func preferencesChanged(
    _ preferences: NotificationPreferences, over connection: ConnectionMachine,
    at context: EventContext
  ) -> [Action] {
    self.preferences = preferences
    return sendPreferences(over: connection, at: context)
  }

  /// Sends the server a question about the device's notifications; the answer comes as `replied`.
  ///
  /// - Returns: nil if it cannot be asked now.
  mutating func questionAsked(
    _ request: InboxRequest, id: UInt64, over connection: ConnectionMachine
  ) -> [Action]? {
    guard let current = connection.ready else { return nil }
    questions[id] = (request, true)
    return [.send(current, .request(request.request(id: id)))]
  }

  /// Sends the server the changes that it does not know yet.
  private mutating func sendPreferences(
    over connection: ConnectionMachine, at context: EventContext
  ) -> [Action] {
    guard let current = connection.ready else { return [] }
    var sent = self.sent ?? Sent(connection: current)
    if sent.connection != current { sent = Sent(connection: current) }
    var requests: [InboxRequest] = []
    if sent.preferences != preferences {
      sent.preferences = preferences
      requests.append(.setPreferences(preferences))
    }
    let isVisible = isVisible(now: context.now)
    if sent.isVisible != isVisible {
      sent.isVisible = isVisible
      requests.append(.visibility(isVisible))
    }
    self.sent = sent
    return requests.enumerated().map { index, request in
      let id = context.random(40 + UInt64(index))
      questions[id] = (request, false)
      return .send(current, .request(request.request(id: id)))
    }
  }

  /// The answer to a question about notifications; nil if it is to another question.
  mutating func answered(_ response: Response) -> [Action]? {
    guard let question = questions.removeValue(forKey: response.id) else { return nil }
    // An answer that breaks the specification counts as none.
    let answer = (try? InboxAnswer(response, to: question.request)) ?? .unavailable
    // Preferences that the server could not store are sent with the next connection.
    return question.isAwaited ? [.replied(answer, response.id)] : []
  }

  // MARK: - After every event

  /// The consequences of an event that led to `actions`. Call it after every event.
  ///
  /// - Parameter isRunning: whether an agent works here, which waits for a connection.
  mutating func following(
    _ actions: [Action], isRunning: Bool, over connection: ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    var next = sendPreferences(over: connection, at: context)
    for case .answerEnded(let answer, let ending) in actions where ending != .tooLate {
      next += (try? requestEnded(answer.request, connection, store: store)) ?? []
    }
    let isTouched = actions.contains { if case .changed = $0 { true } else { false } }
    if isTouched {
      // Changes that cannot be stored now follow with the next change.
      next += (try? endSettledRequests(connection, store: store)) ?? []
    }
    if connection.ready != nil {
      missing = .no
    } else {
      if connection.current == nil { next += abandonQuestions() }
      next += noteMissing(connection, isRunning: isRunning, at: context)
    }
    if let until = visibleUntil, until <= context.now { visibleUntil = nil }
    return next
  }

  private mutating func noteMissing(
    _ connection: ConnectionMachine, isRunning: Bool, at context: EventContext
  ) -> [Action] {
    guard connection.isRunning, connection.credentials != nil,
      connection.replica.record.isSyncEnabled
    else {
      missing = .no
      return []
    }
    if missing == .no { missing = .since(context.now, wall: context.wall) }
    switch missing {
    case .since(let since, let wall):
      guard context.now - since >= InboxMachine.missingMilliseconds else { return [] }
      missing = .long(wall: wall)
    case .no, .long, .reported:
      break
    }
    // Something runs, or waits to be sent or answered.
    guard case .long(let wall) = missing,
      isRunning || !connection.replica.record.outbox.isEmpty
        || inbox.standing.values.contains(where: { $0.notification.request != nil })
    else { return [] }
    missing = .reported
    return [.connectionMissed(since: wall)]
  }

  /// The connection of the questions has ended.
  private mutating func abandonQuestions() -> [Action] {
    defer { questions = [:] }
    return questions.filter(\.value.isAwaited).keys.sorted().map { .replied(.unavailable, $0) }
  }
}

extension InboxNotification {
  /// Whether a task waits for the event's request, or a message for the choice of its text.
  fileprivate func isAwaited(in workspace: Workspace) -> Bool {
    request.map { workspace.awaits($0, in: session) }
      ?? message.map(workspace.waitsForChoice) ?? false
  }
}
