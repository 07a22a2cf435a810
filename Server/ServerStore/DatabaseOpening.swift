import Foundation
import GRDB
import ServerCore

/// Steps of opening the server's file, except the connection.
package enum DatabaseOpening {
  /// Damaged files that were set aside in a directory, the latest last.
  package static func filesSetAside(in directory: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    let prefix = ServerDatabase.fileName + asideMark
    return names.filter { $0.hasPrefix(prefix) }.compactMap { Int($0.dropFirst(prefix.count)) }
      .sorted().map { "\(directory)/\(prefix)\($0)" }
  }

  /// Copies a database of an older version before it is changed, so that the operator can go back.
  /// The copy stays until it is removed by hand.
  ///
  /// - Parameter beforeCopying: called at a moment when another process may interfere; for tests.
  static func keepBeforeUpgrade(
    _ queue: DatabaseQueue, path: String, beforeCopying: () throws -> Void = {}
  ) throws {
    let (applied, isDone) = try queue.read { db in
      (
        try ServerSchema.migrator.appliedMigrations(db),
        try ServerSchema.migrator.hasCompletedMigrations(db)
      )
    }
    guard !applied.isEmpty, !isDone else { return }
    let copy = "\(path).before-upgrade-\(applied.count)"
    try removeUnfinished(copy)
    // A unique name: another process may do the same.
    let unfinished = "\(copy).new-\(getpid())"
    defer { try? FileManager.default.removeItem(atPath: unfinished) }
    guard
      FileManager.default.createFile(
        atPath: unfinished, contents: nil, attributes: [.posixPermissions: 0o600])
    else { throw StoreOpeningError.unavailable(path: unfinished, reason: "it cannot be created") }
    try beforeCopying()
    try queue.inDatabase { try $0.execute(sql: "VACUUM INTO ?", arguments: [unfinished]) }
    // A faster process has already upgraded the file, and kept a copy of the old one.
    guard try appliedMigrations(ofCopy: unfinished) == applied else { return }
    guard rename(unfinished, copy) == 0 else {
      throw StoreOpeningError.unavailable(path: copy, reason: String(cString: strerror(errno)))
    }
  }

  /// An unfinished copy of a process that has ended must not block others.
  private static func removeUnfinished(_ copy: String) throws {
    let file = URL(filePath: copy)
    let folder = file.deletingLastPathComponent().path(percentEncoded: false)
    let prefix = file.lastPathComponent + ".new-"
    for name in try FileManager.default.contentsOfDirectory(atPath: folder)
    where name.hasPrefix(prefix) {
      guard let process = pid_t(name.dropFirst(prefix.count)), process > 0,
        kill(process, 0) != 0, errno == ESRCH
      else { continue }
      try? FileManager.default.removeItem(atPath: folder + "/" + name)
    }
  }

  private static func appliedMigrations(ofCopy path: String) throws -> [String] {
    var configuration = Configuration()
    configuration.readonly = true
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    let applied = try queue.read { try ServerSchema.migrator.appliedMigrations($0) }
    try queue.close()
    return applied
  }

  /// The part between a damaged file's name and its number.
  static let asideMark = ".corrupt-"

  /// Moves the damaged file and its companions to a free name: all of them, or none. Without its
  /// log the file would be an older state, which might appear intact.
  ///
  /// - Returns: where the file is now; nil if it could not be moved.
  static func setAside(
    path: String,
    move: (_ from: String, _ to: String) throws -> Void = {
      try FileManager.default.moveItem(atPath: $0, toPath: $1)
    }
  ) -> String? {
    let files = FileManager.default
    let suffixes = ["-wal", "-shm", ""]
    guard
      let kept = (1...10_000).lazy.map({ "\(path)\(asideMark)\($0)" })
        .first(where: { name in suffixes.allSatisfy { !files.fileExists(atPath: name + $0) } })
    else { return nil }
    var moved: [String] = []
    do {
      for suffix in suffixes where files.fileExists(atPath: path + suffix) {
        try move(path + suffix, kept + suffix)
        moved.append(suffix)
      }
      return kept
    } catch {
      // If this fails too, the operator finds the companions beside it, under the new name.
      for suffix in moved { try? move(kept + suffix, path + suffix) }
      return nil
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
    case .unavailable, .busy, .internalError:
      return .unavailable(path: path, reason: fault.message)
    }
  }
}
