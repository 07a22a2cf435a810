import ClientCore
import DispatchAuthority
import QueueModel
import SequenceCRDT
import WireProtocol

/// The contents of a device's data directory: the database's rows in their stored form, and the
/// files beside it.
///
/// A value, so a backup is a copy. It stores the same data as ClientStore, in the same encodings,
/// so that a restart decodes it in the same way.
struct DeviceFiles {
  /// The database after the last commit.
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
    /// The last entry that the base replaces.
    var prunedThrough: Int64 = 0
    var receipts: [Receipt] = []
    /// By number; as values, because ClientStore has its own stored form.
    var undo: [Int64: UndoHistory.Entry] = [:]
    /// The prompts that agents have, or had when the process ended.
    var intents: [MessageID: StartOrder] = [:]
    /// The choices of users at the device for single sessions.
    var choices = SessionChoices()
    /// The device's grants as its own authority.
    var authority = AuthorityRecords()
    /// Answers of users that wait to be sent.
    var answers: [RequestID: PendingAnswer] = [:]
    var notifications = LoadedNotifications()
  }

  var device: DeviceID
  /// nil if the device has no server.
  var credentials: Credentials?
  var database = Database()

  /// All data that is needed to continue from the stored state.
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

  /// The stored state, opened as by the device's own store.
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

  /// The workspace that a start with these files would show.
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
  /// The device's grants as its own authority replace the earlier ones.
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

  /// A planted bug: removes the entries that the server is not known to have.
  mutating func forgetUnsent() {
    guard let outbox = record?.outbox else { return }
    entries.removeAll { entry in
      entry.isLocal && entry.ranges.contains { outbox.overlap(with: $0) != nil }
    }
  }
}
