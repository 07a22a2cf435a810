import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

@testable import ClientCore

/// Notifications in the client's core: stored before they are acknowledged, shown once, withdrawn.
@Suite struct NotificationCoreTests {
  /// A device with an open connection, whose server is the test.
  private struct Scene {
    var core: ClientCore
    let store: MemoryStore
    var now: Int64 = 1_000
    var random: UInt64 = 0
    var actions: [ClientCore.Action] = []
    var connection: TransportID?
    static let session = SessionID.named("s")

    init(store: MemoryStore = MemoryStore()) throws {
      self.store = store
      let replica = try Replica(
        Replica.Opening(
          loaded: store.loaded, device: DeviceID(high: 0xD, low: 1), deviceName: "a"),
        at: EventContext(now: 0, wall: TestDevice.startOfTime, random: 5), store: store)
      core = ClientCore(replica: replica, credentials: Fleet.credentials(), queueSizeMax: 100)
      core.notificationsLoaded(store.loaded.notifications)
    }

    mutating func tell(
      _ event: (inout ClientCore, EventContext, MemoryStore) throws -> [ClientCore.Action]
    ) rethrows {
      random += 1
      let context = EventContext(now: now, wall: TestDevice.startOfTime + now, random: random)
      var fresh = try event(&core, context, store)
      fresh += core.executionFollowing(fresh, at: context, store: store)
      fresh += core.notificationsFollowing(fresh, at: context, store: store)
      actions += fresh
      for case .connect(let id) in fresh { connection = id }
    }

    /// Connects to a server that has everything already.
    mutating func connect() {
      tell { core, context, _ in core.started(at: context) }
      welcome()
    }

    mutating func welcome() {
      guard let connection else { return }
      tell { $0.connectionOpened(connection, at: $1, store: $2) }
      receive(
        .welcome(
          Welcome(
            version: ProtocolVersion.current, head: core.replica.record.prefix, nonce: 1,
            serverMilliseconds: TestDevice.startOfTime + now, pingSeconds: 20,
            backoffMillisecondsMin: 0)))
    }

    mutating func receive(_ frame: Frame) {
      guard let connection else { return }
      tell { $0.frameReceived(frame, on: connection, at: $1, store: $2) }
    }

    /// The actions since the last call.
    mutating func taken() -> [ClientCore.Action] {
      defer { actions = [] }
      return actions
    }

    /// The host reports what its agent does; another device learns it from the server.
    mutating func host(_ host: inout TestDevice, says status: TaskStatus) throws {
      let before = host.made.count
      try host.perform(
        .reportTask(
          TaskReport(session: Scene.session, status: status, milliseconds: 1)))
      let fresh = Array(host.made[before...])
      receive(
        .changes(Changes(batch: 0, prefix: LogPrefix(position: 2), delta: PackedDelta.pack(fresh))))
    }
  }

  private func notification(
    _ position: UInt64, request: RequestID? = nil
  ) -> InboxNotification {
    InboxNotification(
      position: position,
      name: OperationID(replica: ReplicaID(rawValue: 9), seq: UInt32(position)),
      category: request == nil ? .taskComplete : .approvalRequest, isMissed: true,
      session: Scene.session, request: request, milliseconds: 1, title: "t", body: "b")
  }

  private func answers(_ actions: [ClientCore.Action]) -> [UInt64] {
    actions.compactMap { if case .send(_, .notified(let position)) = $0 { position } else { nil } }
  }

  private func notified(_ actions: [ClientCore.Action]) -> [OperationID] {
    actions.compactMap { if case .notified(let item) = $0 { item.name } else { nil } }
  }

  private func ended(_ actions: [ClientCore.Action]) -> [NotificationEnding] {
    actions.compactMap { if case .notificationEnded(_, let why) = $0 { why } else { nil } }
  }

  @Test func notificationIsStoredToldOnceAndAnsweredEachTime() throws {
    // S4-37
    var scene = try Scene()
    scene.connect()
    _ = scene.taken()
    scene.receive(.notification(notification(4)))
    var actions = scene.taken()
    #expect(notified(actions) == [notification(4).name])
    #expect(answers(actions) == [4])
    scene.receive(.notification(notification(4)))
    actions = scene.taken()
    #expect(notified(actions).isEmpty)
    #expect(answers(actions) == [4], "the server forgot that it was answered")
    var again = try Scene(store: scene.store)
    #expect(again.core.notifications.map(\.name) == [notification(4).name])
    again.connect()
    again.receive(.notification(notification(4)))
    #expect(notified(again.taken()).isEmpty, "its name is on disk")
  }

