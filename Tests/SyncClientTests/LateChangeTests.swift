import QueueModel
import SyncClient
import Testing

/// Users' changes to a message that the agent has finished. No server is asked: a device without
/// one decides by itself.
@Suite struct LateChangeTests {
  private let message = MessageID(high: 9, low: 1)

  @Test(.timeLimit(.minutes(10)))
  func aMessageThatIsDoneIsNotSaidToBeCancelled() async throws {
    try await withDoneMessage { client in
      let outcomes = try await client.queues.cancel([message]).outcomes
      #expect(outcomes == [message: .invoked])
      let status = try client.workspace().message(message).status
      #expect(status == .succeeded)
    }
  }

  @Test(.timeLimit(.minutes(10)))
  func anEditOfAMessageThatIsDoneIsKeptAsADraft() async throws {
    try await withDoneMessage { client in
      await #expect(throws: ClientError.queue(.messageFinished(id: message.description))) {
        _ = try await client.queues.edit(message, content: "what was meant", base: nil)
      }
      let draft = try await client.queues.draft(of: SessionID("a"))
      #expect(draft?.text == "what was meant")
    }
  }

  /// Paired, and without a connection: it is unknown which came first.
  @Test(.timeLimit(.minutes(10)))
  func withoutAConnectionNothingIsConfirmed() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      _ = try await client.pair(server: fixture.server.url, code: "BCDF-GHJK")
      try await client.perform(.text("do it", 1))
      // The message never left this device, so no other one can have started it.
      #expect(
        try await client.queues.edit(message, content: "do this", base: nil).isConfirmed)
      try await client.perform(.setHost(SessionID("a"), client.deviceID))
      #expect(
        try await client.queues.edit(message, content: "do that", base: nil).isConfirmed)
      #expect(try await client.queues.cancel([message]).outcomes == [message: .cancelled])
      await client.close()
    }
  }

  /// The server has the messages; another device may have become their host since.
  @Test(.timeLimit(.minutes(10)))
  func withoutAConnectionAHostMayBeUnknown() async throws {
    try await ClientFixture.withServer { fixture in
      try await fixture.running { client in
        let other = MessageID(high: 9, low: 2)
        try await client.perform(.text("do it", 1))
        try await client.perform(.text("do this as well", 2))
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        try await client.setSyncEnabled(false)
        let edit = try await client.queues.edit(message, content: "do that", base: nil)
        #expect(edit.receipt.notice == .done && !edit.isConfirmed)
        #expect(
          try await client.queues.cancel([message, other]).outcomes
            == [message: .unconfirmed, other: .unconfirmed])
      }
    }
  }

  /// Opens a client on which one message has run.
  private func withDoneMessage(_ body: (QueueClient) async throws -> Void) async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      let session = try SessionID("a")
      try await client.perform(.text("do it", 1))
      try await client.perform(.setHost(session, client.deviceID))
      let orders = try await client.execution.start(ExecutionSettings(isEnabled: true))
      for await case .start(let start) in orders {
        await client.execution.ended(start, with: .succeeded(summary: "done"))
        break
      }
      try await body(client)
      await client.close()
    }
  }
}
