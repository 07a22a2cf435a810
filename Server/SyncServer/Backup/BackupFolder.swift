import Foundation
import ProcessResources
import QueueModel
import ServerStore

/// A folder of backups. Each is a folder with the layout of a data directory, and a manifest.
///
/// A file that the latest backup also has is a hard link, so a backup takes the space of its new
/// files only. Files never change. One process writes at a time.
struct BackupFolder: Sendable {
  let path: String

  init(_ path: String) {
    self.path = path
  }

  private static let manifestName = "manifest.json"
  private static let lockName = "backup.lock"

  /// The folder of an unfinished backup, which the next one removes.
  var unfinished: String { path + "/unfinished" }

  // MARK: - Manifests

  /// All backups, the oldest first.
  ///
  /// - Throws: if the folder does not exist or cannot be read. A folder without a readable manifest
  ///   is not a backup: `unreadable` names it. It is ignored if its name is not a time.
  func manifests() throws(SyncServerError) -> (backups: [BackupManifest], unreadable: [String]) {
    var backups: [BackupManifest] = []
    var unreadable: [String] = []
    for name in try names() {
      let data = FileManager.default.contents(atPath: "\(path)/\(name)/\(Self.manifestName)")
      if let manifest = data.flatMap({ BackupManifest($0, of: name) }) {
        backups.append(manifest)
      } else {
        unreadable.append(name)
      }
    }
    backups.sort { ($0.createdAt, $0.name) < ($1.createdAt, $1.name) }
    return (backups, unreadable)
  }