  @Test func anUnstoredRequestIsNotAnswered() throws {
    var scene = try Scene()
    scene.connect()
    _ = scene.taken()
    scene.store.failure = StoreError(code: .full, message: "no space")
    scene.receive(.notification(notification(4)))
    let actions = scene.taken()
    #expect(notified(actions).isEmpty)
    #expect(answers(actions).isEmpty)
    #expect(actions.contains { if case .close = $0 { true } else { false } })
  }

  @Test func requestStaysUntilItsTaskNoLongerAwaitsIt() throws {
    // N-2
    var scene = try Scene()
    scene.connect()
    var host = TestDevice(2)
    try host.perform(.send("go", as: 1, in: "s"))
    scene.receive(
      .changes(
        Changes(batch: 0, prefix: LogPrefix(position: 2), delta: PackedDelta.pack(host.made))))
    try scene.host(&host, says: .processing(operation: nil))
    let request = RequestID(high: 5, low: 5)
    try scene.host(
      &host,
      says: .awaitingApproval(ApprovalRequest(id: request, toolName: "Bash", summary: "x")))
    scene.receive(.notification(notification(1, request: request)))
    scene.receive(.notification(notification(2)))
    #expect(notified(scene.taken()).count == 2)
    try scene.host(&host, says: .processing(operation: nil))
    #expect(ended(scene.taken()) == [.settled])
    #expect(scene.core.notifications.map(\.notification.position) == [2])
    scene.receive(.notification(notification(3, request: request)))
    let late = scene.taken()
    #expect(notified(late).isEmpty, "what is over when it comes is not shown")
    #expect(answers(late) == [3])
  }

  /// The notification of a merged message stays until its text is chosen; a later one replaces an
  /// earlier one.
  @Test func mergedMessageWaitsUntilItsTextIsChosen() throws {
    var scene = try Scene()
    scene.connect()
    var (one, other) = (TestDevice(2), TestDevice(3))
    let id = MessageID.numbered(1)
    try one.perform(.send("Bump", as: 1, in: "s"))
    try other.merge(one.made)
    try one.perform(.edit(id, content: "Bump to 1.3", base: nil))
    try other.perform(.edit(id, content: "Bump to 2.0", base: nil))
    try one.merge(other.made)
    func notice(_ position: UInt64) -> InboxNotification {
      var notice = notification(position)
      (notice.category, notice.message) = (.messageMerged, id)
      return notice
    }
    scene.receive(.notification(notice(1)))
    #expect(notified(scene.taken()).isEmpty, "the device does not have it")
    let made = one.made + other.made
    scene.receive(
      .changes(Changes(batch: 0, prefix: LogPrefix(position: 2), delta: PackedDelta.pack(made))))
    scene.receive(.notification(notice(2)))
    scene.receive(.notification(notice(3)))
    var actions = scene.taken()
    #expect(notified(actions) == [notice(2).name, notice(3).name])
    #expect(ended(actions) == [.settled])
    #expect(scene.core.notifications.map(\.notification.position) == [3])
    let before = one.made.count
    try one.perform(.edit(id, content: "Bump to 2.0", base: nil))
    scene.receive(
      .changes(
        Changes(
          batch: 0, prefix: LogPrefix(position: 3),
          delta: PackedDelta.pack(Array(one.made[before...])))))
    actions = scene.taken()
    #expect(ended(actions) == [.settled] && scene.core.notifications.isEmpty)
  }

