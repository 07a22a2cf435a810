import QueueModel
import SequenceCRDT
import ServerCore
import Testing
import WireProtocol

@Suite struct HandshakeTests {
  @Test func knownDeviceIsWelcomed() throws {
    var scene = ServerScene()
    let device = scene.device(1)
    let id = scene.connect(device)
    let frames = scene.take(id)
    let welcome = try #require(frames.welcomes.first)
    #expect(welcome.version == ProtocolVersion.current)
    #expect(welcome.head == .empty)
    #expect(welcome.pingSeconds == 20)
    #expect(frames.presences.first?.map(\.device) == [device.id])
    #expect(scene.closed[id] == nil)
  }

  @Test func unknownTokenIsRefused() {
    var scene = ServerScene()
    let id = scene.connect(ScriptedDevice(number: 5, workspace: ServerScene.workspace))
    #expect(scene.take(id).refusals.map(\.code) == [.unauthorized])
    #expect(scene.closed[id] == .policyViolation)
  }

  @Test func revokedTokenIsRefused() {
    var scene = ServerScene()
    let device = scene.device(1)
    scene.storage.revoke(device.id, in: ServerScene.workspace)
    let id = scene.connect(device)
    #expect(scene.take(id).refusals.map(\.code) == [.revoked])
  }

  @Test func tokenOfAnotherWorkspaceIsRefused() {
    var scene = ServerScene()
    var device = scene.device(1)
    device.workspaceID = ServerScene.otherWorkspace
    let id = scene.connect(device)
    #expect(scene.take(id).refusals.map(\.code) == [.wrongWorkspace])
  }

  @Test func tokenOfAnotherDeviceIsRefused() {
    var scene = ServerScene()
    let device = scene.device(1)
    var hello = device.hello
    hello.device = DeviceID(high: 9, low: 77)
    let id = scene.open()
    scene.send(.hello(hello), on: id)
    #expect(scene.take(id).refusals.map(\.code) == [.unauthorized])
  }

  @Test(arguments: ["a\u{1B}]52;c;eA==\u{7}", "two\nlines", "\u{9B}2J", ""])
  func namesThatSteerTerminalsAreRefused(name: String) {
    var scene = ServerScene()
    var hello = scene.device(1).hello
    hello.deviceName = name
    let id = scene.open()
    scene.send(.hello(hello), on: id)
    #expect(scene.take(id).faults.count == 1)
    let pairing = scene.open()
    let request = PairRequest(
      versions: ProtocolVersion.spoken, code: "BBBB-BBBB", device: hello.device, deviceName: name)
    scene.send(.pair(request), on: pairing)
    #expect(scene.take(pairing).faults.count == 1)
  }

  @Test func unknownVersionIsRefused() {
    var scene = ServerScene()
    var hello = scene.device(1).hello
    hello.versions = 7...9
    let id = scene.open()
    scene.send(.hello(hello), on: id)
    #expect(scene.take(id).refusals.map(\.code) == [.unsupportedVersion])
  }

  /// A rule of releases: one with an additional version also serves the versions of the previous
  /// release.
  @Test(
    arguments: [
      (1...1, 1...1, 1), (1...1, 1...2, 1), (1...2, 1...1, 1), (1...2, 1...2, 2), (1...2, 2...3, 2),
    ] as [(ClosedRange<UInt16>, ClosedRange<UInt16>, UInt16)])
  func theHighestVersionOfBothIsChosen(
    server: ClosedRange<UInt16>, device: ClosedRange<UInt16>, chosen: UInt16
  ) {
    var scene = ServerScene { $0.versions = server }
    var hello = scene.device(1).hello
    hello.versions = device
    let id = scene.open()
    scene.send(.hello(hello), on: id)
    #expect(scene.take(id).welcomes.map(\.version) == [chosen])
  }

  @Test(
    arguments: [(2...2, 1...1, "the device needs"), (1...1, 2...3, "the server needs")]
      as [(ClosedRange<UInt16>, ClosedRange<UInt16>, String)])
  func anOutdatedClientIsInformed(
    server: ClosedRange<UInt16>, device: ClosedRange<UInt16>, words: String
  ) throws {
    var scene = ServerScene { $0.versions = server }
    var hello = scene.device(1).hello
    hello.versions = device
    let id = scene.open()
    scene.send(.hello(hello), on: id)
    let pairing = scene.open()
    let request = PairRequest(
      versions: device, code: "BBBB-BBBB", device: hello.device, deviceName: "d")
    scene.send(.pair(request), on: pairing)
    for connection in [id, pairing] {
      let refusal = try #require(scene.take(connection).refusals.first)
      #expect(refusal.code == .unsupportedVersion && refusal.message.contains(words))
    }
  }

