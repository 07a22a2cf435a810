import Foundation
import QueueModel
import SyncTestSupport
import Testing
import WireProtocol

@testable import SyncClient

/// A device that the server lets change nothing: it says so before anything is stored, also
/// without a connection.
@Suite(.timeLimit(.minutes(10))) struct AccessTests {
  private let message = MessageID(high: 9, low: 1)

  private func become(
    _ state: SyncStatus.State, _ client: QueueClient,
    when isReached: (SyncStatus) -> Bool = { _ in true }
  ) async {
    for await status in client.syncStatusUpdates()
    where status.state == state && isReached(status) { return }
  }

  /// Every kind of change is refused, and nothing is stored.
  private func refused(_ obstacle: AccessObstacle, on client: QueueClient) async throws {
    let session = try SessionID("a")
    let before = (client.version, client.syncStatus().outgoing)
    let error = ClientError.notAllowed(obstacle)
    #expect(error.code == "notAllowed" && error.exitCode == 3)
    for command in [
      try Command.text("no", 7), .cancel([message]), .pause(session, reason: nil), .clear(session),
      .deleteSession(session), .undo(change: nil, skip: false),
    ] {
      await #expect(throws: error, "\(command)") { try await client.perform(command) }
    }
    await #expect(throws: error) { _ = try await client.queues.cancel([message]) }
    await #expect(throws: error) {
      _ = try await client.queues.edit(message, content: "no", base: nil)
    }
    await #expect(throws: error) {
      try await client.execution.setHost(of: session, to: client.deviceID)
    }
    await #expect(throws: error) { try await client.undo() }
    await #expect(throws: error) {
      _ = try await client.execution.stop(TurnElsewhere(message: message, attempt: 1))
    }
    await #expect(throws: error) {
      _ = try await client.tasks.answer(
        TaskAnswer(session: session, request: RequestID(high: 1, low: 1), verdict: .allowed))
    }
    await #expect(throws: error) {
      _ = try await client.importJSON(try await exported())
    }
    if obstacle == .viewer {
      await client.tasks.noteBegan(in: session)
      // The agent asks at its own prompt.
      let answer = try await client.tasks.ask(
        .approval(toolName: "Bash", summary: "make", details: nil), in: session)
      #expect(answer.ending == .withdrawn)
    }
    #expect(client.version == before.0 && client.syncStatus().outgoing == before.1)
    // Drafts are the device's own.
    _ = try await client.queues.setDraft("for later", of: session)
    #expect(try await client.queues.draft(of: session)?.text == "for later")
  }

  /// A document with one message.
  private func exported() async throws -> Data {
    var document = Data()
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      try await client.perform(.text("of another device", 5, in: "b"))
      document = try client.exportJSON()
      await client.close()
    }
    return document
  }

  @Test func aViewerChangesNothingHereEither() async throws {
    try await ClientFixture.withServer { fixture in
      fixture.server.change { $0.access = AccessNotice(role: .viewer, expiresAt: nil) }
      var host = TestDevice(1)
      try host.perform(.send("from a host", as: 1, in: "a"))
      try fixture.server.publish(host.made)
      try await fixture.running { client in
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        #expect(client.syncStatus().role == "viewer")
        #expect(try client.workspace().texts() == ["from a host"])
        try await refused(.viewer, on: client)
        try await client.setSyncEnabled(false)
        try await refused(.viewer, on: client)
      }
      // It knows its role before it connects.
      let client = try await fixture.open()
      try await refused(.viewer, on: client)
      // Alone, it may change its own copy.
      try await client.unpair()
      try await client.perform(.text("mine", 2))
      await client.close()
    }
  }

  @Test func aDeviceThatIsAHostAgainWorksAtOnce() async throws {
    try await ClientFixture.withServer { fixture in
      fixture.server.change { $0.access = AccessNotice(role: .viewer, expiresAt: nil) }
      try await fixture.running { client in
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        #expect(throws: ClientError.notAllowed(.viewer)) { try client.requireAccess() }
        fixture.server.change { script in
          script.access = nil
          script.pairing = .paired(
            PairGrant(
              workspace: ScriptedServer.workspaceID, workspaceName: "tests",
              device: DeviceID(high: 1, low: 1), token: [UInt8](repeating: 4, count: 32)))
        }
        _ = try await client.pair(server: fixture.server.url, code: "BCDF-GHJK")
        try await client.perform(.text("mine", 1))
        #expect(client.syncStatus().role == nil)
      }
    }
  }

  @Test func aRevokedDeviceChangesNothingUntilItIsPairedAgain() async throws {
    try await ClientFixture.withServer { fixture in
      try await fixture.running { client in
        try await client.perform(.text("before", 1))
        let session = try SessionID("a")
        try await client.tasks.receive(.turnStarted, in: session)
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        fixture.server.push(.refused(Refusal(code: .revoked, message: "it was revoked")))
        await become(.refused, client)
        // The end of what an agent did here is still reported once the device is paired again.
        try await client.tasks.receive(.turnEnded, in: session)
        #expect(client.workspace().task(of: session)?.status.kind.isUnderWay == false)
        try await refused(.ended(reason: "it was revoked"), on: client)
      }
      let client = try await fixture.open()
      try await refused(.ended(reason: "it was revoked"), on: client)
      _ = try await client.pair(server: fixture.server.url, code: "BCDF-GHJK")
      await client.close()
    }
  }

  @Test func accessEndsByTheServersClock() async throws {
    try await ClientFixture.withServer { fixture in
      // The scripted server's clock is at the beginning of 2026.
      let now: Int64 = 1_767_225_600_000
      fixture.server.change { $0.access = AccessNotice(role: .host, expiresAt: now + 3_600_000) }
      try await fixture.running { client in
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        #expect(client.syncStatus().accessEndsAt == now + 3_600_000)
        try await client.perform(.text("in time", 1))
        fixture.server.change { $0.access = AccessNotice(role: .host, expiresAt: now - 1) }
        try await client.setSyncEnabled(false)
        try await client.setSyncEnabled(true)
        await become(.connected, client) { $0.accessEndsAt == now - 1 }
        await #expect(throws: ClientError.notAllowed(.expired)) {
          try await client.perform(.text("too late", 2))
        }
      }
    }
  }
}
