import QueueModel
import SyncTestSupport
import Testing
import WireProtocol

@testable import ServerCore

/// A new device that gets access from another one.
@Suite struct DeviceCodeTests {
  private static let newcomer = DeviceID(high: 9, low: 50)

  private struct Fixture {
    var scene = ServerScene { $0.pairing.devicesMayPair = true }
    var host: ScriptedDevice
    var connection: ConnectionID
    private var asked: UInt64 = 0

    init(_ adjust: (inout ServerConfiguration) -> Void = { $0.pairing.devicesMayPair = true })
      throws
    {
      scene = ServerScene(adjust)
      host = scene.device(1)
      connection = try scene.join(&host)
    }

    mutating func ask(
      _ wish: CodeWish = CodeWish(role: .host), on connection: ConnectionID? = nil
    ) throws -> InboxAnswer? {
      asked += 1
      let request = InboxRequest.code(wish)
      scene.send(.request(request.request(id: asked)), on: connection ?? self.connection)
      for case .response(let response) in scene.take(connection ?? self.connection) {
        return try InboxAnswer(response, to: request)
      }
      return nil
    }

    mutating func code(_ wish: CodeWish = CodeWish(role: .host)) throws -> String {
      guard case .code(let code, _)? = try ask(wish) else {
        Issue.record("no code")
        return ""
      }
      return code
    }

    mutating func pair(
      _ code: String, as device: DeviceID = newcomer, from source: String = "192.0.2.1"
    ) -> [Frame] {
      let id = scene.open(source: source)
      scene.send(
        .pair(
          PairRequest(
            versions: ProtocolVersion.spoken, code: code, device: device, deviceName: "new")),
        on: id)
      return scene.take(id)
    }

    func change(_ device: DeviceID, _ body: (inout MemoryStorage.Device) -> Void) {
      scene.storage.withState {
        guard var row = $0.workspaces[ServerScene.workspace]?.devices[device] else { return }
        body(&row)
        $0.workspaces[ServerScene.workspace]?.devices[device] = row
      }
    }
  }

  private func reason(_ answer: InboxAnswer?) -> String? {
    guard case .unusable(let reason)? = answer else { return nil }
    return reason
  }

  @Test func aHostLetsAnotherDeviceIn() throws {
    var fixture = try Fixture()
    let code = try fixture.code(CodeWish(role: .author))
    let grant = try #require(fixture.pair(code).grants.first)
    #expect(grant.workspace == ServerScene.workspace && grant.device == Self.newcomer)
    var hello = ScriptedDevice(number: 50, workspace: grant.workspace).hello
    hello.token = grant.token
    let session = fixture.scene.open()
    fixture.scene.send(.hello(hello), on: session)
    #expect(fixture.scene.take(session).welcomes.count == 1)
    let record = fixture.scene.storage.withState {
      $0.workspaces[grant.workspace]?.devices[Self.newcomer]?.record
    }
    #expect(record?.role == .author)
    // The audit shows which device asked, and which one gave access to which.
    let audit = fixture.scene.storage.withState(\.audit)
    #expect(audit.map(\.event) == [.code])
    #expect(audit.map(\.device) == [fixture.host.id])
    #expect(audit.map(\.detail) == ["role author, by the device"])
    let report = ServerReport.paired(
      workspace: grant.workspace, device: Self.newcomer, name: "new", letInBy: fixture.host.id,
      source: "192.0.2.1")
    #expect(fixture.scene.reports.contains(report))
  }

