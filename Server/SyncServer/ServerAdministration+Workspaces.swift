package import Foundation
import QueueModel
import ServerCore
import ServerStore

/// The commands `workspace` and `log`.
extension ServerAdministration {
  /// A workspace in printed form.
  package struct Workspace: Codable, Hashable, Sendable {
    package var id: String
    package var name: String
    package var createdAt: PrintedTime
    /// Devices that have access.
    package var devices: Int
    /// Bytes of its stored snapshot and log, and of its files.
    package var bytes: Int
    package var fileBytes: Int
    /// Bytes of changes added today (UTC).
    package var writtenToday: Int
    package var quota: Quota

    /// The text for users.
    package var text: String {
      "\(ShownName.text(name)): \(devices == 1 ? "1 device" : "\(devices) devices"), \(Self.mebibytes(bytes)) MiB stored, "
        + "\(Self.mebibytes(fileBytes)) MiB of files, \(Self.mebibytes(writtenToday)) MiB today; "
        + "quota: \(quota.text)"
    }

    private static func mebibytes(_ bytes: Int) -> String {
      String(format: "%.1f", Double(bytes) / 1_048_576)
    }
  }

  /// The limits of a workspace; nil for the server's default.
  package struct Quota: Codable, Hashable, Sendable {
    /// MiB of snapshot and log.
    package var storage: Int?
    /// Letters, places and changes.
    package var units: Int?
    /// MiB of changes on a day (UTC).
    package var daily: Int?
    /// MiB of files.
    package var files: Int?

    package init(storage: Int? = nil, units: Int? = nil, daily: Int? = nil, files: Int? = nil) {
      self.storage = storage
      self.units = units
      self.daily = daily
      self.files = files
    }

    var text: String {
      let parts = [
        storage.map { "\($0) MiB stored" }, units.map { "\($0) units" },
        daily.map { "\($0) MiB a day" }, files.map { "\($0) MiB of files" },
      ].compactMap { $0 }
      return parts.isEmpty ? "the server's settings" : parts.joined(separator: ", ")
    }

    /// The same numbers in bytes.
    var stored: WorkspaceQuota {
      WorkspaceQuota(
        bytesMax: storage.map { $0 << 20 }, unitsMax: units.map(UInt64.init),
        dailyBytesMax: daily.map { $0 << 20 }, fileBytesMax: files.map { $0 << 20 })
    }
  }

  package struct WorkspaceList: Codable, Hashable, Sendable {
    package var workspaces: [Workspace]
  }

  /// An event about access in printed form.
  package struct LogEntry: Codable, Hashable, Sendable {
    package var at: PrintedTime
    package var event: String
    package var workspace: String?
    /// Its present name; nil if it was deleted.
    package var workspaceName: String?
    package var device: String?
    package var source: String?
    package var detail: String

    /// The text for users.
    package var text: String {
      let time = Date(timeIntervalSince1970: Double(at.milliseconds) / 1_000).formatted(.iso8601)
      let parts = [
        event, detail.isEmpty ? nil : detail,
        (workspaceName.map(ShownName.text) ?? workspace).map { "workspace \($0)" },
        device.map { "device \($0)" }, source.map { "source \($0)" },
      ]
      return "\(time)  \(parts.compactMap { $0 }.joined(separator: ", "))"
    }
  }

  package struct LogEntries: Codable, Hashable, Sendable {
    package var entries: [LogEntry]
  }

  package func workspaces() throws(SyncServerError) -> WorkspaceList {
    try requireData()
    let listed = try withDatabase { database throws(StorageFault) in try database.workspaces() }
    return WorkspaceList(workspaces: listed.map(shown))
  }

  package func workspace(named name: String) throws(SyncServerError) -> Workspace {
    shown(try listing(named: name))
  }

  /// Changes the given limits, and keeps the others.
  ///
  /// - Parameter resets: limits that are not given return to the server's defaults.
  package func setQuota(
    _ quota: Quota, resets: Bool, ofWorkspaceNamed name: String
  ) throws(SyncServerError) -> Workspace {
    if let units = quota.units, UInt64(units) > WorkspaceQuota.unitsMaxMax {
      throw SyncServerError(
        .usage,
        "A workspace can have at most \(WorkspaceQuota.unitsMaxMax) units, because devices "
          + "cannot read more.")
    }
    let known = try listing(named: name)
    let change = quota.stored
    var stored = resets ? WorkspaceQuota() : known.quota
    stored.bytesMax = change.bytesMax ?? stored.bytesMax
    stored.unitsMax = change.unitsMax ?? stored.unitsMax
    stored.dailyBytesMax = change.dailyBytesMax ?? stored.dailyBytesMax
    stored.fileBytesMax = change.fileBytesMax ?? stored.fileBytesMax
    var changed = known
    changed.quota = stored
    let text = shown(changed).quota.text
    let entry = AuditEntry(
      at: ProcessClock.wallMilliseconds, event: .quota, workspace: known.id, detail: text)
    let final = stored
    try withDatabase { database throws(StorageFault) in
      try database.setQuota(final, of: known.id, noting: entry)
    }
    return shown(changed)
  }

