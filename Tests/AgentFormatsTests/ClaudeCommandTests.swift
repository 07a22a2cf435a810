import AgentFormats
import Testing

/// Prompts that begin with a slash, and what Claude Code 2.1.332 printed for them.
@Suite struct ClaudeCommandTests {
  private func read(
    _ text: String, prompt: String
  ) -> (events: [AgentEvent], verdict: AgentVerdict) {
    var reader = ClaudeReader(prompt: prompt)
    let events = reader.received(text.utf8)
    let (rest, verdict) = reader.ended(.exited(code: 0), now: 0)
    return (events + rest, verdict)
  }

  /// The last output of a command that runs without a model.
  private func result(_ text: String, command: String? = nil, usage: String = "{}") -> String {
    let named = command.map { #","local_command":"\#($0)""# } ?? ""
    let said =
      text.isEmpty
      ? ""
      : #"{"type":"assistant","message":{"model":"<synthetic>","role":"assistant","content":[{"type":"text","text":"\#(text)"}]},"session_id":"s1"}"#
        + "\n"
    return #"{"type":"system","subtype":"init","session_id":"s1"}"# + "\n" + said
      + #"{"is_error":false,"num_turns":0,"session_id":"s1","subtype":"success","result":"\#(text)"\#(named),"type":"result","model_usage_since_last_result":\#(usage)}"#
      + "\n"
  }

  private static let compacted = """
    {"type":"system","subtype":"status","status":"compacting","session_id":"s1"}
    {"type":"system","subtype":"status","status":null,"compact_result":"success","session_id":"s1"}
    {"type":"system","subtype":"init","session_id":"s1"}
    {"type":"system","subtype":"compact_boundary","session_id":"s1","compact_metadata":{"trigger":"manual","pre_tokens":2}}
    {"type":"user","message":{"role":"user","content":"<local-command-stdout>Compacted </local-command-stdout>"},"session_id":"s1","isReplay":true}

    """

  private static let cleared = """
    {"type":"conversation_reset","new_conversation_id":"n1","trigger":"clear","session_id":"old"}
    {"type":"system","subtype":"background_tasks_changed","tasks":[],"session_id":"old"}
    {"type":"system","subtype":"init","session_id":"s2"}
    {"is_error":false,"num_turns":0,"session_id":"s2","subtype":"success","result":"","local_command":"clear","type":"result","model_usage_since_last_result":{}}

    """

  @Test(arguments: ["/compact", "/compact keep what the tests found, and the plan"])
  func aCompactionIsASuccess(_ prompt: String) {
    let text = Self.compacted + result("", command: "compact")
    #expect(read(text, prompt: prompt).verdict == .succeeded(summary: "Compacted."))
    // An older version does not name the command.
    let older = Self.compacted + result("")
    #expect(read(older, prompt: prompt).verdict == .succeeded(summary: "Compacted."))
  }

  @Test func aCompactionThatFailedIsAFailureInItsWords() {
    let text =
      #"{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"Error: No messages to compact"}]},"session_id":"s1"}"#
      + "\n" + result("", command: "compact")
    #expect(
      read(text, prompt: "/compact").verdict == .failed(reason: "Error: No messages to compact"))
  }

  /// The next turn resumes no conversation.
  @Test(arguments: ["/clear", "/new", "/reset", "/clear parser"])
  func aClearingBeginsANewConversation(_ prompt: String) {
    let (events, verdict) = read(Self.cleared, prompt: prompt)
    #expect(events == [.sessionLost])
    #expect(verdict == .succeeded(summary: "A new conversation begins."))
  }

  /// A sentence that happens to begin with `/clear` does not end the conversation.
  @Test func aSentenceThatClearedKeepsItsConversation() {
    let (events, verdict) = read(Self.cleared, prompt: "/clear the cache on logout, please")
    #expect(events.isEmpty)
    #expect(verdict == .failed(reason: ClaudeReader.tookForCommand("")))
  }

  @Test(arguments: [
    ("/login page gives a 404, fix it", "/login isn't available in this environment.", nil),
    ("/login", "/login isn't available in this environment.", nil),
    ("/foo", "Unknown skill: foo", nil),
    ("/config file is wrong", "Expected key=value, got file is wrong.", "config"),
    ("/context of this page\nis missing", "## Context Usage", "context"),
    ("/agents are broken", "The /agents wizard has been removed.", "agents"),
  ])
  func aPromptThatNoModelSawFails(_ prompt: String, _ text: String, _ command: String?) {
    #expect(
      read(result(text, command: command), prompt: prompt).verdict
        == .failed(reason: ClaudeReader.tookForCommand(text)))
    #expect(
      ClaudeReader.tookForCommand(text)
        == "The agent took this for its own command: \"\(text)\" "
        + "To send it as text, put a word before the slash.")
  }

  @Test(arguments: [
    ("/usage", "usage", "Estimated cost"), ("/model opus", "model", "Set model"),
    ("/rename the parser of dates", "rename", "Session renamed to: the parser of dates"),
  ])
  func aCommandThatWasMeantIsASuccess(_ prompt: String, _ command: String, _ text: String) {
    #expect(
      read(result(text, command: command), prompt: prompt).verdict == .succeeded(summary: text))
  }

  /// `/review` starts a subagent and counts no turn of its own.
  @Test func aCommandThatAModelSawIsASuccess() {
    let used = result(
      "No findings.", command: "review", usage: #"{"claude-opus-5-5":{"inputTokens":1}}"#)
    #expect(
      read(used, prompt: "/review the login page").verdict == .succeeded(summary: "No findings."))
    let worked =
      #"{"type":"assistant","message":{"model":"claude-opus-5-5","content":[{"type":"text","text":"ok"}]},"session_id":"s1"}"#
      + "\n" + result("", command: "init")
    #expect(read(worked, prompt: "/init this folder now").verdict == .succeeded(summary: ""))
  }

  @Test func aPromptThatAHookBlockedFails() {
    let text = "UserPromptSubmit operation blocked by hook: no way"
    #expect(
      read(result(text), prompt: "Fix it").verdict
        == .failed(
          reason: "The agent ended without a turn. A hook may have blocked the prompt. \(text)"))
  }
}
