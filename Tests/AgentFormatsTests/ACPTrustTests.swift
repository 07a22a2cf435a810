import AgentFormats
import Testing

/// What a user is shown of an agent that speaks the Agent Client Protocol is what counts.
@Suite struct ACPTrustTests {
  private func prompting() -> ACPConversation {
    var conversation = ACPConversation(ACPTurn(folder: "/", conversation: nil, prompt: []))
    let opening =
      #"{"id":1,"result":{"protocolVersion":1}}"# + "\n"
      + #"{"id":2,"result":{"sessionId":"s"}}"# + "\n"
    _ = conversation.received(opening.utf8)
    return conversation
  }

  private func asks(_ id: Int, _ call: String, _ options: String = once) -> String {
    #"{"id":\#(id),"method":"session/request_permission","params":{"sessionId":"s","toolCall":"#
      + #"\#(call),"options":[\#(options)]}}"# + "\n"
  }

  private func update(_ update: String) -> String {
    #"{"method":"session/update","params":{"sessionId":"s","update":\#(update)}}"# + "\n"
  }

  private static let once =
    #"{"optionId":"o","name":"Once","kind":"allow_once"},"#
    + #"{"optionId":"n","name":"No","kind":"reject_once"}"#

  private func sent(_ steps: [ACPStep]) -> [String] {
    steps.compactMap { if case .send(let line) = $0 { line } else { nil } }
  }

  private func asked(_ steps: [ACPStep]) -> [ACPRequest] {
    steps.compactMap { if case .ask(let request) = $0 { request } else { nil } }
  }

  private func problems(_ steps: [ACPStep]) -> [String] {
    steps.compactMap { if case .said(.problem(let text)) = $0 { text } else { nil } }
  }

