import Foundation
import GRDB
import SQLiteAccess
import Testing

@Suite struct TransactionTests {
  private struct Refused: Error {}

  private func queue() throws -> DatabaseQueue {
    let queue = try DatabaseQueue()
    try queue.transaction { try $0.execute(sql: "CREATE TABLE numbers (number)") }
    return queue
  }

  private func numbers(_ queue: DatabaseQueue) throws -> [Int] {
    try queue.read { try Int.fetchAll($0, sql: "SELECT number FROM numbers ORDER BY 1") }
  }

  @Test func returningTransactionsAreStored() throws {
    let queue = try queue()
    for number in 1...3 {
      let count = try queue.transaction { database in
        try database.execute(sql: "INSERT INTO numbers VALUES (?)", arguments: [number])
        return database.changesCount
      }
      #expect(count == 1)
    }
    #expect(try numbers(queue) == [1, 2, 3])
  }

  @Test func failedTransactionsLeaveNothing() throws {
    let queue = try queue()
    #expect(throws: Refused.self) {
      try queue.transaction { database in
        try database.execute(sql: "INSERT INTO numbers VALUES (1)")
        throw Refused()
      }
    }
    #expect(try numbers(queue) == [])
    try queue.transaction { try $0.execute(sql: "INSERT INTO numbers VALUES (2)") }
    #expect(try numbers(queue) == [2])
  }

  /// SQLite itself ends the transaction if the disk is full.
  @Test func aFullDiskLeavesNothingAndTheNextOneWorks() throws {
    let queue = try queue()
    try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = 8") }
    let thrown = #expect(throws: DatabaseError.self) {
      try queue.transaction { database in
        try database.execute(sql: "INSERT INTO numbers VALUES (1)")
        try database.execute(sql: "INSERT INTO numbers VALUES (zeroblob(100000))")
      }
    }
    #expect(thrown?.resultCode == .SQLITE_FULL)
    #expect(try numbers(queue) == [])
    try queue.transaction { try $0.execute(sql: "INSERT INTO numbers VALUES (3)") }
    #expect(try numbers(queue) == [3])
  }

  /// A body that continues after its transaction has ended did not store everything, and gets an
  /// error.
  @Test func anEndedTransactionIsNotASuccess() throws {
    let queue = try queue()
    let thrown = #expect(throws: DatabaseError.self) {
      try queue.transaction { database in
        try database.execute(sql: "INSERT INTO numbers VALUES (1)")
        try database.rollback()
      }
    }
    #expect(thrown?.resultCode == .SQLITE_ABORT)
    #expect(try numbers(queue) == [])
  }

  /// The crash tests show that it waits.
  @Test func theLogOfADatabaseWithoutOneCannotBeWaitedFor() throws {
    let queue = try queue()
    let thrown = #expect(throws: DatabaseError.self) {
      try queue.writeWithoutTransaction { try $0.synchronizeLog() }
    }
    #expect(thrown?.resultCode == .SQLITE_MISUSE)
  }
}
