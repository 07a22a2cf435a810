import ClientCore
import Foundation
import GRDB
import QueueModel

/// The undo history, one row a command, in the form of `UndoEntry.bytes`.
extension ClientStore {
  func write(_ changes: UndoHistory.Changes, to database: Database) throws {
    guard !changes.isEmpty else { return }
    let remove = try database.cachedStatement(sql: "DELETE FROM undo WHERE number = ?")
    for number in changes.removed { try remove.execute(arguments: [number]) }
    let insert = try database.cachedStatement(
      sql: "INSERT OR REPLACE INTO undo (number, is_undone, steps) VALUES (?, ?, ?)")
    for entry in changes.written {
      let steps = Data(entry.change.bytes)
      try insert.execute(arguments: [entry.number, entry.isUndone, steps])
    }
  }

  /// Empty if one row is unreadable, because the history must have no gaps.
  static func fetchUndo(_ database: Database) throws -> [UndoHistory.Entry] {
    let rows = try Row.fetchCursor(
      database, sql: "SELECT number, is_undone, steps FROM undo ORDER BY number")
    var entries: [UndoHistory.Entry] = []
    while let row = try rows.next() {
      let steps = Array(row[2] as Data)
      // An unreadable history is not damage to the queues: they open, without an undo.
      guard let change = try? UndoEntry(bytes: steps) else { return [] }
      entries.append(UndoHistory.Entry(number: row[0], isUndone: row[1], change: change))
    }
    return entries
  }
}
