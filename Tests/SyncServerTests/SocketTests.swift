import Foundation
import NIOCore
import NIOWebSocket
import QueueModel
import ServerCore
import ServerStore
import SyncServer
import Testing
import WireProtocol

@Suite struct SocketTests {
  @Test func twoDevicesPairAndExchangeChanges() async throws {
    try await ServerFixture.with { fixture in
      var (first, second) = (try await fixture.pair(1), try await fixture.pair(2))
      let (one, two) = (try await fixture.join(&first), try await fixture.join(&second))
      try await one.send(first.write("hello"))
      let ack = try await one.frame { if case .ack = $0 { true } else { false } }
      #expect(ack?.acknowledges(1, at: 1) == true)
      let changes = try await two.frame { if case .changes = $0 { true } else { false } }
      try second.take(try #require(changes))
      #expect(second.workspace.image() == first.workspace.image())
      try await two.send(.ack(Ack(batch: 0, prefix: second.prefix)))
      let seen = try await one.frame {
        guard case .presence(let devices) = $0 else { return false }
        return devices.map(\.seenLogPosition) == [1, 1]
      }
      #expect(seen != nil)
      await one.close()
      await two.close()
    }
  }

  @Test func restartKeepsEverything() async throws {
    try await ServerFixture.with { fixture in
      var (first, second) = (try await fixture.pair(1), try await fixture.pair(2))
      let one = try await fixture.join(&first)
      for index in 0..<20 { try await one.send(first.write("message \(index)")) }
      _ = try await one.frame { $0.acknowledges(20, at: 20) }
      try await fixture.restart()
      #expect(try await one.end() == CloseCode.goingAway.rawValue)
      let two = try await fixture.join(&second)
      #expect(second.workspace.image() == first.workspace.image())
      let again = try await fixture.join(&first)
      try await again.send(first.write("after the restart"))
      let changes = try await two.frame { if case .changes = $0 { true } else { false } }
      try second.take(try #require(changes))
      #expect(second.workspace.image() == first.workspace.image())
    }
  }

  @Test func aDataDirectoryThatIsPutBackGetsWhatADeviceHolds() async throws {
    try await ServerFixture.with { fixture in
      var (first, second) = (try await fixture.pair(1), try await fixture.pair(2))
      var client = try await fixture.join(&first)
      try await client.send(first.write("before the backup"))
      try first.take(try #require(try await client.frame { $0.acknowledges(1, at: 1) }))
      await fixture.server.stop()
      let file = fixture.directory + "/" + ServerDatabase.fileName
      let backup = try #require(FileManager.default.contents(atPath: file))
      try await fixture.restart()
      client = try await fixture.join(&first)
      try await client.send(first.write("after the backup"))
      try first.take(try #require(try await client.frame { $0.acknowledges(2, at: 2) }))
      await fixture.server.stop()
      try backup.write(to: URL(fileURLWithPath: file))
      try await fixture.restart()

      let diverged = try await fixture.join(&first)
      #expect(first.prefix.position == 2)
      try await diverged.send(
        .snapshot(
          SnapshotPart(
            index: 0, count: 1, bytes: PackedSnapshot.pack(first.workspace.image()))))
      #expect(try await diverged.end() == CloseCode.serviceRestart.rawValue)
      for _ in 0..<2 {
        _ = try await fixture.join(&second)
        #expect(second.workspace.image() == first.workspace.image())
        try await fixture.restart()
      }
    }
  }

  @Test func wrongTokenAndWrongWorkspaceAreRefused() async throws {
    try await ServerFixture.with { fixture in
      let device = try await fixture.pair(1)
      let other = try await fixture.pair(2, workspace: "other")
      var wrong = device
      wrong.token = [UInt8](repeating: 0, count: 32)
      var foreign = device
      foreign.workspaceID = other.workspaceID
      for (hello, code) in [
        (wrong.hello, RefusalCode.unauthorized), (foreign.hello, .wrongWorkspace),
      ] {
        let client = try await RawClient.connect(port: fixture.server.port)
        try await client.send(.hello(hello))
        guard case .refused(let refusal) = try await client.frame() else {
          Issue.record("not refused")
          return
        }
        #expect(refusal.code == code)
        #expect(try await client.end() == CloseCode.policyViolation.rawValue)
      }
    }
  }

  @Test func revokingFromAnotherProcessClosesLiveConnections() async throws {
    try await ServerFixture.with({ $0.core.times.tokenCheckMilliseconds = 50 }) { fixture in
      var device = try await fixture.pair(1)
      let client = try await fixture.join(&device)
      let revoked = try fixture.administration.revoke(device: "d1", workspaceName: nil)
      #expect(revoked.revoked)
      let frame = try await client.frame { if case .refused = $0 { true } else { false } }
      guard case .refused(let refusal) = frame else { return }
      #expect(refusal.code == .revoked)
      #expect(try await client.end() == CloseCode.policyViolation.rawValue)
      let again = try await RawClient.connect(port: fixture.server.port)
      try await again.send(.hello(device.hello))
      guard case .refused(let second) = try await again.frame() else { return }
      #expect(second.code == .revoked)
    }
  }

  @Test func silentConnectionIsClosed() async throws {
    try await ServerFixture.with({ $0.core.admission.milliseconds = 1_000 }) { fixture in
      let client = try await RawClient.connect(port: fixture.server.port)
      guard case .refused(let refusal) = try await client.frame() else {
        Issue.record("not refused")
        return
      }
      #expect(refusal.code == .authenticationBudget)
      _ = try await client.end()
      // Half a request does not hold a connection longer than silence.
      let answer = try await PlainRequest.send("GET /v1/sy", fixture.server.port)
      #expect(answer.isEmpty)
    }
  }

  @Test func bytesBeforeAuthenticationHaveABudgetEvenInsideOneFrame() async throws {
    try await ServerFixture.with { fixture in
      let client = try await RawClient.connect(port: fixture.server.port)
      // A fragment that is never finished: no message ever reaches the core.
      try await client.send(
        bytes: [UInt8](repeating: 7, count: 70_000), isFinal: false)
      guard case .refused(let refusal) = try await client.frame() else {
        Issue.record("not refused")
        return
      }
      #expect(refusal.code == .authenticationBudget)
    }
  }

  @Test func oversizedUnmaskedAndTextFramesEndTheConnection() async throws {
    try await ServerFixture.with { fixture in
      var device = try await fixture.pair(1)
      let large = try await fixture.join(&device)
      try await large.sendHead(announcing: (1 << 20) + 1)
      #expect(try await large.end() == 1_009)
      let unmasked = try await fixture.join(&device)
      try await unmasked.send(bytes: [1], isMasked: false)
      #expect(try await unmasked.end() == 1_002)
      let text = try await fixture.join(&device)
      try await text.send(bytes: Array("hello".utf8), opcode: .text)
      #expect(try await text.end() == 1_003)
    }
  }

  @Test func fragmentsMakeUpOneFrame() async throws {
    try await ServerFixture.with { fixture in
      var device = try await fixture.pair(1)
      let client = try await fixture.join(&device)
      let bytes = FrameCodec.encode(try device.write("in pieces"))
      try await client.send(bytes: Array(bytes.prefix(10)), isFinal: false)
      try await client.send(bytes: Array(bytes.dropFirst(10)), opcode: .continuation)
      let ack = try await client.frame { if case .ack = $0 { true } else { false } }
      #expect(ack?.acknowledges(1, at: 1) == true)
    }
  }

  @Test func connectionThatAnswersNoPingIsClosed() async throws {
    try await ServerFixture.with({
      $0.pings.everyMilliseconds = 50
      $0.pings.silenceMilliseconds = 10_000
    }) { fixture in
      let device = try await fixture.pair(1)
      let client = try await RawClient.connect(port: fixture.server.port, answersPings: false)
      try await client.send(.hello(device.hello))
      var pings = 0
      loop: while true {
        switch try await client.next() {
        case .ping: pings += 1
        case .gone: break loop
        case .frame, .closing: continue
        }
      }
      #expect(pings >= 2)
    }
  }

  /// A large batch takes longer on a slow uplink than a connection may be silent.
  @Test func frameThatComesInSlowlyIsTaken() async throws {
    try await ServerFixture.with({
      $0.pings.everyMilliseconds = 50
      $0.pings.silenceMilliseconds = 10_000
    }) { fixture in
      var device = try await fixture.pair(1)
      let hello = Frame.hello(device.hello)
      let text = (0..<60).map { _ in UUID().uuidString }.joined()
      let payload = FrameCodec.encode(try device.write(text))
      // Final and binary, masked with zeros, its length in two bytes.
      let head = [0x82, 0xFE, UInt8(payload.count >> 8), UInt8(payload.count & 255), 0, 0, 0, 0]
      let client = try await RawClient.connect(
        port: fixture.server.port, answersPings: false,
        slowly: .init(first: hello, bytes: (head + payload)[...], time: .seconds(11)))
      let ack = try await client.frame { if case .ack = $0 { true } else { false } }
      #expect(ack?.acknowledges(1, at: 1) == true)
    }
  }

  @Test func stopSaysGoodbyeAndReleasesTheDirectory() async throws {
    try await ServerFixture.with { fixture in
      var device = try await fixture.pair(1)
      let client = try await fixture.join(&device)
      await #expect(throws: SyncServerError.self) {
        _ = try await SyncServer.start(fixture.options, logger: ServerFixture.quiet)
      }
      try await fixture.restart()
      let goodbye = try await client.frame { if case .goAway = $0 { true } else { false } }
      #expect(goodbye != nil)
      #expect(try await client.end() == CloseCode.goingAway.rawValue)
    }
  }

  @Test func healthAndOtherPaths() async throws {
    try await ServerFixture.with { fixture in
      let health = try await fixture.get("/healthz")
      #expect(health.status == "HTTP/1.1 200 OK")
      // Strangers learn nothing more.
      #expect(health.body == #"{"status":"ok"}"# + "\n")
      #expect(try await fixture.get("/").status == "HTTP/1.1 404 Not Found")
      #expect(try await fixture.get("/v1/sync").status == "HTTP/1.1 426 Upgrade Required")
      await #expect(throws: RawClient.NotUpgraded.self) {
        try await RawClient.connect(port: fixture.server.port, path: "/v1/other")
      }
      await #expect(throws: RawClient.NotUpgraded.self) {
        try await RawClient.connect(port: fixture.server.port, subprotocol: "chat")
      }
    }
  }

  /// A client that ends its half with a request gets an answer.
  @Test func requestWithTheEndOfInputIsAnswered() async throws {
    try await ServerFixture.with { fixture in
      for _ in 1...20 {
        let answer = try await PlainRequest.send(
          "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", fixture.server.port, endingInput: true)
        #expect(answer.hasPrefix("HTTP/1.1 200 OK"))
      }
    }
  }

  /// A device that leaves with its last batch, which is larger than a piece, has sent it.
  @Test func batchWithTheEndOfInputIsTaken() async throws {
    try await ServerFixture.with { fixture in
      var (first, second) = (try await fixture.pair(1), try await fixture.pair(2))
      let (one, two) = (try await fixture.join(&first), try await fixture.join(&second))
      let text = (0..<1_000).map { _ in UUID().uuidString }.joined()
      try await one.sendLast(first.write(text))
      let changes = try await two.frame { if case .changes = $0 { true } else { false } }
      try second.take(try #require(changes))
      #expect(second.workspace.image() == first.workspace.image())
      _ = try await one.end()
      await two.close()
    }
  }

  @Test func portInUseIsReported() async throws {
    try await ServerFixture.with { fixture in
      var options = fixture.options
      options.dataDirectory += "-second"
      options.port = fixture.server.port
      do {
        _ = try await SyncServer.start(options, logger: ServerFixture.quiet)
        Issue.record("two servers on one port")
      } catch let error as SyncServerError {
        #expect(error.exitCode == 1)
        #expect(error.message.contains("in use"))
      }
      try FileManager.default.removeItem(atPath: options.dataDirectory)
    }
  }
}
