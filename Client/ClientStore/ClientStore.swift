package import ClientCore
import GRDB
import QueueModel
import SQLiteAccess
import SequenceCRDT
import Synchronization
import WireProtocol

/// A device's queues in one SQLite file, `cospool.sqlite`, in WAL mode with full synchronization.
///
/// Some commits do not wait for the disk; see `StoreTransaction.waitsForDisk`.
///
/// One connection, one short transaction for each invariant. Calls block; make them on a queue of
/// their own.
package final class ClientStore: ReplicaStore, Sendable {
  /// The name of the file in the data directory.
  package static let fileName = "cospool.sqlite"

  /// Why a store cannot be opened.
  package enum OpenError: Error, Hashable, Sendable {
    /// Another process holds the data directory.
    case locked(path: String)
    /// It was damaged and is now at `keptAt`; opening again starts with an empty store.
    case corrupt(path: String, keptAt: String)
    /// A newer version wrote it; it was not touched.
    case newer(path: String, found: Int, supported: Int)
    case storage(StoreError)
  }

  /// An open store and its contents.
  package struct Opened: Sendable {
    package var store: ClientStore
    package var loaded: LoadedReplica
  }

  let database: DatabaseQueue
  /// The last stored record, so that only differences are written.
  let stored: Mutex<ReplicaRecord?>
  /// Whether the disk has confirmed the latest commit. An earlier process's commits may not be on
  /// it yet.
  let isSynced = Mutex(false)
  /// Whether SQLite waits for the disk at the end of a transaction, as it does after opening.
  let waits = Mutex(true)
  /// Cached values of sessions' agents, which every start needs.
  let agentNotes = Mutex<[SessionID: [String: String]]>([:])
  /// The maximum number of cached sessions; beyond it all are read again.
  static let agentNotesMax = 1_024
  /// Receipts stored since the table was shortened; nil if it was not since opening.
  let receiptsWritten = Mutex<Int?>(nil)
  private let isClosed = Mutex(false)
  package let path: String

  private init(database: DatabaseQueue, record: ReplicaRecord?, path: String) {
    self.database = database
    stored = Mutex(record)
    self.path = path
  }

  /// Opens or creates the store of a data directory, and reads its contents.
  package static func open(directory: String) throws(OpenError) -> Opened {
    let path = directory + "/" + fileName
    do {
      // Done before SQLite opens it: its companions get the permissions of the file.
      try FileAccess.makePrivate(path)
      try inspect(path)
      let database = try connect(to: path)
      try database.write(Schema.create)
      let loaded = try database.read(load)
      if loaded.undo.isEmpty {
        // Unreadable changes must not mix with new ones.
        try database.write { try $0.execute(sql: "DELETE FROM undo") }
      }
      let store = ClientStore(database: database, record: loaded.record, path: path)
      return Opened(store: store, loaded: loaded)
    } catch let error as OpenError {
      throw error
    } catch {
      let error = StoreError(error)
      guard error.code == .corrupt else { throw .storage(error) }
      throw .corrupt(path: path, keptAt: try setAside(path))
    }
  }

  /// Checks whether the store of a data directory can be opened. Changes nothing and sets nothing
  /// aside; another process may have the store open.
  package static func check(directory: String) throws(OpenError) {
    let path = directory + "/" + fileName
    do {
      try inspect(path)
    } catch let error as OpenError {
      throw error
    } catch {
      let error = StoreError(error)
      guard error.code == .corrupt else { throw .storage(error) }
      throw .corrupt(path: path, keptAt: path)
    }
  }

  private static func connect(to path: String) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = true
    configuration.busyMode = .timeout(5)
    configuration.prepareDatabase { database in
      try database.execute(sql: "PRAGMA journal_mode = WAL")
      try database.waitForDiskOnCommit()
    }
    return try DatabaseQueue(path: path, configuration: configuration)
  }

  /// Checks version and soundness through a read-only connection: it changes neither a newer file
  /// nor the evidence of damage.
  private static func inspect(_ path: String) throws {
    guard FileAccess.exists(path), FileAccess.size(path) != 0 else { return }
    var configuration = Configuration()
    configuration.readonly = true
    configuration.busyMode = .timeout(5)
    let database = try DatabaseQueue(path: path, configuration: configuration)
    let (found, report) = try database.read { database in
      let found = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
      return (found, try String.fetchOne(database, sql: "PRAGMA quick_check(1)"))
    }
    try database.close()
    guard found <= Schema.version else {
      throw OpenError.newer(path: path, found: found, supported: Schema.version)
    }
    guard report == "ok" else {
      throw StoreError(code: .corrupt, message: report ?? "quick_check gave no answer")
    }
  }

  /// Moves a damaged file and its companions to an unused name: all of them, or none. Nothing is
  /// ever deleted.
  ///
  /// - Returns: the new path of the file.
  package static func setAside(_ path: String) throws(OpenError) -> String {
    try setAside(path) { from, to throws(StoreError) in try FileAccess.rename(from, to: to) }
  }

  /// The companions go first: SQLite removes a log beside an empty database, and a process that
  /// ends between two moves must not leave that state.
  static func setAside(
    _ path: String, move: (_ from: String, _ to: String) throws(StoreError) -> Void
  ) throws(OpenError) -> String {
    let suffixes = ["-wal", "-shm", ""]
    var number = 1
    while suffixes.contains(where: { FileAccess.exists("\(path).corrupt-\(number)\($0)") }) {
      number += 1
    }
    let kept = "\(path).corrupt-\(number)"
    var moved: [String] = []
    do {
      for suffix in suffixes where FileAccess.exists(path + suffix) {
        try move(path + suffix, kept + suffix)
        moved.append(suffix)
      }
    } catch {
      // If this fails too, the companions are beside it, under the new name.
      for suffix in moved { try? move(kept + suffix, path + suffix) }
      throw .storage(error)
    }
    return kept
  }

  /// Reads. After the store was closed, callers such as the files' queue get an error: GRDB's own
  /// read would use the closed connection, and crash.
  func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
    try database.writeWithoutTransaction { connection in
      guard !isClosed.withLock({ $0 }) else {
        throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "the store is closed")
      }
      return try connection.readOnly { try body(connection) }
    }
  }

  /// Closes the connection; the write-ahead log is folded into the file. Idempotent.
  package func close() throws(StoreError) {
    let wasClosed = isClosed.withLock { isClosed in
      defer { isClosed = true }
      return isClosed
    }
    guard !wasClosed else { return }
    do {
      try database.close()
    } catch {
      throw StoreError(error)
    }
  }

  /// Limits the number of pages of the file, to simulate a full disk.
  package func limitPages(to count: Int) throws(StoreError) {
    do {
      try database.writeWithoutTransaction {
        try $0.execute(sql: "PRAGMA max_page_count = \(count)")
      }
    } catch {
      throw StoreError(error)
    }
  }

  /// The number of pages in the file.
  package func pageCount() throws(StoreError) -> Int {
    do {
      return try read { try Int.fetchOne($0, sql: "PRAGMA page_count") } ?? 0
    } catch {
      throw StoreError(error)
    }
  }
}

extension StoreError {
  /// Classifies errors of SQLite and the file system.
  init(_ error: any Error) {
    switch error {
    case let error as StoreError:
      self = error
    case let error as DatabaseError:
      let code: Code =
        switch error.resultCode {
        case .SQLITE_FULL: .full
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_FORMAT: .corrupt
        default: .failed
        }
      self.init(code: code, message: error.description)
    case let error as WireError:
      self.init(code: .corrupt, message: "a stored delta cannot be read: \(error)")
    default:
      self.init(code: .failed, message: "\(error)")
    }
  }
}
