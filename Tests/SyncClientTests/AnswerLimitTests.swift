import ClientStore
import QueueModel
import Testing
import WireProtocol

@testable import SyncClient

/// Questions to a server that is connected and does not answer.
@Suite struct AnswerLimitTests {
  @Test(.timeLimit(.minutes(5)), arguments: [Duration.zero, .seconds(-1), .milliseconds(50)])
  func aLimitThatIsOverEndsTheQuestion(_ limit: Duration) async throws {
    try await ClientFixture.withServer { fixture in
      try await fixture.running { client in
        try await client.perform(.text("one", 1))
        try await client.waitUntilSynced(timeout: ClientFixture.patience)
        let message = MessageID(high: 9, low: 1)
        let answer = try await client.engine.ask(.outcome(message), within: limit)
        #expect(answer == .unavailable)
      }
    }
  }

  /// The program, and the machine, may end once the user saw that the answer waits.
  @Test(.timeLimit(.minutes(5))) func waitingAnswersAreOnTheDisk() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      // It is paired, and nothing runs its connection.
      _ = try await client.pair(server: fixture.server.url, code: "BCDF-GHJK")
      try await client.perform(.addSession(try SessionID("a"), name: nil, project: nil))
      let request = RequestID(high: 1, low: 1)
      let asking = Task {
        try await client.tasks.ask(
          .approval(toolName: "Bash", summary: "make", details: nil), in: try SessionID("a"),
          id: request, patience: nil)
      }
      while client.workspace().task(of: try SessionID("a"))?.request(request) == nil {
        await Task.yield()
      }
      let unseen = try await client.tasks.answer(
        TaskAnswer(session: try SessionID("a"), request: request, verdict: .allowed))
      #expect(unseen == .notAwaited, "a yes names what was shown")
      let awaited = try #require(await client.tasks.awaitedRequests().first)
      let event = try await client.tasks.answer(TaskAnswer(to: awaited, verdict: .allowed))
      #expect(event == .waiting)
      #expect(client.engine.store.isSynchronized)
      asking.cancel()
      _ = await asking.result
      await client.close()
    }
  }
}
