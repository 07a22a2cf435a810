import ClientCore
import QueueModel
import SequenceCRDT
import Testing
import WireProtocol

@testable import ClientStore

/// Notifications in the device's file.
@Suite struct NotificationStoreTests {
  private let session: SessionID

  init() throws {
    session = try SessionID("s")
  }

  private func notification(
    _ seq: UInt32, request: RequestID? = nil, body: String = "b"
  ) -> DeviceNotification {
    DeviceNotification(
      notification: InboxNotification(
        position: UInt64(seq) + .max / 2,
        name: OperationID(replica: ReplicaID(rawValue: .max - 3), seq: seq),
        category: NotificationCategory(rawValue: UInt8(truncatingIfNeeded: seq)),
        isMissed: seq == 2,
        session: session, request: request, milliseconds: -1, title: "t\u{0}é", body: body),
      receivedAt: Int64(seq) * 100)
  }

  @Test func everythingIsReadAsWritten() throws {
    let directory = try StoreDirectory()
    var opened = try ClientStore.open(directory: directory.path)
    let record = ReplicaRecord(
      device: DeviceID(high: 1, low: 1), deviceName: "d", store: StoreID(rawValue: 5))
    let first = notification(1, request: RequestID(high: 3, low: .max), body: "x\u{0}y")
    var second = notification(2)
    second.notification.category = .messageMerged
    second.notification.message = MessageID(high: 3, low: .max)
    let over = notification(3)
    func commit(_ change: (inout NotificationChanges) -> Void) throws {
      var transaction = StoreTransaction(record: record)
      change(&transaction.notifications)
      try opened.store.commit(transaction)
    }
    func reopen() throws -> LoadedNotifications {
      try opened.store.close()
      opened = try ClientStore.open(directory: directory.path)
      return opened.loaded.notifications
    }
    try commit { changes in
      changes.received = [first, second]
      changes.receivedOver = [over]
    }
    var loaded = try reopen()
    #expect(loaded.standing.sorted { $0.name.seq < $1.name.seq } == [first, second])
    #expect(loaded.names == [first.name: 100, second.name: 200, over.name: 300])
    try commit { changes in
      changes.ended = [second.name]
      changes.announced = [first.name]
    }
    loaded = try reopen()
    #expect(loaded.standing.map(\.name) == [first.name])
    #expect(loaded.standing.map(\.isAnnounced) == [true])
    #expect(loaded.names.count == 3)
    try commit { $0.forgetsBefore = 301 }
    loaded = try reopen()
    #expect(loaded.names == [first.name: 100], "a standing notification is not forgotten")
    try opened.store.close()
  }

  @Test func transactionThatFailsLeavesNothing() throws {
    let directory = try StoreDirectory()
    let opened = try ClientStore.open(directory: directory.path)
    let record = ReplicaRecord(
      device: DeviceID(high: 1, low: 1), deviceName: "d", store: StoreID(rawValue: 5))
    var transaction = StoreTransaction(record: record)
    // The same notification twice.
    transaction.notifications.received = [notification(1), notification(1)]
    #expect(throws: StoreError.self) { try opened.store.commit(transaction) }
    try opened.store.close()
    let again = try ClientStore.open(directory: directory.path)
    #expect(again.loaded.notifications == LoadedNotifications())
    try again.store.close()
  }
}
