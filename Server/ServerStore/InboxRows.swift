import Foundation
import GRDB
import QueueModel
import SequenceCRDT
import ServerCore
import WireProtocol

/// The rows of a workspace's notifications, inboxes, preferences and push targets, and the push
/// orders for them, within a transaction.
struct InboxRows {
  /// The number of the workspace.
  let number: Int64
  let db: Database

  init(ofWorkspace number: Int64, in db: Database) {
    self.number = number
    self.db = db
  }

  func records() throws -> InboxRecords {
    var records = InboxRecords()
    let last = try Int64.fetchOne(
      db, sql: "SELECT notification_position FROM workspaces WHERE number = ?",
      arguments: [number])
    records.lastPosition = UInt64(column: last ?? 0)
    records.notifications = try Row.fetchAll(
      db,
      sql: """
        SELECT * FROM notifications n WHERE workspace = ? AND EXISTS (
          SELECT 1 FROM inbox i WHERE i.workspace = n.workspace AND i.position = n.position)
        """, arguments: [number]
    ).compactMap { row in try readable { try StoredNotification(row: row) } }
    // A notification that cannot be read must not prevent a workspace from opening.
    let readablePositions = Set(records.notifications.map(\.position))
    records.entries = try Row.fetchAll(
      db,
      sql: """
        SELECT i.* FROM inbox i LEFT JOIN devices d ON d.workspace = i.workspace AND d.id = i.device
        WHERE i.workspace = ? AND d.revoked_at IS NULL
        """, arguments: [number]
    ).map { row in
      InboxEntry(
        device: try row.identifier("device"), position: row.position("position"),
        isPushed: row["is_pushed"], isAcknowledged: row["is_acknowledged"])
    }.filter { readablePositions.contains($0.position) }
    for row in try Row.fetchAll(
      db, sql: "SELECT * FROM notification_preferences WHERE workspace = ?", arguments: [number])
    {
      let off = Array(row["off"] as Data).map(NotificationCategory.init(rawValue:))
      records.preferences[try row.identifier("device")] = NotificationPreferences(
        off: Set(off), showsDetails: row["details"], showsLiveStatus: row["live_status"],
        personDelaySeconds: row["person_delay"])
    }
    records.targets = try Row.fetchAll(
      db,
      sql: """
        SELECT t.* FROM push_targets t
        JOIN devices d ON d.workspace = t.workspace AND d.id = t.set_by
        WHERE t.workspace = ? AND d.revoked_at IS NULL
        """, arguments: [number]
    ).map(PushTargetRecord.init(row:))
    for row in try Row.fetchAll(
      db, sql: "SELECT session, started_at, ended_at FROM live_statuses WHERE workspace = ?",
      arguments: [number])
    {
      guard let session = try readable({ try SessionID(row["session"] as String) }) else {
        continue
      }
      if let end = row["ended_at"] as Int64? {
        records.endedStatuses[session] = end
      } else {
        records.statuses[session] = row["started_at"]
      }
    }
    return records
  }

