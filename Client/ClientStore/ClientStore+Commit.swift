package import ClientCore
import Foundation
import GRDB
package import QueueModel
import SQLiteAccess
import SequenceCRDT
import Synchronization
import WireProtocol

extension ClientStore {
  package func commit(_ transaction: StoreTransaction) throws(StoreError) {
    let before = stored.withLock { $0 }
    let record = transaction.record
    do {
      try write(waitsForDisk: transaction.waitsForDisk) { database in
        try prune(through: transaction.prunedThrough, in: database)
        try write(transaction.journal, to: database)
        try write(transaction.appended, to: database)
        try write(transaction.base, entry: transaction.prunedThrough ?? 0, to: database)
        if transaction.rewritesHistory {
          try database.execute(sql: "DELETE FROM images WHERE kind = 'cache'")
        } else if let pruned = transaction.prunedThrough {
          // The image builds on removed entries.
          try database.execute(
            sql: "DELETE FROM images WHERE kind = 'cache' AND entry < ?", arguments: [pruned])
        }
        if transaction.forgetsReceipts { try database.execute(sql: "DELETE FROM receipts") }
        for receipt in transaction.receipts { try write(receipt, to: database) }
        try shortenReceipts(by: transaction.receipts.count, in: database)
        try write(transaction.undo, to: database)
        if let (message, milliseconds) = transaction.sent {
          try endDraft(message, in: database)
          try note(message, at: milliseconds, in: database)
        }
        try write(transaction.intents, to: database)
        if let choice = transaction.choice { try write(choice, to: database) }
        try write(transaction.authority, to: database)
        try writeVerdicts(of: transaction.authority, to: database)
        try write(transaction.answers, to: database)
        try write(transaction.notifications, to: database)
        try write(record, before: before, to: database)
      }
    } catch {
      if transaction.choice != nil { agentNotes.withLock { $0 = [:] } }
      throw StoreError(error)
    }
    stored.withLock { $0 = record }
    isSynced.withLock {
      // A commit that waits also covers earlier ones, if it writes something, such as an entry.
      if !transaction.waitsForDisk {
        $0 = false
      } else if !transaction.appended.isEmpty {
        $0 = true
      }
    }
  }

  package var isSynchronized: Bool { isSynced.withLock { $0 } }

  package func synchronize() throws(StoreError) {
    guard !isSynchronized else { return }
    do {
      try database.writeWithoutTransaction { try $0.synchronizeLog() }
    } catch {
      throw StoreError(error)
    }
    isSynced.withLock { $0 = true }
  }

  /// One transaction; all writes go through here. A transaction that does not wait for the disk is
  /// in the write-ahead log when this returns, after the earlier ones: SQLite, "PRAGMA
  /// synchronous", NORMAL in WAL mode.
  func write<Value>(
    waitsForDisk: Bool = true, _ body: (Database) throws -> Value
  ) throws -> Value {
    try database.writeWithoutTransaction { database in
      try setWaiting(waitsForDisk, in: database)
      return try database.transaction(body)
    }
  }

  /// The setting stays for the next transaction, which usually needs the same. Parsing the pragma
  /// each time would take a tenth of a small transaction.
  private func setWaiting(_ waitsForDisk: Bool, in database: Database) throws {
    guard waits.withLock({ $0 }) != waitsForDisk else { return }
    try database.execute(sql: "PRAGMA synchronous = \(waitsForDisk ? "FULL" : "NORMAL")")
    waits.withLock { $0 = waitsForDisk }
  }

  private func write(_ entries: [StoredOperations], to database: Database) throws {
    let insert = try database.cachedStatement(
      sql: "INSERT INTO entries (id, is_local, delta) VALUES (?, ?, ?)")
    for entry in entries {
      let delta = entry.packed ?? PackedDelta.pack(entry.operations)
      try insert.execute(arguments: [entry.id, entry.isLocal, Data(delta)])
      try writeRanges(of: entry, to: database)
    }
  }

  private func writeRanges(of entry: StoredOperations, to database: Database) throws {
    let insert = try database.cachedStatement(
      sql: """
        INSERT INTO entry_ranges (replica, first_seq, last_seq, entry) VALUES (?, ?, ?, ?)
        """)
    for range in entry.operations.ranges {
      try insert.execute(arguments: [range.replica.column, range.first, range.last, entry.id])
    }
  }

  private func write(
    _ change: StoreTransaction.BaseChange, entry: Int64, to database: Database
  ) throws {
    switch change {
    case .none:
      break
    case .clear:
      try database.execute(sql: "DELETE FROM images WHERE kind = 'base'")
    case .install(let image):
      try database.execute(
        sql: "INSERT OR REPLACE INTO images (kind, entry, snapshot) VALUES ('base', ?, ?)",
        arguments: [entry, Data(PackedSnapshot.packRaw(image))])
    }
  }

  private func write(_ receipt: Receipt, to database: Database) throws {
    try database.cachedStatement(
      sql: """
        INSERT OR REPLACE INTO receipts (log_position, replica, last_seq) VALUES (?, ?, ?)
        """
    ).execute(arguments: [
      Int64(bitPattern: receipt.logPosition), receipt.replica.column, receipt.lastSeq,
    ])
  }

  /// From time to time, removes receipts that a `BatchReceipts` would not keep, because there are
  /// many.
  private func shortenReceipts(by added: Int, in database: Database) throws {
    guard added > 0 else { return }
    let isTime = receiptsWritten.withLock { written -> Bool in
      if let known = written, known + added < BatchReceipts.receiptsMax {
        written = known + added
        return false
      }
      written = 0
      return true
    }
    guard isTime else { return }
    try database.execute(
      sql: """
        DELETE FROM receipts WHERE log_position < (
          SELECT log_position FROM receipts ORDER BY log_position DESC LIMIT 1 OFFSET ?)
        """, arguments: [BatchReceipts.receiptsMax - 1])
  }

  /// Stores the state up to an entry, so that the next opening does not replay the log.
  package func keep(_ workspace: Workspace, upTo entry: Int64) throws(StoreError) {
    let snapshot = Data(PackedSnapshot.packRaw(workspace))
    do {
      try write { database in
        try database.execute(
          sql: "INSERT OR REPLACE INTO images (kind, entry, snapshot) VALUES ('cache', ?, ?)",
          arguments: [entry, snapshot])
      }
    } catch {
      throw StoreError(error)
    }
  }
}