  @Test func otherFramesBeforeHelloAreFaults() {
    var scene = ServerScene()
    let id = scene.open()
    scene.send(.ack(Ack(batch: 0, prefix: .empty)), on: id)
    #expect(scene.take(id).faults.map(\.code) == [FaultCode.unexpected.rawValue])
    #expect(scene.closed[id] == .protocolError)
  }

  @Test func framesWhileTheTokenIsLookedUpAreFaults() {
    var scene = ServerScene()
    scene.holdsTasks = true
    let device = scene.device(1)
    let id = scene.connect(device)
    scene.send(.ack(Ack(batch: 0, prefix: .empty)), on: id)
    #expect(scene.closed[id] == .protocolError)
    scene.finishTasks()
    #expect(scene.take(id).welcomes.isEmpty)
  }

  @Test func secondHelloIsAFault() {
    var scene = ServerScene()
    let device = scene.device(1)
    let id = scene.connect(device)
    scene.send(.hello(device.hello), on: id)
    #expect(scene.closed[id] == .protocolError)
  }

  @Test func unreadableFrameIsAFault() {
    var scene = ServerScene()
    let id = scene.open()
    scene.send(bytes: [], on: id)
    #expect(scene.take(id).faults.map(\.code) == [FaultCode.malformed.rawValue])
  }

  @Test func silentConnectionIsClosedAtTheDeadlineAndNotBefore() {
    var scene = ServerScene()
    let id = scene.open()
    scene.pass(9_999)
    #expect(scene.closed[id] == nil)
    scene.pass(1)
    #expect(scene.take(id).refusals.map(\.code) == [.authenticationBudget])
    #expect(scene.closed[id] == .policyViolation)
  }

  @Test func authenticatedConnectionOutlivesTheDeadline() {
    var scene = ServerScene()
    let id = scene.connect(scene.device(1))
    scene.pass(60_000)
    #expect(scene.closed[id] == nil)
  }

  @Test func rawBytesBeforeAuthenticationHaveABudget() {
    var scene = ServerScene()
    let id = scene.open()
    scene.received(raw: 64 << 10, on: id)
    #expect(scene.closed[id] == nil)
    scene.received(raw: 1, on: id)
    #expect(scene.take(id).refusals.map(\.code) == [.authenticationBudget])
  }

  @Test func largeFirstFrameIsRefused() {
    var scene = ServerScene()
    let id = scene.open()
    scene.send(bytes: [UInt8](repeating: 1, count: (64 << 10) + 1), on: id)
    #expect(scene.take(id).refusals.map(\.code) == [.authenticationBudget])
  }

  @Test func connectionsOfADeviceAreCounted() {
    var scene = ServerScene { $0.devices.connectionsMax = 4 }
    let device = scene.device(1)
    let ids = (0..<5).map { _ in scene.connect(device) }
    #expect(ids.prefix(4).allSatisfy { scene.closed[$0] == nil })
    #expect(scene.take(ids[4]).refusals.map(\.code) == [.tooManyConnections])
    scene.drop(ids[0])
    let sixth = scene.connect(device)
    #expect(!scene.take(sixth).welcomes.isEmpty)
  }

  /// The nonce is part of the ids that devices draw.
  @Test func everyWelcomeHasAnotherNonce() throws {
    var scene = ServerScene()
    let device = scene.device(1)
    let nonces = try (0..<3).map { _ in
      try #require(scene.take(scene.connect(device)).welcomes.first).nonce
    }
    #expect(Set(nonces).count == 3)
  }

  @Test func storeThatCannotReadTokensRefusesForNow() {
    var scene = ServerScene()
    let device = scene.device(1)
    scene.storage.withState { $0.readFault = StorageFault(code: .unavailable, message: "") }
    let id = scene.connect(device)
    let refusal = scene.take(id).refusals.first
    #expect(refusal?.code == .storageFailed)
    #expect(refusal?.retryAfterMilliseconds != nil)
    #expect(!scene.core.isHealthy)
    scene.storage.withState { $0.readFault = nil }
    scene.pass(2_000)
    #expect(scene.core.isHealthy)
  }
}
