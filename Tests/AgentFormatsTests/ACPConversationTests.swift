import AgentFormats
import Testing

/// Turns by the Agent Client Protocol, line by line.
@Suite struct ACPConversationTests {
  private static let opening = """
    {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}
    {"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}

    """

  private static func update(_ update: String) -> String {
    #"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":"# + update
      + "}}\n"
  }

  private static let work =
    update(
      #"{"sessionUpdate":"plan","entries":[{"content":"Look","priority":"low","status":"completed"},"#
        + #"{"content":"Mend","priority":"low","status":"in_progress"}]}"#)
    + update(
      #"{"sessionUpdate":"tool_call","toolCallId":"c","title":"Run make","kind":"execute","#
        + #""rawInput":{"command":"make deploy"}}"#)
    + update(#"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}"#)
    + update(
      #"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"All tests "}}"#)
    + update(
      #"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"pass."}}"#)
  private static let end = #"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"# + "\n"

  private func conversation(_ id: String? = nil) -> ACPConversation {
    ACPConversation(
      ACPTurn(
        folder: "/srv/shop", conversation: id, prompt: [["type": "text", "text": "first"]]))
  }

  private func sent(_ steps: [ACPStep]) -> [String] {
    steps.compactMap { step in
      switch step {
      case .send(let line), .sendPrompt(let line): line
      default: nil
      }
    }
  }

  private func end(_ steps: [ACPStep]) -> ACPEnd? {
    steps.lazy.compactMap { if case .ended(let end) = $0 { end } else { nil } }.first
  }

  private func events(_ steps: [ACPStep]) -> [AgentEvent] {
    steps.compactMap { if case .said(let event) = $0 { event } else { nil } }
  }

  private func prompting() -> ACPConversation {
    var conversation = conversation()
    _ = conversation.received(Self.opening.utf8)
    return conversation
  }

  @Test func aTurnIsAskedForAndRead() {
    var conversation = conversation()
    #expect(
      sent(conversation.began()) == [
        #"{"id":1,"jsonrpc":"2.0","method":"initialize","params":{"clientCapabilities":"#
          + #"{"elicitation":{"form":{},"url":{}},"fs":{"readTextFile":false,"writeTextFile":false},"#
          + #""terminal":false},"clientInfo":{"name":"cospool","title":"Cospool","version":"0.1.0"},"#
          + #""protocolVersion":1}}"#
      ])
    let steps = conversation.received((Self.opening + Self.work + Self.end).utf8)
    #expect(
      sent(steps) == [
        #"{"id":2,"jsonrpc":"2.0","method":"session/new","params":{"cwd":"/srv/shop","mcpServers":[]}}"#,
        #"{"id":3,"jsonrpc":"2.0","method":"session/prompt","params":"#
          + #"{"prompt":[{"text":"first","type":"text"}],"sessionId":"s1"}}"#,
      ])
    #expect(
      events(steps) == [
        .session("s1"), .progress(completed: 1, total: 2, current: "Mend"),
        .toolStarted(id: "c", name: "Run make"), .toolEnded(id: "c"), .text("All tests pass."),
      ])
    #expect(end(steps) == .verdict(.succeeded(summary: "All tests pass.")))
  }

  /// If it is cut anywhere, it is not a success, and no agent had a prompt before its
  /// conversation's id.
  @Test func aTurnThatIsCutIsNeverASuccess() {
    let before = Array(Self.opening.utf8)
    let all = Array((Self.opening + Self.work + Self.end).utf8)
    for count in 0..<(all.count - 1) {
      var conversation = conversation()
      var steps: [ACPStep] = []
      for byte in all.prefix(count) { steps += conversation.received([byte]) }
      steps += conversation.closed("exit code 0")
      let hasPrompt = steps.contains { if case .sendPrompt = $0 { true } else { false } }
      switch end(steps) {
      case .notSent: #expect(!hasPrompt, "after \(count) bytes")
      case .died: #expect(hasPrompt && count >= before.count - 1, "after \(count) bytes")
      default: Issue.record("it ended well after \(count) bytes: \(steps)")
      }
    }
  }

  @Test(arguments: [
    ("refusal", "refused"), ("max_tokens", "limit of tokens"),
    ("max_turn_requests", "limit of requests"), ("what is new", "what is new"),
  ])
  func otherStopReasonsAreFailures(reason: String, words: String) {
    var conversation = prompting()
    let steps = conversation.received(
      #"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"\#(reason)"}}\#n"#.utf8)
    guard case .verdict(.failed(let text)) = end(steps) else {
      Issue.record("\(steps)")
      return
    }
    #expect(text.contains(words), "\(text)")
  }

  @Test func errorsAreFailuresAndLimitsWait() {
    for (error, expected) in [
      (
        #"{"code":-32603,"message":"Internal error","data":{"details":"no key"}}"#,
        ACPEnd.verdict(.failed(reason: "The agent refused the prompt: Internal error: no key"))
      ),
      (
        #"{"code":-32603,"message":"429 rate limit"}"#,
        .verdict(.tryLater(reason: "The agent refused the prompt: 429 rate limit", until: nil))
      ),
    ] {
      var conversation = prompting()
      let steps = conversation.received(
        #"{"jsonrpc":"2.0","id":3,"error":\#(error)}\#n"#.utf8)
      #expect(end(steps) == expected)
    }
  }

  /// Repeated earlier turns make no events, and a lost conversation fails the turn.
  @Test func aConversationIsContinued() {
    var conversation = conversation("old")
    let lines = Self.opening.split(separator: "\n").map { $0 + "\n" }
    let asked = conversation.received(lines[0].utf8)
    #expect(sent(asked).first?.contains(#""method":"session/load""#) == true)
    #expect(sent(asked).first?.contains(#""sessionId":"old""#) == true)
    var lost = conversation
    let past =
      #"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"old","update":"#
      + #"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"past"}}}}"# + "\n"
    #expect(conversation.received(past.utf8) == [])
    let steps = conversation.received(#"{"jsonrpc":"2.0","id":2,"result":null}\#n"#.utf8)
    #expect(events(steps) == [.session("old")] && sent(steps).count == 1)
    let failed = lost.received(
      #"{"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"unknown"}}\#n"#.utf8)
    #expect(events(failed) == [.sessionLost])
    guard case .verdict(.failed) = end(failed) else {
      Issue.record("\(failed)")
      return
    }
  }

  private static func permission(_ id: String, _ call: String, session: String = "s1") -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"session/request_permission","params":{"sessionId":"#
      + #""\#(session)","toolCall":\#(call),"options":[{"optionId":"a","name":"Always","kind":"#
      + #""allow_always"},{"optionId":"o","name":"Once","kind":"allow_once"},{"optionId":"n","#
      + #""name":"No","kind":"reject_once"}]}}"# + "\n"
  }

  /// The fields that came with the call, and those of the request.
  @Test func aPermissionShowsEveryFieldAndIsAnsweredOnce() {
    var conversation = prompting()
    _ = conversation.received(
      Self.update(
        #"{"sessionUpdate":"tool_call","toolCallId":"c","title":"Run make","kind":"execute","#
          + #""rawInput":{"command":"make deploy","title":"x"}}"#
      ).utf8)
    let line = Self.permission(#""r""#, #"{"toolCallId":"c","locations":[{"path":"/srv"}]}"#)
    let asked = conversation.received(line.utf8)
    let input: JSONTree = [
      "command": "make deploy", "title": "x", "toolCall.title": "Run make",
      "locations": [["path": "/srv"]],
    ]
    let matter = ACPRequest.Matter.permission(tool: "execute", input: input, choice: nil)
    #expect(asked.contains(.ask(ACPRequest(key: #""r""#, matter: matter))))
    #expect(events(conversation.received(line.utf8)).count == 1)
    let answer = conversation.answered(#""r""#, .allowed)
    #expect(
      sent(answer) == [
        #"{"id":"r","jsonrpc":"2.0","result":{"outcome":{"optionId":"o","outcome":"selected"}}}"#
      ])
    #expect(events(answer) == [.approvalAnswered(id: #""r""#)])
    #expect(conversation.answered(#""r""#, .denied) == [])
  }

  @Test func unshowableRequestsAreDenied() {
    var conversation = prompting()
    let twice = #"{"toolCallId":"c","rawInput":{"command":"ls","command":"rm"}}"#
    let steps = conversation.received(Self.permission("7", twice).utf8)
    #expect(
      sent(steps) == [
        #"{"id":7,"jsonrpc":"2.0","result":{"outcome":{"optionId":"n","outcome":"selected"}}}"#
      ])
    _ = conversation.received(
      Self.update(
        #"{"sessionUpdate":"tool_call","toolCallId":"d","rawInput":{"a":1,"a":2}}"#
      ).utf8)
    let later = conversation.received(Self.permission("8", #"{"toolCallId":"d"}"#).utf8)
    #expect(sent(later).first?.contains(#""optionId":"n""#) == true)
    let foreign = conversation.received(
      Self.permission("9", #"{"toolCallId":"c"}"#, session: "s2").utf8)
    #expect(sent(foreign).first?.contains("-32602") == true)
  }

  @Test func aStoppedTurnDismissesWhatIsOpen() {
    var conversation = prompting()
    _ = conversation.received(Self.permission("5", #"{"toolCallId":"c"}"#).utf8)
    let steps = conversation.cancelled()
    #expect(
      sent(steps) == [
        #"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}"#,
        #"{"id":5,"jsonrpc":"2.0","result":{"outcome":{"outcome":"cancelled"}}}"#,
      ])
    #expect(steps.contains(.withdraw(key: "5")))
    #expect(conversation.cancelled() == [])
    let last = conversation.received(
      #"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}\#n"#.utf8)
    #expect(end(last) == .cancelled)
  }

  @Test func withdrawnAndUnknownRequestsGetErrors() {
    var conversation = prompting()
    _ = conversation.received(Self.permission("5", #"{"toolCallId":"c"}"#).utf8)
    let cancel = #"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":5}}"#
    let steps = conversation.received((cancel + "\n").utf8)
    #expect(steps.contains(.withdraw(key: "5")))
    #expect(sent(steps).first?.contains("-32800") == true)
    let unknown = conversation.received(
      #"{"jsonrpc":"2.0","id":"x","method":"terminal/create","params":{}}\#n"#.utf8)
    #expect(sent(unknown).first?.contains("-32601") == true)
  }

  @Test func manyOpenRequestsAreRefused() {
    var conversation = prompting()
    for id in 0..<64 {
      let steps = conversation.received(Self.permission("\(id)", #"{"toolCallId":"c"}"#).utf8)
      #expect(sent(steps) == [])
    }
    let steps = conversation.received(Self.permission("64", #"{"toolCallId":"c"}"#).utf8)
    #expect(sent(steps).first?.contains("-32600") == true)
  }

  /// No output of the agent can cause a trap, end a turn with success, or send a prompt.
  @Test func damagedLinesAreSkipped() {
    let bytes = Array((Self.opening + Self.work + Self.permission("1", "{}")).utf8)
    let seed = UInt64.random(in: 0 ... .max)
    var state = seed
    func next(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(bound))
    }
    for _ in 0..<500 {
      var damaged = bytes
      for _ in 0...next(8) { damaged[next(damaged.count)] = UInt8(next(256)) }
      var conversation = conversation()
      let steps = conversation.received(damaged) + conversation.closed("exit code 0")
      if case .verdict(.succeeded) = end(steps) { Issue.record("a success, seed \(seed)") }
      #expect(end(steps) != nil, "seed \(seed)")
    }
  }
}
