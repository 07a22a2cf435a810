import Foundation
import GRDB
package import ProcessResources
import QueueModel
import SQLiteAccess
package import ServerCore

/// The server's durable store: one SQLite file, `cospool.sqlite`, in the data directory.
///
/// WAL with `synchronous = FULL`: a committed transaction survives a power failure. The serving
/// process has one connection for everything. Another on its own thread reads logs and snapshots
/// for devices that were away. Commands like `pair` open the same file from other processes.
package final class ServerDatabase: Sendable {
  /// The file's name in the data directory.
  package static let fileName = "cospool.sqlite"

  /// The file.
  package let path: String
  let queue: DatabaseQueue
  /// A connection that reads logs and snapshots during a transaction; nil if it is not needed.
  private let reader: DatabaseQueue?
  /// The result of the last search for lapsed tokens; used only by the store's thread, and always
  /// inside `queue`.
  let lapsedCheck = LapsedCheck()
  private let freeSpace: FreeSpace

  /// The purpose of opening the store, which decides what may be done about a damaged file.
  package enum Purpose: Hashable, Sendable {
    /// The serving process, which holds the directory's lock: checks the file, and sets a damaged
    /// one aside.
    case serving
    /// A command, possibly while a server is running; it makes only necessary changes.
    case administration
    /// A reader of a copy that no other process has open; it changes nothing.
    case copy
  }

  private init(
    path: String, queue: DatabaseQueue, reader: DatabaseQueue? = nil, freeSpace: FreeSpace
  ) {
    self.path = path
    self.queue = queue
    self.reader = reader
    self.freeSpace = freeSpace
  }

  /// - Throws: if there is too little space to write anything new.
  func requireSpace() throws(StorageFault) {
    guard freeSpace.isScarce else { return }
    throw StorageFault(
      code: .full, message: "the disk is nearly full: nothing new is accepted, reading continues")
  }

  /// Opens the store of a data directory, creating both if they are missing.
  package static func open(
    directory: String, for purpose: Purpose, freeSpace: FreeSpace? = nil
  ) throws(StoreOpeningError) -> ServerDatabase {
    try prepare(directory: directory)
    let path = directory + "/" + fileName
    do {
      let queue = try openQueue(path: path, for: purpose)
      return ServerDatabase(
        path: path, queue: queue,
        reader: purpose == .serving ? try DatabaseOpening.reader(path: path) : nil,
        freeSpace: freeSpace ?? FreeSpace(of: directory))
    } catch let error as StoreOpeningError {
      guard case .corrupt(_, _, let reason) = error, purpose == .serving else { throw error }
      throw .corrupt(path: path, keptAt: DatabaseOpening.setAside(path: path), reason: reason)
    } catch {
      throw .unavailable(path: path, reason: "\(error)")
    }
  }

  /// Opens a copy of a store to read it: it creates nothing, and moves no damaged file.
  package static func open(copyAt path: String) throws(StoreOpeningError) -> ServerDatabase {
    do {
      return ServerDatabase(
        path: path, queue: try openQueue(path: path, for: .copy), freeSpace: FreeSpace { nil })
    } catch let error as StoreOpeningError {
      throw error
    } catch {
      throw .unavailable(path: path, reason: "\(error)")
    }
  }

  /// Closes the file; no method may be called afterwards.
  package func close() throws(StorageFault) {
    do {
      try reader?.close()
      try queue.close()
    } catch { throw StorageFault(error) }
  }

  /// Creates the directory and an empty file, both accessible only to their owner. An existing
  /// directory keeps its permissions: it may be shared on purpose, and the files in it are their
  /// owner's alone.
  ///
  /// - Throws: also if a damaged file was set aside and there is no new one; then the operator
  ///   decides.
  package static func prepare(directory: String) throws(StoreOpeningError) {
    do {
      try PrivateFolder.make(directory)
    } catch {
      throw unusable(error.path, error.number)
    }
    let path = directory + "/" + fileName
    if !FileManager.default.fileExists(atPath: path),
      let kept = DatabaseOpening.filesSetAside(in: directory).last
    {
      throw .setAside(path: path, keptAt: kept)
    }
    guard makeFile(path), chmod(path, 0o600) == 0 else { throw unusable(path, errno) }
  }

  /// - Parameter number: the system's error number.
  private static func unusable(_ path: String, _ number: Int32) -> StoreOpeningError {
    guard number != ENOSPC, number != EDQUOT else { return .full(path: path) }
    return .unavailable(
      path: path,
      reason: String(cString: strerror(number))
        + ". Name a directory with --data in which this account may write")
  }

  private static func openQueue(
    path: String, for purpose: Purpose
  ) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.label = "cospool.server.store"
    configuration.busyMode = .timeout(5)
    configuration.readonly = purpose == .copy
    configuration.prepareDatabase { try $0.waitForDiskOnCommit() }
    do {
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      do {
        try check(queue, path: path, for: purpose)
        guard purpose != .copy else { return queue }
        try queue.inDatabase { db in
          let mode = try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL")
          guard mode == "wal" else {
            throw StoreOpeningError.unavailable(
              path: path, reason: "the file system does not support SQLite's write-ahead log")
          }
        }
        try DatabaseOpening.keepBeforeUpgrade(queue, path: path)
        try ServerSchema.migrator.migrate(queue)
        return queue
      } catch {
        // The first error has the reason; closing only allows the file to be moved.
        try? queue.close()
        throw error
      }
    } catch let error as DatabaseError {
      throw DatabaseOpening.error(error, path: path)
    }
  }

  private static func check(
    _ queue: DatabaseQueue, path: String, for purpose: Purpose
  ) throws {
    let isSuperseded = try queue.read { try ServerSchema.migrator.hasBeenSuperseded($0) }
    guard !isSuperseded else { throw StoreOpeningError.newer(path: path) }
    guard purpose == .serving else { return }
    let verdict = try queue.read { try String.fetchAll($0, sql: "PRAGMA quick_check(3)") }
    guard verdict == ["ok"] else {
      throw StoreOpeningError.corrupt(
        path: path, keptAt: nil, reason: verdict.joined(separator: "; "))
    }
  }

  // MARK: - Transactions

  func write<Result>(_ body: (Database) throws -> Result) throws(StorageFault) -> Result {
    do { return try queue.transaction(body) } catch { throw StorageFault(error) }
  }

  func read<Result>(_ body: (Database) throws -> Result) throws(StorageFault) -> Result {
    do { return try queue.read(body) } catch { throw StorageFault(error) }
  }

  /// Reads durable data, even while a transaction is under way.
  func readBeside<Result>(_ body: (Database) throws -> Result) throws(StorageFault) -> Result {
    do { return try (reader ?? queue).read(body) } catch { throw StorageFault(error) }
  }
}

extension StorageFault {
  /// Classifies SQLite's result codes, and unreadable rows, by the server's options.
  init(_ error: any Error) {
    if let fault = error as? StorageFault {
      self = fault
      return
    }
    guard let error = error as? DatabaseError else {
      // A row with an impossible value affects only its own workspace.
      self.init(code: isDamage(error) ? .corrupt : .internalError, message: "\(error)")
      return
    }
    let code: Code =
      switch error.resultCode {
      case .SQLITE_FULL: .full
      case .SQLITE_IOERR, .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH,
        .SQLITE_NOMEM:
        .unavailable
      case .SQLITE_BUSY, .SQLITE_LOCKED: .busy
      case .SQLITE_CORRUPT, .SQLITE_NOTADB: .corrupt
      default: .internalError
      }
    self.init(
      code: code,
      message: "SQLite \(error.extendedResultCode.rawValue): \(error.message ?? "no message")")
  }
}

/// Creates an empty file if there is none. An existing file is not opened: closing it would release
/// SQLite's locks of this process; fcntl(2), "Advisory record locking".
///
/// - Returns: false with `errno` if it cannot be made.
private func makeFile(_ path: String) -> Bool {
  let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
  guard file >= 0 else { return errno == EEXIST }
  close(file)
  return true
}
