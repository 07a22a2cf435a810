import Basics
import Foundation
import QueueModel
import ServerCore
import ServerStore

/// The commands `pair`, `devices`, `revoke` and `status`; all work while the server is running.
package struct ServerAdministration: Sendable {
  /// The workspace that is used by default.
  package static let workspaceNameDefault = "default"

  let directory: String

  package init(dataDirectory: String) {
    directory = dataDirectory
  }

  /// A new code in printed form.
  package struct Pairing: Codable, Hashable, Sendable {
    package var code: String
    package var workspace: String
    package var workspaceName: String
    package var expiresAt: PrintedTime
    /// The role of the device: viewer, author or host.
    package var role: String
    /// The length of its access in seconds; nil if it lasts until it is revoked.
    package var accessSeconds: Int64?
    /// The address at which devices reach the serving process, if one runs: the operator's, or the
    /// listening address if the operator gave none.
    package var server: String?
    /// Whether devices connect through a proxy of unknown address.
    package var isBehindProxy = false

    private enum CodingKeys: String, CodingKey {
      case code, workspace, workspaceName, expiresAt, role, accessSeconds, server
    }

    /// The text for users.
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

    /// The difference from permanent full access.
    private var grant: String {
      var parts: [String] = []
      if role == DeviceRole.viewer.name { parts.append("can view but not change anything") }
      if role == DeviceRole.author.name { parts.append("can queue and answer, but runs no agents") }
      if let accessSeconds { parts.append("has access for \(accessSeconds / 3_600) hours") }
      return parts.isEmpty ? "" : " The device \(parts.joined(separator: ", and "))."
    }
  }

  /// A device in printed form.
  package struct Device: Codable, Hashable, Sendable {
    package var id: String
    package var name: String
    package var workspace: String
    package var workspaceName: String
    package var pairedAt: PrintedTime
    package var lastSeenAt: PrintedTime?
    /// Since when it has been connected; nil if it is not.
    package var connectedSince: PrintedTime?
    package var revoked: Bool
    package var revokedAt: PrintedTime?
    /// viewer, author or host.
    package var role: String
    /// When its access ends; nil if it ends only when it is revoked.
    package var expiresAt: PrintedTime?
  }

  package struct DeviceList: Codable, Hashable, Sendable {
    package var devices: [Device]
  }

  /// A device's id is only unique within a workspace.
  private struct DeviceKey: Hashable {
    var workspace: WorkspaceID
    var device: DeviceID
  }

  /// Creates a one-time code; the first one of a workspace creates the workspace.
  ///
  /// - Parameters:
  ///   - workspaceName: nil for the default one.
  ///   - isNew: whether to create the workspace. The first workspace of a server does not need it,
  ///     and neither does one with an id.
  ///   - workspaceID: of a workspace that the server lost and devices have: it is created again
  ///     with its id, and the devices send its contents. nil if any id will do.
  ///   - role: the role of the device: viewer, author or host.
  ///   - accessMilliseconds: the length of its access; nil if it lasts until it is revoked.
  /// - Throws: `.usage` if there are other workspaces but not this one. The name may be mistyped or
  ///   an old one, and a device in a new, empty workspace would find no queues. Also if the
  ///   workspace is to be created, but exists.
  package func pair(
    workspaceName: String?, isNew: Bool = false, workspaceID: String? = nil,
    role roleName: String = DeviceRole.host.name,
    accessMilliseconds: Int64? = nil
  ) throws(SyncServerError) -> Pairing {
    guard let role = DeviceRole(name: roleName) else {
      throw SyncServerError(.usage, "The role must be viewer, author or host.")
    }
    let named = try workspaceID.map { text throws(SyncServerError) in
      try place(ofWorkspace: text, named: workspaceName)
    }
    let name: String
    if let named {
      name = named.name
    } else {
      name = try wantedName(workspaceName, isNew: isNew)
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
      expiresAt: PrintedTime(expiresAt), role: role.name,
      accessSeconds: accessMilliseconds.map { $0 / 1_000 },
      server: listening?.devicesURL ?? listening?.url,
      isBehindProxy: listening.map { $0.isProxied && $0.devicesURL == nil } ?? false)
  }

  /// The workspace with an id, and its present or new name.
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
    try refuseKnown(id)
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

  /// A serving process may hold the log of a workspace that was deleted while it ran. It would
  /// append to the end of that log, and confirm to devices that it has the lost data.
  private func refuseKnown(_ id: WorkspaceID) throws(SyncServerError) {
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

  /// The name of a workspace that exists, or that is to be created.
  private func wantedName(_ text: String?, isNew: Bool) throws(SyncServerError) -> String {
    let name = try ServerAdministration.checkedName(
      text ?? ServerAdministration.workspaceNameDefault)
    let known = try withDatabase { database throws(StorageFault) in
      try database.workspaces().map(\.name)
    }
    let shownName = ShownName.text(name)
    guard !known.contains(name) else {
      guard isNew else { return name }
      throw SyncServerError(
        .usage,
        "There is a workspace \(shownName) already. Leave --new out to pair with it, or choose "
          + "another name.")
    }
    guard !isNew, !known.isEmpty else { return name }
    let others = known.prefix(5).map(ShownName.text).joined(separator: ", ")
    throw SyncServerError(
      .usage,
      "There is no workspace \(shownName), but \(others)\(known.count > 5 ? ", …" : ""). Name one "
        + "of them: --workspace NAME. Or create this one: --workspace \(Shell.quoted(name)) --new")
  }

  /// A name that a workspace may have.
  static func checkedName(_ text: String) throws(SyncServerError) -> String {
    let name = text.trimmedOfWhitespace()
    guard !name.isEmpty, name.utf8.count <= Limits.nameBytesMax else {
      throw SyncServerError(.usage, "A workspace name has 1 to \(Limits.nameBytesMax) bytes.")
    }
    // A user could not type a name with a line break or an escape again.
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
        .failed, "There is no workspace \"\(workspaceName ?? "")\". `workspace list` shows them.")
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
            DeviceKey(workspace: listing.workspace, device: listing.id)
          ].map(PrintedTime.init)
        return device
      })
  }

  /// Revokes the device with an id, a unique prefix of one, or a name.
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
    // A reused name means the device that still has access.
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

  /// - Throws: if a restore did not finish: the present data is not the final data.
  func requireRestored() throws(SyncServerError) {
    guard !ServerBackup.isPending(in: directory) else {
      throw SyncServerError(StoreOpeningError.restoring(path: directory))
    }
  }

  /// - Throws: if no server has stored anything yet, its data was damaged and set aside, or a
  ///   restore did not finish.
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
    // The process ends soon; a failed close does not affect the result.
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
      workspaceName: listing.workspaceName, pairedAt: PrintedTime(listing.pairedAt),
      lastSeenAt: listing.lastSeenAt.map(PrintedTime.init), revoked: listing.revokedAt != nil,
      revokedAt: listing.revokedAt.map(PrintedTime.init), role: listing.role.name,
      expiresAt: listing.expiresAt.map(PrintedTime.init))
  }
}
