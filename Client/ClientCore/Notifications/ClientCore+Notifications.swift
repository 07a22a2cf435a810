import QueueModel
package import SequenceCRDT
package import WireProtocol

/// What the core knows of notifications and of what the device wants of them.
struct Notices: Sendable {
  var shelf = NotificationShelf()
  /// Until when the person looks at the device, on the clock that never steps.
  var visibleUntil: Int64?
  /// What the server was told on this connection.
  var toldVisible = false
  var preferences = NotificationPreferences()
  var toldPreferences: NotificationPreferences?
  /// The connection that was told.
  var connection: ConnectionID?
  /// Questions that were sent, and whether a caller waits for their answers.
  var questions: [UInt64: (request: InboxRequest, isAwaited: Bool)] = [:]
  /// Since when there is no connection; nil while there is one.
  var offlineSince: Int64?
  var offlineSinceWall: Int64 = 0
  var toldOffline = false
  /// It was looked whether something waits, when that was due.
  var askedOffline = false

  /// A connection that is missed for so long is told where something waits for it.
  static let offlineMilliseconds: Int64 = 30_000
}

extension ClientCore {
  /// What stands, in the order it came about.
  package var notifications: [DeviceNotification] { notices.shelf.inOrder }

  /// Whether the person looks at this device, as far as anybody said.
  package func isVisible(now: Int64) -> Bool { notices.visibleUntil.map { $0 > now } ?? false }

  /// What the store held.
  package mutating func notificationsLoaded(_ loaded: LoadedNotifications) {
    notices.shelf = NotificationShelf(loaded)
  }

  // MARK: - Inbox

  /// The server delivers a notification: it is stored before the answer goes out.
  mutating func notificationReceived(
    _ notification: InboxNotification, on id: ConnectionID, at occasion: Occasion,
    store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    // Where operations lack, nothing can be said of a request.
    let isOver =
      notification.request != nil
      && replica.workspace.task(of: notification.session)?.status.request != notification.request
    var actions: [Action] = []
    if let changes = notices.shelf.changes(
      receiving: notification, isOver: isOver, wall: time(at: occasion))
    {
      try keep(changes, store: store)
      actions += changes.ended.map { .notificationEnded($0, .crowdedOut) }
      actions += changes.received.map { .notified($0) }
    }
    return actions + [.send(id, .notified(notification.position))]
  }

  /// Somebody answered a request: it is not shown any longer.
  mutating func requestEnded(
    _ request: RequestID, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    try end(store: store) { $0.request == request }
  }

  /// Ends requests that no task awaits any more.
  private mutating func endSettledRequests(
    store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    // Copied, since what ends changes the core.
    let workspace = replica.workspace
    return try end(store: store) { notification in
      workspace.task(of: notification.session)?.status.request != notification.request
    }
  }

  private mutating func end(
    store: some ReplicaStore, where isOver: (InboxNotification) -> Bool
  ) throws(Replica.Fault) -> [Action] {
    guard let changes = notices.shelf.changes(endingRequests: isOver) else { return [] }
    try keep(changes, store: store)
    return changes.ended.map { .notificationEnded($0, .settled) }
  }

  /// The person puts notifications aside.
  package mutating func notificationsDismissed(
    _ names: [OperationID], store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    var changes = NotificationChanges()
    changes.ended = names.filter { notices.shelf.standing[$0] != nil }
    guard !changes.isEmpty else { return [] }
    try keep(changes, store: store)
    return changes.ended.map { .notificationEnded($0, .dismissed) }
  }

  /// A program of this device showed a notification.
  package mutating func notificationAnnounced(
    _ name: OperationID, store: some ReplicaStore
  ) throws(Replica.Fault) {
    guard notices.shelf.standing[name]?.isAnnounced == false else { return }
    var changes = NotificationChanges()
    changes.announced = [name]
    try keep(changes, store: store)
  }

  private mutating func keep(
    _ changes: NotificationChanges, store: some ReplicaStore
  ) throws(Replica.Fault) {
    var transaction = StoreTransaction(record: replica.record)
    transaction.notifications = changes
    try replica.commit(transaction, to: store)
    notices.shelf.stored(changes)
  }

  // MARK: - What the device wants

  /// Somebody says for how long the person looks at the device; nil: not any more.
  package mutating func visibilityChanged(
    forMilliseconds duration: Int64?, at occasion: Occasion
  ) -> [Action] {
    notices.visibleUntil = duration.map { occasion.now + max(0, $0) }
    return tellWishes(at: occasion)
  }

