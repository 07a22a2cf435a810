import Basics
import Foundation
import ProcessResources
import QueueModel
import ServerCore
import ServerStore

/// The commands `backup create`, `list`, `verify` and `restore`.
///
/// Making a backup needs no lock of the data directory, so it works while the server is running.
package struct ServerBackup: Sendable {
  /// The data directory.
  let directory: String
  let folder: BackupFolder

  /// - Parameter folder: the folder of backups; nil for that of the latest one.
  /// - Throws: `.usage` if neither is known; `.disk` if the latest backup went to that folder, but
  ///   it has no backups. Then its disk is not mounted, and creating a new folder would be wrong.
  package init(dataDirectory: String, folder: String?) throws(SyncServerError) {
    directory = dataDirectory
    guard folder != "" else { throw SyncServerError(.usage, "Name a folder with --folder.") }
    // A named folder takes precedence over the one that the data directory records.
    var known = (try? BackupPlace.read(directory: dataDirectory))?.folder
    if folder == nil { known = try BackupPlace.read(directory: dataDirectory)?.folder }
    guard let path = folder.map(ServerBackup.absolute) ?? known else {
      throw SyncServerError(
        .usage,
        "Name the backup folder: --folder FOLDER. Later commands use the folder of the "
          + "latest backup."
      )
    }
    self.folder = BackupFolder(path)
    guard path == known, !self.folder.isPrepared else { return }
    throw SyncServerError(
      .disk,
      "\(path) contains no backups, but the latest one went there. Mount that disk. To start "
        + "new backups there, first: rm "
        + "\(Shell.quoted("\(dataDirectory)/\(BackupPlace.fileName)"))")
  }

  /// An absolute path, without a slash at its end.
  private static func absolute(_ path: String) -> String {
    let full = URL(filePath: path).standardizedFileURL.path(percentEncoded: false)
    return full.count > 1 && full.hasSuffix("/") ? String(full.dropLast()) : full
  }

  /// Checks that this process may write into a folder of backups.
  ///
  /// - Throws: `.disk` if it may not.
  package static func requireRight(to folder: String) throws(SyncServerError) {
    // With the effective user id; access(2) would use the real one.
    guard faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0 else { return }
    throw .file("Backups cannot be written to \(folder)", SystemFault.last)
  }

  /// Checks that a folder of backups is outside the data directory.
  ///
  /// - Parameter folder: may not exist yet.
  /// - Throws: `.usage` if it is in the data directory.
  package static func requireElsewhere(
    _ folder: String, than dataDirectory: String
  ) throws(SyncServerError) {
    var path = folder
    while path.count > 1, !FileManager.default.fileExists(atPath: path) {
      path = (path as NSString).deletingLastPathComponent
    }
    func parts(_ path: String) -> [String] {
      URL(filePath: path).resolvingSymlinksInPath().pathComponents
    }
    guard parts(path).starts(with: parts(dataDirectory)) else { return }
    throw SyncServerError(
      .usage,
      "\(folder) is inside the data directory, so the backups would be lost together with "
        + "the data. Name a folder elsewhere, best on another disk.")
  }

  /// A backup in printed form.
  package struct Line: Codable, Hashable, Sendable {
    package var name: String
    package var createdAt: PrintedTime
    /// The size of a restore.
    package var bytes: Int
    package var attachments: Int
    package var workspaces: Int
    /// Attachments that were damaged on the server, and are left out.
    package var damaged: [String]
    /// The number of its missing files; if there are any, it cannot be restored.
    package var missing: Int

    package var text: String {
      let files = attachments == 1 ? "1 attachment" : "\(attachments) attachments"
      let mebibytes = String(format: "%.1f", Double(bytes) / 1_048_576)
      return "\(name)  \(mebibytes) MiB, \(files)"
        + (damaged.isEmpty ? "" : "; \(damaged.count) damaged attachments left out")
        + (missing == 0 ? "" : "; incomplete: \(missing) of its files are missing or damaged")
    }

    init(_ manifest: BackupManifest, missing: Int) {
      name = manifest.name
      createdAt = PrintedTime(manifest.createdAt)
      bytes = manifest.bytes
      attachments = manifest.files.count { $0.path.hasPrefix("blobs/") }
      workspaces = manifest.workspaces.count
      damaged = manifest.damaged
      self.missing = missing
    }
  }

  package struct List: Codable, Hashable, Sendable {
    package var folder: String
    package var backups: [Line]
    /// Folders without a manifest, or with one of a newer version.
    package var unreadable: [String]
  }

  /// The result of `create`.
  package struct Creation: Codable, Hashable, Sendable {
    package var backup: Line
    package var folder: String
    /// Whether this backup created the folder; then its disk may not be mounted.
    package var isNewFolder: Bool
    /// Bytes that no earlier backup had.
    package var newBytes: Int
    /// Older backups that were removed.
    package var removed: [String]
  }

  // MARK: - Create

  /// Makes a backup, and removes the oldest ones if there are more than a number.
  ///
  /// The database is copied as of one moment after the call. Attachments are collected before and
  /// after, so that all attachments in the database are included.
  ///
  /// - Parameters:
  ///   - count: how many stay, this one included; nil for all.
  ///   - now: milliseconds since 1970; the machine's clock if nil.
  /// - Throws: `.disk` if something cannot be read or written, `.tryLater` if another backup is
  ///   under way. An incomplete backup is never listed.
  package func create(
    keeping count: Int? = nil, at now: Int64? = nil
  ) throws(SyncServerError) -> Creation {
    let administration = ServerAdministration(dataDirectory: directory)
    try administration.requireData()
    try ServerBackup.requireElsewhere(folder.path, than: directory)
    let isNewFolder = !FileManager.default.fileExists(atPath: folder.path)
    let lock = try folder.prepare()
    defer { lock.release() }
    let now = now ?? ProcessClock.wallMilliseconds
    let last = (try? folder.manifests())?.backups.last {
      !BackupFolder.isAhead($0.createdAt, of: now)
    }
    var contents = Contents(
      place: folder.unfinished, last: last.map { "\(folder.path)/\($0.name)" }, directory: directory
    )
    try contents.takeAttachments()
    let workspaces = try contents.takeDatabase(administration)
    try contents.takeAttachments()
    try contents.takeSettings()
    let manifest = BackupManifest(
      name: folder.freshName(at: now), createdAt: now, version: ServerVersion.text,
      files: contents.files.values.sorted { $0.path < $1.path }, workspaces: workspaces,
      damaged: contents.damaged.sorted())
    try folder.finish(manifest)
    let place = BackupPlace(folder: folder.path)
    if (try? BackupPlace.read(directory: directory)) != place {
      try place.write(directory: directory)
    }
    var removed: [String] = []
    if let count { removed = try folder.prune(keeping: count, sparing: manifest.name) }
    return Creation(
      backup: Line(manifest, missing: 0), folder: folder.path, isNewFolder: isNewFolder,
      newBytes: contents.newBytes,
      removed: removed)
  }

  /// The contents of a backup, while they are collected.
  private struct Contents {
    /// The folder of the new backup.
    let place: String
    /// That of the latest one.
    let last: String?
    let directory: String
    var files: [String: BackupManifest.File] = [:]
    var damaged: Set<String> = []
    var newBytes = 0

    /// Adds the attachments that are not included yet. Their names are hashes, so a file that an
    /// earlier backup has is not read again.
    mutating func takeAttachments() throws(SyncServerError) {
      let root = directory + "/blobs"
      guard FileManager.default.fileExists(atPath: root) else { return }
      do {
        for workspace in try FileManager.default.contentsOfDirectory(atPath: root)
        where WorkspaceID(workspace) != nil {
          for name in try FileManager.default.contentsOfDirectory(atPath: "\(root)/\(workspace)") {
            guard let hash = ContentHash(name) else { continue }
            try takeAttachment(hash, of: workspace)
          }
        }
      } catch {
        throw .file("The attachments cannot be copied", error)
      }
    }

    private mutating func takeAttachment(_ hash: ContentHash, of workspace: String) throws {
      let path = BackupItem.blob(hash.description, in: workspace)
      guard files[path] == nil, !damaged.contains(path) else { return }
      var status = stat()
      // An attachment without references may disappear at any time.
      guard stat("\(directory)/\(path)", &status) == 0 else { return }
      let size = Int(status.st_size)
      do {
        if try !linkLatest(path, bytes: size) {
          guard try copy("\(directory)/\(path)", to: path, hash: hash) else {
            damaged.insert(path)
            return
          }
        }
      } catch {
        guard FileManager.default.fileExists(atPath: "\(directory)/\(path)") else { return }
        throw error
      }
      files[path] = BackupManifest.File(path: path, bytes: size, sha256: hash)
    }

    /// Adds a file that the latest backup has.
    ///
    /// - Returns: whether there is one of that length, and the disk has hard links.
    private func linkLatest(_ path: String, bytes: Int) throws -> Bool {
      let target = "\(place)/\(path)"
      try PrivateFile.makeFolder((target as NSString).deletingLastPathComponent)
      var status = stat()
      guard let last, lstat("\(last)/\(path)", &status) == 0, status.st_mode & S_IFMT == S_IFREG,
        Int(status.st_size) == bytes
      else { return false }
      return link("\(last)/\(path)", target) == 0
    }

    /// Adds a copy of a file.
    ///
    /// - Returns: whether it has the expected hash; otherwise it is left out.
    private mutating func copy(
      _ source: String, to path: String, hash: ContentHash? = nil
    ) throws -> Bool {
      let target = "\(place)/\(path)"
      try PrivateFile.makeFolder((target as NSString).deletingLastPathComponent)
      let copied = try PrivateFile.copy(source, to: target)
      guard copied.hash == hash ?? copied.hash else {
        unlink(target)
        return false
      }
      newBytes += copied.bytes
      files[path] = BackupManifest.File(path: path, bytes: copied.bytes, sha256: copied.hash)
      return true
    }

    /// Adds a copy of the database, and reads its workspaces' positions.
    mutating func takeDatabase(
      _ administration: ServerAdministration
    ) throws(SyncServerError) -> [BackupManifest.Workspace] {
      let target = "\(place)/\(BackupItem.database)"
      do {
        try administration.withDatabase { database throws(StorageFault) in
          try database.copy(to: target)
        }
      } catch {
        throw SyncServerError(
          error.code, "The database cannot be copied to \(place): \(error.message)")
      }
      do {
        guard chmod(target, 0o600) == 0 else { throw SystemFault.last }
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: target))
        try file.synchronize()
        try file.close()
        let found = try PrivateFile.hash(of: target)
        newBytes += found.bytes
        files[BackupItem.database] = BackupManifest.File(
          path: BackupItem.database, bytes: found.bytes, sha256: found.hash)
      } catch {
        throw .file("The copy of the database cannot be stored", error)
      }
      return try ServerBackup.reading(copyAt: target) { copy throws(StorageFault) in
        try ServerBackup.workspaces(of: copy)
      }
    }

    /// Adds the push settings, the files that they name, and the revocations. Revocations are read
    /// after the database, so that none of the database's is missing.
    mutating func takeSettings() throws(SyncServerError) {
      var sources = [
        PushSettings.fileName: "\(directory)/\(PushSettings.fileName)",
        BackupItem.revocations: "\(directory)/\(BackupItem.revocations)",
      ]
      let settings = try PushSettings.read(directory: directory)
      sources[BackupItem.appleKey] = settings.apns?.keyFile
      sources[BackupItem.trustedRoot] = settings.trustedRootFile
      for (path, source) in sources where FileManager.default.fileExists(atPath: source) {
        do {
          _ = try copy(source, to: path)
        } catch {
          throw .file("\(source) cannot be copied", error)
        }
      }
    }
  }

  private static func reading<Result>(
    copyAt path: String, _ body: (ServerDatabase) throws(StorageFault) -> Result
  ) throws(SyncServerError) -> Result {
    let copy: ServerDatabase
    do { copy = try ServerDatabase.open(copyAt: path) } catch { throw SyncServerError(error) }
    defer { try? copy.close() }
    do { return try body(copy) } catch { throw SyncServerError(error) }
  }

  /// The positions of the logs in a copy.
  private static func workspaces(
    of copy: ServerDatabase
  ) throws(StorageFault) -> [BackupManifest.Workspace] {
    try copy.logs(ofWorkspaceNamed: nil).map {
      BackupManifest.Workspace(
        id: $0.workspace.description, name: $0.workspaceName, logPosition: $0.headPosition)
    }
  }

  // MARK: - List and verify

  /// All backups, the oldest first, and whether their files exist.
  package func list() throws(SyncServerError) -> List {
    let all = try folder.manifests()
    return List(
      folder: folder.path, backups: all.backups.map { Line($0, missing: folder.missing(of: $0)) },
      unreadable: all.unreadable)
  }

  /// When the latest backup was made, milliseconds since 1970; cheap.
  ///
  /// - Returns: nil if there never was one.
  /// - Throws: if none exists any longer, or the folder cannot be read.
  static func lastMade(for dataDirectory: String) throws(SyncServerError) -> Int64? {
    guard try BackupPlace.read(directory: dataDirectory) != nil else { return nil }
    let folder = try ServerBackup(dataDirectory: dataDirectory, folder: nil).folder
    guard let last = try folder.lastMade(at: ProcessClock.wallMilliseconds) else {
      throw SyncServerError(.failed, "There is no backup in \(folder.path).")
    }
    return last
  }

  /// The result of a successful `verify`.
  package struct Verification: Codable, Hashable, Sendable {
    package var backup: String
    package var files: Int
    package var bytes: Int
    package var workspaces: [BackupManifest.Workspace]

    package var text: String {
      let positions = workspaces.map { "\(ShownName.text($0.name)) up to \($0.logPosition)" }
      return
        "\(backup) is complete: \(files) file\(files == 1 ? "" : "s"), \(bytes) bytes, all "
        + "unchanged; the database is intact; workspaces: "
        + "\(positions.isEmpty ? "none" : positions.joined(separator: ", "))"
    }
  }

  /// Checks every file's hash. SQLite checks the database with its indices, and every workspace is
  /// read as by a server.
  ///
  /// - Parameter name: nil for the latest.
  /// - Throws: `.corrupt`, naming the missing or damaged files.
  package func verify(name: String?) throws(SyncServerError) -> Verification {
    let manifest = try folder.manifest(named: name, at: ProcessClock.wallMilliseconds)
    try folder.check(manifest) { source, _ in try PrivateFile.hash(of: source) }
    let path = "\(folder.path)/\(manifest.name)/\(BackupItem.database)"
    let found = try ServerBackup.reading(copyAt: path) { copy throws(StorageFault) in
      let workspaces = try ServerBackup.workspaces(of: copy)
      for workspace in workspaces.compactMap({ WorkspaceID($0.id) }) {
        if case .failed(let fault) = copy.perform(.load(workspace)) { throw fault }
      }
      return (fault: try copy.pageFaults(isThorough: true), workspaces: Set(workspaces))
    }
    if let fault = found.fault {
      throw SyncServerError(
        .corrupt, "The database of backup \(manifest.name) is damaged: \(fault)")
    }
    guard found.workspaces == Set(manifest.workspaces) else {
      throw SyncServerError(
        .corrupt, "The workspaces of backup \(manifest.name) are not those that it lists.")
    }
    return Verification(
      backup: manifest.name, files: manifest.files.count, bytes: manifest.bytes,
      workspaces: manifest.workspaces)
  }
}
