import ClientCore
import Foundation
import GRDB
import QueueModel
import SequenceCRDT
import WireProtocol

/// Notifications from the server's inbox.
extension ClientStore {
  func write(_ changes: NotificationChanges, to database: Database) throws {
    for item in changes.received { try insert(item, isStanding: true, into: database) }
    for item in changes.receivedOver { try insert(item, isStanding: false, into: database) }
    for name in changes.ended {
      // The name stays known; the text is deleted for privacy.
      try database.cachedStatement(
        sql: """
          UPDATE notifications SET is_standing = 0, title = x'', body = x''
          WHERE replica = ? AND seq = ?
          """
      ).execute(arguments: [name.replica.column, name.seq])
    }
    for name in changes.announced {
      try database.cachedStatement(
        sql: "UPDATE notifications SET is_announced = 1 WHERE replica = ? AND seq = ?"
      ).execute(arguments: [name.replica.column, name.seq])
    }
    if let horizon = changes.forgetsBefore {
      try database.cachedStatement(
        sql: "DELETE FROM notifications WHERE is_standing = 0 AND received_at < ?"
      ).execute(arguments: [horizon])
    }
  }

  private func insert(
    _ item: DeviceNotification, isStanding: Bool, into database: Database
  ) throws {
    let notification = item.notification
    try database.cachedStatement(
      sql: """
        INSERT INTO notifications (replica, seq, received_at, position, category, is_missed,
          session, request, at, title, body, is_standing, is_announced)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    ).execute(arguments: [
      notification.name.replica.column, notification.name.seq, item.receivedAt,
      Int64(bitPattern: notification.position), Int64(notification.category.rawValue),
      notification.isMissed, notification.session.rawValue,
      notification.request?.description ?? notification.message?.description,
      notification.milliseconds, Data((isStanding ? notification.title : "").utf8),
      Data((isStanding ? notification.body : "").utf8), isStanding, item.isAnnounced,
    ])
  }
}

func fetchNotifications(_ database: Database) throws -> LoadedNotifications {
  var loaded = LoadedNotifications()
  for row in try Row.fetchAll(database, sql: "SELECT * FROM notifications") {
    let name = OperationID(
      replica: ReplicaID(column: row["replica"]), seq: UInt32(clamping: row["seq"] as Int64))
    loaded.names[name] = row["received_at"]
    // An unreadable notification is not shown: it must not prevent a store from opening.
    guard row["is_standing"], let session = try? SessionID(row["session"] as String) else {
      continue
    }
    let subject: String? = row["request"]
    let category = NotificationCategory(rawValue: UInt8(clamping: row["category"] as Int64))
    let isOfMessage = category == .messageMerged
    let title: Data = row["title"]
    let body: Data = row["body"]
    loaded.standing.append(
      DeviceNotification(
        notification: InboxNotification(
          position: UInt64(bitPattern: row["position"] as Int64), name: name,
          category: category, isMissed: row["is_missed"], session: session,
          request: isOfMessage ? nil : subject.flatMap { RequestID($0) },
          message: isOfMessage ? subject.flatMap { MessageID($0) } : nil, milliseconds: row["at"],
          title: String(decoding: title, as: UTF8.self),
          body: String(decoding: body, as: UTF8.self)),
        receivedAt: row["received_at"], isAnnounced: row["is_announced"]))
  }
  return loaded
}
