import ArgumentParser
import LocalAPI
import QueueModel
import Testing

@testable import SyncCommand

/// What `send --interrupt` asks for, and what its user reads.
@Suite(.timeLimit(.minutes(10))) struct InterruptCommandTests {
  @Test func itAsksForWhatRuns() throws {
    let command = try #require(
      try Cospool.parseAsRoot(["send", "-s", "a", "--interrupt", "now"]) as? SendCommand)
    let request = try command.request(input: StandardInput { [] })
    #expect(request.body == #"{"interrupt":{},"text":"now"}"#)
  }

  @Test func theAnswerNamesWhatStopsAndWhere() throws {
    #expect(StopAnswer(stopped: true).stopping(in: "s") == "stopping")
    #expect(StopAnswer(stopped: true, device: "desk").stopping(in: "s") == "stopping on desk")
    let away = StopAnswer(stopped: true, device: "desk", awaySince: 1).stopping(in: "a b")
    #expect(away?.hasSuffix("cospool session take-over 'a b'") == true, "\(away ?? "")")
    #expect(StopAnswer(stopped: false).stopping(in: "s") == nil)
  }

  // I-400, I-406
  @Test func aPausedSessionSaysSo() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "--new", "-s", "s", "one")
      let first = await fixture.cospool("send", "-s", "s", "--interrupt", "now")
      #expect(first.output == "queued, position 1 of 2", "\(first)")
      #expect(
        first.errors.contains("cospool: Nothing was stopped: no such turn is running."), "\(first)")
      _ = await fixture.cospool("queue", "pause", "-s", "s", "--reason", "on holiday")
      let paused = await fixture.cospool("send", "-s", "s", "two")
      #expect(paused.output == "queued, position 3 of 3", "\(paused)")
      #expect(
        paused.errors
          == "cospool: s is paused (on holiday). To resume it: cospool queue resume -s s",
        "\(paused)")
    }
  }
}
