import ClientCore
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
    /// What the database remembers of the incarnation file.
    var mark: Incarnation.Mark?
    var entries: [Entry] = []
    var pending: [[UInt8]] = []
    var base: [UInt8]?
    /// The last entry that the base stands for.
    var prunedThrough: Int64 = 0
    var receipts: [Receipt] = []
    /// By number; as values, since their stored form is ClientStore's own.
    var undo: [Int64: UndoHistory.Entry] = [:]
    /// What agents have, or had when the process ended.
    var intents: [MessageID: StartOrder] = [:]
    /// Answers that people gave and that wait to be sent.
    var answers: [RequestID: PendingAnswer] = [:]
    var notifications = LoadedNotifications()
  }

  /// The file that tells the database from an older or copied one.
  struct Incarnation {
    struct Mark: Hashable {
      var token: UInt64
      var file: UInt64
    }

    struct Content: Hashable {
      var token: UInt64
      var replica: ReplicaID
      var seq: UInt32
    }

    /// Stands for inode and birth time.
    var file: UInt64
    var content: Content?
    /// Earlier contents, which a loss of power may bring back: the file is written without fsync.
    var unsynced: [Content?] = []

    mutating func write(_ fresh: Content) {
      unsynced.append(content)
      if unsynced.count > 4 { unsynced.removeFirst() }
      content = fresh
    }
  }

  var device: DeviceID
  var credentials: Credentials
  var incarnation: Incarnation
  var database = Database()
  /// The machine went down while the database was open, and nothing was written since: the database
  /// remembers another run of the machine.
  var wasLeftOpen = false

  /// Whether the database is not the one that the incarnation file was last written for, or may have
  /// lost what was sent.
  var needsFreshReplica: Bool {
    guard let record = database.record else { return false }
    guard let content = incarnation.content else { return true }
    let last =
      database.entries.flatMap(\.ranges).filter { $0.replica == record.replica }
      .map(\.last).max() ?? 0
    return wasLeftOpen
      || database.mark != Incarnation.Mark(token: content.token, file: incarnation.file)
      || content.replica != record.replica
      || max(last, record.floor[record.replica]) < content.seq
  }

  /// Everything that is needed to take up where the store left off.
  func load() throws(StoreError) -> LoadedReplica {
    var tail: [LogEntry] = []
    for entry in database.entries { tail.append(try DeviceFiles.decode(entry)) }
    var pending: [Operation] = []
    for delta in database.pending { pending += try DeviceFiles.unpack(delta) }
    var loaded = LoadedReplica(
      record: database.record, workspace: try stored(), tail: tail,
      lastEntry: max(database.entries.last?.id ?? 0, database.prunedThrough), pending: pending,
      receipts: database.receipts,
      undo: database.undo.sorted { $0.key < $1.key }.map(\.value))
    loaded.execution = LoadedReplica.Execution(
      intents: database.intents.sorted { $0.key < $1.key }.map(\.value))
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
    _ = try workspace.merge(loaded.tail.flatMap(\.operations) + loaded.pending)
    return workspace
  }

  static func decode(_ entry: Database.Entry) throws(StoreError) -> LogEntry {
    LogEntry(id: entry.id, isLocal: entry.isLocal, operations: try unpack(entry.delta))
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
  /// A planted bug: the entries go that the server is not known to have.
  mutating func forgetUnsent() {
    guard let acknowledged = record?.acknowledged else { return }
    entries.removeAll { entry in
      entry.isLocal && entry.ranges.contains { $0.last > acknowledged[$0.replica] }
    }
  }
}
