package import ClientCore
import Foundation
import GRDB
package import QueueModel
package import SequenceCRDT
import WireProtocol

extension ClientStore {
  package func entries(
    in ranges: [OperationRange], after: Int64, countMax: Int
  ) throws(StoreError) -> [StoredOperations] {
    do {
      return try read { database in
        var ids: Set<Int64> = []
        for range in ranges {
          // Ranges of one replica do not overlap, so `last_seq` alone finds the first of them.
          let rows = try Int64.fetchAll(
            database,
            sql: """
              SELECT entry FROM entry_ranges
              WHERE replica = ? AND last_seq >= ? AND first_seq <= ? AND entry > ?
              ORDER BY entry LIMIT ?
              """,
            arguments: [range.replica.column, range.first, range.last, after, countMax])
          ids.formUnion(rows)
        }
        return try ids.sorted().prefix(countMax).compactMap { id in
          try Row.fetchOne(
            database, sql: "SELECT id, is_local, delta FROM entries WHERE id = ?",
            arguments: [id]
          ).map(entry)
        }
      }
    } catch {
      throw StoreError(error)
    }
  }

  package func entries(after: Int64, countMax: Int) throws(StoreError) -> [StoredOperations] {
    do {
      return try read { try fetchEntries($0, after: after, countMax: countMax) }
    } catch {
      throw StoreError(error)
    }
  }

  package func entries(before: Int64, countMax: Int) throws(StoreError) -> [StoredOperations] {
    do {
      return try read { database in
        try Row.fetchAll(
          database,
          sql: "SELECT id, is_local, delta FROM entries WHERE id < ? ORDER BY id DESC LIMIT ?",
          arguments: [before, countMax]
        ).map(entry)
      }
    } catch {
      throw StoreError(error)
    }
  }

  package func base() throws(StoreError) -> WorkspaceImage? {
    do {
      return try read { database in
        try fetchSnapshot(database, kind: "base").map { try PackedSnapshot.unpack($0.bytes) }
      }
    } catch {
      throw StoreError(error)
    }
  }

  package func baseState() throws(StoreError) -> Workspace? {
    do {
      return try read { database in
        try fetchSnapshot(database, kind: "base").map { try PackedSnapshot.open($0.bytes) }
      }
    } catch {
      throw StoreError(error)
    }
  }

  /// All data that is needed to continue from the stored state.
  static func load(_ database: Database) throws -> LoadedReplica {
    let state = try fetchState(database)
    var loaded = LoadedReplica(
      record: try fetchRecord(database), workspace: state?.workspace,
      tail: try fetchEntries(database, after: state?.entry ?? 0, countMax: nil),
      lastEntry: max(
        try Int64.fetchOne(database, sql: "SELECT max(id) FROM entries") ?? 0, state?.entry ?? 0),
      receipts: try Row.fetchAll(
        database, sql: "SELECT replica, last_seq, log_position FROM receipts"
      ).map { row in
        Receipt(
          replica: ReplicaID(column: row[0]), lastSeq: try sequence(row[1]),
          logPosition: UInt64(bitPattern: row[2]))
      },
      undo: try fetchUndo(database))
    loaded.execution = LoadedReplica.Execution(
      intents: try fetchIntents(database), authority: try fetchAuthority(database))
    loaded.execution.consented = try fetchConsents(database)
    loaded.execution.agents = try fetchAgentChoices(database)
    loaded.answers = try fetchAnswers(database)
    loaded.notifications = try fetchNotifications(database)
    return loaded
  }
}

/// The state to which later entries are added. An unreadable cache loses nothing: the base and the
/// entries contain everything.
private func fetchState(_ database: Database) throws -> (workspace: Workspace, entry: Int64)? {
  if let cache = try fetchSnapshot(database, kind: "cache"),
    let workspace = try? PackedSnapshot.open(cache.bytes)
  {
    return (workspace, cache.entry)
  }
  return try fetchSnapshot(database, kind: "base").map {
    (try PackedSnapshot.open($0.bytes), $0.entry)
  }
}

private func fetchEntries(
  _ database: Database, after: Int64, countMax: Int?
) throws -> [StoredOperations] {
  try Row.fetchAll(
    database,
    sql: "SELECT id, is_local, delta FROM entries WHERE id > ? ORDER BY id LIMIT ?",
    arguments: [after, countMax ?? -1]
  ).map(entry)
}

private func entry(_ row: Row) throws -> StoredOperations {
  let delta: Data = row[2]
  return StoredOperations(
    id: row[0], isLocal: row[1], operations: try PackedDelta.unpackStored(Array(delta)))
}

private func fetchSnapshot(
  _ database: Database, kind: String
) throws -> (bytes: [UInt8], entry: Int64)? {
  guard
    let row = try Row.fetchOne(
      database, sql: "SELECT snapshot, entry FROM images WHERE kind = ?", arguments: [kind])
  else { return nil }
  let snapshot: Data = row[0]
  return (Array(snapshot), row[1])
}

/// A sequence number from a column, which may contain anything.
func sequence(_ column: Int64) throws(StoreError) -> UInt32 {
  guard let value = UInt32(exactly: column) else {
    throw StoreError(code: .corrupt, message: "\(column) is not a sequence number")
  }
  return value
}

extension ReplicaID {
  /// The signed integer of the same bits.
  var column: Int64 { Int64(bitPattern: rawValue) }

  init(column: Int64) {
    self.init(rawValue: UInt64(bitPattern: column))
  }
}
