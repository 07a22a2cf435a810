import AgentFormats
import Foundation
import Testing

@Suite struct CodexReaderTests {
  private func read(
    _ text: String, end: ProcessEnd = .exited(code: 0), now: Int64 = 0
  ) -> (events: [AgentEvent], verdict: AgentVerdict) {
    var reader = CodexReader(zone: .gmt)
    let events = reader.received(text.utf8)
    let (rest, verdict) = reader.ended(end, now: now)
    return (events + rest, verdict)
  }

  @Test func aTurnIsReadAsEventsAndASuccess() {
    let (events, verdict) = read(Transcripts.codex)
    #expect(
      events == [
        .session("0199a213-81c0-7800-8aa1-bbab2a035a53"),
        .toolStarted(id: "item_1", name: "command_execution"),
        .problem("Reconnecting... 1/5"), .toolEnded(id: "item_1"),
        .text("Done: the repo has docs."),
      ])
    #expect(verdict == .succeeded(summary: "Done: the repo has docs."))
  }

  @Test func aTruncatedTurnIsNeverASuccess() {
    let bytes = Array(Transcripts.codex.utf8)
    for count in 0..<(bytes.count - 1) {
      var reader = CodexReader()
      _ = reader.received(bytes.prefix(count))
      if case .succeeded = reader.ended(.exited(code: 0), now: 0).verdict {
        Issue.record("success after \(count) bytes")
      }
    }
  }

  @Test func aFailedTurnSaysWhyAndEndsItsTools() {
    let (events, verdict) = read(Transcripts.codexFailed, end: .exited(code: 1))
    #expect(events.suffix(1) == [.toolEnded(id: "item_0")])
    #expect(verdict == .failed(reason: "stream disconnected before completion"))
  }

  @Test func exitCodeZeroWithoutTheEndOfTheTurnIsAFailure() {
    let open = "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n{\"type\":\"turn.started\"}\n"
    #expect(
      read(open).verdict
        == .failed(reason: "The agent ended before its turn was complete (exit code 0)."))
    // A second turn that began and did not end cancels the first one's success.
    #expect(
      read(Transcripts.codex + "{\"type\":\"turn.started\"}\n").verdict
        == .failed(reason: "Reconnecting... 1/5"))
    #expect(
      read(Transcripts.codex, end: .signalled(15)).verdict
        == .failed(reason: "The agent reported success but ended with signal 15."))
  }

  @Test func aLimitNamesItsWait() {
    let wait: Int64 = (3 * 86_400 + 4 * 3_600 + 2 * 60) * 1_000
    guard case .tryLater(_, let until) = read(Transcripts.codexLimited, now: 5_000).verdict else {
      Issue.record("no wait")
      return
    }
    #expect(until == 5_000 + wait)
    // A time on another day.
    let dated = Transcripts.codexLimited.replacing(
      "in 3 days 4 hours 2 minutes", with: "at Nov 30th, 2026 10:03 PM")
    guard case .tryLater(_, until: 1_796_076_180_000) = read(dated, now: 0).verdict else {
      Issue.record("\(read(dated, now: 0).verdict)")
      return
    }
    let open =
      "{\"type\":\"error\",\"message\":\"exceeded retry limit, last status: 429 Too Many Requests\"}\n"
    guard case .tryLater(_, until: nil) = read(open).verdict else {
      Issue.record("a wait without a time")
      return
    }
    let odd =
      "{\"type\":\"error\",\"message\":\"usage limit: try again in 99999999999999999999 days\"}\n"
    guard case .tryLater(_, until: nil) = read(odd).verdict else {
      Issue.record("a number that does not fit")
      return
    }
  }

  @Test(arguments: [
    "the corporate limited it", "rate limiter.swift does not compile",
    "the disk usage limit of this folder",
  ])
  func wordsThatOnlyLookLikeALimitFail(words: String) {
    let line = #"{"type":"turn.failed","error":{"message":"\#(words)"}}"# + "\n"
    #expect(read(line).verdict == .failed(reason: words))
  }

  /// "Presets" names no time.
  @Test func aWordThatEndsLikeAPhraseNamesNoWait() {
    let words = "rate limit of presets 3pm, and of the sentry in 5 minutes"
    let line = #"{"type":"turn.failed","error":{"message":"\#(words)"}}"# + "\n"
    #expect(read(line, now: 0).verdict == .tryLater(reason: words, until: nil))
  }

  @Test func noiseIsPassedOver() {
    let noise = """
      Reading prompt from stdin...
      {"type":"item.started","item":{"id":"i","type":"todo_list","items":[]}}
      {"type":"item.started","item":7}
      {"type":"item.started"}
      {"type":"hologram.started","item":{"id":"x","type":"command_execution"}}
      {"item_type":"x"}

      """
    let (events, verdict) = read(noise + Transcripts.codex)
    #expect(events.count == 5)
    #expect(verdict == .succeeded(summary: "Done: the repo has docs."))
  }
}
