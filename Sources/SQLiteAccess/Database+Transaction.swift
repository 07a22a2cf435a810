package import GRDB

extension Database {
  /// One write transaction: all of `body`, or nothing if it throws.
  ///
  /// Like `inTransaction`, with prepared statements: a store with small transactions spends as much
  /// time on beginning and ending them as on the rows. `body` must rethrow the error of the first
  /// statement that fails, since SQLite may have ended the transaction with it
  /// (<https://www.sqlite.org/lang_transaction.html>, "Response To Errors Within A Transaction").
  ///
  /// - Precondition: no transaction is open.
  /// - Throws: the error of `body`, or `DatabaseError` if the transaction fails to begin or commit.
  package func transaction<Result>(_ body: (Database) throws -> Result) throws -> Result {
    try cachedStatement(sql: "BEGIN IMMEDIATE TRANSACTION").execute()
    do {
      let result = try body(self)
      guard isInsideTransaction else {
        throw DatabaseError(
          resultCode: .SQLITE_ABORT, message: "the transaction was rolled back by SQLite")
      }
      try cachedStatement(sql: "COMMIT TRANSACTION").execute()
      return result
    } catch {
      // The first error counts. A transaction that SQLite ended itself has nothing to roll back.
      try? rollback()
      throw error
    }
  }
}

extension DatabaseWriter {
  /// `Database.transaction(_:)` on the writer's connection.
  package func transaction<Result>(_ body: (Database) throws -> Result) throws -> Result {
    try writeWithoutTransaction { try $0.transaction(body) }
  }
}
