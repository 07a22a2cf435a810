import Foundation
import GRDB
import ServerCore

/// What opening the server's file takes besides its connection.
enum DatabaseOpening {
  /// Copies a database of an older version beside it before it is changed: the way back, should the new
  /// version be no good. It stays until somebody removes it.
  static func keepBeforeUpgrade(_ queue: DatabaseQueue, path: String) throws {
    let (applied, isDone) = try queue.read { db in
      (
        try ServerSchema.migrator.appliedMigrations(db),
        try ServerSchema.migrator.hasCompletedMigrations(db)
      )
    }
    guard !applied.isEmpty, !isDone else { return }
    let copy = "\(path).before-upgrade-\(applied.count)"
    // A copy that was not finished stands in nobody's way.
    let unfinished = copy + ".new"
    try? FileManager.default.removeItem(atPath: unfinished)
    do {
      guard
        FileManager.default.createFile(
          atPath: unfinished, contents: nil, attributes: [.posixPermissions: 0o600])
      else { throw StoreOpeningError.unavailable(path: unfinished, reason: "it cannot be created") }
      try queue.inDatabase { try $0.execute(sql: "VACUUM INTO ?", arguments: [unfinished]) }
      try? FileManager.default.removeItem(atPath: copy)
      try FileManager.default.moveItem(atPath: unfinished, toPath: copy)
    } catch {
      try? FileManager.default.removeItem(atPath: unfinished)
      throw error
    }
  }

  static func reader(path: String) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.label = "cospool.server.reader"
    configuration.busyMode = .timeout(5)
    configuration.readonly = true
    do {
      return try DatabaseQueue(path: path, configuration: configuration)
    } catch let error as DatabaseError {
      throw DatabaseOpening.error(error, path: path)
    }
  }

  static func error(_ error: DatabaseError, path: String) -> StoreOpeningError {
    let fault = StorageFault(error)
    switch fault.code {
    case .corrupt: return .corrupt(path: path, keptAt: nil, reason: fault.message)
    case .full: return .full(path: path)
    case .unavailable, .busy, .conflict, .internalError:
      return .unavailable(path: path, reason: fault.message)
    }
  }
}
