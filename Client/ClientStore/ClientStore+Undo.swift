import ClientCore
import Foundation
import GRDB
import QueueModel

/// What can be undone, in rows of JSON.
extension ClientStore {
  func write(_ changes: UndoHistory.Changes, to database: Database) throws {
    guard !changes.isEmpty else { return }
    let remove = try database.cachedStatement(sql: "DELETE FROM undo WHERE number = ?")
    for number in changes.removed { try remove.execute(arguments: [number]) }
    let insert = try database.cachedStatement(
      sql: "INSERT OR REPLACE INTO undo (number, is_undone, steps) VALUES (?, ?, ?)")
    for entry in changes.written {
      let steps = try JSONEncoder().encode(entry.group)
      try insert.execute(arguments: [entry.number, entry.isUndone, steps])
    }
  }

  /// Nothing at all where one row cannot be read: what is undone must follow on what was done.
  static func fetchUndo(_ database: Database) throws -> [UndoHistory.Entry] {
    let rows = try Row.fetchAll(
      database, sql: "SELECT number, is_undone, steps FROM undo ORDER BY number")
    do {
      return try rows.map { row in
        let steps: Data = row[2]
        return UndoHistory.Entry(
          number: row[0], isUndone: row[1],
          group: try JSONDecoder().decode(UndoGroup.self, from: steps))
      }
    } catch is DecodingError {
      return []
    }
  }
}