  /// Renames a workspace; its devices are not affected.
  package func renameWorkspace(
    named name: String, to newName: String
  ) throws(SyncServerError) -> Workspace {
    let fresh = try ServerAdministration.checkedName(newName)
    var known = try listing(named: name)
    let (id, entry) = (
      known.id,
      AuditEntry(at: ProcessClock.wallMilliseconds, event: .renamed, workspace: known.id)
    )
    let isDone = try withDatabase { database throws(StorageFault) in
      try database.rename(id, to: fresh, noting: entry)
    }
    guard isDone else {
      throw SyncServerError(
        .failed, "There is a workspace \"\(fresh)\" already. `workspace list` shows them.")
    }
    known.name = fresh
    return shown(known)
  }

  /// The visible content of a workspace as JSON, in the form that `cospool import` reads.
  ///
  /// - Throws: `.corrupt` if the workspace cannot be read.
  package func exportWorkspace(named name: String) throws(SyncServerError) -> Data {
    let id = try listing(named: name).id
    let loaded = try withDatabase { database throws(StorageFault) -> QueueModel.Workspace? in
      try database.readWorkspace(id)?.workspace
    }
    guard let loaded else {
      throw SyncServerError(.tryLater, "Workspace \"\(name)\" is being deleted.")
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      return try encoder.encode(loaded.document()) + Data("\n".utf8)
    } catch {
      throw SyncServerError(.failed, "Workspace \"\(name)\" cannot be written: \(error)")
    }
  }

  /// Removes a workspace, its log, devices and files.
  package func deleteWorkspace(named name: String) throws(SyncServerError) -> Workspace {
    let known = try listing(named: name)
    let deleted = shown(known)
    let entry = AuditEntry(
      at: ProcessClock.wallMilliseconds, event: .deleted, workspace: known.id)
    try withDatabase { database throws(StorageFault) in
      try database.delete(known.id, noting: entry)
    }
    do {
      let folder = BlobStore.folder(of: known.id, dataDirectory: directory)
      if FileManager.default.fileExists(atPath: folder) {
        try FileManager.default.removeItem(atPath: folder)
      }
    } catch {
      throw SyncServerError(
        .disk,
        "The workspace was deleted, but its files could not be: \(SystemFault.reason(error)).")
    }
    return deleted
  }

  /// The latest events about access, oldest first.
  package func accessLog(
    workspaceName: String?, limit: Int
  ) throws(SyncServerError) -> LogEntries {
    try requireData()
    let workspace = try workspaceName.map { name throws(SyncServerError) in
      try listing(named: name).id
    }
    let (entries, names) = try withDatabase { database throws(StorageFault) in
      let names = try database.workspaces().map { ($0.id, $0.name) }
      return (
        try database.audit(of: workspace, limit: limit), Dictionary(uniqueKeysWithValues: names)
      )
    }
    return LogEntries(
      entries: entries.map { entry in
        LogEntry(
          at: PrintedTime(entry.at), event: entry.event.rawValue,
          workspace: entry.workspace?.description,
          workspaceName: entry.workspace.flatMap { names[$0] },
          device: entry.device?.description, source: entry.source, detail: entry.detail)
      })
  }

  private func listing(named name: String) throws(SyncServerError) -> WorkspaceListing {
    try requireData()
    let all = try withDatabase { database throws(StorageFault) in try database.workspaces() }
    guard let found = all.first(where: { $0.name == name }) else {
      throw SyncServerError(
        .failed, "There is no workspace \"\(name)\". `workspace list` shows them.")
    }
    return found
  }

  private func shown(_ listing: WorkspaceListing) -> Workspace {
    let day = ProcessClock.wallMilliseconds / DailyWrites.dayMilliseconds
    return Workspace(
      id: listing.id.description, name: listing.name, createdAt: PrintedTime(listing.createdAt),
      devices: listing.devices, bytes: listing.bytes,
      fileBytes: BlobStore.bytes(of: listing.id, dataDirectory: directory),
      writtenToday: listing.written.day == day ? listing.written.bytes : 0,
      quota: Quota(
        storage: listing.quota.bytesMax.map { $0 >> 20 },
        units: listing.quota.unitsMax.map(Int.init(clamping:)),
        daily: listing.quota.dailyBytesMax.map { $0 >> 20 },
        files: listing.quota.fileBytesMax.map { $0 >> 20 }))
  }
}
