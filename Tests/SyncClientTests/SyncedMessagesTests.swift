import QueueModel
import SyncClient
import Testing

/// The sync's own outgoing messages: their states follow from what the server has.
@Suite(.timeLimit(.minutes(5))) struct SyncedMessagesTests {
  @Test func offlineIsNotAFailureAndTheServersAnswerDelivers() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      try await client.perform(.text("one", 1))
      try await client.perform(.text("two", 2))
      var outgoing = try await client.queues.outgoingMessages()
      #expect(outgoing.map(\.sequence) == [1, 2])
      #expect(outgoing.map(\.id) == [MessageID(high: 9, low: 1), MessageID(high: 9, low: 2)])
      #expect(outgoing.allSatisfy { $0.status == .queued && $0.lastError == nil })
      await client.close()

      try await fixture.running { client in
        #expect(try await client.queues.outgoingMessages().count == 2)
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        outgoing = try await client.queues.outgoingMessages()
        #expect(outgoing.map(\.status) == [.delivered, .delivered])
        try await client.perform(.text("three", 3))
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        outgoing = try await client.queues.outgoingMessages()
        #expect(outgoing.map(\.sequence) == [1, 2, 3])
        #expect(outgoing.allSatisfy { $0.status == .delivered })
      }
    }
  }
}
