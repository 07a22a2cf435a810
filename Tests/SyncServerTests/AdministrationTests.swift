import Foundation
import QueueModel
import ServerCore
import SyncServer
import Testing
import WireProtocol

@Suite struct AdministrationTests {
  private func directory() -> String {
    NSTemporaryDirectory() + "cospool-server-" + UUID().uuidString
  }

  @Test func pairingCreatesTheWorkspaceOnce() throws {
    let path = directory()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let administration = ServerAdministration(dataDirectory: path)
    let first = try administration.pair(workspaceName: "team")
    let second = try administration.pair(workspaceName: " team ")
    #expect(first.workspace == second.workspace)
    #expect(first.code != second.code)
    #expect(PairingCode(typed: first.code) != nil)
    #expect(first.text.contains("cospool pair ws://HOST:PORT \(first.code)"))
    #expect(throws: SyncServerError.self) { try administration.pair(workspaceName: "  ") }
  }

  @Test func devicesAreListedAndRevokedByNamePrefixAndId() async throws {
    try await ServerFixture.with { fixture in
      for number in 1...3 { _ = try await fixture.pair(UInt64(number)) }
      let administration = fixture.administration
      let devices = try administration.devices(workspaceName: nil).devices
      #expect(devices.map(\.name).sorted() == ["d1", "d2", "d3"])
      #expect(devices.allSatisfy { !$0.revoked })
      #expect(throws: SyncServerError.self) {
        try administration.revoke(device: "0000", workspaceName: nil)
      }
      #expect(throws: SyncServerError.self) {
        try administration.revoke(device: "nobody", workspaceName: nil)
      }
      let id = DeviceID(high: 9, low: 2).description
      #expect(try administration.revoke(device: id, workspaceName: nil).name == "d2")
      #expect(try administration.revoke(device: "d3", workspaceName: "default").revoked)
      let after = try administration.devices(workspaceName: "default").devices
      #expect(Set(after.filter(\.revoked).map(\.name)) == ["d2", "d3"])
      #expect(throws: SyncServerError.self) {
        try administration.devices(workspaceName: "nowhere")
      }
    }
  }

  @Test func absentDataAreSaidAndNotCreated() {
    let path = directory()
    #expect(throws: SyncServerError.self) {
      try ServerAdministration(dataDirectory: path).devices(workspaceName: nil)
    }
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test func dataOptionMayStandBeforeTheSubcommand() {
    let commands = ["serve", "pair"]
    func moved(_ arguments: String...) -> [String] {
      CommandLineArguments.movingGlobalOptions(arguments, behind: commands)
    }
    #expect(moved("--data", "x", "pair", "--json") == ["pair", "--data", "x", "--json"])
    #expect(moved("--data=x", "serve") == ["serve", "--data=x"])
    #expect(moved("pair", "--data", "x") == ["pair", "--data", "x"])
    #expect(moved("--data", "x", "--port", "0") == ["--data", "x", "--port", "0"])
    #expect(moved("--data") == ["--data"])
  }

  @Test func dataDirectoryComesFromOptionEnvironmentOrHome() {
    func resolve(_ option: String?, _ environment: [String: String]) -> String {
      DataDirectory.resolve(option: option, environment: environment, home: "/h")
    }
    let both = ["COSPOOL_SERVER_DATA": "/c", "XDG_DATA_HOME": "/x"]
    #expect(resolve("/o", both) == "/o")
    #expect(resolve(nil, both) == "/c")
    #expect(resolve(nil, ["XDG_DATA_HOME": "/x"]) == "/x/cospool-server")
    #expect(resolve(nil, ["XDG_DATA_HOME": "relative"]) == "/h/.local/share/cospool-server")
    #expect(resolve(nil, [:]) == "/h/.local/share/cospool-server")
  }
}
