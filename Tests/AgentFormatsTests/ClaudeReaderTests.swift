import AgentFormats
import QueueOracle
import SyncTestSupport
import Testing

@Suite struct ClaudeReaderTests {
  private static let session = "5e3f0a9c-7d1b-4f9a-9a54-0d2f3f8b6c11"

  private func read(
    _ text: String, end: ProcessEnd = .exited(code: 0)
  ) -> (events: [AgentEvent], verdict: AgentVerdict) {
    read(Array(text.utf8), end: end)
  }

  private func read(
    _ bytes: [UInt8], end: ProcessEnd = .exited(code: 0)
  ) -> (events: [AgentEvent], verdict: AgentVerdict) {
    var reader = ClaudeReader()
    let events = reader.received(bytes)
    let (rest, verdict) = reader.ended(end, now: 0)
    return (events + rest, verdict)
  }

  private static let result =
    #"{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"ok"}"# + "\n"

  @Test func aTurnIsReadAsEventsAndASuccess() {
    let (events, verdict) = read(Transcripts.claude)
    #expect(
      events == [
        .session(Self.session), .text("I look at the test first."),
        .toolStarted(id: "toolu_01A", name: "Bash"), .toolStarted(id: "toolu_01B", name: "Read"),
        .toolEnded(id: "toolu_01B"), .toolEnded(id: "toolu_01A"), .text("Fixed."),
      ])
    #expect(verdict == .succeeded(summary: "Fixed."))
  }

  @Test func thePiecesDoNotMatter() {
    let whole = read(Transcripts.claude)
    let bytes = Array(Transcripts.claude.utf8)
    for size in [1, 2, 7, 64, 1_000] {
      var reader = ClaudeReader()
      var events: [AgentEvent] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        events += reader.received(bytes[start..<min(start + size, bytes.count)])
      }
      let (rest, verdict) = reader.ended(.exited(code: 0), now: 0)
      #expect(events + rest == whole.events)
      #expect(verdict == whole.verdict)
    }
  }

  /// Output that is cut off at any byte before the end of the result is not a success, and every
  /// tool has ended.
  @Test func aTruncatedTurnIsNeverASuccess() {
    let bytes = Array(Transcripts.claude.utf8)
    // Only the newline of the last line may be missing.
    for count in 0..<(bytes.count - 1) {
      let (events, verdict) = read(Array(bytes.prefix(count)))
      if case .succeeded = verdict { Issue.record("success after \(count) bytes") }
      var open: Set<String> = []
      for event in events {
        if case .toolStarted(let id, _) = event { open.insert(id) }
        if case .toolEnded(let id) = event { open.remove(id) }
      }
      #expect(open.isEmpty)
    }
  }

  @Test func exitCodeZeroWithoutAResultIsAFailure() {
    let text = Transcripts.claude.split(separator: "\n").dropLast().joined(separator: "\n")
    #expect(
      read(text).verdict == .failed(reason: "The agent ended without a result (exit code 0)."))
    #expect(read("").verdict == .failed(reason: "The agent ended without a result (exit code 0)."))
    #expect(
      read("", end: .signalled(9)).verdict
        == .failed(reason: "The agent ended without a result (signal 9)."))
  }

  @Test func aSuccessWithAnotherExitCodeIsAFailure() {
    #expect(
      read(Self.result, end: .exited(code: 1)).verdict
        == .failed(reason: "The agent reported success but ended with exit code 1."))
  }

  @Test func workAfterAResultNeedsAnother() {
    let more = #"{"type":"assistant","message":{"content":[{"type":"text","text":"on"}]}}"# + "\n"
    #expect(
      read(Self.result + more).verdict
        == .failed(reason: "The agent ended without a result (exit code 0)."))
    #expect(read(Self.result + more + Self.result).verdict == .succeeded(summary: "ok"))
  }

  @Test(arguments: [
    #"{"type":"result","subtype":"success","num_turns":1,"result":"ok"}"#,
    #"{"type":"result","is_error":false,"num_turns":1,"result":"ok"}"#,
    #"{"type":"result","subtype":"error_max_turns","is_error":false,"num_turns":9}"#,
    #"{"type":"result","subtype":"success","is_error":true,"result":"API Error: 500"}"#,
    #"{"type":"result","subtype":"success","is_error":"false","result":"ok"}"#,
    #"{"type":"result"}"#, #"{"type":"Result","subtype":"success","is_error":false}"#,
  ])
  func aMissingResultIsNotASuccess(_ line: String) {
    guard case .failed = read(line + "\n").verdict else {
      Issue.record("\(line) is \(read(line).verdict)")
      return
    }
  }

  @Test func aPromptThatAHookBlockedDidNotRun() {
    let line =
      #"{"type":"result","subtype":"success","is_error":false,"num_turns":0,"result":""}"#
    #expect(
      read(line).verdict
        == .failed(reason: "The agent ended without a turn. A hook may have blocked the prompt."))
  }

  @Test func anUnknownSessionIsReportedAsTyped() {
    let (events, verdict) = read(Transcripts.claudeUnknownSession, end: .exited(code: 1))
    #expect(events.last == .sessionLost)
    #expect(
      verdict
        == .failed(
          reason:
            "No conversation found with session ID: 00000000-0000-0000-0000-000000000000"))
  }

  @Test func aLimitIsNotAFailure() {
    let (events, verdict) = read(Transcripts.claudeRateLimited, end: .exited(code: 1))
    #expect(events.contains(.rateLimited(until: 1_771_390_800_000)))
    #expect(
      verdict
        == .tryLater(
          reason: "You've hit your limit · resets 3pm", until: 1_771_390_800_000))
    // Milliseconds are distinguished from seconds.
    let inMilliseconds = Transcripts.claudeRateLimited.replacing(
      "1771390800", with: "1771390800000")
    #expect(read(inMilliseconds).verdict == verdict)
    let old =
      #"{"type":"result","subtype":"success","is_error":true,"result":"Claude AI usage limit reached|1771390800"}"#
    #expect(
      read(old).verdict
        == .tryLater(reason: "The agent's usage limit is reached.", until: 1_771_390_800_000))
    // A limit that was lifted does not excuse a later failure.
    let lifted =
      #"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}"# + "\n"
      + #"{"type":"result","subtype":"error_during_execution","is_error":true,"result":"boom"}"#
    #expect(read(lifted).verdict == .failed(reason: "boom"))
  }

  @Test(arguments: [429, 529]) func anOverloadedProviderIsNotAFailure(status: Int) {
    let refused =
      #"{"type":"result","subtype":"success","is_error":true,"result":"API Error: slow down","#
      + #""num_turns":1,"api_error_status":\#(status)}"#
    #expect(
      read(refused, end: .exited(code: 1)).verdict
        == .tryLater(reason: "API Error: slow down", until: nil))
    let wrong = refused.replacing("\(status)}", with: "400}")
    #expect(
      read(wrong, end: .exited(code: 1)).verdict == .failed(reason: "API Error: slow down"))
  }

  @Test func approvalsArePendingUntilAnswered() {
    let text = """
      {"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{}}}
      {"type":"control_request","request_id":"r2","request":{"subtype":"interrupt"}}
      {"type":"control_response","response":{"subtype":"success","request_id":"r1"}}
      {"type":"control_request","request_id":"r3","request":{"subtype":"can_use_tool","tool_name":"Edit","input":{}}}

      """
    #expect(
      read(text).events == [
        .approvalRequested(id: "r1", tool: "Bash"), .approvalAnswered(id: "r1"),
        .approvalRequested(id: "r3", tool: "Edit"), .approvalAnswered(id: "r3"),
      ])
  }

  @Test func noiseIsPassedOver() {
    var bytes = Array("warning: something on stdout\n\n[]\n3\n\"x\"\n{\"type\":7}\n".utf8)
    bytes += [0xFF, 0xFE, 0x00, 0x0A]
    bytes += Array(#"{"type":"hologram","session_id":"zz"}"#.utf8) + [0x0A]
    bytes += Array(String(repeating: "[", count: 100_000).utf8) + [0x0A]
    // A text that is not UTF-8, in the middle of a line that is otherwise understood.
    bytes += Array(#"{"type":"assistant","message":{"content":[{"type":"text","text":""#.utf8)
    bytes += [0xC3, 0x28] + Array(#""}]}}"#.utf8) + [0x0A]
    bytes += Array(Self.result.utf8)
    let (events, verdict) = read(bytes)
    #expect(events == [.text("\u{FFFD}(")])
    #expect(verdict == .succeeded(summary: "ok"))
  }

  @Test func aLineThatIsTooLongIsDroppedAndReported() {
    var reader = ClaudeReader()
    let piece = [UInt8](repeating: UInt8(ascii: "a"), count: 1 << 20)
    for _ in 0...(AgentLimits.lineBytesMax >> 20) { #expect(reader.received(piece).isEmpty) }
    #expect(reader.received(Array("\n".utf8)).isEmpty)
    #expect(reader.received(Array(Self.result.utf8)).isEmpty)
    #expect(reader.ended(.exited(code: 0), now: 0).verdict == .succeeded(summary: "ok"))

    var other = ClaudeReader()
    for _ in 0...(AgentLimits.lineBytesMax >> 20) { _ = other.received(piece) }
    #expect(
      other.ended(.exited(code: 0), now: 0).verdict
        == .failed(
          reason: "The agent ended without a result (exit code 0). 1 lines were longer than "
            + "\(AgentLimits.lineBytesMax) bytes."))
  }

  @Test func longIdsAndTextsAreCut() {
    let id = String(repeating: "é", count: 400)
    let text = String(repeating: "x", count: AgentLimits.textBytesMax + 10)
    let line = """
      {"type":"assistant","message":{"content":[{"type":"tool_use","id":"\(id)","name":"Bash"},{"type":"text","text":"\(text)"}]}}
      {"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"\(id)"}]}}

      """
    let short = String(repeating: "é", count: AgentLimits.toolIDBytesMax / 2)
    #expect(
      read(line).events == [
        .toolStarted(id: short, name: "Bash"),
        .text(String(repeating: "x", count: AgentLimits.textBytesMax)), .toolEnded(id: short),
      ])
  }

  /// Random changes to bytes: nothing traps, and each start of a tool has its end.
  @Test func damagedOutputNeverTraps() {
    for seed in TestSeeds.list(standard: 200) {
      var random = SeededGenerator(seed: seed)
      var bytes = Array((Transcripts.claude + Transcripts.claudeRateLimited).utf8)
      for _ in 0..<Int.random(in: 1...60, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(
          in: 0...255, using: &random)
      }
      var open: Set<String> = []
      for event in read(bytes).events {
        if case .toolStarted(let id, _) = event {
          #expect(open.insert(id).inserted, "seed \(seed)")
        }
        if case .toolEnded(let id) = event { #expect(open.remove(id) != nil, "seed \(seed)") }
      }
      #expect(open.isEmpty, "seed \(seed)")
    }
  }
}