  /// Two editors of one device save: it notifies its user without a server, under the name that a
  /// server would use.
  @Test func deviceTellsItsPersonOfWhatItMergedItself() throws {
    var scene = try Scene()
    let id = MessageID.numbered(1)
    func give(_ command: Command) throws {
      try scene.tell { core, context, store in
        let done = try core.commandGiven(command, at: context, store: store)
        return done.actions + core.ownNewsFollowing(at: context, store: store)
      }
    }
    try give(.send("Bump", as: 1, in: "s"))
    let base = try scene.core.replica.workspace.editBase(id)
    try give(.edit(id, content: "Bump to 1.3", base: base))
    #expect(notified(scene.taken()).isEmpty)
    try give(.edit(id, content: "Bump to 2.0", base: base))
    #expect(notified(scene.taken()).count == 1)
    let notice = try #require(scene.core.notifications.first?.notification)
    #expect(notice.message == id && notice.category == .messageMerged)
    #expect(
      Edition.live(of: id, in: scene.core.replica.workspace)?.editions.contains(notice.name) == true
    )
    try give(.cancel([id]))
    #expect(scene.core.notifications.isEmpty)
  }

  @Test func personPutsNotificationsAside() throws {
    var scene = try Scene()
    scene.connect()
    scene.receive(.notification(notification(1)))
    _ = scene.taken()
    let name = notification(1).name
    for expected in [[NotificationEnding.dismissed], []] {
      try scene.tell { core, _, store in try core.notificationsDismissed([name], store: store) }
      #expect(ended(scene.taken()) == expected)
    }
    #expect(scene.core.notifications.isEmpty)
  }

  @Test func preferencesAreSentOnEveryConnection() throws {
    // S4-3, N-13
    var scene = try Scene()
    func requests(_ actions: [ClientCore.Action]) throws -> [InboxRequest] {
      try actions.compactMap { action in
        guard case .send(_, .request(let request)) = action else { return nil }
        return try InboxRequest(request)
      }
    }
    scene.tell { core, context, _ in
      core.visibilityChanged(forMilliseconds: 5_000, at: context)
    }
    scene.connect()
    #expect(
      try requests(scene.taken())
        == [.setPreferences(NotificationPreferences()), .visibility(true)])
    scene.now += 4_999
    scene.tell { $0.timePassed(at: $1, store: $2) }
    #expect(try !requests(scene.taken()).contains(.visibility(false)))
    #expect(scene.core.isVisible(now: scene.now))
    scene.now += 1
    scene.tell { $0.timePassed(at: $1, store: $2) }
    #expect(try requests(scene.taken()).contains(.visibility(false)), "its time is over")
    #expect(!scene.core.isVisible(now: scene.now))
    let details = NotificationPreferences(showsDetails: true)
    scene.tell { core, context, _ in
      core.notificationPreferencesChanged(details, at: context)
    }
    #expect(try requests(scene.taken()) == [.setPreferences(details)])
  }

  @Test func missedConnectionIsReportedOnceIfSomethingWaits() throws {
    // N-9
    var scene = try Scene()
    scene.tell { core, context, _ in core.started(at: context) }
    func missed(_ actions: [ClientCore.Action]) -> Int {
      actions.count { if case .connectionMissed = $0 { true } else { false } }
    }
    func pass(_ milliseconds: Int64) {
      for _ in 0..<10 {
        scene.now += milliseconds / 10
        if let connection = scene.connection {
          scene.tell { core, context, _ in
            core.connectionLost(connection, message: "refused", at: context)
          }
        }
        scene.tell { $0.timePassed(at: $1, store: $2) }
      }
    }
    try scene.tell { core, context, store in
      try core.commandGiven(.send("first", as: 9, in: "s"), at: context, store: store).actions
    }
    pass(29_000)
    #expect(missed(scene.taken()) == 0)
    pass(2_000)
    #expect(missed(scene.taken()) == 1)
    pass(600_000)
    #expect(missed(scene.taken()) == 0)
    if let deadline = scene.core.deadline { #expect(deadline > scene.now - 60_000) }
    scene.tell { core, context, _ in core.syncRequested(at: context) }
    scene.welcome()
    scene.receive(.ack(Ack(batch: 1, prefix: LogPrefix(position: 1, chain: 1))))
    _ = scene.taken()
    if let connection = scene.connection {
      scene.tell { core, context, _ in
        core.connectionLost(connection, message: "gone", at: context)
      }
    }
    pass(40_000)
    #expect(missed(scene.taken()) == 0, "nothing waits")
    try scene.tell { core, context, store in
      try core.commandGiven(.send("later", as: 1, in: "s"), at: context, store: store).actions
    }
    #expect(missed(scene.taken()) == 1, "what comes to wait is told at once")
  }
}
