import Foundation
import GRDB
package import QueueModel
package import ServerCore

/// Events about access.
extension ServerDatabase {
  package func record(_ entries: [AuditEntry]) throws(StorageFault) {
    try write { db in try insert(entries, in: db) }
  }

  /// Adds entries, and drops the oldest of their kinds and workspaces. So the list cannot grow
  /// without end, and entries of one workspace do not displace those of another.
  func insert(_ entries: [AuditEntry], in db: Database) throws {
    struct Kind: Hashable {
      let event: AuditEntry.Event
      let workspace: WorkspaceID?
    }
    for entry in entries {
      try db.cachedStatement(
        sql: """
          INSERT INTO audit (at, event, workspace, device, source, detail)
          VALUES (?, ?, ?, ?, ?, ?)
          """
      ).execute(arguments: [
        entry.at, entry.event.rawValue, entry.workspace?.column, entry.device?.column, entry.source,
        entry.detail,
      ])
    }
    for kind in Set(entries.map { Kind(event: $0.event, workspace: $0.workspace) }) {
      try db.execute(
        sql: """
          DELETE FROM audit WHERE event = ?1 AND workspace IS ?2 AND number <= (
            SELECT number FROM audit WHERE event = ?1 AND workspace IS ?2
            ORDER BY number DESC LIMIT 1 OFFSET ?3)
          """,
        arguments: [
          kind.event.rawValue, kind.workspace?.column, AuditEntry.keptOfEachKind,
        ])
    }
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
