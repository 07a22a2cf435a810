import Foundation
import ProcessResources
import ServerStore

/// Restoring a backup.
extension ServerBackup {
  /// A complete backup that waits to be moved into place. While it exists, no server starts.
  static let pendingName = "restoring"
  /// A backup that is being written; the next restore removes an unfinished one.
  static let stagingName = "restoring.new"
  /// The prefix of folders with the former data.
  static let asidePrefix = "before-restore-"

  /// The result of `restore`.
  package struct Restoration: Codable, Hashable, Sendable {
    package var backup: String
    package var createdAt: PrintedTime
    /// The path of the former data; nil if there was none.
    package var setAside: String?
    /// The number of devices to which the backup would have given access again.
    package var revocations: Int
    /// Notes for the operator: files that have moved.
    package var notes: [String]
  }

  /// Replaces a data directory's contents with a backup, and keeps the former contents beside it.
  ///
  /// Everything is written and checked before existing data is changed. Revoked devices stay
  /// revoked: the revocations of the backup, of every later one in the folder and of the data
  /// directory are combined.
  ///
  /// - Parameter name: nil for the latest.
  /// - Throws: `.failed` while a server runs; `.corrupt` if the backup is not complete; `.disk`.
  ///   Then nothing was changed, or the former data is in the folder that the error names.
  package func restore(
    name: String?, at now: Int64? = nil
  ) throws(SyncServerError) -> Restoration {
    let now = now ?? ProcessClock.wallMilliseconds
    let manifest = try folder.manifest(named: name, at: now)
    let lock: DirectoryLock
    try PrivateFile.makeFolder(directory)
    do { lock = try DirectoryLock(directory: directory) } catch { throw SyncServerError(error) }
    defer { lock.release() }
    let staging = directory + "/" + ServerBackup.stagingName
    try? FileManager.default.removeItem(atPath: staging)
    do {
      try folder.check(manifest) { source, file in
        let target = "\(staging)/\(file)"
        try PrivateFile.makeFolder((target as NSString).deletingLastPathComponent)
        return try PrivateFile.copy(source, to: target)
      }
    } catch {
      try? FileManager.default.removeItem(atPath: staging)
      throw error
    }
    let revocations = try mergeRevocations(into: staging)
    let notes = try adjustPushSettings(in: staging)
    do {
      try PrivateFile.synchronize(below: staging)
      let aside = try moveAside(at: now, staging: staging)
      try moveIn()
      return Restoration(
        backup: manifest.name, createdAt: PrintedTime(manifest.createdAt), setAside: aside,
        revocations: revocations, notes: notes)
    } catch {
      throw .file(
        "The backup could not be moved into place. The previous data is in \(directory) or "
          + "in its folder before-restore-…. Run `backup restore` again", error)
    }
  }

  /// Whether a restore did not finish.
  static func isPending(in directory: String) -> Bool {
    FileManager.default.fileExists(atPath: "\(directory)/\(pendingName)")
  }

  /// - Returns: the number of devices that were revoked since the backup.
  private func mergeRevocations(into staging: String) throws(SyncServerError) -> Int {
    let later = try folder.manifests().backups
      .map { "\(folder.path)/\($0.name)/\(BackupItem.revocations)" }
    let known = RevocationFile(directory: staging).lines()
    let path = "\(directory)/\(BackupItem.revocations)"
    let all = known.union([path] + later, reading: RevocationFile.lines(of:))
    guard all != known else { return 0 }
    do {
      let text = all.sorted().map { $0 + "\n" }.joined()
      let target = "\(staging)/\(BackupItem.revocations)"
      unlink(target)
      guard
        FileManager.default.createFile(
          atPath: target, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
      else { throw SystemFault.last }
    } catch {
      throw .file("\(staging) cannot be written", error)
    }
    return all.count - known.count
  }

  /// Refers to the copies of Apple's key and of the root certificate if the original files are
  /// gone, as on a new machine.
  private func adjustPushSettings(in staging: String) throws(SyncServerError) -> [String] {
    var settings = try PushSettings.read(directory: staging)
    var notes: [String] = []
    func adjusted(_ path: String?, _ item: String) -> String? {
      guard let path, !FileManager.default.fileExists(atPath: path),
        FileManager.default.fileExists(atPath: "\(staging)/\(item)")
      else { return path }
      let kept = "\(directory)/\(item)"
      notes.append("\(path) does not exist; \(kept) replaces it")
      return kept
    }
    if let apns = settings.apns {
      settings.apns?.keyFile = adjusted(apns.keyFile, BackupItem.appleKey) ?? apns.keyFile
    }
    settings.trustedRootFile = adjusted(settings.trustedRootFile, BackupItem.trustedRoot)
    if !notes.isEmpty { try settings.write(directory: staging) }
    return notes
  }

  /// - Returns: the new path of the former data.
  private func moveAside(at now: Int64, staging: String) throws -> String? {
    let files = FileManager.default
    let pending = "\(directory)/\(ServerBackup.pendingName)"
    let there = (BackupItem.topNames + [ServerBackup.pendingName]).filter {
      files.fileExists(atPath: "\(directory)/\($0)")
    }
    var aside: String?
    if !there.isEmpty {
      let wanted = "\(directory)/\(ServerBackup.asidePrefix)\(BackupFolder.timeText(now))"
      let free =
        ([wanted] + (2...1_000).map { "\(wanted)-\($0)" })
        .first { !files.fileExists(atPath: $0) } ?? wanted
      try PrivateFile.makeFolder(free)
      aside = free
    }
    // An unfinished one is removed first: from here on, this one prevents servers from starting.
    if let aside, files.fileExists(atPath: pending) {
      try files.moveItem(atPath: pending, toPath: "\(aside)/\(ServerBackup.pendingName)")
    }
    try files.moveItem(atPath: staging, toPath: pending)
    try PrivateFile.synchronize(folder: directory)
    if let aside {
      for name in there where name != ServerBackup.pendingName {
        try files.moveItem(atPath: "\(directory)/\(name)", toPath: "\(aside)/\(name)")
      }
      try PrivateFile.synchronize(folder: aside)
    }
    return aside
  }

  private func moveIn() throws {
    let pending = "\(directory)/\(ServerBackup.pendingName)"
    for name in try FileManager.default.contentsOfDirectory(atPath: pending) {
      try FileManager.default.moveItem(
        atPath: "\(pending)/\(name)", toPath: "\(directory)/\(name)")
    }
    try PrivateFile.synchronize(folder: directory)
    try FileManager.default.removeItem(atPath: pending)
    try PrivateFile.synchronize(folder: directory)
  }
}

extension Set<String> {
  fileprivate func union(_ paths: [String], reading: (String) -> Set<String>) -> Set<String> {
    paths.reduce(self) { $0.union(reading($1)) }
  }
}
