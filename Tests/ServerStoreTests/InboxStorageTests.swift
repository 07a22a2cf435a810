import GRDB
import QueueModel
import SequenceCRDT
import ServerCore
import Testing
import WireProtocol

@testable import ServerStore

/// Notifications in the file: written rows are read, and rows that nothing refers to are removed.
@Suite struct InboxStorageTests {
  private static let phone = DeviceID(high: 9, low: 1)
  private static let tablet = DeviceID(high: 9, low: 2)

  private func notification(
    _ position: UInt64, _ event: NotificationEvent, request: RequestID? = nil,
    message: MessageID? = nil
  ) throws -> StoredNotification {
    StoredNotification(
      position: position,
      name: OperationID(replica: ReplicaID(rawValue: .max - 1), seq: UInt32(position)),
      event: event, session: try SessionID("main"), request: request, message: message,
      milliseconds: -5,
      expiresAt: request == nil ? nil : 77)
  }

  private func everyEvent() throws -> [StoredNotification] {
    let request = RequestID(high: .max, low: 3)
    return [
      try notification(
        1, .approval(tool: "Bash", summary: "rm\n\u{0}é", details: nil), request: request),
      try notification(
        2,
        .approval(
          tool: "", summary: "", details: "all",
          digest: ContentHash(String(repeating: "a0", count: 32)), isCut: true), request: request),
      try notification(3, .question("Which?", options: ["a\"b", "", "c\nd"]), request: request),
      try notification(4, .question("", options: []), request: request),
      try notification(5, .taskComplete(summary: nil)),
      try notification(6, .taskFailed(error: "no")),
      try notification(7, .threadReady(name: "Main")),
      try notification(
        8, .messageMerged(text: "Bump\n2"), message: MessageID(high: .max, low: 4)),
    ]
  }

  private func batch(
    _ workspace: WorkspaceID, _ change: (inout InboxChanges) -> Void
  ) -> CommitBatch {
    var changes = InboxChanges()
    change(&changes)
    var batch = CommitBatch()
    batch.inboxes = [(workspace, changes)]
    return batch
  }

  /// A workspace with two paired devices.
  private func paired(_ database: ServerDatabase) throws -> WorkspaceID {
    let workspace = try database.addPairingCode(
      hash: [1], for: Sample.proposal("home"), expiresAt: .max)
    for (number, device) in [Self.phone, Self.tablet].enumerated() {
      let code: [UInt8] = [9, UInt8(number)]
      _ = try database.addPairingCode(hash: code, for: Sample.proposal("home"), expiresAt: .max)
      let outcome = try database.redeem(
        CodeRedemption(
          codeHash: code, device: device, deviceName: "d", tokenHash: [UInt8(number)],
          wallMilliseconds: 1, failuresMax: 5, devicesMax: 10))
      guard case .granted = outcome else {
        Issue.record("\(outcome)")
        continue
      }
    }
    return workspace
  }

