import AgentFormats
import Testing

/// Forms and addresses that an agent asks for.
@Suite struct ACPFormTests {
  private func asked(_ params: String) -> (ACPConversation, [ACPStep]) {
    var conversation = ACPConversation(ACPTurn(folder: "/", conversation: nil, prompt: []))
    let opening =
      #"{"id":1,"result":{"protocolVersion":1}}"# + "\n"
      + #"{"id":2,"result":{"sessionId":"s"}}"# + "\n"
    _ = conversation.received(opening.utf8)
    let steps = conversation.received(
      #"{"jsonrpc":"2.0","id":4,"method":"elicitation/create","params":{"sessionId":"s",\#(params)}}\#n"#
        .utf8)
    let done = steps.filter { if case .wrote = $0 { false } else { true } }
    return (conversation, done)
  }

  private func form(_ properties: String, required: String = "") -> (ACPConversation, [ACPStep]) {
    asked(
      #""mode":"form","message":"How?","requestedSchema":{"type":"object","properties":{\#(properties)},"#
        + #""required":[\#(required)]}"#)
  }

  private func answer(_ conversation: ACPConversation, _ text: String) -> [ACPStep] {
    var conversation = conversation
    return conversation.answered("4", .text(text))
  }

  private func sent(_ content: String) -> [ACPStep] {
    [.send(#"{"id":4,"jsonrpc":"2.0","result":\#(content)}"#)]
  }

  @Test func aChoiceIsAskedWithItsOptions() {
    let (conversation, steps) = form(
      #""kind":{"type":"string","oneOf":[{"const":"f","title":"Fast"},{"const":"s","title":"Safe"}]}"#
    )
    guard case .ask(let request) = steps.first, case .form(let form) = request.matter else {
      Issue.record("\(steps)")
      return
    }
    #expect(form.text == "How?\nkind: one of f (Fast), s (Safe)\n/decline declines.")
    #expect(form.options == ["Fast", "Safe"])
    #expect(
      answer(conversation, "Safe") == sent(#"{"action":"accept","content":{"kind":"s"}}"#))
    #expect(answer(conversation, "/decline") == sent(#"{"action":"decline"}"#))
    var dismissed = conversation
    #expect(dismissed.answered("4", .dismissed) == sent(#"{"action":"cancel"}"#))
  }

  @Test func severalFieldsAreAnsweredByName() {
    let (conversation, steps) = form(
      #""dry":{"type":"boolean"},"share":{"type":"number","maximum":1},"tags":{"type":"array","items":"#
        + #"{"type":"string","enum":["a","b"]}},"tries":{"type":"integer"},"why":{"type":"string"}"#,
      required: #""why""#)
    guard case .ask(let request) = steps.first, case .form(let form) = request.matter else {
      Issue.record("\(steps)")
      return
    }
    #expect(form.text.contains(#"share: number; {"maximum":1}"#))
    #expect(form.text.contains("why: text; required"))
    #expect(
      answer(conversation, "dry: no\nshare: 0.5\ntags: a, b\ntries: 3\nwhy: because: so")
        == sent(
          #"{"action":"accept","content":{"dry":false,"share":0.5,"tags":["a","b"],"tries":3,"#
            + #""why":"because: so"}}"#))
  }

  @Test(arguments: [
    ("dry: perhaps\nwhy: x", "yes or no"), ("dry: no", "required"), ("other: 1", "no field"),
    ("words", "NAME: VALUE"),
  ])
  func anAnswerThatIsNoneIsAskedForAgain(text: String, words: String) {
    var (conversation, _) = form(
      #""dry":{"type":"boolean"},"why":{"type":"string"}"#, required: #""why""#)
    for _ in 0..<2 {
      guard case .askAgain(_, let reason) = conversation.answered("4", .text(text)).first else {
        Issue.record("it was taken: \(text)")
        return
      }
      #expect(reason.contains(words), "\(reason)")
    }
    #expect(conversation.answered("4", .text(text)) == sent(#"{"action":"cancel"}"#))
  }

  @Test func anAddressIsShownInFull() {
    let (conversation, steps) = asked(
      #""mode":"url","elicitationId":"e","message":"Log in.","url":"https://example.org/login?x""#
    )
    guard case .ask(let request) = steps.first,
      case .address(let text, let options) = request.matter
    else {
      Issue.record("\(steps)")
      return
    }
    #expect(text == "Log in.\nOpen https://example.org/login?x\nIts host is example.org.")
    #expect(options == ["opened", "decline"])
    #expect(answer(conversation, "opened") == sent(#"{"action":"accept"}"#))
    #expect(answer(conversation, "decline") == sent(#"{"action":"decline"}"#))
  }

  @Test(arguments: [
    #""mode":"url","message":"m","url":"javascript:alert(1)""#,
    #""mode":"url","message":"m","url":"https://ex\u202Eample.org""#,
    #""mode":"form","message":"m","requestedSchema":{"properties":{"a":{"type":"object"}}}"#,
    #""mode":"form","message":"m\u202E","requestedSchema":{"properties":{}}"#, #""mode":"new""#,
  ])
  func unshowableFormsAreRefused(params: String) {
    let (_, steps) = asked(params)
    guard case .send(let line) = steps.last else {
      Issue.record("\(steps)")
      return
    }
    #expect(line.contains("-32602"))
  }
}
