import Foundation
import GRDB
package import QueueModel
package import ServerCore

/// A workspace as the operator sees it.
package struct WorkspaceListing: Hashable, Sendable {
  package var id: WorkspaceID
  package var name: String
  /// Milliseconds since 1970.
  package var createdAt: Int64
  /// Devices that have access.
  package var devices: Int
  /// Bytes of its latest snapshot and of the kept log.
  package var bytes: Int
  package var written: DailyWrites
  package var quota: WorkspaceQuota
}

/// The operator's commands for workspaces; safe while a server is running.
extension ServerDatabase {
  package func workspaces() throws(StorageFault) -> [WorkspaceListing] {
    try read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT w.*,
            (SELECT count(*) FROM devices d WHERE d.workspace = w.number AND d.revoked_at IS NULL)
              AS devices,
            (SELECT total(length(bytes)) FROM log l WHERE l.workspace = w.number)
              + coalesce((SELECT length(bytes) FROM snapshots s WHERE s.workspace = w.number
                ORDER BY position DESC LIMIT 1), 0) AS bytes
          FROM workspaces w ORDER BY w.name
          """
      ).map { row in
        WorkspaceListing(
          id: try row.identifier("id"), name: row["name"], createdAt: row["created_at"],
          devices: row["devices"], bytes: Int(row["bytes"] as Double),
          written: DailyWrites(day: row["written_day"], bytes: row["written_bytes"]),
          quota: row.quota)
      }
    }
  }

  /// Sets the limits of a workspace; a serving process follows within seconds.
  package func setQuota(
    _ quota: WorkspaceQuota, of workspace: WorkspaceID, noting entry: AuditEntry
  ) throws(StorageFault) {
    try write { db in
      try db.execute(
        sql: """
          UPDATE workspaces SET bytes_max = ?, units_max = ?, daily_bytes_max = ?,
            file_bytes_max = ?
          WHERE id = ?
          """,
        arguments: [
          quota.bytesMax, quota.unitsMax?.column, quota.dailyBytesMax, quota.fileBytesMax,
          workspace.column,
        ])
      try insert([entry], in: db)
    }
  }

  /// Renames a workspace. Only users and commands use the name.
  ///
  /// - Returns: whether the name was free.
  package func rename(
    _ workspace: WorkspaceID, to name: String, noting entry: AuditEntry
  ) throws(StorageFault) -> Bool {
    try write { db in
      let isTaken = try Bool.fetchOne(
        db, sql: "SELECT EXISTS (SELECT 1 FROM workspaces WHERE name = ? AND id <> ?)",
        arguments: [name, workspace.column])
      guard isTaken == false else { return false }
      try db.execute(
        sql: "UPDATE workspaces SET name = ? WHERE id = ?", arguments: [name, workspace.column])
      try insert([entry], in: db)
      return true
    }
  }

  /// Removes a workspace with all its data. Within seconds, a serving process notifies its devices
  /// that their tokens are unknown.
  package func delete(
    _ workspace: WorkspaceID, noting entry: AuditEntry
  ) throws(StorageFault) {
    try write { db in
      guard let number = try knownNumber(of: workspace, in: db) else { return }
      try db.execute(
        sql: """
          DELETE FROM push_deliveries WHERE order_number IN (
            SELECT number FROM push_orders WHERE workspace = ?)
          """, arguments: [number])
      // Tables with references come before the tables that they refer to.
      let tables = [
        "push_dead_letters", "push_orders", "push_targets", "inbox", "notification_preferences",
        "notifications", "live_statuses", "verdicts", "dispatches", "leases", "tokens",
        "pairing_codes", "devices", "snapshots", "log",
      ]
      for table in tables {
        try db.execute(sql: "DELETE FROM \(table) WHERE workspace = ?", arguments: [number])
      }
      try db.execute(sql: "DELETE FROM workspaces WHERE number = ?", arguments: [number])
      try insert([entry], in: db)
    }
  }
}
