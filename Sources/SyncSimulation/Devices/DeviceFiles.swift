import ClientCore
import DispatchAuthority
import QueueModel
import SequenceCRDT
import WireProtocol

/// What lies in a device's data directory: the database's rows in their stored form, and the files
/// beside it.
///
/// A value: a backup is a copy. It keeps what ClientStore keeps, in the same encodings, so that
/// starting again goes through the same decoding.
struct DeviceFiles {
  /// The database, as it is after the last commit.
  struct Database {
    struct Entry {
      var id: Int64
      var isLocal: Bool
      var delta: [UInt8]
      var ranges: [OperationRange]
    }

    var record: ReplicaRecord?
    var entries: [Entry] = []
    var base: [UInt8]?
    /// The last entry that the base stands for.
    var prunedThrough: Int64 = 0
    var receipts: [Receipt] = []
    /// By number; as values, since their stored form is ClientStore's own.
    var undo: [Int64: UndoHistory.Entry] = [:]
    /// What agents have, or had when the process ended.
    var intents: [MessageID: StartOrder] = [:]
    /// What people at the device said of single sessions.
    var choices = SessionChoices()
    /// What the device granted as its own authority.
    var authority = AuthorityRecords()
    /// Answers that people gave and that wait to be sent.
    var answers: [RequestID: PendingAnswer] = [:]
    var notifications = LoadedNotifications()
  }

  var device: DeviceID
  /// nil: the device has no server.
  var credentials: Credentials?
  var database = Database()

  /// Everything that is needed to take up where the store left off.
  func load() throws(StoreError) -> LoadedReplica {
    var tail: [StoredOperations] = []
    for entry in database.entries { tail.append(try DeviceFiles.decode(entry)) }
    var loaded = LoadedReplica(
      record: database.record, workspace: try stored(), tail: tail,
      lastEntry: max(database.entries.last?.id ?? 0, database.prunedThrough),
      receipts: database.receipts,
      undo: database.undo.sorted { $0.key < $1.key }.map(\.value))
    loaded.execution = LoadedReplica.Execution(
      intents: database.intents.sorted { $0.key < $1.key }.map(\.value),
      authority: database.authority)
    loaded.answers = database.answers.sorted { $0.key < $1.key }.map(\.value)
    loaded.notifications = database.notifications
    return loaded
  }

  /// The stored state, opened as the device's own store does it.
  func stored() throws(StoreError) -> Workspace? {
    guard let base = database.base else { return nil }
    do {
      return try PackedSnapshot.open(base)
    } catch {
      throw StoreError(code: .corrupt, message: "a stored snapshot cannot be opened: \(error)")
    }
  }

  func image() throws(StoreError) -> WorkspaceImage? {
    guard let base = database.base else { return nil }
    do {
      return try PackedSnapshot.unpack(base)
    } catch {
      throw StoreError(code: .corrupt, message: "a stored snapshot cannot be read: \(error)")
    }
  }

  /// The workspace that a start on these files would show.
  func workspace() throws -> Workspace {
    let loaded = try load()
    var workspace = loaded.workspace ?? Workspace()
    _ = try workspace.merge(loaded.tail.flatMap(\.operations))
    return workspace
  }

  static func decode(_ entry: Database.Entry) throws(StoreError) -> StoredOperations {
    StoredOperations(id: entry.id, isLocal: entry.isLocal, operations: try unpack(entry.delta))
  }

  static func unpack(_ delta: [UInt8]) throws(StoreError) -> [Operation] {
    do {
      return try PackedDelta.unpackStored(delta)
    } catch {
      throw StoreError(code: .corrupt, message: "a stored delta cannot be read: \(error)")
    }
  }
}

extension DeviceFiles.Database {
  /// What the device grants as its own authority takes the place of what it granted before.
  mutating func grant(_ records: AuthorityRecords) {
    for lease in records.leases {
      authority.leases.removeAll { $0.session == lease.session }
      authority.leases.append(lease)
    }
    for dispatch in records.dispatches {
      authority.dispatches.removeAll { $0.message == dispatch.message }
      authority.dispatches.append(dispatch)
    }
    for verdict in records.verdicts {
      authority.verdicts.removeAll { $0.request == verdict.request }
      authority.verdicts.append(verdict)
    }
  }

  /// A planted bug: the entries go that the server is not known to have.
  mutating func forgetUnsent() {
    guard let outbox = record?.outbox else { return }
    entries.removeAll { entry in
      entry.isLocal && entry.ranges.contains { outbox.overlap(with: $0) != nil }
    }
  }
}
