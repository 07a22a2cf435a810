import ClientCore
import DeltaCodec
import Foundation
import GRDB
import QueueModel

/// What can be undone, one row a command, in the form of `UndoCodec`.
extension ClientStore {
  func write(_ changes: UndoHistory.Changes, to database: Database) throws {
    guard !changes.isEmpty else { return }
    let remove = try database.cachedStatement(sql: "DELETE FROM undo WHERE number = ?")
    for number in changes.removed { try remove.execute(arguments: [number]) }
    let insert = try database.cachedStatement(
      sql: "INSERT OR REPLACE INTO undo (number, is_undone, steps) VALUES (?, ?, ?)")
    for entry in changes.written {
      let steps = Data(UndoCodec.encode(entry.group))
      try insert.execute(arguments: [entry.number, entry.isUndone, steps])
    }
  }

  /// Nothing at all where one row cannot be read: what is undone must follow on what was done.
  static func fetchUndo(_ database: Database) throws -> [UndoHistory.Entry] {
    let rows = try Row.fetchCursor(
      database, sql: "SELECT number, is_undone, steps FROM undo ORDER BY number")
    var entries: [UndoHistory.Entry] = []
    while let row = try rows.next() {
      let steps = Array(row[2] as Data)
      // What cannot be read is not damage to the queues: they open, without an undo.
      guard let group = try? UndoCodec.decode(steps) else { return [] }
      entries.append(UndoHistory.Entry(number: row[0], isUndone: row[1], group: group))
    }
    return entries
  }
}

extension Schema {
  /// Rows of JSON, as they were written at first, into the form of `UndoCodec`; none where one of
  /// them cannot be read.
  @Sendable static func rewriteUndo(_ database: Database) throws {
    let rows = try Row.fetchAll(database, sql: "SELECT number, steps FROM undo")
    let update = try database.cachedStatement(sql: "UPDATE undo SET steps = ? WHERE number = ?")
    for row in rows {
      // The second look is the one that checks: JSON was taken for what it said.
      guard let group = try? JSONDecoder().decode(UndoGroup.self, from: row[1] as Data),
        case let steps = UndoCodec.encode(group), (try? UndoCodec.decode(steps)) == group
      else { return try database.execute(sql: "DELETE FROM undo") }
      try update.execute(arguments: [Data(steps), row[0] as Int64])
    }
  }
}
