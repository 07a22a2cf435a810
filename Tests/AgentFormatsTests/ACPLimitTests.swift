import AgentFormats
import Testing

/// Which errors of an agent are limits, after which its prompt is given again by itself.
@Suite struct ACPLimitTests {
  private func prompting() -> ACPConversation {
    var conversation = ACPConversation(ACPTurn(folder: "/", conversation: nil, prompt: []))
    let opening =
      #"{"id":1,"result":{"protocolVersion":1}}"# + "\n"
      + #"{"id":2,"result":{"sessionId":"s"}}"# + "\n"
    _ = conversation.received(opening.utf8)
    return conversation
  }

  private func end(_ steps: [ACPStep]) -> ACPEnd? {
    steps.lazy.compactMap { if case .ended(let end) = $0 { end } else { nil } }.first
  }

  private func ended(_ error: JSONTree) -> ACPEnd? {
    var conversation = prompting()
    return end(conversation.received(#"{"id":3,"error":\#(error.line)}\#n"#.utf8))
  }

  @Test(arguments: [
    "request req_011429ab failed", "line 14297: disk quota",
    "Ambiguous call to overloaded function", "Disk quota exceeded", "disk quota exceeded: 429 MB",
    "Error: 429 tests failed", "error in line 429", "429 files changed", "the corporate limited it",
    "rate limiter.swift does not compile", "Overloaded operators are no functions",
    "quota.swift: no such file", "my_overloaded_errors",
  ])
  func anErrorThatIsNotALimitFails(words: String) {
    for error: JSONTree in [
      ["code": -32_603, "message": .string(words)],
      ["code": -32_603, "message": "Internal error", "data": ["details": .string(words)]],
    ] {
      guard case .verdict(.failed) = ended(error) else {
        Issue.record("it counts as a limit: \(error)")
        return
      }
    }
  }

  @Test(arguments: [
    "429 rate limit", "Rate limited.", "rate_limit_error", "You've hit your usage limit.",
    "Quota exceeded for metric x", "You exceeded your current quota, please check your plan",
    #"529 {"type":"error","error":{"type":"overloaded_error"}}"#, "Overloaded", "overloaded.",
    "HTTP 429", "HTTP/1.1 429 Too Many Requests", "status code 429", "status: 429",
    "API Error: 429", #"API Error: 429 {"type":"error"}"#, "429 Too Many Requests",
    "HTTP error 429",
  ])
  func aLimitWaits(words: String) {
    for error: JSONTree in [
      ["code": -32_603, "message": .string(words)],
      ["code": -32_603, "message": "Internal error", "data": ["details": .string(words)]],
    ] {
      guard case .verdict(.tryLater) = ended(error) else {
        Issue.record("it counts as a failure: \(error)")
        return
      }
    }
  }

  @Test func aLimitIsKnownByItsNumber() {
    for error: JSONTree in [
      ["code": 429, "message": "slow down"],
      ["code": -32_603, "message": "slow down", "data": ["status": 429]],
      ["code": -32_603, "message": "slow down", "data": ["code": "429"]],
      ["code": -32_603, "message": "slow down", "data": ["status": 529]],
    ] {
      guard case .verdict(.tryLater) = ended(error) else {
        Issue.record("it counts as a failure: \(error)")
        return
      }
    }
    guard case .verdict(.failed) = ended(["code": 1, "message": "m", "data": ["line": 429]]) else {
      Issue.record("a line's number counts as a limit")
      return
    }
  }
}
