import Foundation
import ProcessResources
import QueueModel
import ServerStore

/// A folder of backups: `NAME.json` for each, and under `files` their contents, each once under its
/// SHA-256.
///
/// A backup takes the space of its new files. Existing files never change, so a tool that copies
/// new files elsewhere copies whole backups. One process at a time writes.
struct BackupFolder: Sendable {
  let path: String
  var files: String { path + "/files" }

  init(_ path: String) {
    self.path = path
  }

  // MARK: - Manifests

  /// All backups, the oldest first.
  ///
  /// - Throws: if the folder does not exist or cannot be read. An unreadable manifest is not a
  ///   backup: `unreadable` names it. A file whose name is not a time, as backups' names are, is
  ///   ignored.
  func manifests() throws(SyncServerError) -> (backups: [BackupManifest], unreadable: [String]) {
    var backups: [BackupManifest] = []
    var unreadable: [String] = []
    for name in try manifestNames() {
      guard let data = FileManager.default.contents(atPath: path + "/" + name),
        let manifest = BackupManifest(data, of: String(name.dropLast(".json".count)))
      else {
        if BackupFolder.time(of: name) != nil { unreadable.append(name) }
        continue
      }
      backups.append(manifest)
    }
    backups.sort { ($0.createdAt, $0.name) < ($1.createdAt, $1.name) }
    return (backups, unreadable)
  }

