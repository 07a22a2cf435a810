import Foundation
import ProcessResources
import QueueModel
import ServerStore
import Testing
import WireProtocol

@testable import SyncServer

/// The connected devices, as `status` and `devices` show them beside the serving process.
@Suite(.timeLimit(.minutes(5))) struct ConnectedDeviceTests {
  private func connected(_ fixture: ServerFixture) throws -> [String] {
    try fixture.administration.devices(workspaceName: nil).devices
      .filter { $0.connectedSince != nil }.map(\.name)
  }

  private func expect(_ names: [String], _ fixture: ServerFixture) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while try connected(fixture) != names {
      guard ContinuousClock.now < deadline else {
        Issue.record("connected: \(try connected(fixture)) instead of \(names)")
        return
      }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  @Test func devicesAreNamedWhileTheyAreConnected() async throws {
    try await ServerFixture.with { fixture in
      var device = try await fixture.pair(1, name: "laptop")
      _ = try await fixture.pair(2, name: "desk")
      #expect(try connected(fixture).isEmpty)
      let client = try await fixture.join(&device)
      try await expect(["d1"], fixture)
      var list = try fixture.administration.logs(workspaceName: nil)
      list.devices = try fixture.administration.devices(workspaceName: nil).devices
      let id = list.workspaces[0].workspace
      let text = list.devicesText(of: id)
      #expect(text.hasPrefix("  d1 (host): connected for less than a minute\n  desk (host): "))
      let table = DeviceTable.text(for: try fixture.administration.devices(workspaceName: nil))
      #expect(table.contains("connected"))
      // An invisible name does not move the cursor, and a revoked device is not listed.
      list.devices?[0].name = "a\u{1B}[2J"
      _ = try fixture.administration.revoke(device: "desk", workspaceName: nil)
      #expect(!list.devicesText(of: id).contains("\u{1B}"))
      await client.close()
      try await expect([], fixture)
    }
  }

  @Test func theListOfADeadProcessIsIgnored() async throws {
    let directory = NSTemporaryDirectory() + "cospool-server-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: directory) }
    _ = try ServerAdministration(dataDirectory: directory).pair(workspaceName: "team")
    let file = ConnectedDevices(directory: directory)
    let device = ConnectedDevice(
      workspace: WorkspaceID(high: 1, low: 2), device: DeviceID(high: 3, low: 4), since: 5)
    file.write([device])
    #expect(file.read().isEmpty)
    let lock = try DirectoryLock(directory: directory)
    #expect(file.read() == [device])
    try Data("nonsense\n1 2 3\n".utf8).write(to: URL(filePath: directory + "/connected"))
    #expect(file.read().isEmpty)
    lock.release()
  }

  @Test func manyDevicesAreCounted() throws {
    var list = ServerAdministration.LogList(workspaces: [])
    #expect(list.devicesText(of: "w") == "  no devices")
    list.devices = (0..<25).map { number in
      ServerAdministration.Device(
        id: "\(number)", name: "d\(number)", workspace: "w", workspaceName: "team",
        pairedAt: PrintedTime(0), lastSeenAt: number == 24 ? nil : PrintedTime(0),
        connectedSince: number == 20 ? PrintedTime(3_600_000) : nil,
        revoked: false, role: "viewer")
    }
    let lines = list.devicesText(of: "w", now: 3 * 86_400_000).split(separator: "\n")
    #expect(lines.count == 21)
    #expect(lines[0] == "  d20 (viewer): connected for 2 days")
    #expect(lines[1] == "  d0 (viewer): away for 3 days")
    #expect(lines[20] == "  and 5 more: cospool-server devices")
  }

  @Test func healthIsAskedForOnTheServersOwnPort() async throws {
    try await ServerFixture.with({ $0.certificate = TestCertificate.other }) { fixture in
      let health = await fixture.administration.health(within: .seconds(60))
      #expect(health == .well(address: "wss://127.0.0.1:\(fixture.server.port)"))
      // A user removed the file with the server's address.
      try FileManager.default.removeItem(atPath: fixture.directory + "/listening")
      guard case .unreachable(let unknown) = await fixture.administration.health() else {
        Issue.record("a server without a known address was asked")
        return
      }
      #expect(unknown.contains("one is running") && unknown.contains("restart it"), "\(unknown)")
      let state = await fixture.administration.serverState()
      #expect(state.isServed && state.address == nil)
      #expect(state.text().contains("one is running") && state.text().contains("restart it"))
      await fixture.server.stop()
      guard case .unreachable(let reason) = await fixture.administration.health() else {
        Issue.record("a server that is gone was reported healthy")
        return
      }
      #expect(reason.contains("no server is running"))
    }
  }
}
