package import GRDB
import GRDBSQLite

extension Database {
  /// Makes every commit return only when the data is on the disk, and not only in the disk's own
  /// memory: `synchronous = FULL`, and `fullfsync` if the platform has it
  /// (<https://www.sqlite.org/pragma.html#pragma_fullfsync>).
  ///
  /// Call it for a connection before its first transaction: `Configuration.prepareDatabase`.
  package func waitForDiskOnCommit() throws {
    try execute(sql: "PRAGMA synchronous = FULL")
    try execute(sql: "PRAGMA fullfsync = ON")
  }

  /// Waits until the write-ahead log is on the disk, and with it all transactions that were
  /// committed without waiting (SQLite, "PRAGMA synchronous", NORMAL in WAL mode).
  ///
  /// It makes one call of the file system, through SQLite's own file of the log
  /// (<https://www.sqlite.org/c3ref/c_fcntl_begin_atomic_write.html>,
  /// `SQLITE_FCNTL_JOURNAL_POINTER`). If the platform supports it, the disk's own memory is flushed
  /// too, as with `PRAGMA fullfsync`.
  ///
  /// - Precondition: the database is in WAL mode, and no transaction is open.
  /// - Throws: `DatabaseError` if the disk fails. The commits stay valid, but a power failure may
  ///   lose them.
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
