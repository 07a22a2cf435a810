import GRDB
package import ServerCore

/// Copies of the file, and checks of it.
extension ServerDatabase {
  /// Writes the database as it is now to a new file, while others keep writing: one read
  /// transaction, without unused pages and without a log beside it
  /// (<https://www.sqlite.org/lang_vacuum.html>, "VACUUM with an INTO clause").
  ///
  /// When this returns, the file is in the system's memory. A caller that needs it on the disk
  /// synchronizes it.
  ///
  /// - Parameter path: of no file, or of an empty one.
  /// - Complexity: reads and writes the whole database.
  package func copy(to path: String) throws(StorageFault) {
    do {
      try queue.inDatabase { try $0.execute(sql: "VACUUM INTO ?", arguments: [path]) }
    } catch {
      throw StorageFault(error)
    }
  }

  /// The faults in the file's pages; nil if there are none.
  ///
  /// - Parameter isThorough: whether indices are also compared with their tables, which takes
  ///   several times as long.
  package func pageFaults(isThorough: Bool) throws(StorageFault) -> String? {
    let verdict = try read { db in
      try String.fetchAll(
        db, sql: isThorough ? "PRAGMA integrity_check(3)" : "PRAGMA quick_check(3)")
    }
    return verdict == ["ok"] ? nil : verdict.joined(separator: "; ")
  }

  /// The latest time in the database, milliseconds since 1970; nil if there is none.
  package func latestTime() throws(StorageFault) -> Int64? {
    try read { db in
      try Int64.fetchOne(
        db,
        sql: """
          SELECT max(at) FROM (
            SELECT max(at) AS at FROM audit UNION ALL SELECT max(last_seen_at) FROM devices)
          """)
    }
  }

  /// The revocations whose devices have access again.
  package func standing(_ revocations: [Revocation]) throws(StorageFault) -> [Revocation] {
    try read { db in
      try revocations.filter {
        try Bool.fetchOne(
          db,
          sql: """
            SELECT EXISTS (SELECT 1 FROM devices d JOIN workspaces w ON w.number = d.workspace
              WHERE w.id = ? AND d.id = ? AND d.revoked_at IS NULL AND d.paired_at <= ?)
            """, arguments: [$0.workspace.column, $0.device.column, $0.at]) ?? false
      }
    }
  }
}
