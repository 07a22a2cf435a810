import GRDB
import QueueModel
import SequenceCRDT
import ServerCore
import Testing
import WireProtocol

@testable import ServerStore

/// The durable queue of pushes: orders become deliveries, one for each target, until each is
/// settled.
@Suite struct PushQueueTests {
  private static let phone = DeviceID(high: 9, low: 1)
  private static let now: Int64 = 1_000

  private static func target(
    _ low: UInt64, _ address: String = "ntfy+https://n.example/t", kind: String = "ntfy",
    isValid: Bool = true
  ) -> PushTargetRecord {
    PushTargetRecord(
      device: phone, id: PushTargetID(high: 1, low: low), kind: kind, address: address,
      shownAddress: "…", isValid: isValid, registeredAt: 5)
  }

  private static func notification(_ position: UInt64) throws -> StoredNotification {
    StoredNotification(
      position: position, name: OperationID(replica: ReplicaID(rawValue: 4), seq: 1),
      event: .approval(tool: "Bash", summary: "make", details: nil),
      session: try SessionID("main"), request: RequestID(high: 1, low: position), milliseconds: 1)
  }

  /// A workspace with a device and its targets.
  private func workspace(
    in database: ServerDatabase, targets: [PushTargetRecord], until end: Int64? = nil
  ) throws -> WorkspaceID {
    let id = try database.addPairingCode(
      hash: [1], for: Sample.proposal("home"), expiresAt: .max, accessMilliseconds: end)
    _ = try database.redeem(Sample.redemption(code: [1], device: Self.phone, at: 0))
    try change(id, in: database) { $0.targets = targets.map { .set($0) } }
    return id
  }

  private func orders(in database: ServerDatabase) throws -> Int? {
    try database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM push_orders") }
  }

  private func change(
    _ workspace: WorkspaceID, in database: ServerDatabase,
    _ body: (inout InboxChanges) throws -> Void
  ) throws {
    var changes = InboxChanges()
    try body(&changes)
    var batch = CommitBatch()
    batch.inboxes = [(workspace, changes)]
    try database.commitKnowingMarks(batch)
  }

  private func order(
    _ kind: PushOrder.Kind, _ position: UInt64, in workspace: WorkspaceID,
    of device: DeviceID = phone, _ database: ServerDatabase, at now: Int64 = now
  ) throws {
    let notification = try Self.notification(position)
    try change(workspace, in: database) { changes in
      if kind == .alert {
        changes.posted = [notification]
        changes.entries = [InboxEntry(device: device, position: position, isPushed: true)]
      }
      changes.orders = [
        PushOrder(kind: kind, device: device, notification: notification, showsDetails: false)
      ]
    }
    try database.takePushOrders(at: now)
  }

  @Test func anOrderBecomesADeliveryForEachTargetThatTakesIt() throws {
    let database = try StoreFolder().open()
    let targets = [
      Self.target(1), Self.target(2, isValid: false),
      Self.target(3, "apns://a/b?environment=production&purpose=live-activity", kind: "apns"),
      Self.target(4),
    ]
    let id = try workspace(in: database, targets: targets)
    try order(.alert, 1, in: id, database)
    let due = try database.dueDeliveries(at: Self.now, limit: 10)
    #expect(due.due.map(\.target.id.low) == [1, 4])
    #expect(due.due.allSatisfy { $0.attempts == 0 && $0.firstAt == nil })
    #expect(due.due.first?.order.order.notification.position == 1)
    #expect(try database.dueDeliveries(at: Self.now, limit: 1).due.count == 1)
    #expect(try database.dueDeliveries(at: Self.now - 1, limit: 9).due.isEmpty)
    #expect(try database.dueDeliveries(at: Self.now - 1, limit: 9).nextAt == Self.now)
  }