  /// Each is a transaction: repeated requests must not keep the store from other work.
  @Test func oneCodeIsStoredForAConnectionAtATime() throws {
    var fixture = try Fixture()
    fixture.scene.holdsTasks = true
    #expect(try fixture.ask() == nil)
    for _ in 0..<3 { #expect(try fixture.ask() == .unavailable) }
    #expect(fixture.scene.waitingTasks.count == 1)
    fixture.scene.finishTasks()
    #expect(fixture.scene.take(fixture.connection).count == 1)
    fixture.scene.holdsTasks = false
    _ = try fixture.code()
  }

  @Test func theOwnerSaysNoUnlessToldOtherwise() throws {
    var fixture = try Fixture { _ in }
    let reason = try #require(reason(try fixture.ask()))
    #expect(reason.contains("--devices-may-pair") && reason.contains("cospool-server pair"))
    #expect(fixture.scene.storage.withState(\.codes).isEmpty)
  }

  @Test(arguments: [DeviceRole.viewer, .author])
  func onlyHostsLetOthersIn(role: DeviceRole) throws {
    var fixture = try Fixture()
    var other = fixture.scene.device(2)
    fixture.change(other.id) { $0.record.role = role }
    let connection = try fixture.scene.join(&other)
    let reason = try #require(reason(try fixture.ask(CodeWish(role: .viewer), on: connection)))
    #expect(reason.contains(role.name))
    #expect(fixture.scene.storage.withState(\.codes).isEmpty)
  }

  @Test func aCodeWorksOnceAndForTenMinutes() throws {
    var fixture = try Fixture()
    let used = try fixture.code()
    #expect(fixture.pair(used).grants.count == 1)
    #expect(fixture.pair(used, as: DeviceID(high: 9, low: 51)).refusals.map(\.code) == [.wrongCode])
    let late = try fixture.code()
    fixture.scene.pass(PairingCode.lifetimeMilliseconds)
    #expect(fixture.pair(late, from: "192.0.2.2").refusals.map(\.code) == [.wrongCode])
  }

  @Test func aCodeIsGuessedAsSeldomAsAnyOther() throws {
    var fixture = try Fixture()
    let code = try fixture.code()
    for source in 0..<1_000 {
      _ = fixture.pair(
        code.prefix(2) + "BB-BBBB", from: "192.0.\(source / 200).\(source % 200)")
    }
    #expect(fixture.pair(code, from: "198.51.100.1").refusals.map(\.code) == [.tooManyAttempts])
  }

  @Test func aRevokedDevicePairsNoOther() throws {
    var fixture = try Fixture()
    let (first, second) = (try fixture.code(), try fixture.code())
    fixture.change(fixture.host.id) { $0.record.role = .viewer }
    #expect(fixture.pair(first).refusals.map(\.code) == [.wrongCode])
    fixture.change(fixture.host.id) {
      $0.record.role = .host
      $0.isRevoked = true
    }
    #expect(fixture.pair(second).refusals.map(\.code) == [.wrongCode])
    #expect(reason(try fixture.ask()) != nil, "its connection is not closed yet")
  }

  @Test func aRevokedDeviceDoesNotComeBackByAnother() throws {
    var fixture = try Fixture()
    let lost = fixture.scene.device(2)
    fixture.scene.storage.revoke(lost.id, in: ServerScene.workspace)
    let code = try fixture.code()
    #expect(fixture.pair(code, as: lost.id).refusals.map(\.code) == [.revoked])
    #expect(fixture.pair(code).grants.count == 1, "other devices can still use the code")
  }

  @Test func aKnownDeviceIsNotLetInByAnother() throws {
    var fixture = try Fixture()
    var second = fixture.scene.device(2)
    let connection = try fixture.scene.join(&second)
    let code = try fixture.code(CodeWish(role: .viewer))
    #expect(fixture.pair(code, as: second.id).refusals.map(\.code) == [.wrongCode])
    #expect(try fixture.ask(on: connection) != nil, "it still has access")
  }

  @Test func aDeviceGetsOnlySoManyCodesInTenMinutes() throws {
    var fixture = try Fixture()
    for _ in 0..<8 { _ = fixture.pair(try fixture.code()) }
    #expect(reason(try fixture.ask())?.contains("8") == true)
    fixture.scene.pass(PairingCode.lifetimeMilliseconds)
    _ = try fixture.code()
  }

  @Test func aStoreThatFailsGivesNoCode() throws {
    var fixture = try Fixture()
    fixture.scene.storage.withState {
      $0.writeFault = StorageFault(code: .unavailable, message: "the disk did not answer")
    }
    #expect(try fixture.ask() == .unavailable)
  }
}
