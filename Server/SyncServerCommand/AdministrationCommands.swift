import ArgumentParser
import Foundation
import SyncServer

/// Prints a one-time code.
struct PairingCodeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pair",
    abstract: "Print a one-time code that pairs a new device; works while serving.",
    discussion: """
      The code works for one device, for 10 minutes and 1,000 wrong guesses. The first code of \
      a server creates its workspace; another workspace needs --new. Without a running server, \
      the command exits with 4.

      A viewer can only read. An author can also queue, edit and answer requests. A host can \
      also run agents. With --expires the access ends by itself; pairing the device again \
      renews it.
      """)

  @OptionGroup var data: DataOptions

  @Option(
    help: """
      The workspace that the device joins. Default: the workspace named default. Required if \
      there are only others.
      """)
  var workspace: String?

  @Flag(help: "Create the workspace. The first one of a server needs no --new.")
  var new = false

  @Option(
    name: .customLong("workspace-id"),
    help: ArgumentHelp(
      """
      The id of a workspace that this server lost but devices still have, as `cospool status` \
      shows it there. The server creates the workspace again, and the devices restore it.
      """, valueName: "id"))
  var workspaceID: String?

  @Option(help: "The device's role: viewer, author or host.")
  var role = "host"

  @Option(
    help: ArgumentHelp(
      "How long the device has access, in days or hours, such as 30d or 12h. Default: until "
        + "you revoke it.",
      valueName: "time"))
  var expires: String?

  @Flag(
    help: """
      Print JSON: code, workspace, workspaceName, expiresAt, role, accessSeconds, server.
      """)
  var json = false

  func validate() throws {
    guard !new || workspaceID == nil else {
      throw ValidationError("--workspace-id creates the workspace again: leave --new out.")
    }
    guard expires == nil || accessMilliseconds != nil else {
      throw ValidationError("--expires: give days or hours, such as 30d or 12h.")
    }
  }

  private var accessMilliseconds: Int64? {
    guard let expires, let number = Int64(expires.dropLast()), (1...36_500).contains(number) else {
      return nil
    }
    switch expires.last {
    case "d": return number * 86_400_000
    case "h": return number * 3_600_000
    default: return nil
    }
  }

  func run() throws {
    let administration = ServerAdministration(dataDirectory: data.resolved)
    try administration.requireServer(startAdvice: data.startAdvice)
    let pairing = try administration.pair(
      workspaceName: workspace, isNew: new, workspaceID: workspaceID, role: role,
      accessMilliseconds: accessMilliseconds)
    try StandardOutput.write(pairing, asJSON: json, text: pairing.text)
  }
}

/// Lists the devices.
struct DevicesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "devices", abstract: "List the paired devices.")

  @OptionGroup var data: DataOptions

  @Option(help: "Only the devices of this workspace.")
  var workspace: String?

  @Flag(help: "Print JSON.")
  var json = false

  func run() throws {
    let list = try ServerAdministration(dataDirectory: data.resolved)
      .devices(workspaceName: workspace)
    if json {
      try StandardOutput.write(json: list)
      return
    }
    guard !list.devices.isEmpty else {
      StandardError.write("No devices yet. `cospool-server pair` prints a code for one.\n")
      return
    }
    try StandardOutput.write(DeviceTable.text(for: list))
  }
}

/// Revokes a device's access.
struct RevokeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke",
    abstract: "Revoke a device's access; its connections close within seconds.",
    discussion: "The device keeps its data. To give it access again, pair it again.")

  @OptionGroup var data: DataOptions

  @Option(help: "The workspace, if the device is in several.")
  var workspace: String?

  @Flag(help: "Print the revoked device as JSON.")
  var json = false

  @Argument(help: "The device's id, a unique prefix of it, or its name.")
  var device: String

  func run() throws {
    let revoked = try ServerAdministration(dataDirectory: data.resolved)
      .revoke(device: device, workspaceName: workspace)
    try StandardOutput.write(
      revoked, asJSON: json, text: "Revoked \(ShownName.text(revoked.name)) (\(revoked.id)).")
  }
}
