import GRDB
package import QueueModel
package import ServerCore

/// Push orders as rows.
extension ServerDatabase {
  package func workspacesWithUnpushed() throws(StorageFault) -> [WorkspaceID] {
    try read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT DISTINCT w.id FROM inbox i
          JOIN workspaces w ON w.number = i.workspace
          JOIN push_targets t ON t.workspace = i.workspace AND t.device = i.device
          JOIN devices d ON d.workspace = t.workspace AND d.id = t.set_by
          WHERE i.is_pushed = 0 AND i.is_acknowledged = 0 AND d.revoked_at IS NULL
            AND t.is_valid = 1 AND \(ServerDatabase.takesNotices)
          UNION SELECT w.id FROM live_statuses s JOIN workspaces w ON w.number = s.workspace
          ORDER BY id
          """
      ).map { try $0.identifier("id") }
    }
  }

  func pushOrder(_ number: Int64, in db: Database) throws -> StoredPushOrder? {
    try Row.fetchOne(
      db,
      sql: """
        SELECT o.number AS "order", o.device, o.kind, o.details AS shows_details, w.id, n.*
        FROM push_orders o
        JOIN workspaces w ON w.number = o.workspace
        JOIN notifications n ON n.workspace = o.workspace AND n.position = o.position
        WHERE o.number = ?
        """, arguments: [number]
    ).map(StoredPushOrder.init(row:))
  }
}

extension StoredPushOrder {
  fileprivate init(row: Row) throws {
    guard let kind = PushOrder.Kind(rawValue: UInt8(clamping: row["kind"] as Int64)) else {
      throw DamagedColumn(name: "kind")
    }
    self.init(
      number: row["order"], workspace: try row.identifier("id"),
      order: PushOrder(
        kind: kind, device: try row.identifier("device"),
        notification: try StoredNotification(row: row), showsDetails: row["shows_details"]))
  }
}
