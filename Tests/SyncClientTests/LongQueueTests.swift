import Foundation
import QueueModel
import SyncClient
import Testing

/// Commands on a full queue delay the client's other work only for a moment.
@Suite struct LongQueueTests {
  private let count = 1_000

  /// A thousand cancels share one note of their time. One walk through the log for each of them
  /// took a minute, in which nothing else was answered.
  @Test(.timeLimit(.minutes(1)))
  func aFullQueueIsWithdrawnAndTheLogReadAtOnce() async throws {
    try await ClientFixture.withServer { fixture in
      let client = try await fixture.open()
      _ = try await client.importJSON(Data(document().utf8))
      for session in ["a", "b"] {
        let waiting = try client.workspace().messageQueue(SessionID(session)).messages.map(\.id)
        #expect(waiting.count == count)
        let outcomes = try await client.queues.cancel(waiting).outcomes
        #expect(outcomes.values.allSatisfy { $0 == .cancelled || $0 == .unconfirmed })
        #expect(outcomes.count == count)
      }
      var page = try await client.history(limit: 1_000)
      var entries = page.entries
      while let next = page.next {
        page = try await client.history(before: next, limit: 1_000)
        entries += page.entries
      }
      let cancels = entries.filter { $0.action == .cancelled }
      #expect(cancels.count == 2 * count)
      #expect(cancels.allSatisfy { $0.milliseconds != nil })
      await client.close()
    }
  }

  private func document() -> String {
    let sessions = ["a", "b"].enumerated().map { number, session in
      let messages = (0..<count).map { index in
        let id = String(format: "%08x-0000-4000-8000-%012x", number, index)
        return #"{"id":"\#(id)","content":"message \#(index)","priority":"normal","#
          + #""createdAt":\#(1_700_000_000_000 + index)}"#
      }
      return #"{"id":"\#(session)","pauses":[],"locked":false,"messages":"#
        + "[\(messages.joined(separator: ","))]" + #","cancelled":[]}"#
    }
    return #"{"format":"cospool-workspace","version":1,"threads":[],"sessions":"#
      + "[\(sessions.joined(separator: ","))]}"
  }
}
