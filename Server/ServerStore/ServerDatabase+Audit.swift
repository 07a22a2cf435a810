import Foundation
import GRDB
package import QueueModel
package import ServerCore

/// What happened about access.
extension ServerDatabase {
  package func record(_ entries: [AuditEntry]) throws(StorageFault) {
    try write { db in
      for entry in entries { try insert(entry, in: db) }
      for event in Set(entries.map(\.event)) {
        try db.execute(
          sql: """
            DELETE FROM audit WHERE event = ?1 AND number <= (
              SELECT number FROM audit WHERE event = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)
            """, arguments: [event.rawValue, AuditEntry.keptOfEachKind])
      }
    }
  }

  func insert(_ entry: AuditEntry, in db: Database) throws {
    try db.execute(
      sql: """
        INSERT INTO audit (at, event, workspace, device, source, detail) VALUES (?, ?, ?, ?, ?, ?)
        """,
      arguments: [
        entry.at, entry.event.rawValue, entry.workspace?.column, entry.device?.column, entry.source,
        entry.detail,
      ])
  }

  /// The latest entries, oldest first; of one workspace, or of all.
  package func audit(of workspace: WorkspaceID?, limit: Int) throws(StorageFault) -> [AuditEntry] {
    try read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT * FROM audit WHERE ?1 IS NULL OR workspace = ?1 ORDER BY number DESC LIMIT ?2
          """, arguments: [workspace?.column, limit]
      ).reversed().map { row in
        guard let event = AuditEntry.Event(rawValue: row["event"]) else {
          throw DamagedColumn(name: "event")
        }
        return AuditEntry(
          at: row["at"], event: event,
          workspace: (row["workspace"] as Data?).flatMap(WorkspaceID.init(column:)),
          device: (row["device"] as Data?).flatMap(DeviceID.init(column:)), source: row["source"],
          detail: row["detail"])
      }
    }
  }
}
