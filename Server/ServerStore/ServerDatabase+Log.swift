import Foundation
import GRDB
package import QueueModel
package import ServerCore
import WireProtocol

/// The log and its snapshots.
extension ServerDatabase {
  package func latestSnapshot(
    of workspace: WorkspaceID, notBehind position: UInt64
  ) throws(StorageFault) -> StoredSnapshot? {
    try readBeside { db in
      try Row.fetchOne(
        db,
        sql: """
          SELECT position, chain, bytes FROM snapshots
          WHERE workspace = (SELECT number FROM workspaces WHERE id = ?) AND position <= ?
          ORDER BY position DESC LIMIT 1
          """, arguments: [workspace.column, position.column]
      ).map { StoredSnapshot(prefix: $0.prefix, bytes: Array($0["bytes"] as Data)) }
    }
  }

  package func chain(
    of workspace: WorkspaceID, at position: UInt64
  ) throws(StorageFault) -> UInt64? {
    try readBeside { db in
      try db.chain(ofWorkspace: try number(of: workspace, in: db), at: position)
    }
  }

  /// Whether the log begins with this prefix.
  private func holds(_ prefix: LogPrefix, workspace number: Int64, in db: Database) throws -> Bool {
    try head(ofWorkspace: number, in: db) == prefix
      || db.chain(ofWorkspace: number, at: prefix.position) == prefix.chain
  }

  package func entries(
    of workspace: WorkspaceID, after position: UInt64, limit: Int, bytesMax: Int
  ) throws(StorageFault) -> [LogEntry] {
    try readBeside { db in
      let rows = try Row.fetchCursor(
        db,
        sql: """
          SELECT position, chain, kind, bytes FROM log
          WHERE workspace = (SELECT number FROM workspaces WHERE id = ?) AND position > ?
          ORDER BY position LIMIT ?
          """, arguments: [workspace.column, position.column, limit])
      var entries: [LogEntry] = []
      var bytes = 0
      while bytes < bytesMax, let row = try rows.next() {
        let entry = try LogEntry(row: row)
        bytes += entry.content.bytes.count
        entries.append(entry)
      }
      return entries
    }
  }

  package func save(
    _ snapshot: StoredSnapshot, of workspace: WorkspaceID, truncatingBefore position: UInt64
  ) throws(StorageFault) -> Bool {
    try write { db in
      // The workspace may have been deleted meanwhile, and the log may be another one.
      guard let number = try knownNumber(of: workspace, in: db),
        try holds(snapshot.prefix, workspace: number, in: db)
      else { return false }
      try db.execute(
        sql: """
          INSERT OR REPLACE INTO snapshots (workspace, position, chain, bytes) VALUES (?, ?, ?, ?)
          """,
        arguments: [
          number, snapshot.prefix.position.column, snapshot.prefix.chain.column,
          Data(snapshot.bytes),
        ])
      // The previous one is kept, with the log after it, in case this one turns out to be
      // unreadable.
      try db.execute(
        sql: """
          DELETE FROM snapshots WHERE workspace = ? AND position NOT IN (
            SELECT position FROM snapshots WHERE workspace = ? ORDER BY position DESC LIMIT 2)
          """, arguments: [number, number])
      try db.execute(
        sql: """
          DELETE FROM log WHERE workspace = ? AND position < (
            SELECT min(position) FROM snapshots WHERE workspace = ? HAVING count(*) = 2)
          AND (position < ? OR position < (
            SELECT max(position) FROM (
              SELECT position, sum(max(length(bytes), ?)) OVER (ORDER BY position DESC) AS size
              FROM log WHERE workspace = ?)
            WHERE size > ?))
          """,
        arguments: [
          number, number, position.column, KeptLog.entryBytesMin, number, KeptLog.bytesMax,
        ])
      return true
    }
  }