  @Test func eachTargetGetsItsOldestOrderFirst() throws {
    let database = try StoreFolder().open()
    let id = try workspace(in: database, targets: [Self.target(1)])
    try order(.alert, 1, in: id, database)
    try order(.alert, 2, in: id, database)
    let first = try database.dueDeliveries(at: Self.now, limit: 10).due
    #expect(first.map(\.order.order.notification.position) == [1])
    try database.settle(
      first.map { SettledDelivery(key: $0.key, result: .done) }, at: Self.now)
    let second = try database.dueDeliveries(at: Self.now, limit: 10).due
    #expect(second.map(\.order.order.notification.position) == [2])
  }

  /// If a provider asks to wait, everything to that target waits.
  @Test func nothingOvertakesWhatWaits() throws {
    let database = try StoreFolder().open()
    let id = try workspace(in: database, targets: [Self.target(1)])
    try order(.alert, 1, in: id, database)
    try order(.alert, 2, in: id, database)
    let first = try #require(try database.dueDeliveries(at: Self.now, limit: 10).due.first)
    try database.settle(
      [SettledDelivery(key: first.key, result: .again(at: 61_000, reason: "429", counts: true))],
      at: Self.now)
    #expect(
      try database.dueDeliveries(at: 60_999, limit: 9) == DueDeliveries(due: [], nextAt: 61_000))
    let due = try database.dueDeliveries(at: 61_000, limit: 9).due
    #expect(due.map(\.order.order.notification.position) == [1])
  }

  /// A clock that was once far ahead does not delay pushes until that time.
  @Test func aTimeThatNoWaitReachesIsDue() throws {
    let database = try StoreFolder().open()
    let id = try workspace(in: database, targets: [Self.target(1)])
    try order(.alert, 1, in: id, database)
    let first = try #require(try database.dueDeliveries(at: Self.now, limit: 1).due.first)
    let year: Int64 = 366 * 86_400_000
    try database.settle(
      [SettledDelivery(key: first.key, result: .again(at: year, reason: "503", counts: true))],
      at: year - 1)
    #expect(try database.dueDeliveries(at: Self.now, limit: 9).due.map(\.key) == [first.key])
  }

  @Test func aRemovedAddressIsNeverUsedAgain() throws {
    let database = try StoreFolder().open()
    let id = try workspace(in: database, targets: [Self.target(1), Self.target(2)])
    try order(.alert, 1, in: id, database)
    try order(.alert, 2, in: id, database)
    let due = try database.dueDeliveries(at: Self.now, limit: 9).due
    let gone = SettledDelivery.Result.invalid(reason: "410", registeredAt: 5)
    try database.settle([SettledDelivery(key: due[0].key, result: gone)], at: Self.now)
    let left = try database.dueDeliveries(at: Self.now, limit: 9).due
    #expect(left.map(\.target.id.low) == [2])
    #expect(try database.pushSummary(at: Self.now).waiting == 2)
    #expect(
      try database.pushTargets(at: Self.now).map { "\($0.target.isValid) \($0.target.reason)" }
        == ["false 410", "true "])
  }

  /// The answer about the former address says nothing about the one that replaced it.
  @Test func anAddressThatWasReplacedMeanwhileIsTried() throws {
    let database = try StoreFolder().open()
    let id = try workspace(in: database, targets: [Self.target(1)])
    try order(.alert, 1, in: id, database)
    let due = try database.dueDeliveries(at: Self.now, limit: 9).due
    let gone = SettledDelivery.Result.invalid(reason: "410", registeredAt: 4)
    try database.settle([SettledDelivery(key: due[0].key, result: gone)], at: Self.now)
    #expect(try database.dueDeliveries(at: Self.now, limit: 9).due.map(\.key) == [due[0].key])
    #expect(try database.pushTargets(at: Self.now).map(\.target.isValid) == [true])
  }

  @Test func aTargetHoldsTheNewestAlone() throws {
    let database = try StoreFolder().open()
    let id = try workspace(in: database, targets: [Self.target(1), Self.target(2)])
    let positions = 1...UInt64(PushSummary.waitingMax + 2)
    try change(id, in: database) { changes in
      changes.posted = try positions.map(Self.notification)
      changes.entries = positions.map {
        InboxEntry(device: Self.phone, position: $0, isPushed: true)
      }
      changes.orders = changes.posted.map { notification in
        PushOrder(
          kind: .alert, device: Self.phone, notification: notification, showsDetails: false)
      }
    }
    try database.takePushOrders(at: Self.now)
    #expect(try database.pushSummary(at: Self.now).waiting == 2 * PushSummary.waitingMax)
    let due = try database.dueDeliveries(at: Self.now, limit: 9).due
    #expect(due.map(\.order.order.notification.position) == [3, 3])
  }

  /// Damage concerns one order: it is given up, and the orders that it blocked, and all others, are
  /// sent.
  @Test func unreadablePushesDelayNothing() throws {
    let database = try StoreFolder().open()
    let id = try workspace(in: database, targets: [Self.target(1), Self.target(2)])
    try order(.alert, 1, in: id, database)
    try order(.alert, 2, in: id, database)
    let (other, tablet) = try secondWorkspace(in: database)
    try database.write { db in
      try db.execute(
        sql: "UPDATE notifications SET category = 2, details = x'7b' WHERE position = 1")
    }
    try order(.alert, 1, in: other, of: tablet, database)
    let due = try database.dueDeliveries(at: Self.now, limit: 10).due
    #expect(due.map(\.order.order.notification.position) == [2, 2, 1])
    #expect(due.map(\.order.workspace) == [id, id, other])
    let summary = try database.pushSummary(at: Self.now)
    #expect(summary.waiting == 3)
    #expect(summary.deadLetters.map(\.reason) == ["it cannot be read", "it cannot be read"])
    let inboxes = try #require(try database.header(of: id)).inboxes
    #expect(inboxes.notifications.map(\.position) == [2])
    #expect(inboxes.entries.map(\.position) == [2])
    #expect(inboxes.lastPosition == 2)
  }

  /// Another workspace, with a device that has a target.
  private func secondWorkspace(
    in database: ServerDatabase
  ) throws -> (id: WorkspaceID, device: DeviceID) {
    let tablet = DeviceID(high: 9, low: 7)
    let id = try database.addPairingCode(
      hash: [2], for: Sample.proposal("other", 2), expiresAt: .max)
    _ = try database.redeem(Sample.redemption(code: [2], device: tablet, token: [8]))
    let target = PushTargetRecord(
      device: tablet, id: PushTargetID(high: 2, low: 1), kind: "ntfy",
      address: "ntfy+https://n.example/u", shownAddress: "…", registeredAt: 5)
    try change(id, in: database) { $0.targets = [.set(target)] }
    return (id, tablet)
  }

  @Test func repeatedPushesSurviveARestart() throws {
    let folder = try StoreFolder()
    var database = try folder.open()
    let id = try workspace(in: database, targets: [Self.target(1)])
    try order(.alert, 1, in: id, database)
    let key = try #require(try database.dueDeliveries(at: Self.now, limit: 1).due.first).key
    try database.settle(
      [SettledDelivery(key: key, result: .again(at: 5_000, reason: "busy", counts: true))],
      at: Self.now)
    try database.settle(
      [SettledDelivery(key: key, result: .again(at: 6_000, reason: "held", counts: false))],
      at: 5_000)
    try database.close()
    database = try folder.open()
    try database.takePushOrders(at: 5_500)
    #expect(
      try database.dueDeliveries(at: 5_999, limit: 9) == DueDeliveries(due: [], nextAt: 6_000))
    let due = try #require(try database.dueDeliveries(at: 6_000, limit: 9).due.first)
    #expect(due.attempts == 1)
    #expect(due.firstAt == Self.now)
    #expect(try database.pushSummary(at: Self.now).waiting == 1)
  }

  @Test func settledPushesAreForgottenWithTheirOrder() throws {
    let database = try StoreFolder().open()
    let id = try workspace(in: database, targets: [Self.target(1), Self.target(2)])
    try order(.alert, 1, in: id, database)
    let due = try database.dueDeliveries(at: Self.now, limit: 9).due
    try database.settle([SettledDelivery(key: due[0].key, result: .done)], at: Self.now)
    #expect(try orders(in: database) == 1)
    try database.settle(
      [SettledDelivery(key: due[1].key, result: .dead(reason: "given up"))], at: 2_000)
    #expect(try orders(in: database) == 0)
    let summary = try database.pushSummary(at: Self.now)
    #expect(summary.waiting == 0)
    #expect(
      summary.deadLetters == [
        PushSummary.DeadLetter(
          target: due[1].target.id, attempts: 1, reason: "given up", at: 2_000)
      ])
    // A repetition is safe: the caller may have crashed.
    try database.settle([SettledDelivery(key: due[1].key, result: .done)], at: Self.now)
  }

  @Test func aRetractionDropsTheAlertThatWasNotDelivered() throws {
    let database = try StoreFolder().open()
    let id = try workspace(in: database, targets: [Self.target(1)])
    try order(.alert, 1, in: id, database)
    try order(.retract, 1, in: id, database)
    let due = try database.dueDeliveries(at: Self.now, limit: 9).due
    #expect(due.map(\.order.order.kind) == [.retract])
    #expect(try orders(in: database) == 1)
  }

  @Test func targetsThatAreGoneOrNotValidGetNothing() throws {
    let database = try StoreFolder().open()
    let id = try workspace(in: database, targets: [Self.target(1), Self.target(2)])
    try order(.alert, 1, in: id, database)
    try change(id, in: database) { changes in
      changes.targets = [
        .remove(Self.phone, PushTargetID(high: 1, low: 1)), .set(Self.target(2, isValid: false)),
      ]
    }
    #expect(try database.dueDeliveries(at: Self.now, limit: 9).due.isEmpty)
    #expect(try database.validTargets(of: [Self.phone], in: id, at: Self.now).isEmpty)
    try order(.alert, 2, in: id, database)
    #expect(try database.pushSummary(at: Self.now).waiting == 0)
    #expect(try orders(in: database) == 0)
    #expect(try database.pushTargets(at: Self.now).map(\.target.isValid) == [false])
  }

  /// A lost phone is revoked: nothing more is pushed to it, not even waiting pushes.
  @Test func aRevokedDeviceGetsNothing() throws {
    let database = try StoreFolder().open()
    let id = try workspace(in: database, targets: [Self.target(1)])
    try order(.alert, 1, in: id, database)
    try database.revoke(Self.phone, in: id, at: 1)
    #expect(try database.dueDeliveries(at: Self.now, limit: 9).due.isEmpty)
    #expect(try database.validTargets(of: [Self.phone], in: id, at: Self.now).isEmpty)
    try order(.alert, 2, in: id, database)
    #expect(try database.dueDeliveries(at: Self.now, limit: 9).due.isEmpty)
    #expect(try database.pushSummary(at: Self.now).waiting == 0)
    #expect(try orders(in: database) == 0)
  }

  /// Expired access is like revoked access, also for an address of the user.
  @Test func aDeviceWhoseTimeIsOverGetsNothing() throws {
    let database = try StoreFolder().open()
    let persons = PushTargetRecord(
      device: .person, id: PushTargetID(high: 1, low: 2), kind: "ntfy", address: "a",
      shownAddress: "b", registeredAt: 5, setBy: Self.phone)
    let end = Self.now + 4_000
    let id = try workspace(in: database, targets: [Self.target(1), persons], until: end)
    func valid(at now: Int64) throws -> [PushTargetID] {
      try database.validTargets(of: [Self.phone, .person], in: id, at: now).map(\.id)
    }
    try order(.alert, 1, in: id, database)
    try order(.alert, 2, in: id, of: .person, database)
    #expect(try database.dueDeliveries(at: end - 1, limit: 9).due.count == 2)
    #expect(try valid(at: end - 1) == [Self.target(1).id, persons.id])
    #expect(try database.dueDeliveries(at: end, limit: 9).due.isEmpty)
    #expect(try valid(at: end).isEmpty)
    #expect(try database.pushTargets(at: end - 1).count == 2)
    #expect(try database.pushTargets(at: end).isEmpty, "they receive nothing any more")
    try order(.alert, 3, in: id, database, at: end)
    #expect(
      try database.pushSummary(at: Self.now).waiting == 0, "the waiting ones go with the next")
    #expect(try orders(in: database) == 0)
  }

  /// A device that was paired again as a viewer may belong to another person: the user's address
  /// stays silent until it is a host again.
  @Test func aViewerKeepsNoAddressOfThePersonsThatItSetAsAHost() throws {
    let database = try StoreFolder().open()
    let persons = PushTargetRecord(
      device: .person, id: PushTargetID(high: 1, low: 2), kind: "ntfy", address: "a",
      shownAddress: "b", registeredAt: 5, setBy: Self.phone)
    let id = try workspace(in: database, targets: [Self.target(1), persons])
    func pairAgain(_ code: UInt8, as role: DeviceRole) throws {
      _ = try database.addPairingCode(
        hash: [code], for: Sample.proposal("home"), expiresAt: .max, role: role)
      _ = try database.redeem(Sample.redemption(code: [code], device: Self.phone, at: 0))
    }
    func valid() throws -> [PushTargetID] {
      try database.validTargets(of: [Self.phone, .person], in: id, at: Self.now).map(\.id)
    }
    try pairAgain(2, as: .viewer)
    #expect(try valid() == [Self.target(1).id])
    try order(.alert, 1, in: id, of: .person, database)
    #expect(try database.dueDeliveries(at: Self.now, limit: 9).due.isEmpty)
    #expect(try database.pushTargets(at: Self.now).map(\.target.id) == [Self.target(1).id])
    try pairAgain(3, as: .author)
    #expect(try valid() == [Self.target(1).id, persons.id])
  }

  @Test func waitingPushesAreDueOnceTheSetupHasChanged() throws {
    let database = try StoreFolder().open()
    let id = try workspace(in: database, targets: [Self.target(1)])
    try order(.alert, 1, in: id, database)
    let key = try #require(try database.dueDeliveries(at: Self.now, limit: 1).due.first).key
    try database.settle(
      [SettledDelivery(key: key, result: .again(at: 300_000, reason: "held", counts: false))],
      at: Self.now)
    try database.note(problem: "wrong key", of: "apns", at: Self.now)
    try database.hasten(at: 2_000)
    #expect(try database.pushSummary(at: Self.now).problems.isEmpty)
    let due = try #require(try database.dueDeliveries(at: 2_000, limit: 9).due.first)
    #expect(due.key == key && due.firstAt == Self.now && due.attempts == 0)
  }

  @Test func problemsAreKeptUntilTheyAreSolved() throws {
    let database = try StoreFolder().open()
    let id = try workspace(in: database, targets: [Self.target(1, kind: "apns")])
    try database.note(problem: "wrong key", of: "apns", at: 1)
    try database.note(problem: "wrong team", of: "apns", at: 2)
    #expect(try database.pushSummary(at: Self.now).problems == ["apns": "wrong team"])
    // An unused setting delays nothing.
    try change(id, in: database) {
      $0.targets = [.remove(Self.phone, PushTargetID(high: 1, low: 1))]
    }
    #expect(try database.pushSummary(at: Self.now).problems.isEmpty)
    try change(id, in: database) { $0.targets = [.set(Self.target(2, kind: "apns"))] }
    #expect(try database.pushSummary(at: Self.now).problems == ["apns": "wrong team"])
    try database.note(problem: nil, of: "apns", at: 3)
    #expect(try database.pushSummary(at: Self.now).problems.isEmpty)
  }
}
