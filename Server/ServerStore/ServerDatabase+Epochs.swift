import Foundation
import GRDB
package import QueueModel
import SequenceCRDT
package import ServerCore

/// Bases, the log that they replace, and wishes for them.
extension ServerDatabase {
  package func base(of workspace: WorkspaceID) throws(StorageFault) -> StoredSnapshot? {
    try read { db in
      try Row.fetchOne(
        db,
        sql: """
          SELECT position, bytes FROM bases
          WHERE workspace = (SELECT number FROM workspaces WHERE id = ?)
          """, arguments: [workspace.column]
      ).map { row in
        StoredSnapshot(position: row.position("position"), bytes: Array(row["bytes"] as Data))
      }
    }
  }

  package func start(
    _ epoch: EpochStart, of workspace: WorkspaceID
  ) throws(StorageFault) {
    try write { db in
      let number = try number(of: workspace, in: db)
      guard try follows(epoch, workspace: number, in: db) else {
        throw StorageFault(
          code: .conflict, message: "the workspace is in another epoch, or its log went on")
      }
      try db.execute(
        sql: "UPDATE workspaces SET epoch = ?, compaction_request = NULL WHERE number = ?",
        arguments: [epoch.epoch.column, number])
      try db.execute(
        sql: "INSERT OR REPLACE INTO bases (workspace, position, bytes) VALUES (?, ?, ?)",
        arguments: [number, epoch.position.column, Data(epoch.base)])
      try db.execute(sql: "DELETE FROM snapshots WHERE workspace = ?", arguments: [number])
      for table in ["log_ranges", "log"] {
        try db.execute(
          sql: "DELETE FROM \(table) WHERE workspace = ? AND position <= ?",
          arguments: [number, epoch.position.column])
      }
      for mark in epoch.replicas ?? [] {
        try db.execute(
          sql: """
            INSERT INTO replicas (workspace, replica, device, seq, digest) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (workspace, replica) DO UPDATE
            SET seq = excluded.seq, digest = excluded.digest
            """,
          arguments: [
            number, mark.replica.column, mark.device.column, Int64(mark.seq), mark.digest.column,
          ])
      }
      try db.execute(
        sql: "UPDATE replicas SET base_seq = seq WHERE workspace = ?", arguments: [number])
    }
  }

  /// Whether the workspace is where the epoch is to start.
  private func follows(
    _ epoch: EpochStart, workspace number: Int64, in db: Database
  ) throws -> Bool {
    let row = try Row.fetchOne(
      db,
      sql: """
        SELECT epoch, (SELECT max(position) FROM log WHERE workspace = number) AS head,
          (SELECT position FROM bases WHERE workspace = number) AS base
        FROM workspaces WHERE number = ?
        """, arguments: [number])
    guard let row, UInt64(column: row["epoch"]) == epoch.previous else { return false }
    let last: Int64? = row["head"] ?? row["base"]
    let head = last.map(UInt64.init(column:)) ?? 0
    return head == epoch.position || epoch.replicas != nil && head < epoch.position
  }

  package func compactionCandidates(
    operationsMin: Int, waiting: Set<WorkspaceID>
  ) throws(StorageFault) -> [CompactionCandidate] {
    // Asked every second for wishes alone, which must cost next to nothing.
    let count =
      operationsMin == .max
      ? "0.0" : "(SELECT total(seq - base_seq) FROM replicas WHERE workspace = number)"
    return try read { db in
      let rows = try Row.fetchAll(
        db.cachedStatement(
          sql: "SELECT number, id, compaction_request, \(count) AS operations FROM workspaces"))
      return try rows.compactMap { row in
        let id: WorkspaceID = try row.identifier("id")
        let operations = Int(exactly: row["operations"] as Double) ?? .max
        let wish: Int? = row["compaction_request"]
        guard wish != nil || operations >= operationsMin || waiting.contains(id) else {
          return nil
        }
        return CompactionCandidate(
          workspace: id, operations: operations, request: wish.flatMap(CompactionRequest.init),
          devices: try records(ofWorkspace: row["number"], in: db))
      }
    }
  }

  /// Devices that may connect.
  func records(ofWorkspace number: Int64, in db: Database) throws -> [DeviceRecord] {
    try Row.fetchAll(
      db,
      sql: """
        SELECT id, name, seen_position, last_seen_at FROM devices
        WHERE workspace = ? AND revoked_at IS NULL ORDER BY id
        """, arguments: [number]
    ).map { row in
      DeviceRecord(
        id: try row.identifier("id"), name: row["name"],
        seenLogPosition: row.position("seen_position"), lastSeenAt: row["last_seen_at"])
    }
  }

  /// Notes that somebody wants a workspace compacted; the serving process looks every second.
  ///
  /// - Returns: nil where there is no workspace of that name.
  package func requestCompaction(
    ofWorkspaceNamed name: String, _ request: CompactionRequest
  ) throws(StorageFault) -> WorkspaceID? {
    try write { db in
      try db.execute(
        sql: """
          UPDATE workspaces SET compaction_request = max(coalesce(compaction_request, 0), ?)
          WHERE name = ?
          """, arguments: [request.rawValue, name])
      return try Row.fetchOne(
        db, sql: "SELECT id FROM workspaces WHERE name = ?", arguments: [name]
      ).map { try $0.identifier("id") }
    }
  }

  /// The logs of all workspaces, or of one.
  package func logs(ofWorkspaceNamed name: String?) throws(StorageFault) -> [LogListing] {
    try read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT w.id, w.name, w.epoch, w.compaction_request IS NOT NULL AS waits,
            (SELECT count(*) FROM log l WHERE l.workspace = w.number) AS entries,
            (SELECT total(length(delta)) FROM log l WHERE l.workspace = w.number) AS bytes,
            (SELECT total(seq - base_seq) FROM replicas r WHERE r.workspace = w.number)
              AS operations,
            coalesce((SELECT length(bytes) FROM bases b WHERE b.workspace = w.number), 0)
              AS base_bytes
          FROM workspaces w WHERE ? IS NULL OR w.name = ? ORDER BY w.name
          """, arguments: [name, name]
      ).map { row in
        LogListing(
          workspace: try row.identifier("id"), workspaceName: row["name"],
          epoch: UInt64(column: row["epoch"]), entries: row["entries"],
          bytes: Int(row["bytes"] as Double), operations: Int(row["operations"] as Double),
          baseBytes: row["base_bytes"], waitsForCompaction: row["waits"])
      }
    }
  }
}

/// A workspace's log as the operator sees it.
package struct LogListing: Hashable, Sendable {
  package var workspace: WorkspaceID
  package var workspaceName: String
  package var epoch: UInt64
  package var entries: Int
  package var bytes: Int
  /// Operations beyond the base.
  package var operations: Int
  package var baseBytes: Int
  /// Somebody asked for a compaction that has not happened yet.
  package var waitsForCompaction: Bool
}
