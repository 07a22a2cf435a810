import Basics
import Foundation
import QueueModel
import ServerCore
import ServerStore

/// What the commands `pair`, `devices`, `revoke` and `status` do; all work beside a serving process.
package struct ServerAdministration: Sendable {
  /// The workspace that is used if none is named.
  package static let workspaceNameDefault = "default"

  let directory: String

  package init(dataDirectory: String) {
    directory = dataDirectory
  }

  /// A fresh code, as it is printed.
  package struct Pairing: Codable, Hashable, Sendable {
    package var code: String
    package var workspace: String
    package var workspaceName: String
    /// Milliseconds since 1970.
    package var expiresAt: Int64
    /// What the device may do: viewer, author or host.
    package var role: String
    /// For how many seconds it has access; nil: until it is revoked.
    package var accessSeconds: Int64?
    /// Where devices reach the serving process, if one runs; if nobody said that, if it listens.
    package var server: String?
    /// Whether they come through a proxy whose address nobody said.
    package var isBehindProxy = false

    private enum CodingKeys: String, CodingKey {
      case code, workspace, workspaceName, expiresAt, role, accessSeconds, server
    }

    /// What a person reads.
    package var text: String {
      """
      Pairing code for workspace "\(ShownName.text(workspaceName))": \(code)
      It works once, within 10 minutes.\(grant) On the other device, type:

        \(command)
      """
    }

    private var command: String {
      "cospool pair \(Shell.quoted(typed)) \(Shell.quoted(code))" + hint
    }

    private var typed: String {
      isBehindProxy ? ListeningAddress.proxied : ListeningAddress.typed(server)
    }

    private var hint: String {
      isBehindProxy ? ListeningAddress.proxyHint : ListeningAddress.hint(server)
    }

    /// What differs from full access for good.
    private var grant: String {
      var parts: [String] = []
      if role == DeviceRole.viewer.name { parts.append("can view but not change anything") }
      if role == DeviceRole.author.name { parts.append("can queue and answer, but runs no agents") }
      if let accessSeconds { parts.append("has access for \(accessSeconds / 3_600) hours") }
      return parts.isEmpty ? "" : " The device \(parts.joined(separator: ", and "))."
    }
  }

  /// A device, as it is printed; times are milliseconds since 1970.
  package struct Device: Codable, Hashable, Sendable {
    package var id: String
    package var name: String
    package var workspace: String
    package var workspaceName: String
    package var pairedAt: Int64
    package var lastSeenAt: Int64?
    /// Since when it is connected; nil if it is not.
    package var connectedSince: Int64?
    package var revoked: Bool
    package var revokedAt: Int64?
    /// viewer, author or host.
    package var role: String
    /// When its access ends; nil: when it is revoked.
    package var expiresAt: Int64?
  }

  package struct DeviceList: Codable, Hashable, Sendable {
    package var devices: [Device]
  }

  /// A device's id is its own in each workspace.
  private struct DeviceKey: Hashable {
    var workspace: WorkspaceID
    var device: DeviceID
  }

  /// Makes a one-time code; creates the workspace if none of its name exists.
  ///
  /// - Parameters:
  ///   - workspaceName: nil for the one that is used if none is named.
  ///   - workspaceID: of a workspace that the server lost and devices hold: it is begun anew with
  ///     its id, and they bring it back. nil if it does not matter.
  ///   - role: what the device may do: viewer, author or host.
  ///   - accessMilliseconds: for how long it has access; nil: until it is revoked.
  /// - Throws: `.usage` if none is named, others are there and the usual one is not: it may have
  ///   another name by now, and a device in a new, empty one would find no queues.
  package func pair(
    workspaceName: String?, workspaceID: String? = nil,
    role roleName: String = DeviceRole.host.name,
    accessMilliseconds: Int64? = nil
  ) throws(SyncServerError) -> Pairing {
    guard let role = DeviceRole(name: roleName) else {
      throw SyncServerError(.usage, "The role must be viewer, author or host.")
    }
    let named = try workspaceID.map { text throws(SyncServerError) in
      try place(ofWorkspace: text, named: workspaceName)
    }
    let name =
      if let named {
        named.name
      } else if let workspaceName {
        try ServerAdministration.checkedName(workspaceName)
      } else {
        try usualWorkspaceName()
      }
    var generator = SystemRandomNumberGenerator()
    let code = PairingCode(using: &generator)
    let now = ProcessClock.wallMilliseconds
    let expiresAt = now + PairingCode.lifetimeMilliseconds
    let proposal = WorkspaceProposal(
      name: name, id: named?.id ?? WorkspaceID(randomUsing: &generator),
      firstChain: generator.next(),
      createdAt: now)
    let workspace = try withDatabase { database throws(StorageFault) in
      try database.addPairingCode(
        hash: code.stored(by: secretHash), for: proposal, expiresAt: expiresAt, role: role,
        accessMilliseconds: accessMilliseconds)
    }
    let listening = AddressFile(directory: directory).read()
    return Pairing(
      code: code.display, workspace: workspace.description, workspaceName: name,
      expiresAt: expiresAt, role: role.name, accessSeconds: accessMilliseconds.map { $0 / 1_000 },
      server: listening?.devicesURL ?? listening?.url,
      isBehindProxy: listening.map { $0.isProxied && $0.devicesURL == nil } ?? false)
  }

  /// The workspace of an id, and under which name it is, or is begun.
  private func place(
    ofWorkspace text: String, named name: String?
  ) throws(SyncServerError) -> (name: String, id: WorkspaceID) {
    guard let id = WorkspaceID(text) else {
      throw SyncServerError(
        .usage, "--workspace-id: give the workspace's id, as `cospool status` shows it on a device."
      )
    }
    let all = try withDatabase { database throws(StorageFault) in try database.workspaces() }
    if let known = all.first(where: { $0.id == id }) {
      guard name == nil || name == known.name else {
        throw SyncServerError(
          .usage,
          "The workspace with that id is named \(ShownName.text(known.name)) here. Leave "
            + "--workspace out, or use that name."
        )
      }
      return (known.name, id)
    }
    try refuseWhereServerKnows(id)
    let wanted = try ServerAdministration.checkedName(
      name ?? ServerAdministration.workspaceNameDefault)
    guard !all.contains(where: { $0.name == wanted }) else {
      throw SyncServerError(
        .usage,
        "There is another workspace \(ShownName.text(wanted)). Choose a different name for "
          + "this one: --workspace NAME.")
    }
    return (wanted, id)
  }

  /// A serving process may hold the log of a workspace that was deleted while it ran. It would go on behind the end
  /// of that log, and tell the devices that it has what is gone.
  private func refuseWhereServerKnows(_ id: WorkspaceID) throws(SyncServerError) {
    let entries = try withDatabase { database throws(StorageFault) in
      try database.audit(of: id, limit: 100)
    }
    guard let deleted = entries.last(where: { $0.event == .deleted }),
      AddressFile.isServed(directory),
      AddressFile(directory: directory).read().map({ $0.startedAt > deleted.at }) != true
    else { return }
    throw SyncServerError(
      .failed,
      "The workspace was deleted, but the running server may still hold its log. Restart the "
        + "server, then run this command again.")
  }

  private func usualWorkspaceName() throws(SyncServerError) -> String {
    let usual = ServerAdministration.workspaceNameDefault
    let names = try withDatabase { database throws(StorageFault) in
      try database.workspaces().map(\.name)
    }
    guard !names.isEmpty, !names.contains(usual) else { return usual }
    let shown = names.prefix(5).map(ShownName.text).joined(separator: ", ")
    throw SyncServerError(
      .usage,
      "Name the workspace: --workspace NAME. There is no workspace \(usual), but "
        + "\(shown)\(names.count > 5 ? ", …" : ""). To create one: --workspace \(usual).")
  }

  /// A name that a workspace may have.
  static func checkedName(_ text: String) throws(SyncServerError) -> String {
    let name = text.trimmedOfWhitespace()
    guard !name.isEmpty, name.utf8.count <= Limits.nameBytesMax else {
      throw SyncServerError(.usage, "A workspace name has 1 to \(Limits.nameBytesMax) bytes.")
    }
    // A line break or an escape in it could be typed by nobody again.
    guard !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
      throw SyncServerError(.usage, "A workspace name cannot contain control characters.")
    }
    return name
  }

  /// The devices of one workspace, or of all.
  package func devices(workspaceName: String?) throws(SyncServerError) -> DeviceList {
    try requireData()
    let listed = try withDatabase { database throws(StorageFault) in
      if let workspaceName, try !database.hasWorkspace(named: workspaceName) {
        return nil as [DeviceListing]?
      }
      return try database.devices(inWorkspaceNamed: workspaceName)
    }
    guard let listed else {
      throw SyncServerError(
        .failed, "There is no workspace \"\(workspaceName ?? "")\". `pair` creates one.")
    }
    // Of several connections of a device, the first.
    let connected = Dictionary(
      ConnectedDevices(directory: directory).read()
        .map { (DeviceKey(workspace: $0.workspace, device: $0.device), $0.since) },
      uniquingKeysWith: min)
    return DeviceList(
      devices: listed.map { listing in
        var device = Device(listing)
        device.connectedSince =
          connected[
            DeviceKey(workspace: listing.workspace, device: listing.id)]
        return device
      })
  }

  /// Takes away the access of the device that an id, a unique prefix of one, or a name tells.
  package func revoke(
    device key: String, workspaceName: String?
  ) throws(SyncServerError) -> Device {
    try requireData()
    let listed = try withDatabase { database throws(StorageFault) in
      try database.devices(inWorkspaceNamed: workspaceName)
    }
    let device = try ServerAdministration.choose(key, from: listed)
    let now = ProcessClock.wallMilliseconds
    do {
      try RevocationFile(directory: directory).add(device.id, in: device.workspace, at: now)
    } catch {
      throw SyncServerError(
        .disk, "Nothing was revoked: `revocations` cannot be written: \(SystemFault.reason(error))."
      )
    }
    try withDatabase { database throws(StorageFault) in
      try database.revoke(device.id, in: device.workspace, at: now)
    }
    var revoked = device
    revoked.revokedAt = device.revokedAt ?? now
    return Device(revoked)
  }

  private static func choose(
    _ key: String, from devices: [DeviceListing]
  ) throws(SyncServerError) -> DeviceListing {
    // Devices name themselves.
    var matches = NameMatch(
      key.trimmedOfWhitespace(), among: devices, id: \.id, name: \.name, names: .own
    ).all
    // A name that was used again means the one that still has access.
    if matches.count > 1, matches.contains(where: { $0.revokedAt == nil }) {
      matches = matches.filter { $0.revokedAt == nil }
    }
    guard let first = matches.first else {
      throw SyncServerError(
        .failed,
        "No device \"\(key)\". Give its name or at least 4 characters of its id; `devices` lists them."
      )
    }
    guard matches.count == 1 else {
      let candidates = matches.map {
        "\($0.id) (\(ShownName.text($0.name)), workspace \(ShownName.text($0.workspaceName)))"
      }
      throw SyncServerError(
        .failed,
        "\"\(key)\" matches several devices: \(candidates.joined(separator: ", ")). Give the "
          + "id, and --workspace if the device is in several workspaces.")
    }
    return first
  }

  /// - Throws: if a backup is half in its place: what is there is not what will be.
  func requireRestored() throws(SyncServerError) {
    guard !ServerBackup.isPending(in: directory) else {
      throw SyncServerError(StoreOpeningError.restoring(path: directory))
    }
  }

  /// - Throws: if no server ever kept anything, what it kept was damaged and set aside, or a
  ///   restore did not end.
  package func requireData() throws(SyncServerError) {
    try requireRestored()
    let path = directory + "/" + ServerDatabase.fileName
    guard FileManager.default.fileExists(atPath: path) else {
      if let kept = DatabaseOpening.filesSetAside(in: directory).last {
        throw SyncServerError(StoreOpeningError.setAside(path: path, keptAt: kept))
      }
      throw SyncServerError(StoreOpeningError.absent(path: directory))
    }
  }

  func withDatabase<Result>(
    _ body: (ServerDatabase) throws(StorageFault) -> Result
  ) throws(SyncServerError) -> Result {
    try requireRestored()
    let database: ServerDatabase
    do {
      database = try ServerDatabase.open(directory: directory, for: .administration)
    } catch {
      throw SyncServerError(error)
    }
    // The process ends soon; a failing close changes nothing about what was done.
    defer { try? database.close() }
    do {
      return try body(database)
    } catch {
      throw SyncServerError(error)
    }
  }
}

extension ServerAdministration.Device {
  init(_ listing: DeviceListing) {
    self.init(
      id: listing.id.description, name: listing.name, workspace: listing.workspace.description,
      workspaceName: listing.workspaceName, pairedAt: listing.pairedAt,
      lastSeenAt: listing.lastSeenAt, revoked: listing.revokedAt != nil,
      revokedAt: listing.revokedAt, role: listing.role.name, expiresAt: listing.expiresAt)
  }
}