  /// The end of a workspace's whole log.
  func head(ofWorkspace number: Int64, in db: Database) throws -> LogPrefix {
    let row = try Row.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT * FROM (SELECT position, chain FROM log WHERE workspace = ?
            ORDER BY position DESC LIMIT 1)
          UNION ALL SELECT * FROM (SELECT position, chain FROM snapshots WHERE workspace = ?
            ORDER BY position DESC LIMIT 1)
          UNION ALL SELECT 0, first_chain FROM workspaces WHERE number = ?
          ORDER BY position DESC LIMIT 1
          """), arguments: [number, number, number])
    guard let row else { throw StorageFault(code: .internalError, message: "no such workspace") }
    return row.prefix
  }

  /// The logs of all workspaces, or of one.
  package func logs(ofWorkspaceNamed name: String?) throws(StorageFault) -> [LogListing] {
    try read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT w.number, w.id, w.name,
            (SELECT count(*) FROM log l WHERE l.workspace = w.number) AS entries,
            (SELECT total(length(bytes)) FROM log l WHERE l.workspace = w.number) AS bytes,
            s.position AS snapshot_position, coalesce(length(s.bytes), 0) AS snapshot_bytes
          FROM workspaces w LEFT JOIN snapshots s ON s.workspace = w.number AND s.position =
            (SELECT max(position) FROM snapshots WHERE workspace = w.number)
          WHERE ? IS NULL OR w.name = ? ORDER BY w.name
          """, arguments: [name, name]
      ).map { row in
        let snapshot: Int64? = row["snapshot_position"]
        return LogListing(
          workspace: try row.identifier("id"), workspaceName: row["name"],
          headPosition: try head(ofWorkspace: row["number"], in: db).position,
          entries: row["entries"], bytes: Int(row["bytes"] as Double),
          snapshotPosition: snapshot.map(UInt64.init(column:)) ?? 0,
          snapshotBytes: row["snapshot_bytes"])
      }
    }
  }
}

/// A workspace's log as the operator sees it.
package struct LogListing: Hashable, Sendable {
  package var workspace: WorkspaceID
  package var workspaceName: String
  /// The number of entries ever logged.
  package var headPosition: UInt64
  /// The kept entries, and their bytes.
  package var entries: Int
  package var bytes: Int
  /// The latest snapshot; 0 if there is none yet.
  package var snapshotPosition: UInt64
  package var snapshotBytes: Int
}

extension LogEntry {
  /// The column `kind`.
  enum Kind: Int64 {
    case delta = 1
    case state = 2
  }

  init(row: Row) throws {
    let bytes = Array(row["bytes"] as Data)
    switch Kind(rawValue: row["kind"]) {
    case .delta: self.init(prefix: row.prefix, content: .delta(bytes))
    case .state: self.init(prefix: row.prefix, content: .state(bytes))
    case nil: throw DamagedColumn(name: "kind")
    }
  }
}

extension Row {
  /// The columns `position` and `chain`.
  var prefix: LogPrefix {
    LogPrefix(position: position("position"), chain: UInt64(column: self["chain"]))
  }
}

/// The part of the log that is kept for absent devices: as many entries and bytes as a device gets
/// instead of a snapshot.
private enum KeptLog {
  private static let limits = ServerConfiguration().log
  static let bytesMax = limits.catchUpBytesMax
  /// The minimum size that an entry counts as.
  static let entryBytesMin = limits.catchUpBytesMax / limits.catchUpEntriesMax
}

extension Database {
  fileprivate func chain(ofWorkspace number: Int64, at position: UInt64) throws -> UInt64? {
    try Int64.fetchOne(
      self,
      sql: """
        SELECT chain FROM log WHERE workspace = ? AND position = ?
        UNION ALL SELECT chain FROM snapshots WHERE workspace = ? AND position = ?
        """, arguments: [number, position.column, number, position.column]
    ).map(UInt64.init(column:))
  }

  func insert(_ entry: LogEntry, workspace number: Int64) throws {
    let kind: LogEntry.Kind =
      switch entry.content {
      case .delta: .delta
      case .state: .state
      }
    try cachedStatement(
      sql: "INSERT INTO log (workspace, position, chain, kind, bytes) VALUES (?, ?, ?, ?, ?)"
    ).execute(arguments: [
      number, entry.prefix.position.column, entry.prefix.chain.column, kind.rawValue,
      Data(entry.content.bytes),
    ])
  }
}
