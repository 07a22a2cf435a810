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
    // All rows as one array: a decoder a row takes longer than what it decodes.
    var array = Data("[".utf8)
    for row in rows {
      if array.count > 1 { array.append(UInt8(ascii: ",")) }
      array.append(row[2] as Data)
    }
    array.append(UInt8(ascii: "]"))
    guard let groups = try? JSONDecoder().decode([UndoGroup].self, from: array),
      groups.count == rows.count
    else { return [] }
    return zip(rows, groups).map { row, group in
      UndoHistory.Entry(number: row[0], isUndone: row[1], group: group)
    }
  }
}
