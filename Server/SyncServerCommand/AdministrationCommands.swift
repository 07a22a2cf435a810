import ArgumentParser
import Foundation
import SyncServer

/// Prints a one-time code.
struct PairingCodeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pair",
    abstract: "Print a one-time code that pairs a new device; works while serving.",
    discussion: """
      The code is good for one device, for 10 minutes and 1,000 wrong guesses. A workspace is created \
      with its first code.

      A device that is paired as viewer reads, as author also queues, edits and answers requests, as \
      host also runs agents. With --expires its access ends by itself; pairing it again renews it.
      """)

  @OptionGroup var data: DataOptions

  @Option(
    help: """
      The workspace that the device joins; without, default. It has to be named where there are others and \
      no default.
      """)
  var workspace: String?

  @Option(
    name: .customLong("workspace-id"),
    help: ArgumentHelp(
      """
      Of a workspace that this server lost, and devices still hold: what `cospool status` says there. It is begun \
      anew, and they bring it back.
      """, valueName: "id"))
  var workspaceID: String?

  @Option(help: "What the device may do: viewer, author or host.")
  var role = "host"

  @Option(
    help: ArgumentHelp(
      "For how long it has access: days or hours, such as 30d or 12h; without, until it is revoked.",
      valueName: "time"))
  var expires: String?

  @Flag(
    help: """
      Print JSON: code, workspace, workspaceName, expiresAt (ms since 1970), role, accessSeconds, \
      server.
      """)
  var json = false

  func validate() throws {
    guard expires == nil || accessMilliseconds != nil else {
      throw ValidationError("--expires takes days or hours, such as 30d or 12h.")
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
    let pairing = try ServerAdministration(dataDirectory: data.resolved)
      .pair(
        workspaceName: workspace, workspaceID: workspaceID, role: role,
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

  @Flag(help: "Print JSON; times are milliseconds since 1970.")
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

/// Takes a device's access away.
struct RevokeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke",
    abstract: "Take a device's access away; its connections close within seconds.",
    discussion: "The device keeps what it has. Pairing it again gives it access again.")

  @OptionGroup var data: DataOptions

  @Option(help: "The workspace, where the device is in several.")
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
