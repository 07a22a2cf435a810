package import ClientCore
import Foundation
import GRDB
package import QueueModel

extension ClientStore {
  func write(_ changes: JournalChanges, to database: Database) throws {
    if let time = changes.forgottenBefore {
      try database.execute(sql: "DELETE FROM journal WHERE at < ?", arguments: [time])
    }
    guard !changes.added.isEmpty else { return }
    let insert = try database.cachedStatement(
      sql: "INSERT OR REPLACE INTO journal (entry, number, at, event) VALUES (?, ?, ?, ?)")
    let encoder = JSONEncoder()
    for entry in changes.added {
      try insert.execute(arguments: [
        entry.position.entry, entry.position.index, entry.event.milliseconds,
        try encoder.encode(entry.event),
      ])
    }
    try database.execute(
      sql: """
        DELETE FROM journal WHERE (entry, number) <= (
          SELECT entry, number FROM journal ORDER BY entry DESC, number DESC LIMIT 1 OFFSET ?)
        """, arguments: [JournalChanges.entriesMax])
  }

  package func journal(
    before: HistoryPosition, countMax: Int
  ) throws(StoreError) -> [JournalEntry] {
    do {
      let rows = try read { database in
        try Row.fetchAll(
          database,
          sql: """
            SELECT entry, number, event FROM journal WHERE (entry, number) < (?, ?)
            ORDER BY entry DESC, number DESC LIMIT ?
            """, arguments: [before.entry, before.index, countMax])
      }
      let decoder = JSONDecoder()
      return rows.compactMap { row in
        let data: Data = row[2]
        // An unreadable entry does not hide the others.
        guard let event = try? decoder.decode(HistoryEntry.self, from: data) else { return nil }
        return JournalEntry(
          position: HistoryPosition(entry: row[0], index: row[1]), event: event)
      }
    } catch {
      throw StoreError(error)
    }
  }
}