  private func log(_ steps: [ACPStep]) -> String {
    let bytes = steps.flatMap { if case .wrote(let bytes) = $0 { bytes } else { [] as [UInt8] } }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func end(_ steps: [ACPStep]) -> ACPEnd? {
    steps.lazy.compactMap { if case .ended(let end) = $0 { end } else { nil } }.first
  }

  @Test(
    arguments: [
      (#"{"optionId":"a","name":"Always","kind":"allow_always"}"#, "Always"),
      (
        #"{"optionId":"a","name":"For this\nsession","kind":"allow_always"}"#,
        "Always (For this session)"
      ),
      (#"{"optionId":"a","name":"Once","kind":"allow_always"}"#, "Always (Once)"),
      (#"{"optionId":"a","name":"\u202Eno","kind":"allow_always"}"#, #"Always (\u202eno)"#),
      (
        #"{"optionId":"a","name":"\#(String(repeating: "n", count: 100))","kind":"allow_always"}"#,
        "Always (\(String(repeating: "n", count: 60))…)"
      ),
      (
        #"{"optionId":"a","name":"Yes","kind":"allow_once"},"#
          + #"{"optionId":"b","name":"Yes, edited","kind":"allow_once"}"#, "Once (Yes)"
      ),
      (once + #",{"optionId":"a","name":"Always","kind":"allow_always"}"#, nil),
    ] as [(String, String?)])
  func whatAYesChoosesIsSaidFirst(options: String, words: String?) {
    var conversation = prompting()
    let steps = conversation.received(asks(7, Self.call, options).utf8)
    guard case .permission(_, _, let choice) = asked(steps).first?.matter else {
      Issue.record("\(steps)")
      return
    }
    #expect(choice == words)
    let id = words == nil ? "o" : "a"
    #expect(
      sent(conversation.answered("7", .allowed)).first?.contains(#""optionId":"\#(id)""#) == true)
  }

  @Test(arguments: [
    #"{"optionId":"n","name":"No","kind":"reject_once"}"#, "",
    #"{"name":"Allow","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}"#,
  ])
  func aRequestWithoutAYesIsDenied(options: String) {
    var conversation = prompting()
    let steps = conversation.received(asks(7, #"{"toolCallId":"c"}"#, options).utf8)
    #expect(asked(steps) == [])
    let result = options.isEmpty ? #""outcome":"cancelled""# : #""optionId":"n""#
    #expect(sent(steps).first?.contains(result) == true, "\(steps)")
    #expect(problems(steps).first?.contains("offers no way to allow this") == true)
    #expect(conversation.answered("7", .allowed) == [])
  }

  private static let call =
    #"{"toolCallId":"c","title":"Run ls","kind":"execute","rawInput":{"command":"ls"}}"#

  /// A yes is for what was shown.
  @Test(arguments: [
    (#""rawInput":{"command":"rm -rf ~"}"#, "rm -rf ~"), (#""title":"Run rm""#, "Run rm"),
    (#""content":[{"type":"diff","path":"/etc/passwd","newText":"x"}]"#, "/etc/passwd"),
  ])
  func aCallThatChangesWhileItIsAskedAboutIsAskedAboutAgain(change: String, words: String) {
    for line in [
      update(#"{"sessionUpdate":"tool_call","toolCallId":"c",\#(change)}"#),
      update(#"{"sessionUpdate":"tool_call_update","toolCallId":"c",\#(change)}"#),
      asks(8, #"{"toolCallId":"c",\#(change)}"#),
    ] {
      var conversation = prompting()
      #expect(asked(conversation.received(asks(7, Self.call).utf8)).count == 1)
      let steps = conversation.received(line.utf8)
      #expect(steps.contains(.withdraw(key: "7")) && sent(steps) == [], "\(steps)")
      let request = asked(steps).first
      guard case .permission(_, let input, _) = request?.matter else {
        Issue.record("\(steps)")
        return
      }
      #expect(input.line.contains(words))
      #expect(conversation.answered("7", .allowed) == [])
      let answer = conversation.answered(request?.key ?? "", .allowed)
      #expect(
        sent(answer) == [
          #"{"id":7,"jsonrpc":"2.0","result":{"outcome":{"optionId":"o","outcome":"selected"}}}"#
        ])
      #expect(answer.contains(.said(.approvalAnswered(id: "7"))))
    }
  }

  @Test func aCallThatChangesToWhatCannotBeShownOrOnAndOnIsDenied() {
    func changed(_ input: String) -> String {
      update(#"{"sessionUpdate":"tool_call_update","toolCallId":"c","rawInput":\#(input)}"#)
    }
    var conversation = prompting()
    _ = conversation.received(asks(7, Self.call).utf8)
    var steps = conversation.received(changed(#"{"a":1,"a":2}"#).utf8)
    #expect(sent(steps).first?.contains(#""optionId":"n""#) == true && asked(steps) == [])
    #expect(steps.contains(.withdraw(key: "7")))
    #expect(steps.contains(.said(.approvalAnswered(id: "7"))))
    #expect(problems(steps).first?.contains("changed") == true)
    var restless = prompting()
    _ = restless.received(asks(7, Self.call).utf8)
    for number in 0..<3 {
      #expect(asked(restless.received(changed("{\"a\":\(number)}").utf8)).count == 1)
    }
    steps = restless.received(changed(#"{"a":9}"#).utf8)
    #expect(sent(steps).first?.contains(#""optionId":"n""#) == true && asked(steps) == [])
    var stopped = prompting()
    _ = stopped.received(asks(7, Self.call).utf8)
    let request = asked(stopped.received(changed(#"{"a":1}"#).utf8)).first
    #expect(stopped.cancelled().contains(.withdraw(key: request?.key ?? "")))
  }

  @Test(arguments: [
    #"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"in_progress"}"#,
    #"{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"Run ls","content":null}"#,
    #"{"sessionUpdate":"tool_call_update","toolCallId":"d","rawInput":{"command":"rm"}}"#,
    #"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"c"}}"#,
  ])
  func aCallThatStaysStaysOpen(change: String) {
    var conversation = prompting()
    let call = #"{"toolCallId":"c","title":"Run ls","rawInput":{"command":"ls"}}"#
    _ = conversation.received(asks(7, call).utf8)
    #expect(!conversation.received(update(change).utf8).contains(.withdraw(key: "7")))
    #expect(sent(conversation.answered("7", .allowed)).first?.contains(#""optionId":"o""#) == true)
  }

  /// A request may say more of its call than the call's announcement, and counts for the next one.
  @Test func detailsOfACallAreShownWithTheNextRequest() {
    var conversation = prompting()
    let announced =
      #"{"sessionUpdate":"tool_call","toolCallId":"c","rawInput":{"command":"ls"}}"#
    _ = conversation.received(update(announced).utf8)
    let first = #"{"toolCallId":"c","rawInput":{"command":"rm"}}"#
    _ = conversation.received(asks(7, first).utf8)
    _ = conversation.answered("7", .denied)
    let steps = conversation.received(asks(8, #"{"toolCallId":"c"}"#).utf8)
    guard case .permission(_, let input, _) = asked(steps).first?.matter else {
      Issue.record("\(steps)")
      return
    }
    #expect(input["command"]?.text == "rm")
  }

  @Test func aStopThatDismissedARequestIsNotASuccess() {
    let last = #"{"id":3,"result":{"stopReason":"end_turn"}}"# + "\n"
    var conversation = prompting()
    _ = conversation.received(asks(7, #"{"toolCallId":"c"}"#).utf8)
    _ = conversation.cancelled()
    #expect(end(conversation.received(last.utf8)) == .cancelled)
    // The agent may ask before it hears of the stop.
    var late = prompting()
    _ = late.cancelled()
    _ = late.received(asks(7, #"{"toolCallId":"c"}"#).utf8)
    #expect(end(late.received(last.utf8)) == .cancelled)
    var plain = prompting()
    _ = plain.cancelled()
    #expect(end(plain.received(last.utf8)) == .verdict(.succeeded(summary: "")))
  }

  /// It is where a user reads why a request was denied.
  @Test func aProblemIsInTheLog() {
    var conversation = prompting()
    let twice = #"{"toolCallId":"c","rawInput":{"command":"ls","command":"rm"}}"#
    for line in [asks(7, twice), "no JSON\n", #"{"id":9,"result":{}}"# + "\n"] {
      let steps = conversation.received(line.utf8)
      let problem = problems(steps).first ?? ""
      #expect(!problem.isEmpty && log(steps).hasSuffix("\n\(problem)\n"), "\(steps)")
    }
  }
}
