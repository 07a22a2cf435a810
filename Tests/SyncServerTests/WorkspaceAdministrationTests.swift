import Crypto
import Foundation
import ProcessResources
import QueueModel
import ServerCore
import ServerStore
import Synchronization
import Testing
import WireProtocol

@testable import SyncServer

/// An operator's commands for workspaces, and the audit of access.
@Suite struct WorkspaceAdministrationTests {
  /// Waits until the audit of access contains this, and fails after a minute.
  private func expect(
    _ events: [String], in administration: ServerAdministration
  ) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
      let found = try administration.accessLog(workspaceName: nil, limit: 100).entries.map(\.event)
      if found == events { return }
      guard ContinuousClock.now < deadline else {
        Issue.record("the log of access holds \(found)")
        return
      }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  private func refusal(on client: RawClient) async throws -> Refusal? {
    while let frame = try await client.frame() {
      if case .refused(let refusal) = frame { return refusal }
    }
    return nil
  }

  /// Puts a file; returns the whole answer.
  private func put(
    _ text: String, token: [UInt8], _ fixture: ServerFixture
  ) async throws -> String {
    let digits = { (bytes: [UInt8]) in
      bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
    let hash = digits(Array(SHA256.hash(data: Data(text.utf8))))
    return try await PlainRequest.send(
      "PUT /v1/blobs/\(hash) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        + "Authorization: Bearer \(digits(token))\r\nContent-Length: \(text.utf8.count)\r\n\r\n"
        + text, fixture.server.port)
  }

  @Test func changesOfAccessAreLogged() async throws {
    try await ServerFixture.with { fixture in
      var device = try await fixture.pair(1, name: "a laptop; rm -rf")
      let client = try await fixture.join(&device)
      try await expect(["code", "paired", "joined"], in: fixture.administration)
      let guess = try await RawClient.connect(port: fixture.server.port)
      try await guess.send(
        .pair(
          PairRequest(
            versions: ProtocolVersion.spoken, code: "BBBB-BBBB", device: DeviceID(high: 1, low: 1),
            deviceName: "stranger")))
      _ = try await guess.end()
      try await expect(["code", "paired", "joined", "refused"], in: fixture.administration)
      _ = try fixture.administration.revoke(
        device: DeviceID(high: 9, low: 1).description, workspaceName: nil)
      _ = try await client.end()
      let log = try fixture.administration.accessLog(workspaceName: nil, limit: 100).entries
      // The device that it cuts off may come after it.
      #expect(log[4].event == "revoked")
      #expect(log[3].detail == "pairing code wrong, route sync")
      #expect(log[1...3].allSatisfy { $0.source == "127.0.0.1" })
      #expect(log[1].device == DeviceID(high: 9, low: 1).description)
      let text = log.map(\.text).joined()
      #expect(log[4].workspaceName == "default" && text.contains("workspace default"), "\(text)")
      #expect(!text.contains("laptop") && !text.contains("stranger"), "\(text)")
    }
  }

  /// A state changes more than any batch: the log line and the audit name the device and its
  /// address.
  @Test func anOfferedStateIsInTheLog() async throws {
    let recorder = LogRecorder()
    let device = DeviceID(high: 9, low: 1).description
    try await ServerFixture.with(logger: recorder.logger) { fixture in
      var first = try await fixture.pair(1)
      _ = try first.write("what the log lacks")
      first.prefix = LogPrefix(position: 9, chain: 9)
      let client = try await fixture.join(&first)
      try await client.send(
        .snapshot(
          SnapshotPart(index: 0, count: 1, bytes: PackedSnapshot.pack(first.workspace.image()))))
      #expect(try await client.end() == CloseCode.serviceRestart.rawValue)
      try await expect(["code", "paired", "joined", "stateJoined"], in: fixture.administration)
      let entry = try fixture.administration.accessLog(workspaceName: nil, limit: 100).entries[3]
      #expect(entry.device == device && entry.source == "127.0.0.1")
    }
    let line = recorder.lines().first { $0.contains("which held more") }
    #expect(line?.contains("state of device \(device)") == true, "\(line ?? "none")")
    #expect(line?.hasSuffix("source 127.0.0.1") == true)
  }

  @Test func quotasAreSetAndFollowed() async throws {
    try await ServerFixture.with { fixture in
      var device = try await fixture.pair(1)
      let client = try await fixture.join(&device)
      let set = try fixture.administration.setQuota(
        .init(daily: 0, files: 0), resets: false, ofWorkspaceNamed: "default")
      #expect(set.quota == .init(daily: 0, files: 0))
      var code: RefusalCode?
      let deadline = ContinuousClock.now + .seconds(60)
      // It follows within a second or two.
      while code == nil, ContinuousClock.now < deadline {
        try await client.send(try device.write("text"))
        while let frame = try await client.frame() {
          if case .refused(let refusal) = frame { code = refusal.code }
          if case .ack(let ack) = frame, ack.batch > 0 { break }
          if code != nil { break }
        }
      }
      #expect(code == .limitReached)
      #expect(try await put("file", token: device.token, fixture).contains(" 507 "))
      let other = try fixture.administration.setQuota(
        .init(storage: 7), resets: true, ofWorkspaceNamed: "default")
      #expect(other.quota == .init(storage: 7))
      #expect(throws: SyncServerError.self) {
        try fixture.administration.setQuota(.init(), resets: true, ofWorkspaceNamed: "nowhere")
      }
    }
  }

