package import GRDB
import GRDBSQLite

extension Database {
  /// Makes every commit return when the disk has it, and not the disk's own memory: `synchronous =
  /// FULL`, and `fullfsync` if the platform knows it
  /// (<https://www.sqlite.org/pragma.html#pragma_fullfsync>).
  ///
  /// For a connection, before its first transaction: `Configuration.prepareDatabase`.
  package func waitForDiskOnCommit() throws {
    try execute(sql: "PRAGMA synchronous = FULL")
    try execute(sql: "PRAGMA fullfsync = ON")
  }

  /// Waits until the disk has the write-ahead log, and with it all transactions that were committed
  /// without waiting (SQLite, "PRAGMA synchronous", NORMAL in WAL mode).
  ///
  /// One call of the file system, through SQLite's own file of the log
  /// (<https://www.sqlite.org/c3ref/c_fcntl_begin_atomic_write.html>,
  /// `SQLITE_FCNTL_JOURNAL_POINTER`); if the platform knows such a thing, the disk's own memory is
  /// emptied too, as with `PRAGMA fullfsync`.
  ///
  /// - Precondition: the database is in WAL mode, and no transaction is under way.
  /// - Throws: `DatabaseError` where the disk does not take it. What was committed stands then, and
  ///   a loss of power may take it.
  package func synchronizeLog() throws {
    var log: UnsafeMutablePointer<sqlite3_file>?
    let found = sqlite3_file_control(sqliteConnection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log)
    guard found == SQLITE_OK, let log, let methods = log.pointee.pMethods else {
      throw DatabaseError(
        resultCode: found == SQLITE_OK ? .SQLITE_MISUSE : ResultCode(rawValue: found),
        message: "the database has no write-ahead log")
    }
    let done = methods.pointee.xSync(log, SQLITE_SYNC_FULL)
    guard done == SQLITE_OK else {
      throw DatabaseError(
        resultCode: ResultCode(rawValue: done), message: "the disk does not take the log")
    }
  }
}
