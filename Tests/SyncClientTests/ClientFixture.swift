import Foundation
import Logging
import QueueModel
import Testing
import WireProtocol

@testable import SyncClient

/// A client with its own directory, and a scripted server.
struct ClientFixture: Sendable {
  let directory: String
  let server: ScriptedServer

  /// Runs `body` with a running server, and removes everything afterwards.
  static func withServer(
    _ server: ScriptedServer = ScriptedServer(),
    _ body: (ClientFixture) async throws -> Void
  ) async throws {
    let directory = NSTemporaryDirectory() + "cospool-client-\(UUID().uuidString)"
    try await server.start()
    server.change { script in
      script.pairing = .paired(
        PairGrant(
          workspace: ScriptedServer.workspaceID, workspaceName: "tests",
          device: DeviceID(high: 1, low: 1), token: ScriptedServer.token))
    }
    let result: Result<Void, any Error>
    do {
      result = .success(try await body(ClientFixture(directory: directory, server: server)))
    } catch {
      result = .failure(error)
    }
    try await server.stop()
    try? FileManager.default.removeItem(atPath: directory)
    try result.get()
  }

  func open(
    queueEnabled: Bool = true, turns: any TurnQueue = DispatchTurns()
  ) async throws -> QueueClient {
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    return try await QueueClient.open(
      ClientConfiguration(
        dataDirectory: directory, deviceName: "tester",
        settings: DeviceSettings(maxQueueSize: 1_000, queueEnabled: queueEnabled)),
      logger: logger, turns: turns)
  }

  /// Opens a client, runs its sync beside `body`, and closes both.
  func running(
    paired: Bool = true, _ body: (QueueClient) async throws -> Void
  ) async throws {
    let client = try await open()
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await client.run() }
        if paired { _ = try await client.pair(server: server.url, code: "BCDF-GHJK") }
        try await body(client)
        group.cancelAll()
      }
    } catch {
      await client.close()
      throw error
    }
    await client.close()
  }

  static let patience = Duration.seconds(20)
}

extension Command {
  static func text(_ text: String, _ number: UInt64, in session: String = "a") throws -> Command {
    .send(
      Send(session: try SessionID(session), id: MessageID(high: 9, low: number), text: text))
  }
}

extension Workspace {
  func texts(_ session: String = "a") throws -> [String] {
    try messageQueue(SessionID(session)).messages.map(\.content)
  }
}