  @Test func aDeletedWorkspaceIsGoneAndOthersGoOn() async throws {
    try await ServerFixture.with { fixture in
      var (device, other) = (
        try await fixture.pair(1, workspace: "old"), try await fixture.pair(2, workspace: "new")
      )
      let client = try await fixture.join(&device)
      let elsewhere = try await fixture.join(&other)
      try await client.send(try device.write("text"))
      _ = try await client.frame { $0.acknowledges(1, at: 1) }
      let deleted = try fixture.administration.deleteWorkspace(named: "old")
      #expect(deleted.devices == 1)
      // It may be written before the server has noticed, or refused; either is fine.
      try? await client.send(try device.write("more"))
      #expect(try await refusal(on: client)?.code == .revoked)
      try await elsewhere.send(try other.write("text"))
      _ = try await elsewhere.frame { $0.acknowledges(1, at: 1) }
      let names = try fixture.administration.workspaces().workspaces.map(\.name)
      #expect(names == ["new"])
      #expect(throws: SyncServerError.self) {
        try fixture.administration.workspace(named: "old")
      }
    }
  }

  @Test func aWorkspaceGetsAnotherNameAndItsDevicesGoOn() async throws {
    try await ServerFixture.with { fixture in
      var device = try await fixture.pair(1)
      _ = try await fixture.pair(2, workspace: "other")
      let client = try await fixture.join(&device)
      let renamed = try fixture.administration.renameWorkspace(named: "default", to: " team ")
      #expect(renamed.name == "team")
      try await client.send(try device.write("text"))
      _ = try await client.frame { $0.acknowledges(1, at: 1) }
      // Connecting again requires access; no client uses the workspace's name.
      await client.close()
      _ = try await fixture.join(&device)
      let pairing = try fixture.administration.pair(workspaceName: "team")
      #expect(pairing.workspace == device.workspaceID.description)
      #expect(try fixture.administration.devices(workspaceName: "team").devices.count == 1)
      for name in ["other", " ", String(repeating: "n", count: 100_000)] {
        #expect(throws: SyncServerError.self, "\(name.prefix(10))") {
          try fixture.administration.renameWorkspace(named: "team", to: name)
        }
      }
      #expect(throws: SyncServerError.self) {
        try fixture.administration.renameWorkspace(named: "default", to: "new")
      }
      // Its own name is not a conflict.
      _ = try fixture.administration.renameWorkspace(named: "team", to: "team")
      let names = try fixture.administration.workspaces().workspaces.map(\.name)
      #expect(names == ["other", "team"])
      let events = try fixture.administration.accessLog(workspaceName: "team", limit: 100).entries
      #expect(events.count { $0.event == "renamed" } == 2)
    }
  }

  /// A device that joined a new, empty workspace of the old name would find no queues.
  @Test func aCodeForARenamedWorkspaceNamesIt() async throws {
    try await ServerFixture.with { fixture in
      let administration = fixture.administration
      #expect(try administration.pair(workspaceName: nil).workspaceName == "default")
      #expect(try administration.pair(workspaceName: nil).workspaceName == "default")
      _ = try administration.renameWorkspace(named: "default", to: "team")
      let problem = #expect(throws: SyncServerError.self) {
        try administration.pair(workspaceName: nil)
      }
      #expect(problem?.code == .usage)
      #expect(problem?.message.contains("but team") == true)
      #expect(try administration.workspaces().workspaces.map(\.name) == ["team"])
      #expect(
        try administration.pair(workspaceName: nil, isNew: true).workspaceName == "default")
      #expect(try administration.pair(workspaceName: nil).workspaceName == "default")
      for name in ["a\nb", "a\u{1B}[31m"] {
        #expect(throws: SyncServerError.self) {
          try administration.renameWorkspace(named: "team", to: name)
        }
      }
    }
  }

  /// A device that joined a workspace of a mistyped name would sit alone in it.
  @Test func aMistypedWorkspaceIsNotCreated() async throws {
    try await ServerFixture.with { fixture in
      let administration = fixture.administration
      let first = try administration.pair(workspaceName: "team")
      let problem = #expect(throws: SyncServerError.self) {
        try administration.pair(workspaceName: "taem")
      }
      #expect(problem?.code == .usage)
      #expect(problem?.message.contains("no workspace taem, but team. ") == true)
      #expect(problem?.message.hasSuffix("--workspace taem --new") == true)
      #expect(throws: SyncServerError.self) {
        try administration.pair(workspaceName: "team", isNew: true)
      }
      let second = try administration.pair(workspaceName: "taem", isNew: true)
      #expect(second.workspace != first.workspace)
      #expect(try administration.pair(workspaceName: "team").workspace == first.workspace)
      #expect(try administration.workspaces().workspaces.map(\.name) == ["taem", "team"])
    }
  }

  /// The devices' data belongs to its id; they accept no code of another one.
  @Test func aLostWorkspaceIsCreatedAgainWithItsID() async throws {
    try await ServerFixture.with { fixture in
      let administration = fixture.administration
      let id = try administration.pair(workspaceName: "old").workspace
      _ = try administration.deleteWorkspace(named: "old")
      try await fixture.restart()
      let back = try administration.pair(workspaceName: "new", workspaceID: id)
      #expect(back.workspace == id && back.workspaceName == "new")
      #expect(try administration.pair(workspaceName: nil, workspaceID: id).workspaceName == "new")
      let stranger = "11111111-2222-4333-8444-555555555555"
      for (name, id) in [("new", stranger), ("other", "no id"), ("other", id)] {
        let problem = #expect(throws: SyncServerError.self) {
          try administration.pair(workspaceName: name, workspaceID: id)
        }
        #expect(problem?.code == .usage, "\(name)")
      }
      #expect(
        try administration.pair(workspaceName: nil, workspaceID: stranger).workspace == stranger)
      #expect(try administration.workspaces().workspaces.map(\.name) == ["default", "new"])
    }
  }

  /// The server holds the end of the old log: the next batch would follow nothing, and the devices'
  /// data would not be requested.
  @Test func aRunningServersWorkspaceIsNotCreatedAgain() async throws {
    try await ServerFixture.with { fixture in
      let administration = fixture.administration
      var device = try await fixture.pair(1, workspace: "old")
      let client = try await fixture.join(&device)
      try await client.send(try device.write("kept"))
      try device.take(try #require(try await client.frame { $0.acknowledges(1, at: 1) }))
      _ = try administration.deleteWorkspace(named: "old")
      let id = device.workspaceID.description
      let problem = #expect(throws: SyncServerError.self) {
        try administration.pair(workspaceName: "old", workspaceID: id)
      }
      #expect(
        problem?.description.contains("Restart the server") == true,
        "\(String(describing: problem))")
      #expect(try administration.workspaces().workspaces.isEmpty)
      try await fixture.restart()
      let code = try administration.pair(workspaceName: "old", workspaceID: id).code
      device.token = try await fixture.pair(1, code: code).token
      let again = try await RawClient.connect(port: fixture.server.port)
      try await again.send(.hello(device.hello))
      let welcome = try await again.frame { frame in
        guard case .welcome(let welcome) = frame else { return false }
        return welcome.head.position == 0
      }
      #expect(welcome != nil)
    }
  }

  @Test func aWorkspaceIsExportedAsItsDevicesSeeIt() async throws {
    try await ServerFixture.with { fixture in
      var device = try await fixture.pair(1)
      let client = try await fixture.join(&device)
      try await client.send(try device.write("look at it", in: "review"))
      _ = try await client.frame { $0.acknowledges(1, at: 1) }
      let data = try fixture.administration.exportWorkspace(named: "default")
      let document = try JSONDecoder().decode(WorkspaceDocument.self, from: data)
      #expect(document == device.workspace.document())
      #expect(document.sessions.flatMap(\.messages).map(\.content) == ["look at it"])
      #expect(throws: SyncServerError.self) {
        try fixture.administration.exportWorkspace(named: "nowhere")
      }
    }
  }

  @Test func anAlmostFullDiskTakesNothingNewAndGivesWhatItHas() async throws {
    let isScarce = Mutex(false)
    let space = FreeSpace { isScarce.withLock { $0 } ? (1 << 20, 1 << 40) : (1 << 39, 1 << 40) }
    try await ServerFixture.with({
      $0.freeSpace = space
      $0.core.times.storageRetryMilliseconds = 50
    }) { fixture in
      var device = try await fixture.pair(1)
      let client = try await fixture.join(&device)
      try await client.send(try device.write("text"))
      _ = try await client.frame { $0.acknowledges(1, at: 1) }
      isScarce.withLock { $0 = true }
      try await client.send(try device.write("more"))
      #expect(try await refusal(on: client)?.code == .storageFailed)
      #expect(try await put("file", token: device.token, fixture).contains(" 507 "))
      var reader = WireDevice(number: 1, workspaceID: device.workspaceID, token: device.token)
      _ = try await fixture.join(&reader)
      #expect(reader.prefix.position == 1, "the existing data can be read")
    }
  }

  @Test func aBackupBringsNoRevokedDeviceBack() async throws {
    try await ServerFixture.with { fixture in
      let device = try await fixture.pair(1)
      await fixture.server.stop()
      let path = fixture.directory + "/" + ServerDatabase.fileName
      let backup = try Data(contentsOf: URL(filePath: path))
      _ = try fixture.administration.revoke(
        device: DeviceID(high: 9, low: 1).description, workspaceName: nil)
      for suffix in ["", "-wal", "-shm"] {
        try? FileManager.default.removeItem(atPath: path + suffix)
      }
      try backup.write(to: URL(filePath: path))
      try await fixture.restart()
      let client = try await RawClient.connect(port: fixture.server.port)
      try await client.send(.hello(device.hello))
      #expect(try await refusal(on: client)?.code == .revoked)
      // If it is paired again, it stays.
      _ = try await fixture.pair(1)
      try await fixture.restart()
      #expect(try fixture.administration.devices(workspaceName: nil).devices[0].revoked == false)
    }
  }

  @Test func aRoleAndAnEndComeWithTheCode() async throws {
    try await ServerFixture.with { fixture in
      let pairing = try fixture.administration.pair(
        workspaceName: "default", role: "viewer", accessMilliseconds: 3_600_000)
      #expect(pairing.text.contains("can view but not change anything, and has access for 1 hours"))
      #expect(throws: SyncServerError.self) {
        try fixture.administration.pair(workspaceName: "default", role: "owner")
      }
      let client = try await RawClient.connect(port: fixture.server.port)
      try await client.send(
        .pair(
          PairRequest(
            versions: ProtocolVersion.spoken, code: pairing.code, device: DeviceID(high: 9, low: 5),
            deviceName: "d5"
          )))
      guard case .paired(let grant)? = try await client.frame() else {
        Issue.record("not paired")
        return
      }
      let listed = try fixture.administration.devices(workspaceName: nil).devices[0]
      #expect(listed.role == "viewer")
      #expect(
        try #require(listed.expiresAt).milliseconds - listed.pairedAt.milliseconds == 3_600_000)
      var device = WireDevice(number: 5, workspaceID: grant.workspace, token: grant.token)
      let joined = try await fixture.join(&device)
      try await joined.send(try device.write("text"))
      #expect(try await refusal(on: joined)?.code == .notAllowed)
    }
  }
}