  private func names() throws(SyncServerError) -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: path)
        .filter { BackupFolder.time(of: $0) != nil }.sorted()
    } catch {
      throw .file("The backups in \(path) cannot be read", error)
    }
  }

  /// Whether a backup's time is in this machine's future; then one of the two is wrong.
  static func isAhead(_ milliseconds: Int64, of now: Int64) -> Bool {
    milliseconds > now + 3_600_000
  }

  /// The backup with a name, or the latest.
  ///
  /// - Throws: also if the latest is unknown because one is dated ahead of the clock.
  func manifest(named name: String?, at now: Int64) throws(SyncServerError) -> BackupManifest {
    let all = try manifests()
    guard let name else {
      guard let last = all.backups.last else {
        throw SyncServerError(.failed, "There is no backup in \(path).")
      }
      guard !BackupFolder.isAhead(last.createdAt, of: now) else {
        throw SyncServerError(
          .failed,
          "Backup \(last.name) is dated ahead of this machine's clock: one of the two is wrong. Name the "
            + "backup that you mean; `backup list` shows them.")
      }
      return last
    }
    if let found = all.backups.first(where: { $0.name == name }) { return found }
    if all.unreadable.contains(name) {
      throw SyncServerError(
        .corrupt, "The backup \(name) in \(path) cannot be read, or a newer version wrote it.")
    }
    throw SyncServerError(
      .failed, "There is no backup \(name) in \(path). `backup list` shows the backups.")
  }

  /// An unused name: the time in UTC.
  func freshName(at milliseconds: Int64) -> String {
    let name = BackupFolder.timeText(milliseconds)
    return ([name] + (2...1_000).map { "\(name)-\($0)" })
      .first { !FileManager.default.fileExists(atPath: "\(path)/\($0)") } ?? name
  }

  private static let timeStyle = Date.ISO8601FormatStyle(
    dateSeparator: .omitted, timeSeparator: .omitted)

  /// `20261125T133000Z`.
  static func timeText(_ milliseconds: Int64) -> String {
    Date(timeIntervalSince1970: Double(milliseconds / 1_000)).formatted(timeStyle)
  }

  private static func time(of name: String) -> Int64? {
    let time = try? Date(String(name.prefix(timeText(0).count)), strategy: timeStyle)
    return time.map { Int64($0.timeIntervalSince1970) * 1_000 }
  }

  /// When the latest backup was made, milliseconds since 1970, by the names alone; no manifest is
  /// read. Backups dated ahead of the clock do not count.
  func lastMade(at now: Int64) throws(SyncServerError) -> Int64? {
    try names().compactMap { BackupFolder.time(of: $0) }
      .filter { !BackupFolder.isAhead($0, of: now) }.max()
  }

  // MARK: - Files

  /// Whether the folder is prepared for backups. A folder that this account may not examine counts;
  /// reading it reports why.
  var isPrepared: Bool {
    var status = stat()
    return stat("\(path)/\(Self.lockName)", &status) == 0 || (errno != ENOENT && errno != ENOTDIR)
  }

  /// Creates the folder, takes its lock, and removes an unfinished backup.
  func prepare() throws(SyncServerError) -> DirectoryLock {
    try PrivateFile.makeFolder(path)
    try ServerBackup.requireRight(to: path)
    let lock: DirectoryLock
    do {
      lock = try DirectoryLock(directory: path, name: Self.lockName)
    } catch {
      if case .locked = error {
        throw SyncServerError(
          .tryLater, "Another backup to \(path) is running. Try again when it is done.")
      }
      throw SyncServerError(error)
    }
    try? FileManager.default.removeItem(atPath: unfinished)
    try PrivateFile.makeFolder(unfinished)
    return lock
  }

  /// Gives the unfinished backup its name, once everything is on the disk.
  func finish(_ manifest: BackupManifest) throws(SyncServerError) {
    do {
      try PrivateFile.replace("\(unfinished)/\(Self.manifestName)", with: manifest)
      try PrivateFile.synchronize(below: unfinished)
      guard rename(unfinished, "\(path)/\(manifest.name)") == 0 else { throw SystemFault.last }
      try PrivateFile.synchronize(folder: path)
    } catch {
      throw .file("The backup cannot be written to \(path)", error)
    }
  }

  func path(of file: BackupManifest.File, in backup: BackupManifest) -> String {
    "\(path)/\(backup.name)/\(file.path)"
  }

  /// The number of files that a backup lacks: missing, or of another size. No file is read;
  /// `verify` does that.
  func missing(of backup: BackupManifest) -> Int {
    backup.files.count { file in
      var status = stat()
      return lstat(path(of: file, in: backup), &status) != 0 || Int(status.st_size) != file.bytes
    }
  }

  /// Reads every file of a backup, and checks its hash.
  ///
  /// - Parameter read: reads a file, and returns its length and hash.
  /// - Throws: `.corrupt` if something is missing or damaged. A damaged file is moved away, so that
  ///   the next backup copies it again.
  func check(
    _ manifest: BackupManifest,
    _ read: (_ source: String, _ file: String) throws -> (bytes: Int, hash: ContentHash)
  ) throws(SyncServerError) {
    var problems: [String] = []
    for file in manifest.files {
      let source = path(of: file, in: manifest)
      guard FileManager.default.fileExists(atPath: source) else {
        problems.append("\(file.path) is missing")
        continue
      }
      do {
        guard try read(source, file.path) != (file.bytes, file.sha256) else { continue }
      } catch {
        throw .file("\(source) cannot be copied or read", error)
      }
      problems.append("\(file.path) is damaged")
      _ = rename(source, source + ".damaged")
    }
    guard problems.isEmpty else {
      let shown = problems.prefix(5).joined(separator: ", ")
      let more = problems.count > 5 ? ", and \(problems.count - 5) more" : ""
      throw SyncServerError(
        .corrupt,
        "Backup \(manifest.name) is incomplete: \(shown)\(more). Use another backup. The "
          + "next `backup create` saves again what the server still has.")
    }
  }

  /// Removes all but the latest backups.
  ///
  /// - Parameters:
  ///   - count: how many stay.
  ///   - fresh: the new one. It stays, whatever the times of the others.
  /// - Returns: the names of the removed backups.
  func prune(keeping count: Int, sparing fresh: String) throws(SyncServerError) -> [String] {
    let others = try manifests().backups.map(\.name).filter { $0 != fresh }
    let gone = Array(others.dropLast(max(0, count - 1)))
    do {
      for name in gone {
        // If this is cut short, the next backup removes the rest.
        guard rename("\(path)/\(name)", unfinished) == 0 else { throw SystemFault.last }
        try FileManager.default.removeItem(atPath: unfinished)
      }
    } catch {
      throw .file("Old backups cannot be removed from \(path)", error)
    }
    return gone
  }
}
