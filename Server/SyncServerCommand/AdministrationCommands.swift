import ArgumentParser
import Foundation
import SyncServer

/// Prints a one-time code.
struct PairCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pair",
    abstract: "Print a one-time code that pairs a new device; works while serving.",
    discussion: """
      The code is good for one device, for 10 minutes and 5 wrong guesses. A workspace is created \
      with its first code.
      """)

  @OptionGroup var data: DataOptions

  @Option(help: "The workspace that the device joins.")
  var workspace = ServerAdministration.workspaceNameDefault

  @Flag(help: "Print JSON: code, workspace, workspaceName, expiresAt (ms since 1970), server.")
  var json = false

  func run() throws {
    let pairing = try ServerAdministration(dataDirectory: data.resolved)
      .pair(workspaceName: workspace)
    if json {
      try StandardOutput.write(json: pairing)
    } else {
      try StandardOutput.write(pairing.text)
    }
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
    if json {
      try StandardOutput.write(json: revoked)
    } else {
      try StandardOutput.write("Revoked \(ShownName.text(revoked.name)) (\(revoked.id)).")
    }
  }
}
