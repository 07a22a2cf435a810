package import ClientCore
import GRDB

extension ClientStore {
  /// Removes the entries that a new base represents.
  func prune(through entry: Int64?, in database: Database) throws {
    guard let entry else { return }
    try database.execute(
      sql: "DELETE FROM entry_ranges WHERE entry <= ?", arguments: [entry])
    try database.execute(sql: "DELETE FROM entries WHERE id <= ?", arguments: [entry])
  }

  /// The number of entries in the log, and their bytes.
  package func logSize() throws(StoreError) -> (entries: Int, bytes: Int) {
    do {
      return try read { database in
        let row = try Row.fetchOne(
          database, sql: "SELECT count(*), coalesce(sum(length(delta)), 0) FROM entries")
        return (entries: row?[0] ?? 0, bytes: row?[1] ?? 0)
      }
    } catch {
      throw StoreError(error)
    }
  }
}
