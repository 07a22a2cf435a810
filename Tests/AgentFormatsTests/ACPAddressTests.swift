import AgentFormats
import Testing

/// Addresses that an agent wants a user to open: the host that is shown is the one that a browser opens.
@Suite struct ACPAddressTests {
  private func prompting() -> ACPConversation {
    var conversation = ACPConversation(ACPTurn(folder: "/", conversation: nil, prompt: []))
    let opening =
      #"{"id":1,"result":{"protocolVersion":1}}"# + "\n"
      + #"{"id":2,"result":{"sessionId":"s"}}"# + "\n"
    _ = conversation.received(opening.utf8)
    return conversation
  }

  private func sent(_ steps: [ACPStep]) -> [String] {
    steps.compactMap { if case .send(let line) = $0 { line } else { nil } }
  }

  private func asked(_ steps: [ACPStep]) -> [ACPRequest] {
    steps.compactMap { if case .ask(let request) = $0 { request } else { nil } }
  }

  private func address(_ address: String) -> (ACPConversation, [ACPStep]) {
    var conversation = prompting()
    let params: JSONTree = [
      "sessionId": "s", "mode": "url", "message": "Log in.", "url": .string(address),
    ]
    let steps = conversation.received(
      #"{"id":4,"method":"elicitation/create","params":\#(params.line)}\#n"#.utf8)
    return (conversation, steps)
  }

  /// In each of these, a browser reads a different host than a user does, or hides a part of it.
  @Test(arguments: [
    #"https://evil.example\@example.org/login"#, #"https://evil.example\.example.org/"#,
    #"https:\\evil.example/"#, "https://example.org@evil.example/", "https://a:b@example.org/",
    "https://@example.org/", "https://evil%2Eexample/", "https://evil.example%2F.example.org/",
    "https://example.org\u{2044}evil.example/", "https://exаmple.org/", "https://ex ample.org/",
    "https://[::1/", "https://a]b/", "https://example.org:80:90/", "https://example.org:port/",
    "https://:443/", "https:///example.org", "https://", "https://example.org/\"<b>",
    "https://example.org/`", "https://example.org/{}", "https://example.org/a|b",
    "https://example.org/a^b", "ftp://example.org/", "file:///etc/passwd",
  ])
  func anAddressThatBrowsersReadOtherwiseIsRefused(text: String) {
    let (_, steps) = address(text)
    #expect(asked(steps) == [] && sent(steps).first?.contains("-32602") == true, "\(steps)")
  }

  @Test(arguments: [
    ("https://example.org/login?a=b&c=%20#d@e", "example.org"),
    ("http://127.0.0.1:8080/", "127.0.0.1:8080"), ("https://[::1]:443", "[::1]:443"),
    ("https://xn--exmple-cua.org?next=https://other.example/", "xn--exmple-cua.org"),
    ("https://a-b_c.example.org/~me/(x);y,z!$'*+=[]", "a-b_c.example.org"),
  ])
  func aPlainAddressIsShownWithItsHost(text: String, host: String) {
    let (_, steps) = address(text)
    guard case .address(let shown, _) = asked(steps).first?.matter else {
      Issue.record("\(steps)")
      return
    }
    #expect(shown == "Log in.\nOpen \(text)\nIts host is \(host).")
  }

  @Test(arguments: [
    ("Opened", "accept"), (" OPENED ", "accept"), ("Decline", "decline"), ("/decline", "decline"),
  ])
  func anAddressIsAnsweredInAnyCase(text: String, action: String) {
    var (conversation, _) = address("https://example.org/")
    let steps = conversation.answered("4", .text(text))
    #expect(sent(steps) == [#"{"id":4,"jsonrpc":"2.0","result":{"action":"\#(action)"}}"#])
  }

  @Test func anotherAnswerToAnAddressIsAskedForAgain() {
    var (conversation, _) = address("https://example.org/")
    for _ in 0..<2 {
      guard case .askAgain(_, let reason) = conversation.answered("4", .text("done")).first else {
        Issue.record("it was taken")
        return
      }
      #expect(reason == "Answer \"opened\" or \"decline\".")
    }
    let last = conversation.answered("4", .text("done"))
    #expect(sent(last) == [#"{"id":4,"jsonrpc":"2.0","result":{"action":"cancel"}}"#])
  }
}
