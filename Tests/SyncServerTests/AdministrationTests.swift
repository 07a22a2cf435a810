import Foundation
import NIOCore
import NetworkAddresses
import QueueModel
import ServerCore
import ServerStore
import Testing
import WireProtocol

@testable import SyncServer

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
    #expect(first.text.contains("does not report its address yet"))
    #expect(throws: SyncServerError.self) { try administration.pair(workspaceName: "  ") }
  }

  /// No device could use a code of a server that does not run; a mistyped directory has none.
  @Test func aCodeNeedsARunningServer() async throws {
    let absent = ServerAdministration(dataDirectory: directory())
    let advised = #expect(throws: SyncServerError.self) {
      try absent.requireServer(startAdvice: "Do that.")
    }
    #expect(advised?.exitCode == 4 && advised?.message.hasSuffix(" Do that.") == true)
    #expect(!FileManager.default.fileExists(atPath: absent.directory))
    try await ServerFixture.with { fixture in
      try fixture.administration.requireServer(startAdvice: nil)
      await fixture.server.stop()
      let stopped = #expect(throws: SyncServerError.self) {
        try fixture.administration.requireServer(startAdvice: nil)
      }
      #expect(
        stopped?.message.contains("cospool-server serve --data \(fixture.directory)") == true)
    }
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

  /// A device's name is another one's id, or the beginning of it.
  @Test func noNameReplacesAnId() async throws {
    try await ServerFixture.with { fixture in
      let id = DeviceID(high: 9, low: 1).description
      _ = try await fixture.pair(1)
      _ = try await fixture.pair(2, name: id)
      _ = try await fixture.pair(3, name: String(id.prefix(35)))
      let administration = fixture.administration
      #expect(throws: SyncServerError.self) {
        try administration.revoke(device: String(id.prefix(35)), workspaceName: nil)
      }
      #expect(try administration.revoke(device: id, workspaceName: nil).id == id)
      let revoked = try administration.devices(workspaceName: nil).devices.filter(\.revoked)
      #expect(revoked.map(\.id) == [id])
    }
  }

  @Test func absentDataAreReportedAndNotCreated() {
    let path = directory()
    #expect(throws: SyncServerError.self) {
      try ServerAdministration(dataDirectory: path).devices(workspaceName: nil)
    }
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  private func pairingText(_ server: String?, isBehindProxy: Bool = false) -> String {
    ServerAdministration.Pairing(
      code: "CODE", workspace: "w", workspaceName: "home", expiresAt: PrintedTime(1), role: "host",
      server: server, isBehindProxy: isBehindProxy
    ).text
  }

  /// Behind a proxy, no device reaches the address at which the server listens.
  @Test func behindAProxyThePairingNamesTheAddressThatDevicesUse() async throws {
    for listening in ["ws://127.0.0.1:7420", "ws://0.0.0.0:7420"] {
      let text = pairingText(listening, isBehindProxy: true)
      #expect(text.contains("cospool pair wss://HOST CODE"), "\(text)")
      #expect(text.contains("--url") && !text.contains("--host") && !text.contains("--insecure"))
    }
    let proxy = try #require(AddressRange("127.0.0.1"))
    try await ServerFixture.with({ $0.front.trustedProxies = [proxy] }) { fixture in
      let unnamed = try fixture.administration.pair(workspaceName: "a")
      #expect(unnamed.server == fixture.server.url)
      #expect(unnamed.text.contains("cospool pair wss://HOST "), "\(unnamed.text)")
      let json = String(decoding: try JSONEncoder().encode(unnamed), as: UTF8.self)
      #expect(!json.contains("isBehindProxy"))
    }
    let url = "wss://cospool.example.org"
    try await ServerFixture.with({
      $0.front.trustedProxies = [proxy]
      $0.front.url = url
    }) { fixture in
      let pairing = try fixture.administration.pair(workspaceName: "a")
      #expect(pairing.server == url)
      #expect(pairing.text.hasSuffix("cospool pair \(url) \(pairing.code)"), "\(pairing.text)")
      let state = await fixture.administration.serverState()
      #expect(state.address == fixture.server.url)
    }
  }

  @Test func pairingNamesAnAddressThatAnotherDeviceCanReach() {
    for (listening, typed) in [
      ("ws://0.0.0.0:7500", "ws://HOST:7500"), ("wss://[::]:7500", "wss://HOST:7500"),
      ("ws://[0:0::0]:1", "ws://HOST:1"),
    ] {
      let text = pairingText(listening)
      #expect(text.contains("cospool pair \(typed) CODE"), "\(text)")
      #expect(text.contains("HOST is"))
      #expect(!text.contains(listening))
    }
    for listening in ["ws://127.0.0.1:7500", "wss://[::1]:7500", "ws://localhost:7500"] {
      let text = pairingText(listening)
      let quoted = listening.contains("[") ? "'\(listening)'" : listening
      #expect(text.contains("cospool pair \(quoted) CODE"), "\(text)")
      #expect(text.contains("--host"))
    }
    for listening in ["ws://10.0.0.7:7500", "wss://cospool.example:443", "ws://[fe80::1]:7500"] {
      let quoted = listening.contains("[") ? "'\(listening)'" : listening
      #expect(pairingText(listening).hasSuffix("cospool pair \(quoted) CODE"))
    }
  }

  @Test(arguments: [
    ("127.0.0.1", false), ("::1", false), ("localhost", false), ("192.168.1.5", false),
    ("fd00::1", false), ("0.0.0.0", true), ("::", true), ("8.8.8.8", true),
    ("server.example", true),
  ])
  func theListeningAddressShowsWhoCanConnect(host: String, isFar: Bool) {
    #expect(ListeningAddress.mayBeReachedFromAfar(host: host) == isFar)
  }

  @Test func theReasonForNoListenerIsReported() {
    func said(_ code: Int32, port: Int, first: Int = 1_024) -> String {
      SyncServer.refusal(IOError(errnoCode: code, reason: "bind"), port: port, first: first)
    }
    #expect(said(EACCES, port: 443).contains("below 1024"))
    #expect(said(EACCES, port: 443).contains("proxy"))
    for text in [said(EACCES, port: 443, first: 80), said(EACCES, port: 7_420)] {
      #expect(text == String(cString: strerror(EACCES)))
    }
    #expect(said(EADDRNOTAVAIL, port: 7_420).contains("127.0.0.1"))
    #expect(!ListeningAddress.isPrivileged(0, first: 1_024))
    #expect(!ListeningAddress.isPrivileged(1, first: 0))
  }

  @Test func namesAreShownWholeAndMoveNoCursor() {
    func row(_ name: String) -> String {
      let device = ServerAdministration.Device(
        id: "id", name: name, workspace: "w", workspaceName: "home", pairedAt: PrintedTime(0),
        revoked: false,
        role: "host")
      let list = ServerAdministration.DeviceList(devices: [device])
      return DeviceTable.text(for: list).components(separatedBy: "\n").dropFirst()
        .joined(separator: "\n")
    }
    #expect(row("a\n\u{1B}[31mred").hasPrefix("id  a\u{FFFD}\u{FFFD}[31mred  home"))
    #expect(row("x\u{202E}y\u{2028}\u{9B}A").hasPrefix("id  x\u{FFFD}y\u{FFFD}\u{FFFD}A  home"))
    let family = "👩‍💻👩‍💻👩‍💻 laptop"
    #expect(row(family).hasPrefix("id  \(family)  home"))
    #expect(row("Bücher e\u{301}").hasPrefix("id  Bücher e\u{301}  home"))
  }

  /// A time as a wrong clock leaves it, when a backup is restored.
  @Test func settingsOfAnyTimeCanBeDescribed() throws {
    let path = directory()
    defer { try? FileManager.default.removeItem(atPath: path) }
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    #expect(PushSettings.fileMark(directory: path) == nil)
    try PushSettings().write(directory: path)
    let now = try #require(PushSettings.fileMark(directory: path))
    let year2300 = timespec(tv_sec: 10_413_792_000, tv_nsec: 0)
    #expect(utimensat(AT_FDCWD, path + "/push.json", [year2300, year2300], 0) == 0)
    let later = try #require(PushSettings.fileMark(directory: path))
    #expect(later != now)
  }

  /// Unreadable settings need not be discarded.
  @Test func settingsAreTheirOwnersAndSayWhyTheyCannotBeRead() throws {
    let path = directory()
    defer { try? FileManager.default.removeItem(atPath: path) }
    try ServerDatabase.open(directory: path, for: .administration).close()
    let file = path + "/push.json"
    try PushSettings(trustedRootFile: "r").write(directory: path)
    let attributes = try FileManager.default.attributesOfItem(atPath: file)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    #expect(try PushSettings.read(directory: path).trustedRootFile == "r")
    func said() -> String? {
      do {
        _ = try PushSettings.read(directory: path)
        return nil
      } catch {
        return error.message
      }
    }
    try Data("no JSON".utf8).write(to: URL(fileURLWithPath: file))
    #expect(said()?.contains("Remove it") == true)
    try FileManager.default.removeItem(atPath: file)
    try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
    #expect(said()?.contains("cannot be read: ") == true)
  }

  /// A killed server leaves its address; a code must not name it.
  @Test func theAddressOfAServerThatIsGoneIsNotNamed() async throws {
    try await ServerFixture.with { fixture in
      let administration = fixture.administration
      #expect(try administration.pair(workspaceName: "a").server == fixture.server.url)
      let listening = fixture.directory + "/listening"
      let address = try Data(contentsOf: URL(fileURLWithPath: listening))
      await fixture.server.stop()
      try address.write(to: URL(fileURLWithPath: listening))
      #expect(try administration.pair(workspaceName: "a").server == nil)
    }
  }

  @Test func theServersOwnStateIsReported() async throws {
    try await ServerFixture.with({ $0.certificate = TestCertificate.localhost }) { fixture in
      let state = await fixture.administration.serverState()
      #expect(state.address == fixture.server.url)
      #expect(state.processID == getpid())
      #expect(state.diskFree ?? 0 > 0)
      #expect(state.lastBackupAt == nil && state.text().contains("last backup: none"))
      let ends = try #require(state.certificateEndsAt)
      #expect(ends == TestCertificate.localhost.endsAt.map { PrintedTime($0 * 1_000) })
      let now = try #require(state.startedAt).milliseconds + 3 * 86_400_000
      #expect(state.text(now: now).contains("for 3 days"))
      await fixture.server.stop()
      try BackupPlace(folder: fixture.directory + "/gone").write(directory: fixture.directory)
      let unmounted = await fixture.administration.serverState()
      #expect(unmounted.backupProblem?.contains("Mount that disk") == true)
      #expect(unmounted.text().contains("Mount that disk"))
      let stopped = await fixture.administration.serverState()
      #expect(stopped.address == nil && stopped.text().contains("none is running"))
      try await fixture.restart()
    }
  }

  private static func damageTheLog(of workspace: WorkspaceID, in directory: String) throws {
    let database = try ServerDatabase.open(directory: directory, for: .administration)
    let head = try #require(try database.header(of: workspace)).head
    let delta: [UInt8] = [1, 2, 3]
    try database.append(
      LogEntry(prefix: head.appending(delta), content: .delta(delta)), to: workspace, at: 0)
    try database.close()
  }

  @Test func oneDamagedWorkspaceHidesNoOther() async throws {
    try await ServerFixture.with { fixture in
      var workspaces: [WorkspaceID] = []
      for (number, name) in [(1, "one"), (2, "two")] {
        var device = try await fixture.pair(UInt64(number), workspace: name)
        let client = try await fixture.join(&device)
        try await client.send(try device.write("text"))
        _ = try await client.frame { if case .ack = $0 { true } else { false } }
        await client.close()
        workspaces.append(device.workspaceID)
      }
      let administration = fixture.administration
      #expect(try administration.logs(workspaceName: nil).problem == nil)
      await fixture.server.stop()
      try Self.damageTheLog(of: workspaces[0], in: fixture.directory)
      try Data("no JSON".utf8).write(to: URL(fileURLWithPath: fixture.directory + "/push.json"))
      let list = try administration.logs(workspaceName: nil)
      #expect(list.workspaces.map(\.workspaceName) == ["one", "two"])
      #expect(list.workspaces.map { $0.problem == nil } == [false, true])
      #expect(list.workspaces.map(\.logEntries) == [2, 1])
      #expect(list.workspaces[0].text.contains("no snapshot yet. "))
      #expect(list.workspaces[1].text.hasPrefix("two: 1 log entries so far, 1 kept"))
      #expect(list.problem?.exitCode == 6)
      let state = try administration.pushState()
      #expect(state.problems["set-up"]?.contains("push.json") == true)
      #expect(state.waiting == 0)
    }
  }
}