  private func manifestNames() throws(SyncServerError) -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: path).filter {
        $0.hasSuffix(".json")
      }.sorted()
    } catch {
      throw .file("The backups in \(path) cannot be read", error)
    }
  }

  /// Whether a backup's time is in the future of this machine's clock: one of the two is wrong.
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
    if all.unreadable.contains(name + ".json") {
      throw SyncServerError(
        .corrupt, "The backup \(name) in \(path) cannot be read, or a newer version wrote it.")
    }
    throw SyncServerError(
      .failed, "There is no backup \(name) in \(path). `backup list` shows the backups.")
  }

  /// An unused name: the time in UTC.
  func freshName(at milliseconds: Int64) -> String {
    let name = BackupFolder.timeText(milliseconds)
    func taken(_ name: String) -> Bool {
      FileManager.default.fileExists(atPath: "\(path)/\(name).json")
    }
    guard taken(name) else { return name }
    return (2...).lazy.map { "\(name)-\($0)" }.first { !taken($0) } ?? name
  }

  /// `20261125T133000Z`.
  static func timeText(_ milliseconds: Int64) -> String {
    var seconds = time_t(milliseconds / 1_000)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    func padded(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let day = [parts.tm_mon + 1, parts.tm_mday].map(padded).joined()
    let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map(padded).joined()
    return "\(parts.tm_year + 1900)\(day)T\(clock)Z"
  }

  /// When the latest backup was made, milliseconds since 1970, by the names: no manifest is read.
  /// Backups dated ahead of the clock do not count.
  func lastMade(at now: Int64) throws(SyncServerError) -> Int64? {
    try manifestNames().compactMap { BackupFolder.time(of: $0) }
      .filter { !BackupFolder.isAhead($0, of: now) }.max()
  }

  private static func time(of name: String) -> Int64? {
    let style = Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted)
    let time = try? Date(String(name.prefix(timeText(0).count)), strategy: style)
    return time.map { Int64($0.timeIntervalSince1970) * 1_000 }
  }

  func write(_ manifest: BackupManifest) throws(SyncServerError) {
    do {
      try PrivateFile.synchronize(folder: files)
      try PrivateFile.replace("\(path)/\(manifest.name).json", with: manifest)
    } catch {
      throw .file("The backup cannot be written to \(path)", error)
    }
  }

  // MARK: - Files

  /// Whether the folder is prepared for backups. One that must not be examined counts; reading it
  /// reports why.
  var isPrepared: Bool {
    var status = stat()
    return stat(files, &status) == 0 || (errno != ENOENT && errno != ENOTDIR)
  }

  /// Makes the folder, takes its lock, and removes the rest of an unfinished backup.
  func prepare() throws(SyncServerError) -> DirectoryLock {
    try PrivateFile.makeFolder(files)
    try ServerBackup.requireRight(to: path)
    let lock: DirectoryLock
    do {
      lock = try DirectoryLock(directory: path, name: "backup.lock")
    } catch {
      if case .locked = error {
        throw SyncServerError(
          .tryLater, "Another backup to \(path) is running. Try again when it is done.")
      }
      throw SyncServerError(error)
    }
    for name in (try? FileManager.default.contentsOfDirectory(atPath: files)) ?? []
    where name.hasPrefix(BackupFolder.freshPrefix) {
      try? FileManager.default.removeItem(atPath: files + "/" + name)
    }
    return lock
  }

  private static let freshPrefix = "new-"

  /// A path for a new file; the next backup removes a file that stays there.
  func freshPath() -> String { "\(files)/\(BackupFolder.freshPrefix)\(UUID().uuidString)" }

  func filePath(_ hash: ContentHash) -> String { files + "/" + hash.description }

  func has(_ hash: ContentHash, bytes: Int) -> Bool { size(of: hash) == bytes }

  private func size(of hash: ContentHash) -> Int? {
    var status = stat()
    return stat(filePath(hash), &status) == 0 ? Int(status.st_size) : nil
  }

  /// The number of files that each backup lacks: missing, or with another size. Each is examined
  /// once, and none is read; `verify` does that.
  func missing(of backups: [BackupManifest]) -> [Int] {
    var sizes: [ContentHash: Int?] = [:]
    return backups.map { backup in
      backup.files.count { file in
        let size = sizes[file.sha256] ?? size(of: file.sha256)
        sizes.updateValue(size, forKey: file.sha256)
        return size != file.bytes
      }
    }
  }

  /// Adds a copy of a file.
  func keep(copyOf source: String) throws -> (bytes: Int, hash: ContentHash) {
    let fresh = freshPath()
    do {
      let kept = try PrivateFile.copy(source, to: fresh)
      try take(fresh, as: kept.hash)
      return kept
    } catch {
      unlink(fresh)
      throw error
    }
  }

  /// Adds a file that is at a fresh path of this folder.
  func take(_ fresh: String, as hash: ContentHash) throws {
    guard rename(fresh, filePath(hash)) == 0 else { throw SystemFault.last }
  }

  /// Writes the files of a backup below a folder, and checks every file's hash.
  ///
  /// - Throws: `.corrupt` if something is missing or damaged. A damaged file is moved away, so that
  ///   the next backup adds it again.
  func write(_ manifest: BackupManifest, below folder: String) throws(SyncServerError) {
    var problems: [String] = []
    for file in manifest.files {
      let target = folder + "/" + file.path
      do {
        try PrivateFile.makeFolder((target as NSString).deletingLastPathComponent)
        let source = filePath(file.sha256)
        guard FileManager.default.fileExists(atPath: source) else {
          problems.append("\(file.path) is missing (\(file.sha256))")
          continue
        }
        let written = try PrivateFile.copy(source, to: target)
        guard written == (file.bytes, file.sha256) else {
          problems.append("\(file.path) is damaged (\(file.sha256))")
          _ = rename(source, source + ".damaged")
          continue
        }
      } catch {
        throw .file("\(target) cannot be written", error)
      }
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

  /// Removes all but the latest backups, and contents that none of these has.
  ///
  /// - Parameters:
  ///   - count: how many stay.
  ///   - fresh: the new one. It stays, whatever the times of the others.
  /// - Returns: the names of the removed backups.
  func prune(keeping count: Int, sparing fresh: String) throws(SyncServerError) -> [String] {
    let all = try manifests()
    let gone = all.backups.filter { $0.name != fresh }.dropLast(max(0, count - 1))
    do {
      for backup in gone {
        try FileManager.default.removeItem(atPath: "\(path)/\(backup.name).json")
      }
      // An unreadable manifest may refer to any file.
      guard all.unreadable.isEmpty else { return gone.map(\.name) }
      let kept = Set(all.backups.filter { !gone.contains($0) }.flatMap(\.files).map(\.sha256))
      for name in try FileManager.default.contentsOfDirectory(atPath: files) {
        guard let hash = ContentHash(String(name.prefix(64))), !kept.contains(hash) else {
          continue
        }
        try FileManager.default.removeItem(atPath: files + "/" + name)
      }
    } catch {
      throw .file("Old backups cannot be removed from \(path)", error)
    }
    return gone.map(\.name)
  }
}
