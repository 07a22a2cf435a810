import QueueModel
import Testing
import WireProtocol

@testable import SyncClient

/// Questions to a server that is there and says nothing.
@Suite struct AnswerLimitTests {
  @Test(.timeLimit(.minutes(1)), arguments: [Duration.zero, .seconds(-1), .milliseconds(50)])
  func aLimitThatIsOverEndsTheQuestion(_ limit: Duration) async throws {
    try await ClientFixture.withServer { fixture in
      try await fixture.running { client in
        try await client.perform(.text("one", 1))
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        let message = MessageID(high: 9, low: 1)
        let answer = await client.engine.ask(.outcome(message), within: limit)
        #expect(answer == .unavailable)
      }
    }
  }
}
