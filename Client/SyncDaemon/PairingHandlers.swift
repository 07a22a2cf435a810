import Basics
import Hummingbird
import LocalAPI
import QueueModel
import SyncClient

/// The server that this device belongs to, and the devices that it adds there.
struct PairingHandlers: RouteHandlers {
  var client: QueueClient
  /// Records the devices that a browser added.
  var keys: WebKeys

  func addRoutes(to api: RouterGroup<Context>) {
    api.post("pair") { request, _ in
      let body = try await decoded(PairServerRequest.self, from: request)
      let before = client.syncStatus()
      let former = before.server
      let paired = try await client.pair(
        server: body.server, code: body.code, allowsInsecure: body.insecure ?? false)
      // After pairing again with the same server, the former pairing is not an alternative.
      let isAnother = former.map { $0 != paired.server } ?? false
      await note(
        UndoLabel(kind: .paired, text: paired.server), former: isAnother ? former : nil)
      // Who pairs a device wants it to sync.
      let wasOff = client.syncStatus().state == .disabled
      if wasOff { try await client.setSyncEnabled(true) }
      var answer = PairingAnswer(paired, access: await welcomed())
      // A device that was never paired sends all that it has, which is expected.
      let isAgain = before.workspace != nil && before.outgoing > 0
      answer.unsent = isAgain ? before.outgoing : nil
      answer.turnedOn = wasOff ? true : nil
      return CanonicalJSON.response(answer)
    }
    api.post("pair/code") { request, context in
      let body = try await decodedIfPresent(PairingCodeRequest.self, from: request)
      let made = try await code(for: body ?? PairingCodeRequest())
      if let browser = context.browser {
        try keys.noteCode(role: made.role, by: browser, at: client.time)
      }
      return CanonicalJSON.response(made, status: .created)
    }
    api.delete("pair") { _, _ in
      let server = client.syncStatus().server
      try await client.unpair()
      if let server { await note(UndoLabel(kind: .unpaired), former: server) }
      return CanonicalJSON.response(SyncAnswer(client.syncStatus()))
    }
    api.post("server/move") { request, _ in
      let body = try await decoded(MoveServerRequest.self, from: request)
      let former = client.syncStatus().server
      let moved = try await client.moveServer(
        to: body.server, allowsInsecure: body.insecure ?? false)
      if let former, former != moved.server {
        await note(UndoLabel(kind: .movedServer, text: moved.server), former: former)
      }
      return CanonicalJSON.response(PairingAnswer(moved))
    }
  }

  private static let welcomeLimit = Duration.seconds(3)

  /// The state of sync once the server has welcomed or refused this device, which tells its role;
  /// without that within the limit, the present one.
  private func welcomed() async -> SyncStatus {
    let found = await withTaskGroup(of: SyncStatus?.self) { group in
      group.addTask {
        for await status in client.syncStatusUpdates()
        where status.state == .connected || status.state == .refused { return status }
        return nil
      }
      group.addTask {
        // A cancelled sleep ends the wait as well.
        try? await Task.sleep(for: Self.welcomeLimit)
        return nil
      }
      let first = await group.next() ?? nil
      group.cancelAll()
      return first
    }
    return found ?? client.syncStatus()
  }

  private func code(for body: PairingCodeRequest) async throws -> PairingCodeAnswer {
    let name = body.role ?? DeviceRole.host.name
    guard let role = DeviceRole(name: name) else {
      throw APIProblem(
        .unprocessableContent, code: "invalidRole",
        message: "There is no role \"\(name)\": choose viewer, author or host.",
        exitCode: ExitStatus.usage)
    }
    guard (1...PairingCodeRequest.accessSecondsMax).contains(body.accessSeconds ?? 1) else {
      throw APIProblem(
        .unprocessableContent, code: "invalidAccess",
        message: "accessSeconds must be from a second to a hundred years.",
        exitCode: ExitStatus.usage)
    }
    let made = try await client.pairingCode(
      role: role, accessMilliseconds: body.accessSeconds.map { Int64($0) * 1_000 })
    return PairingCodeAnswer(
      code: made.code, server: made.server, role: role.name, command: made.command,
      hint: made.hint, qr: QRCode(made.command)?.text, expiresAt: made.expiresAt)
  }
}