  /// What the device wants to be notified of was set, or set anew.
  package mutating func notificationPreferencesChanged(
    _ preferences: NotificationPreferences, at occasion: Occasion
  ) -> [Action] {
    notices.preferences = preferences
    return tellWishes(at: occasion)
  }

  /// Asks the server something about the device's notifications; the answer comes as `replied`.
  ///
  /// - Returns: nil where it cannot be asked now.
  package mutating func inboxQuestionAsked(
    _ request: InboxRequest, id: UInt64
  ) -> [Action]? {
    guard case .exchanging(let exchange) = link, exchange.hasCaughtUp else { return nil }
    notices.questions[id] = (request, true)
    return [.send(exchange.connection, .request(request.request(id: id)))]
  }

  /// Tells the server what it does not know yet.
  private mutating func tellWishes(at occasion: Occasion) -> [Action] {
    guard case .exchanging(let exchange) = link, exchange.hasCaughtUp else { return [] }
    if notices.connection != exchange.connection {
      notices.connection = exchange.connection
      notices.toldVisible = false
      notices.toldPreferences = nil
    }
    var requests: [InboxRequest] = []
    if notices.toldPreferences != notices.preferences {
      notices.toldPreferences = notices.preferences
      requests.append(.setPreferences(notices.preferences))
    }
    let isVisible = isVisible(now: occasion.now)
    if notices.toldVisible != isVisible {
      notices.toldVisible = isVisible
      requests.append(.visibility(isVisible))
    }
    return requests.enumerated().map { index, request in
      let id = occasion.random(40 + UInt64(index))
      notices.questions[id] = (request, false)
      return .send(exchange.connection, .request(request.request(id: id)))
    }
  }

  /// The answer to a question about notifications; nil where it is to another question.
  mutating func inboxAnswered(_ response: Response) -> [Action]? {
    guard let question = notices.questions.removeValue(forKey: response.id) else { return nil }
    // An answer that breaks the specification is as good as none.
    let answer = (try? InboxAnswer(response, to: question.request)) ?? .unavailable
    // What the server could not store of the device's wishes it is told with the next connection.
    return question.isAwaited ? [.replied(answer, response.id)] : []
  }

  // MARK: - After every event

  /// What follows for notifications from an event that led to `actions`: to be called after every
  /// one.
  package mutating func notificationsFollowing(
    _ actions: [Action], at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    var next = tellWishes(at: occasion)
    for case .answerEnded(let answer, let ending) in actions where ending != .tooLate {
      next += (try? requestEnded(answer.request, store: store)) ?? []
    }
    let isTouched = actions.contains { if case .changed = $0 { true } else { false } }
    if isTouched {
      // What cannot be stored now follows with the next change.
      next += (try? endSettledRequests(store: store)) ?? []
    }
    if canAskServer {
      notices.offlineSince = nil
    } else {
      if link.connection == nil { next += abandonInboxQuestions() }
      next += noteOffline(at: occasion)
    }
    if let until = notices.visibleUntil, until <= occasion.now { notices.visibleUntil = nil }
    return next
  }

  private mutating func noteOffline(at occasion: Occasion) -> [Action] {
    guard isRunning, credentials != nil, replica.record.isSyncEnabled else {
      notices.offlineSince = nil
      return []
    }
    let since = notices.offlineSince ?? occasion.now
    if notices.offlineSince == nil {
      notices.offlineSince = since
      notices.offlineSinceWall = occasion.wall
      notices.toldOffline = false
      notices.askedOffline = false
    }
    guard !notices.toldOffline, occasion.now - since >= Notices.offlineMilliseconds else {
      return []
    }
    // From now on whatever begins to wait comes with an event of its own.
    notices.askedOffline = true
    guard waitsForConnection else { return [] }
    notices.toldOffline = true
    return [.connectionMissed(since: notices.offlineSinceWall)]
  }

  /// Something runs, or waits to be sent or answered.
  private var waitsForConnection: Bool {
    !running.isEmpty || !replica.record.outbox.isEmpty
      || notices.shelf.standing.values.contains { $0.notification.request != nil }
  }

  /// When time matters to notifications.
  var noticesDeadline: Int64? {
    let missed =
      notices.askedOffline ? nil : notices.offlineSince.map { $0 + Notices.offlineMilliseconds }
    return [missed, notices.visibleUntil].compactMap { $0 }.min()
  }

  /// The connection that the questions went over is gone.
  private mutating func abandonInboxQuestions() -> [Action] {
    defer { notices.questions = [:] }
    return notices.questions.filter(\.value.isAwaited).keys.sorted().map {
      .replied(.unavailable, $0)
    }
  }
}