  @Test func shownStatusesAreKeptUntilTheyEnd() throws {
    let folder = try StoreFolder()
    var database = try folder.open()
    let workspace = try paired(database)
    func tell(_ event: LiveStatusOrder.Event, _ name: String, at: Int64) throws {
      let task = TaskState(
        sessionId: try SessionID(name), status: .processing(operation: nil), startTime: 1,
        lastUpdateTime: 1)
      try database.commitKnowingMarks(
        batch(workspace) { $0.statuses = [LiveStatusChange(event: event, task: task, at: at)] })
    }
    #expect(try database.workspacesWithUnpushed().isEmpty)
    try tell(.started, "a", at: 10)
    try tell(.started, "b", at: 20)
    try tell(.updated, "a", at: 30)
    try tell(.renewed, "b", at: .max)
    try database.close()
    database = try folder.open()
    #expect(
      try database.header(of: workspace)?.inboxes.statuses
        == [SessionID("a"): 10, SessionID("b"): .max])
    #expect(try database.workspacesWithUnpushed() == [workspace])
    try tell(.ended, "a", at: 50)
    try tell(.ended, "b", at: 60)
    try tell(.ended, "nothing is shown", at: 60)
    try database.close()
    database = try folder.open()
    let records = try #require(try database.header(of: workspace)?.inboxes)
    #expect(records.statuses.isEmpty)
    #expect(try records.endedStatuses == [SessionID("a"): 50, SessionID("b"): 60])
    #expect(try database.workspacesWithUnpushed() == [workspace])
    func forget(_ name: String, at: Int64) throws {
      try database.forget(LiveStatusEnd(workspace: workspace, session: SessionID(name), at: at))
    }
    try forget("a", at: 50)
    try tell(.started, "b", at: 70)
    try forget("b", at: 60)
    let left = try #require(try database.header(of: workspace)?.inboxes)
    #expect(try left.statuses == [SessionID("b"): 70], "it started again")
    #expect(left.endedStatuses.isEmpty)
    try tell(.ended, "b", at: 80)
    try forget("b", at: 80)
    #expect(try database.workspacesWithUnpushed().isEmpty)
  }

  @Test func everythingIsReadAsWritten() throws {
    let folder = try StoreFolder()
    var database = try folder.open()
    let workspace = try paired(database)
    let posted = try everyEvent()
    let target = PushTargetRecord(
      device: Self.phone, id: PushTargetID(high: 1, low: 2), kind: "ntfy",
      address: "https://secret", shownAddress: "https://…", isValid: false, reason: "gone",
      registeredAt: 12, deliveredAt: 11)
    let persons = PushTargetRecord(
      device: .person, id: PushTargetID(high: 1, low: 3), kind: "ntfy", address: "https://phone",
      shownAddress: "https://…", registeredAt: 13, setBy: Self.tablet)
    let preferences = NotificationPreferences(
      off: [.threadReady, .taskComplete], showsDetails: true, showsLiveStatus: false,
      personDelaySeconds: 300)
    try database.commitKnowingMarks(
      batch(workspace) { changes in
        changes.posted = posted
        changes.entries = posted.map { InboxEntry(device: Self.phone, position: $0.position) }
        changes.entries[0].isPushed = true
        changes.entries[0].isAcknowledged = true
        changes.preferences = [Self.phone: preferences]
        changes.targets = [.set(target), .set(persons)]
        changes.entries.append(InboxEntry(device: .person, position: 1))
      })
    try database.close()
    database = try folder.open()
    let records = try #require(try database.header(of: workspace)).inboxes
    #expect(records.lastPosition == 8)
    #expect(records.notifications.sorted { $0.position < $1.position } == posted)
    #expect(records.entries.count == 9)
    #expect(
      records.entries.first { $0.position == 1 && $0.device == Self.phone }
        == InboxEntry(device: Self.phone, position: 1, isPushed: true, isAcknowledged: true))
    #expect(records.preferences == [Self.phone: preferences])
    #expect(records.entries.contains(InboxEntry(device: .person, position: 1)))
    #expect(records.targets.sorted { $0.id < $1.id } == [target, persons])
    try database.commitKnowingMarks(
      batch(workspace) { $0.targets = [.remove(Self.phone, target.id)] })
    #expect(try database.header(of: workspace)?.inboxes.targets == [persons])
  }

  /// A device without access gets no further notifications, not even through an address of the
  /// user.
  @Test func aTargetOfThePersonGoesWithTheDeviceThatSetIt() throws {
    let folder = try StoreFolder()
    let database = try folder.open()
    let workspace = try paired(database)
    let posted = try everyEvent().prefix(2)
    let targets = [Self.phone, Self.tablet].enumerated().map { number, device in
      PushTargetRecord(
        device: .person, id: PushTargetID(high: 1, low: UInt64(number)), kind: "ntfy",
        address: "a", shownAddress: "b", registeredAt: 1, setBy: device)
    }
    func due(_ number: Int) throws -> [PushTargetID] {
      try database.commitKnowingMarks(
        batch(workspace) { changes in
          changes.posted = [posted[number]]
          changes.orders = [
            PushOrder(
              kind: .alert, device: .person, notification: posted[number], showsDetails: false)
          ]
        })
      try database.takePushOrders(at: 1)
      let due = try database.dueDeliveries(at: 1, limit: 9).due
      try database.settle(due.map { SettledDelivery(key: $0.key, result: .done) }, at: 1)
      return due.map(\.target.id).sorted()
    }
    try database.commitKnowingMarks(batch(workspace) { $0.targets = targets.map { .set($0) } })
    #expect(try due(0) == targets.map(\.id))
    #expect(try database.pushTargets(at: 0).map(\.target.setBy) == [Self.phone, Self.tablet])
    try folder.open(.administration).revoke(Self.phone, in: workspace, at: 5)
    #expect(try due(1) == [targets[1].id])
    #expect(try database.header(of: workspace)?.inboxes.targets == [targets[1]])
  }

  @Test func notificationGoesWithTheLastThatNamesIt() throws {
    let folder = try StoreFolder()
    let database = try folder.open()
    let workspace = try paired(database)
    let posted = try everyEvent().prefix(1)
    let entries = [Self.phone, Self.tablet].map { InboxEntry(device: $0, position: 1) }
    let order = PushOrder(
      kind: .retract, device: Self.phone, notification: posted[0], showsDetails: true)
    func rows() throws -> Int? {
      try database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM notifications") }
    }
    try database.commitKnowingMarks(
      batch(workspace) { changes in
        changes.posted = Array(posted)
        changes.entries = entries
      })
    try database.commitKnowingMarks(batch(workspace) { $0.removed = [entries[0]] })
    #expect(try rows() == 1)
    try database.commitKnowingMarks(
      batch(workspace) { changes in
        changes.orders = [order]
        changes.removed = [entries[1]]
      })
    #expect(try rows() == 1, "the order still names it")
    let target = PushTargetRecord(
      device: Self.phone, id: PushTargetID(high: 1, low: 1), kind: "ntfy", address: "a",
      shownAddress: "…", registeredAt: 5)
    try database.commitKnowingMarks(batch(workspace) { $0.targets = [.set(target)] })
    try database.takePushOrders(at: 1)
    let due = try database.dueDeliveries(at: 1, limit: 9).due
    #expect(due.map(\.order.order) == [order])
    #expect(due.map(\.order.workspace) == [workspace])
    try database.settle(due.map { SettledDelivery(key: $0.key, result: .done) }, at: 1)
    #expect(try rows() == 0)
    #expect(try database.header(of: workspace)?.inboxes.lastPosition == 1, "numbering continues")
  }

  /// Its waiting notifications are removed, and also those that a server writes before it notices.
  /// If it is paired again, the device starts from nothing.
  @Test func revokedDeviceLeavesNothingBehind() throws {
    let folder = try StoreFolder()
    let database = try folder.open()
    let workspace = try paired(database)
    let posted = try everyEvent()
    func fill(_ posted: [StoredNotification]) throws {
      try database.commitKnowingMarks(
        batch(workspace) { changes in
          changes.posted = posted
          changes.entries = posted.map { InboxEntry(device: Self.phone, position: $0.position) }
          changes.orders = posted.map {
            PushOrder(kind: .alert, device: Self.phone, notification: $0, showsDetails: false)
          }
          changes.preferences = [Self.phone: NotificationPreferences(showsDetails: true)]
          changes.targets = [
            .set(
              PushTargetRecord(
                device: Self.phone, id: PushTargetID(high: 1, low: 2), kind: "ntfy", address: "a",
                shownAddress: "b", registeredAt: 1))
          ]
        })
    }
    func count(_ table: String) throws -> Int? {
      try database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") }
    }
    try fill(Array(posted.prefix(6)))
    try database.takePushOrders(at: 1)
    #expect(try count("push_deliveries") == 6)
    try folder.open(.administration).revoke(Self.phone, in: workspace, at: 5)
    let tables = [
      "inbox", "notifications", "push_orders", "push_deliveries", "push_targets",
      "notification_preferences",
    ]
    for table in tables { #expect(try count(table) == 0, "\(table)") }
    try fill(Array(posted.suffix(1)))
    for table in tables { #expect(try count(table) == 0, "\(table)") }

    _ = try database.addPairingCode(hash: [7], for: Sample.proposal("home"), expiresAt: .max)
    let outcome = try database.redeem(
      CodeRedemption(
        codeHash: [7], device: Self.phone, deviceName: "d", tokenHash: [7], wallMilliseconds: 1,
        failuresMax: 5, devicesMax: 10))
    #expect(outcome == .granted(workspace: workspace, workspaceName: "home", wasRevoked: true))
    let inboxes = try #require(try database.header(of: workspace)?.inboxes)
    #expect(inboxes.targets.isEmpty && inboxes.preferences.isEmpty && inboxes.entries.isEmpty)
  }

  @Test func onlyWhatCanBePushedCountsAsUnpushed() throws {
    let folder = try StoreFolder()
    let database = try folder.open()
    let workspace = try paired(database)
    let posted = try everyEvent().suffix(1)
    let entry = InboxEntry(device: Self.phone, position: 8)
    var target = PushTargetRecord(
      device: Self.tablet, id: PushTargetID(high: 1, low: 2), kind: "ntfy", address: "a",
      shownAddress: "b", registeredAt: 1)
    try database.commitKnowingMarks(
      batch(workspace) { changes in
        changes.posted = Array(posted)
        changes.entries = [entry]
        changes.targets = [.set(target)]
      })
    #expect(try database.workspacesWithUnpushed().isEmpty, "the phone has no target")
    target.device = Self.phone
    var activity = target
    activity.kind = "apns"
    activity.address = "apns://org.example.app/00?environment=production&purpose=live-activity"
    try database.commitKnowingMarks(batch(workspace) { $0.targets = [.set(activity)] })
    #expect(try database.workspacesWithUnpushed().isEmpty, "an activity's token gets no notices")
    try database.commitKnowingMarks(batch(workspace) { $0.targets = [.set(target)] })
    #expect(try database.workspacesWithUnpushed() == [workspace])
    try database.commitKnowingMarks(
      batch(workspace) {
        $0.entries = [InboxEntry(device: Self.phone, position: 8, isPushed: true)]
      })
    #expect(try database.workspacesWithUnpushed().isEmpty)
  }

  @Test func failedTransactionLeavesNothing() throws {
    let folder = try StoreFolder()
    let database = try folder.open()
    let workspace = try paired(database)
    let posted = try everyEvent()
    // The last has another one's position.
    #expect(throws: StorageFault.self) {
      try database.commitKnowingMarks(
        batch(workspace) { changes in
          changes.posted = posted + posted.prefix(1)
          changes.entries = posted.map { InboxEntry(device: Self.phone, position: $0.position) }
        })
    }
    let records = try #require(try database.header(of: workspace)).inboxes
    #expect(records == InboxRecords())
  }

  /// A device that returns may acknowledge notifications that were removed when it was revoked.
  @Test func entriesOfWhatIsGoneAreDropped() throws {
    let folder = try StoreFolder()
    let database = try folder.open()
    let workspace = try paired(database)
    let posted = try everyEvent()
    try database.commitKnowingMarks(
      batch(workspace) { changes in
        changes.posted = posted
        changes.entries =
          [InboxEntry(device: Self.phone, position: 99, isAcknowledged: true)]
          + posted.map { InboxEntry(device: Self.phone, position: $0.position) }
      })
    let records = try #require(try database.header(of: workspace)).inboxes
    #expect(records.entries.map(\.position).sorted() == posted.map(\.position).sorted())
  }
}