  func save(_ changes: InboxChanges) throws {
    for notification in changes.posted { try insert(notification) }
    if let last = changes.posted.last {
      try db.cachedStatement(
        sql: "UPDATE workspaces SET notification_position = ? WHERE number = ?"
      ).execute(arguments: [last.position.column, number])
    }
    for entry in changes.entries {
      try db.cachedStatement(
        sql: """
          INSERT INTO inbox (workspace, device, position, is_pushed, is_acknowledged)
          SELECT ?1, ?2, ?3, ?4, ?5 WHERE \(InboxRows.mayConnect)
            AND EXISTS (SELECT 1 FROM notifications n WHERE n.workspace = ?1 AND n.position = ?3)
          ON CONFLICT (workspace, device, position) DO UPDATE
          SET is_pushed = excluded.is_pushed, is_acknowledged = excluded.is_acknowledged
          """
      ).execute(arguments: [
        number, entry.device.column, entry.position.column, entry.isPushed, entry.isAcknowledged,
      ])
    }
    for order in changes.orders {
      try db.cachedStatement(
        sql: """
          INSERT INTO push_orders (workspace, device, kind, position, details)
          SELECT ?1, ?2, ?3, ?4, ?5 WHERE \(InboxRows.mayConnect)
            AND EXISTS (SELECT 1 FROM notifications n WHERE n.workspace = ?1 AND n.position = ?4)
          """
      ).execute(arguments: [
        number, order.device.column, Int64(order.kind.rawValue),
        order.notification.position.column, order.showsDetails,
      ])
    }
    for entry in changes.removed {
      try db.cachedStatement(
        sql: "DELETE FROM inbox WHERE workspace = ? AND device = ? AND position = ?"
      ).execute(arguments: [number, entry.device.column, entry.position.column])
      try forget(entry.position.column)
    }
    // Skips notifications that are only for revoked devices.
    for notification in changes.posted {
      try forget(notification.position.column)
    }
    for (device, preferences) in changes.preferences {
      try save(preferences, of: device)
    }
    for target in changes.targets { try save(target) }
    for (session, status) in changes.shown {
      switch status {
      case .since(let start):
        try db.cachedStatement(
          sql: """
            INSERT OR REPLACE INTO live_statuses (workspace, session, started_at) VALUES (?, ?, ?)
            """
        ).execute(arguments: [number, session.rawValue, start])
      case .ended(let end):
        try db.cachedStatement(
          sql: "UPDATE live_statuses SET ended_at = ? WHERE workspace = ? AND session = ?"
        ).execute(arguments: [end, number, session.rawValue])
      }
    }
  }

  /// A condition: the device ?2 of the workspace ?1 may connect, or it is the user. It may have
  /// been revoked since the server read it.
  private static let mayConnect = """
    (?2 = zeroblob(16) OR EXISTS (SELECT 1 FROM devices d
      WHERE d.workspace = ?1 AND d.id = ?2 AND d.revoked_at IS NULL))
    """

  /// Removes a device's waiting notifications, preferences and push targets.
  func forget(_ device: DeviceID) throws {
    let key: StatementArguments = [number, device.column]
    try db.execute(
      sql: """
        DELETE FROM push_deliveries WHERE order_number IN (
          SELECT number FROM push_orders WHERE workspace = ? AND device = ?)
        """, arguments: key)
    var positions: Set<Int64> = []
    for table in ["push_orders", "inbox"] {
      positions.formUnion(
        try Int64.fetchAll(
          db, sql: "DELETE FROM \(table) WHERE workspace = ? AND device = ? RETURNING position",
          arguments: key))
    }
    try db.execute(
      sql: "DELETE FROM push_targets WHERE workspace = ? AND set_by = ?", arguments: key)
    try db.execute(
      sql: "DELETE FROM notification_preferences WHERE workspace = ? AND device = ?",
      arguments: key)
    for position in positions { try forget(position) }
  }

  /// Removes a notification that no inbox has.
  func forget(_ position: Int64) throws {
    try db.cachedStatement(
      sql: """
        DELETE FROM notifications WHERE workspace = ?1 AND position = ?2
          AND NOT EXISTS (SELECT 1 FROM inbox WHERE workspace = ?1 AND position = ?2)
          AND NOT EXISTS (SELECT 1 FROM push_orders WHERE workspace = ?1 AND position = ?2)
        """
    ).execute(arguments: [number, position])
  }

