import AgentFormats
import Testing

@Suite struct OpencodeReaderTests {
  private func tree(_ text: String) throws -> JSONTree { try #require(JSONTree(Array(text.utf8))) }

  @Test func theStreamGivesTheSignalsOfOneSession() {
    let expected: [AgentEvent] = [
      .toolStarted(id: "call_1", name: "bash"),
      .approvalRequested(id: "per_1", tool: "bash", input: ["patterns": ["ls"]]),
      .approvalAnswered(id: "per_1"), .toolEnded(id: "call_1"),
    ]
    var reader = OpencodeReader(session: "ses_1")
    #expect(reader.received(Transcripts.opencode.utf8) == expected)
    var slow = OpencodeReader(session: "ses_1")
    #expect(Transcripts.opencode.utf8.flatMap { slow.received([$0]) } == expected)
    #expect(slow.ended().isEmpty)
  }

  private func line(_ type: String, _ properties: String) -> [UInt8] {
    Array("data: {\"type\":\"\(type)\",\"properties\":{\(properties)}}\n\n".utf8)
  }

  /// Everything in the request is kept, in any field.
  @Test(arguments: [
    (#""patterns":["ls","cat *"],"always":["ls *"]"#, "ls, cat *", #"patterns: ["ls","cat *"]"#),
    (
      #""pattern":"npm *","title":"npm test""#, "npm * (and 1 more field)",
      "pattern: npm *\ntitle: npm test"
    ),
    (#""title":"Fetch it""#, "Fetch it", "title: Fetch it"),
    (
      #""patterns":["rm *"],"metadata":{"command":"cd a\nrm -rf b","cwd":"/"}"#,
      "cd a (and 1 more line, 2 more fields)",
      "command:\n  cd a\n  rm -rf b\ncwd: /\npatterns: [\"rm *\"]"
    ),
    (
      #""patterns":["*"],"metadata":{"filepath":"/a/b.swift","patterns":"+1"}"#,
      "/a/b.swift (and 2 more fields)",
      "filepath: /a/b.swift\npatterns: +1\n\"permission.patterns\": [\"*\"]"
    ),
    (#""metadata":{}"#, "", ""),
  ]) func leaveIsAskedForSomething(properties: String, summary: String, details: String) {
    var reader = OpencodeReader(session: "s")
    let events = reader.received(
      line("permission.asked", #""id":"p","sessionID":"s","permission":"bash","# + properties))
    guard case .approvalRequested("p", "bash", let input?, nil)? = events.first else {
      Issue.record("\(events)")
      return
    }
    let shown = ToolInput(input)
    #expect(shown.subject + shown.remainder == summary)
    #expect(shown.details == details)
  }

  /// Text that programs read differently is shown unchanged.
  @Test(arguments: [#""command":"ls","command":"rm""#, #""amount":18446744073709551617"#])
  func ambiguousTextsAreShownUnchanged(metadata: String) {
    var reader = OpencodeReader(session: "s")
    let properties =
      #""id":"p","sessionID":"s","permission":"bash","metadata":{\#(metadata)}"#
    guard
      case .approvalRequested("p", "bash", let input?, nil)? =
        reader.received(line("permission.asked", properties)).first
    else { return #expect(Bool(false)) }
    #expect(input.text?.contains(metadata) == true)
  }

  /// The text that a user allows identifies the exact input.
  @Test func noTwoInputsReadTheSame() {
    let inputs: [JSONTree] = [
      ["command": "a: b"], ["a": "b"], ["command": "a: b\nc: d"], ["a": "b", "c": "d"],
      ["command": "a:\n  b"], ["a": "\nb"], ["a": "b\n"], ["a": "b\r\n"], ["a": 5], ["a": "5"],
      ["a": "\"5\""], ["a": true], ["a": "true"], ["a": ["b"]], ["a": #"["b"]"#], ["a": [:]],
      ["a": "b\nc: d"], ["a: b\nc": "d"], ["\"a\"": "b"], ["": "a"], [:], ["a": "b\u{202E}"],
      ["a": "b\\u202e"], ["a": "\"b\\u202e\""], ["a": "b\u{200B}"], ["command": "a"], "a", 5, "",
      ["command": 5], ["command": "5"], ["command": ""], ["a"], ["command": ["a"]], .null, "a\nb",
      ["command": "a\nb"], ["command": #"["a"]"#], ["command": #""a""#],
    ]
    #expect(Set(inputs.map { ToolInput($0).details }).count == inputs.count)
  }

  /// A subagent works in a session of its own, and its requests for permission hold up the turn.
  @Test func subagentsAreHeard() {
    var reader = OpencodeReader(session: "s")
    func asked(_ id: String, in session: String) -> [AgentEvent] {
      reader.received(
        line("permission.asked", #""id":"\#(id)","sessionID":"\#(session)","permission":"edit""#))
    }
    #expect(asked("p0", in: "c").isEmpty, "no line said whose it is")
    _ = reader.received(line("session.created", #""info":{"id":"c","parentID":"s"}"#))
    _ = reader.received(line("session.updated", #""info":{"id":"d","parentID":"c"}"#))
    _ = reader.received(line("session.created", #""info":{"id":"x","parentID":"y"}"#))
    #expect(
      asked("p1", in: "c") == [
        .approvalRequested(id: "p1", tool: "edit", input: [:], conversation: "c")
      ])
    #expect(
      asked("p2", in: "d") == [
        .approvalRequested(id: "p2", tool: "edit", input: [:], conversation: "d")
      ])
    #expect(asked("p3", in: "x").isEmpty)
    // The end of the subagent is not the end of the turn.
    #expect(reader.received(line("session.idle", #""sessionID":"d""#)).isEmpty)
    #expect(
      reader.received(line("permission.replied", #""sessionID":"c","requestID":"p1""#))
        == [.approvalAnswered(id: "p1")])
    // A reader of a new stream continues with the sessions that the broken one knew.
    var again = OpencodeReader(session: "s", children: reader.children)
    #expect(
      again.received(
        line("permission.asked", #""id":"p4","sessionID":"d","permission":"bash""#)
      ).count == 1)
  }

  @Test func aStreamThatBreaksEndsWhatRan() {
    var reader = OpencodeReader(session: "ses_1")
    let bytes = Array(Transcripts.opencode.utf8)
    let cut = bytes.count / 2
    let events = reader.received(bytes.prefix(cut)) + reader.ended()
    let starts = events.filter { if case .toolStarted = $0 { true } else { false } }
    let ends = events.filter { if case .toolEnded = $0 { true } else { false } }
    #expect(starts.count == 1)
    #expect(ends.count == 1)
  }

  @Test func theMessageDecides() throws {
    let done = try tree(
      #"{"info":{"id":"msg_2","role":"assistant","parentID":"msg_1","time":{"created":1,"completed":2},"finish":"stop"},"parts":[{"type":"text","text":"a"},{"type":"tool"},{"type":"text","text":"Done."}]}"#
    )
    #expect(OpencodeReader.verdict(of: done) == .succeeded(summary: "Done."))
    let open = try tree(
      #"{"info":{"id":"msg_2","role":"assistant","time":{"created":1}},"parts":[]}"#)
    #expect(OpencodeReader.verdict(of: open) == nil)
    let aborted = try tree(
      #"{"info":{"role":"assistant","time":{"created":1,"completed":2},"error":{"name":"MessageAbortedError","data":{"message":"x"}}}}"#
    )
    #expect(OpencodeReader.verdict(of: aborted) == .failed(reason: "The agent was aborted."))
    let limited = try tree(
      #"{"info":{"role":"assistant","error":{"name":"APIError","data":{"message":"slow down","statusCode":429,"isRetryable":true}}}}"#
    )
    #expect(OpencodeReader.verdict(of: limited) == .tryLater(reason: "slow down", until: nil))
    let failed = try tree(
      #"{"info":{"role":"assistant","error":{"name":"ProviderAuthError","data":{"providerID":"x","message":"no key"}}}}"#
    )
    #expect(OpencodeReader.verdict(of: failed) == .failed(reason: "no key"))
    for lie in [#"{"ok":true}"#, "[]", #"{"info":{"role":"user","time":{"completed":2}}}"#] {
      #expect(OpencodeReader.verdict(of: try tree(lie)) == nil)
    }
  }

  @Test func theListOfMessagesSaysWhatBecameOfAPrompt() throws {
    let list = try tree(
      """
      [{"info":{"id":"msg_1","role":"user"}},
       {"info":{"id":"msg_2","role":"assistant","parentID":"msg_1","finish":"tool-calls","time":{"created":1,"completed":2}},"parts":[]},
       {"info":{"id":"msg_3","role":"assistant","parentID":"msg_1","finish":"stop","time":{"created":3,"completed":4}},"parts":[{"type":"text","text":"Done."}]},
       {"info":{"id":"msg_5","role":"assistant","parentID":"msg_4","finish":"tool-calls","time":{"created":3,"completed":4}},"parts":[]}]
      """)
    #expect(OpencodeReader.verdict(onPrompt: "msg_1", in: list) == .succeeded(summary: "Done."))
    #expect(OpencodeReader.verdict(onPrompt: "msg_4", in: list) == nil)
    #expect(OpencodeReader.verdict(onPrompt: "msg_9", in: list) == nil)
  }

  @Test func aRetryOfTheProviderIsALimit() {
    var reader = OpencodeReader(session: "s")
    let line =
      #"data: {"type":"session.status","properties":{"sessionID":"s","status":{"type":"retry","attempt":2,"message":"overloaded","next":1771390800000}}}"#
    #expect(
      reader.received((line + "\r\n\r\n").utf8) == [.rateLimited(until: 1_771_390_800_000)])
  }
}
