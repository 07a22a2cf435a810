import QueueModel
import ServerCore
import SyncTestSupport
import Testing
import WireProtocol

@Suite struct PairingTests {
  private func request(_ code: String, device: UInt64 = 50) -> Frame {
    .pair(
      PairRequest(
        versions: ProtocolVersion.spoken, code: code, device: DeviceID(high: 9, low: device),
        deviceName: "laptop"))
  }

  private func scene(
    code: PairingCode, lifetime: Int64 = PairingCode.lifetimeMilliseconds,
    _ adjust: (inout ServerConfiguration) -> Void = { _ in }
  ) -> ServerScene {
    let scene = ServerScene(adjust)
    scene.storage.addCode(
      hash: code.stored { $0 + [0] }, for: ServerScene.workspace,
      expiresAt: scene.now.wallMilliseconds + lifetime)
    return scene
  }

  private var code: PairingCode {
    var generator = SeededGenerator(seed: 3)
    return PairingCode(using: &generator)
  }

  @Test func codeIsTradedForATokenThatOpensTheWorkspace() throws {
    var scene = scene(code: code)
    let id = scene.open()
    scene.send(request(code.display.lowercased()), on: id)
    let grant = try #require(scene.take(id).grants.first)
    #expect(grant.workspace == ServerScene.workspace)
    #expect(grant.workspaceName == "default")
    #expect(grant.token.count == 32)
    #expect(scene.closed[id] == .normal)

    var hello = ScriptedDevice(number: 50, workspace: grant.workspace).hello
    hello.token = grant.token
    let session = scene.open()
    scene.send(.hello(hello), on: session)
    #expect(scene.take(session).welcomes.count == 1)
  }

  @Test func codeWorksOnce() {
    var scene = scene(code: code)
    let first = scene.open()
    scene.send(request(code.display), on: first)
    let second = scene.open()
    scene.send(request(code.display, device: 51), on: second)
    #expect(scene.take(second).refusals.map(\.code) == [.wrongCode])
  }

  @Test func expiredCodeIsRefused() {
    var scene = scene(code: code, lifetime: 600_000)
    scene.pass(600_000)
    let id = scene.open()
    scene.send(request(code.display), on: id)
    #expect(scene.take(id).refusals.map(\.code) == [.wrongCode])
  }

  @Test func sourceIsPausedAfterFiveWrongCodes() throws {
    var scene = scene(code: code)
    for _ in 0..<5 {
      let id = scene.open()
      scene.send(request("BBBB-BBBB"), on: id)
      #expect(scene.take(id).refusals.map(\.code) == [.wrongCode])
    }
    let id = scene.open()
    scene.send(request(code.display), on: id)
    let refusal = try #require(scene.take(id).refusals.first)
    #expect(refusal.code == .tooManyAttempts)
    #expect(refusal.retryAfterMilliseconds == 60_000)
  }

  /// An attacker with many addresses cannot prevent others' pairing by a few guesses of each name.
  @Test(arguments: [(999, true), (1_000, false)])
  func aThousandWrongGuessesFromAnywhereKillTheCode(guesses: Int, isGood: Bool) {
    var scene = scene(code: code)
    for source in 0..<guesses {
      let id = scene.open(source: "192.0.\(source / 200).\(source % 200)")
      scene.send(request("\(code.letters.prefix(2))BB-BBBB"), on: id)
    }
    let id = scene.open(source: "198.51.100.1")
    scene.send(request(code.display), on: id)
    let answer = scene.take(id)
    #expect(answer.grants.count == (isGood ? 1 : 0))
    #expect(answer.refusals.map(\.code) == (isGood ? [] : [.tooManyAttempts]))
  }

  @Test func wrongGuessesHarmNoCodeOfAnotherName() {
    var scene = scene(code: code) { $0.pairing.codeFailuresMax = 1 }
    for source in 0..<5 {
      let id = scene.open(source: "192.0.2.\(source)")
      scene.send(request(code.letters.hasPrefix("BB") ? "CCCC-CCCC" : "BBBB-BBBB"), on: id)
    }
    let id = scene.open()
    scene.send(request(code.display), on: id)
    #expect(scene.take(id).grants.count == 1)
  }