  private func insert(_ notification: StoredNotification) throws {
    let words = notification.event.columns
    try db.cachedStatement(
      sql: """
        INSERT INTO notifications (workspace, position, replica, seq, category, session, request,
          at, expires_at, subject, summary, details, digest, is_cut)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    ).execute(arguments: [
      number, notification.position.column, notification.name.replica.column,
      Int64(notification.name.seq), Int64(notification.event.category.rawValue),
      notification.session.rawValue,
      notification.request?.column ?? notification.message?.column, notification.milliseconds,
      notification.expiresAt, words.subject?.bytes, words.summary?.bytes,
      words.details?.bytes, notification.event.digest?.description, notification.event.isCut,
    ])
  }

  private func save(_ preferences: NotificationPreferences, of device: DeviceID) throws {
    try db.cachedStatement(
      sql: """
        INSERT OR REPLACE INTO notification_preferences
          (workspace, device, off, details, live_status, person_delay)
        SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE \(InboxRows.mayConnect)
        """
    ).execute(arguments: [
      number, device.column, Data(preferences.off.sorted().map(\.rawValue)),
      preferences.showsDetails, preferences.showsLiveStatus, preferences.personDelaySeconds,
    ])
  }

  private func save(_ change: InboxChanges.Target) throws {
    switch change {
    case .set(let target):
      try db.cachedStatement(
        sql: """
          INSERT OR REPLACE INTO push_targets
            (workspace, device, id, kind, address, shown_address, is_valid, reason, registered_at,
              delivered_at, set_by)
          SELECT ?1, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?2 WHERE \(InboxRows.mayConnect)
          """
      ).execute(arguments: [
        number, target.setBy.column, target.device.column, target.id.column, target.kind,
        target.address, target.shownAddress, target.isValid, target.reason, target.registeredAt,
        target.deliveredAt,
      ])
    case .remove(let device, let id):
      try db.cachedStatement(
        sql: "DELETE FROM push_targets WHERE workspace = ? AND device = ? AND id = ?"
      ).execute(arguments: [number, device.column, id.column])
    }
  }
}

extension StoredNotification {
  init(row: Row) throws {
    let subject: Data? = row["request"]
    let event = try NotificationEvent(row: row)
    let isOfMessage = event.category == .messageMerged
    self.init(
      position: row.position("position"),
      name: OperationID(
        replica: ReplicaID(column: row["replica"]), seq: try row.sequence("seq")),
      event: event, session: try SessionID(row["session"] as String),
      request: isOfMessage ? nil : try subject.map { _ in try row.identifier("request") },
      message: isOfMessage ? try row.identifier("request") : nil,
      milliseconds: row["at"], expiresAt: row["expires_at"])
  }
}

extension PushTargetRecord {
  init(row: Row) throws {
    self.init(
      device: try row.identifier("device"), id: try row.identifier("id"), kind: row["kind"],
      address: row["address"], shownAddress: row["shown_address"], isValid: row["is_valid"],
      reason: row["reason"], registeredAt: row["registered_at"], deliveredAt: row["delivered_at"],
      setBy: try row.identifier("set_by"))
  }
}

extension String {
  fileprivate var bytes: Data { Data(utf8) }
}

extension Row {
  fileprivate func words(_ name: String) -> String? {
    (self[name] as Data?).map { String(decoding: $0, as: UTF8.self) }
  }
}

extension NotificationEvent {
  fileprivate var columns: (subject: String?, summary: String?, details: String?) {
    switch self {
    case .approval(let tool, let summary, let details, _, _): (tool, summary, details)
    case .question(let question, let options):
      (nil, question, options.isEmpty ? nil : NotificationEvent.list(options))
    case .taskComplete(let text), .taskFailed(let text): (nil, text, nil)
    case .threadReady(let name): (nil, name, nil)
    case .messageMerged(let text): (nil, text, nil)
    }
  }

  fileprivate init(row: Row) throws {
    let summary = row.words("summary")
    let details = row.words("details")
    switch NotificationCategory(rawValue: UInt8(clamping: row["category"] as Int64)) {
    case .approvalRequest:
      self = .approval(
        tool: row.words("subject") ?? "", summary: summary ?? "", details: details,
        digest: (row["digest"] as String?).flatMap { ContentHash($0) }, isCut: row["is_cut"])
    case .questionAsked:
      self = .question(summary ?? "", options: try NotificationEvent.options(details))
    case .taskComplete: self = .taskComplete(summary: summary)
    case .taskError: self = .taskFailed(error: summary)
    case .threadReady: self = .threadReady(name: summary ?? "")
    case .messageMerged: self = .messageMerged(text: summary ?? "")
    default: throw DamagedColumn(name: "category")
    }
  }

  private static func list(_ options: [String]) -> String? {
    // An array of strings can always be encoded.
    (try? JSONEncoder().encode(options)).map { String(decoding: $0, as: UTF8.self) }
  }

  private static func options(_ details: String?) throws -> [String] {
    guard let details else { return [] }
    return try JSONDecoder().decode([String].self, from: Data(details.utf8))
  }
}
