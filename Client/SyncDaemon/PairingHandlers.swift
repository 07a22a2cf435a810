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
      let former = client.syncStatus().server
      let paired = try await client.pair(
        server: body.server, code: body.code, allowsInsecure: body.insecure ?? false)
      // After pairing again with the same server, the former pairing is not an alternative.
      let isAnother = former.map { $0 != paired.server } ?? false
      await note(
        UndoLabel(kind: .paired, text: paired.server), former: isAnother ? former : nil)
      return CanonicalJSON.response(paired)
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
      return CanonicalJSON.response(moved)
    }
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