  /// The attempt counts, not the answer.
  @Test(arguments: [("192.0.2.1", "192.0.2.1"), ("2001:db8::1", "2001:DB8:0:0:9::7")])
  func hangingUpBeforeTheAnswerCountsAsAGuess(first: String, last: String) {
    var scene = scene(code: code)
    scene.holdsTasks = true
    for _ in 0..<5 {
      let id = scene.open(source: first)
      scene.send(request("BBBB-BBBB"), on: id)
      scene.drop(id)
      scene.finishTasks()
    }
    let id = scene.open(source: last)
    scene.send(request("BBBB-BBBB"), on: id)
    scene.finishTasks()
    #expect(scene.take(id).refusals.map(\.code) == [.tooManyAttempts])
  }

  @Test func aFailingStoreCausesNoGuess() {
    var scene = scene(code: code)
    scene.storage.withState {
      $0.writeFault = StorageFault(code: .unavailable, message: "the disk did not answer")
    }
    for _ in 0..<6 {
      let id = scene.open()
      scene.send(request(code.display), on: id)
      #expect(scene.take(id).refusals.map(\.code) == [.storageFailed])
    }
  }

  @Test func invalidCodesUseUpNoAttempts() {
    var scene = scene(code: code) { $0.pairing.codeFailuresMax = 1 }
    for source in 0..<4 {
      let id = scene.open(source: "192.0.2.\(source)")
      scene.send(request("no code at all, much longer"), on: id)
    }
    let id = scene.open()
    scene.send(request(code.display), on: id)
    #expect(scene.take(id).grants.count == 1)
  }

  @Test func pausedSourceMayTryAgainLater() throws {
    var scene = scene(code: code)
    for _ in 0..<5 {
      let id = scene.open()
      scene.send(request("BBBB-BBBB"), on: id)
    }
    scene.pass(60_000)
    let fresh = try #require(PairingCode(typed: "CCCC-CCCC"))
    scene.storage.addCode(
      hash: fresh.stored { $0 + [0] }, for: ServerScene.workspace, expiresAt: .max)
    let id = scene.open()
    scene.send(request("cccccccc"), on: id)
    #expect(scene.take(id).grants.count == 1)
  }

  @Test func pairingAgainReplacesTheTokenAndClosesItsConnections() throws {
    var scene = scene(code: code)
    let device = scene.device(50)
    let old = scene.connect(device)
    let id = scene.open()
    scene.send(request(code.display), on: id)
    #expect(scene.take(id).grants.count == 1)
    #expect(scene.closed[old] == .policyViolation)
    let again = scene.connect(device)
    #expect(scene.take(again).refusals.map(\.code) == [.unauthorized])
  }

  @Test func pairingAgainClosesOlderConnectionsThoughItsOwnIsGone() {
    var scene = scene(code: code)
    let device = scene.device(50)
    let old = scene.connect(device)
    let id = scene.open()
    scene.holdsTasks = true
    scene.send(request(code.display), on: id)
    scene.drop(id)
    scene.finishTasks()
    #expect(scene.take(old).refusals.map(\.code) == [.unauthorized])
    #expect(scene.closed[old] == .policyViolation)
    // The code is used up and the device is in the list: the operator can read why.
    let report = ServerReport.paired(
      workspace: ServerScene.workspace, device: device.id, name: "laptop", letInBy: nil,
      source: "192.0.2.1")
    #expect(scene.reports.count { $0 == report } == 1)
  }

  @Test func hundredAndFirstDeviceIsRefused() {
    var scene = scene(code: code)
    for number in 0..<UInt64(Limits.devicesMax) { _ = scene.device(1_000 + number) }
    let id = scene.open()
    scene.send(request(code.display), on: id)
    #expect(scene.take(id).refusals.map(\.code) == [.limitReached])
  }

  @Test func typedCodesAreNormalised() {
    #expect(PairingCode(typed: " bcdf-ghjk ")?.letters == "BCDFGHJK")
    #expect(PairingCode(typed: "BCDF GHJK")?.display == "BCDF-GHJK")
    #expect(PairingCode(typed: "BCDFGHJ") == nil)
    #expect(PairingCode(typed: "BCDFGHJKL") == nil)
    #expect(PairingCode(typed: "ACDFGHJK") == nil)
  }
}
