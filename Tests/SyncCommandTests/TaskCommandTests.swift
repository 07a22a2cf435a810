import AgentFormats
import Foundation
import LocalAPI
import Synchronization
import Testing

@testable import SyncCommand

/// `cospool task`, `approve`, `deny` and `answer`, and the requests for them.
@Suite(.timeLimit(.minutes(10))) struct TaskCommandTests {
  func daemon(_ fixture: CommandFixture) -> DaemonConnection {
    DaemonConnection(dataDirectory: fixture.directory)
  }

  /// The answer to a request, once a user has decided.
  func ask(
    _ fixture: CommandFixture, _ body: [String: String], in session: String = "s"
  ) async throws -> JSONTree {
    let answer = try await daemon(fixture).answer(
      to: APIRequest(.post, ["sessions", session, "asks"], body: body))
    return try #require(JSONTree(Array(answer.json)))
  }

  /// Waits until a session's task is in a state.
  func waits(
    _ fixture: CommandFixture, for status: String, in session: String = "s"
  ) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    var output = ""
    repeat {
      output = await fixture.cospool("task", "show", session, "--json").output
      if JSONTree(Array(output.utf8))?["status"]?.text == status { return }
      try await Task.sleep(for: .milliseconds(20))
    } while ContinuousClock.now < deadline
    Issue.record("\(session) never was \(status): \(output)")
  }

  func hook(
    _ fixture: CommandFixture, _ event: String, _ arguments: [String]
  ) async -> CommandRunner.Outcome {
    var environment = Environment(
      variables: ["COSPOOL_DATA": fixture.directory], input: StandardInput { [] }, style: .plain,
      watching: .none)
    environment.pieces = {
      AsyncStream { continuation in
        continuation.yield(Array(event.utf8))
        continuation.finish()
      }
    }
    return await CommandRunner(environment: environment).run(
      ["hook", "--timeout", "60"] + arguments)
  }

  @Test func aQuestionIsShownAndAnswered() async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("task", "list").output == "no agent has reported anything yet")
      #expect(await fixture.cospool("answer", "yes").exitCode == 1)
      #expect(await fixture.cospool("session", "add", "s").exitCode == 0)
      async let asked = ask(fixture, ["kind": "question", "question": "Which branch?"])
      try await waits(fixture, for: "awaitingAnswer")
      let list = await fixture.cospool("task", "list").output
      #expect(list.contains("needs an answer") && list.contains("Which branch?"))
      let wrong = await fixture.cospool("approve", "s")
      #expect(wrong.exitCode == 2 && wrong.errors.contains("Answer it: cospool answer "))
      #expect(await fixture.cospool("answer").exitCode == 2)
      let answered = await fixture.cospool("answer", "s", "main")
      #expect(answered == .init(output: "answered, s: Which branch?"))
      let result = try await asked
      #expect(result["ending"] == "answered" && result["text"] == "main")
      #expect(result["deviceName"] == "desk")
      let late = await fixture.cospool("answer", "s", "other")
      #expect(late.exitCode == 5 && late.errors.contains("already answered by desk: answered"))
    }
  }

  @Test func aFormIsShownWithItsLines() async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("session", "add", "s").exitCode == 0)
      let form = "How?\ndry: yes or no\nkind: one of a, b"
      async let asked = ask(fixture, ["kind": "question", "question": form])
      try await waits(fixture, for: "awaitingAnswer")
      let text = await fixture.cospool("task", "show", "s").output
      #expect(text.contains("\n\n\(form)") && !text.contains("How? dry"), "\(text)")
      #expect(await fixture.cospool("answer", "s", "dry: yes").exitCode == 0)
      #expect(try await asked["ending"] == "answered")
    }
  }

  @Test func requestsOfOneSessionAreAnsweredByTheirNames() async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("session", "add", "s").exitCode == 0)
      async let one = ask(fixture, ["kind": "approval", "toolName": "Bash", "summary": "make"])
      try await waits(fixture, for: "awaitingApproval")
      async let two = ask(fixture, ["kind": "approval", "toolName": "Write", "summary": "a.txt"])
      var shown = JSONTree.null
      while shown["alsoAwaits"] == nil {
        let output = await fixture.cospool("task", "show", "s", "--json").output
        shown = try #require(JSONTree(Array(output.utf8)))
      }
      let text = await fixture.cospool("task", "show", "s").output
      #expect(text.contains("Bash: make") && text.contains("Write: a.txt"))
      #expect(await fixture.cospool("task", "list").output.contains("(and 1 more)"))
      for name in [["approve"], ["approve", "s"]] {
        let refused = await CommandFixture.cospool(
          name, variables: ["COSPOOL_DATA": fixture.directory])
        #expect(refused.exitCode == 1 && refused.errors.contains("s: Write: a.txt"))
      }
      guard case .array(let also)? = shown["alsoAwaits"],
        let id = also.first?["request"]?["id"]?.text
      else {
        Issue.record("\(shown)")
        return
      }
      #expect(text.contains("cospool approve \(id.prefix(8))"))
      #expect(await fixture.cospool("deny", id).exitCode == 0)
      #expect(try await two["ending"] == "denied")
      #expect(await fixture.cospool("approve", "s").exitCode == 0)
      #expect(try await one["ending"] == "allowed")
    }
  }

  // H9
  @Test func withoutANameNothingIsAllowedThatWasNotShown() async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("session", "add", "s").exitCode == 0)
      async let asked = ask(
        fixture, ["kind": "approval", "toolName": "Bash", "summary": "make", "details": "make all"])
      try await waits(fixture, for: "awaitingApproval")
      let blind = await fixture.cospool("approve")
      #expect(blind.exitCode == 1 && blind.errors.contains("s: Bash: make"), "\(blind)")
      #expect(await fixture.cospool("approve", "--json").errors.contains("nameNeeded"))

      let shown = Mutex<[String]>([])
      let at = { (answer: Bool) in
        var environment = Environment(
          variables: ["COSPOOL_DATA": fixture.directory], input: StandardInput { [] },
          style: .plain, watching: .none)
        environment.confirm = { text in
          shown.withLock { $0.append(text) }
          return answer
        }
        return CommandRunner(environment: environment)
      }
      let refused = await at(false).run(["approve"])
      #expect(refused.exitCode == 1 && refused.errors.contains("still open"))
      try await waits(fixture, for: "awaitingApproval")
      #expect(await at(true).run(["approve"]).output == "allowed, s: Bash: make")
      let texts = shown.withLock { $0 }
      #expect(texts.count == 2)
      #expect(texts.allSatisfy { $0.contains("s: Bash: make") && $0.contains("make all") })
      #expect(try await asked["ending"] == "allowed")
    }
  }

  @Test func aQuestionIsCancelled() async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("session", "add", "s").exitCode == 0)
      async let asked = ask(fixture, ["kind": "question", "question": "Which?"])
      try await waits(fixture, for: "awaitingAnswer")
      let threads = await fixture.cospool("thread", "add", "s")
      #expect(threads.exitCode == 0)
      #expect(await fixture.cospool("thread", "list").output.contains("wants answer"))
      #expect(await fixture.cospool("status").output.contains("1 request for you"))
      let forgotten = await fixture.cospool("answer", "S")
      #expect(forgotten.exitCode == 2)
      #expect(forgotten.errors.contains("The text of the answer is missing"))
      #expect(await fixture.cospool("answer", "--cancel").exitCode == 0)
      #expect(try await asked["ending"] == "cancelled")
    }
  }

  @Test func theHookAnswersInTheAgentsWords() async throws {
    try await CommandFixture.run { fixture in
      let event =
        #"{"session_id":"S","hook_event_name":"PermissionRequest","tool_name":"Edit","#
        + #""tool_input":{"file_path":"/src/a.swift","old_string":"a"}}"#
      async let outcome = hook(fixture, event, ["--approvals", "300"])
      try await waits(fixture, for: "awaitingApproval")
      let shown = await fixture.cospool("task", "show", "s").output
      #expect(shown.contains("Edit: /src/a.swift") && shown.contains("old_string"))
      // No agent accepts a message with an approval.
      #expect(await fixture.cospool("approve", "--remark", "not on main").exitCode == 2)
      await #expect(throws: CommandFailure.self) {
        try await daemon(fixture).answer(
          to: APIRequest(
            .post, ["asks", "answer"],
            body: ["verdict": "allowed", "text": "not on main"]))
      }
      #expect(await fixture.cospool("deny", "--remark", "not now").exitCode == 0)
      let decision = try #require(JSONTree(Array(await outcome.output.utf8)))
      let result = decision["hookSpecificOutput"]
      #expect(result?["hookEventName"] == "PermissionRequest")
      #expect(result?["decision"]?["behavior"] == "deny")
      #expect(result?["decision"]?["message"] == "not now")
      // Without the option nothing is asked, and nothing is written.
      #expect(await hook(fixture, event, []) == .init())
    }
  }

  /// Without a number of its own, the hook waits as long as the device's setting says.
  @Test func theHookWaitsAsLongAsTheDeviceIsSetTo() async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("config", "set", "approvalPatience", "0").exitCode == 2)
      #expect(await fixture.cospool("config", "set", "approvalPatience", "1").exitCode == 0)
      let event =
        #"{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"Bash","#
        + #""tool_input":{"command":"ls"}}"#
      #expect(await hook(fixture, event, ["--ask"]) == .init())
      let output = await fixture.cospool("task", "show", "s", "--json").output
      let task = try #require(JSONTree(Array(output.utf8)))
      #expect(task["status"] == "awaitingApproval")
      let stop = #"{"session_id":"s","hook_event_name":"Stop"}"#
      #expect(await hook(fixture, stop, []) == .init())
      let ended = await fixture.cospool("task", "show", "s", "--json").output
      #expect(JSONTree(Array(ended.utf8))?["outcome"]?["ending"] == "expired")
    }
  }

  @Test func theTodoListIsTheProgress() async throws {
    try await CommandFixture.run { fixture in
      let prompt = #"{"session_id":"s","hook_event_name":"UserPromptSubmit"}"#
      #expect(await hook(fixture, prompt, []) == .init())
      let event =
        #"{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"TodoWrite","#
        + #""tool_use_id":"t","tool_input":{"todos":[{"content":"a","status":"completed"},"#
        + #"{"content":"b","status":"in_progress","activeForm":"doing b"}]}}"#
      #expect(await hook(fixture, event, []) == .init())
      let output = await fixture.cospool("task", "show", "s", "--json").output
      let task = try #require(JSONTree(Array(output.utf8)))
      #expect(task["status"] == "processing" && task["operation"] == "TodoWrite")
      let stop = #"{"session_id":"s","hook_event_name":"Stop"}"#
      #expect(await hook(fixture, stop, []) == .init())
      let ended = await fixture.cospool("task", "show", "s").output
      #expect(ended.contains("completed") && ended.contains("1 of 2, doing b"))
    }
  }

  @Test func hooksThatAskHaveTheTimeToWait() async throws {
    let path = "/tmp/csp-hooks-\(UInt32.random(in: .min ... .max)).json"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let outcome = await CommandFixture.cospool([
      "hooks", "install", "claude", "--approvals", "--patience", "90", "--file", path,
      "--program", "cospool",
    ])
    #expect(outcome.exitCode == 0, "\(outcome)")
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(
      text.contains(#""command": "cospool hook --timeout 5 --approvals 90", "timeout": 108"#))
    #expect(text.contains(#""command": "cospool hook --timeout 5", "timeout": 10"#))
    let wrong = await CommandFixture.cospool([
      "hooks", "install", "claude", "--approvals", "--patience", "0", "--file", path,
      "--program", "cospool",
    ])
    #expect(wrong.exitCode == 2)
    let standard = await CommandFixture.cospool([
      "hooks", "install", "claude", "--approvals", "--file", path, "--program", "cospool",
    ])
    #expect(standard.exitCode == 0)
    #expect(
      try String(contentsOfFile: path, encoding: .utf8)
        .contains(#""command": "cospool hook --timeout 5 --ask", "timeout": 618"#))
  }

  @Test(arguments: [true, false]) func permissionPromptAsksForClaude(_ allows: Bool) async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("session", "add", "s").exitCode == 0)
      let connection = daemon(fixture)
      var server = MCPServer(MCPSurroundings(session: "s")) { try await connection.answer(to: $0) }
      let call = permissionPrompt([
        "tool_name": "Bash", "input": ["command": "make"], "tool_use_id": "toolu_1",
      ])
      async let verdict = fixture.decision(by: allows ? "approve" : "deny")
      let line = try #require(await server.answer(to: Array(call.line.utf8)))
      #expect(try await verdict.exitCode == 0)
      let result = JSONTree(Array(line.utf8))?["result"]
      let text = try #require(result?["content"]?.elements.first?["text"]?.text)
      #expect(
        text
          == (allows
            ? #"{"behavior":"allow","updatedInput":{"command":"make"}}"#
            : #"{"behavior":"deny","message":"A person denied it."}"#))
      // Claude Code accepts one block of text, and nothing beside it.
      #expect(result == ["content": [["type": "text", "text": .string(text)]], "isError": false])
    }
  }

  /// The call with which Claude Code asks whether it may use a tool.
  private func permissionPrompt(_ arguments: JSONTree) -> JSONTree {
    [
      "jsonrpc": "2.0", "id": 1, "method": "tools/call",
      "params": ["name": "permission_prompt", "arguments": arguments],
    ]
  }

  /// The tool for questions wants an answer, and gets it with its input.
  @Test func permissionPromptAnswersClaudesQuestions() async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("session", "add", "s").exitCode == 0)
      let connection = daemon(fixture)
      var server = MCPServer(MCPSurroundings(session: "s")) { try await connection.answer(to: $0) }
      let call = permissionPrompt([
        "tool_name": "AskUserQuestion",
        "input": ["questions": [["question": "Which?", "options": [["label": "A"]]]]],
      ])
      async let result: Void = waits(fixture, for: "awaitingAnswer")
      async let answered = server.answer(to: Array(call.line.utf8))
      try await result
      #expect(await fixture.cospool("approve", "s").exitCode == 2)
      #expect(await fixture.cospool("answer", "s", "A").exitCode == 0)
      let line = try #require(await answered)
      let text = JSONTree(Array(line.utf8))?["result"]?["content"]?.elements.first?["text"]?.text
      let verdict = try #require(text.flatMap { JSONTree(Array($0.utf8)) })
      #expect(verdict["behavior"] == "allow")
      #expect(verdict["updatedInput"]?["answers"] == ["Which?": "A"])
      #expect(verdict["updatedInput"]?["questions"]?.elements.count == 1)
    }
  }
}

extension TaskCommandTests {
  /// An agent without its own tool for questions asks with this one.
  @Test func anAgentAsksItsPersonByTool() async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("session", "add", "s").exitCode == 0)
      let agent = LiveMCP(fixture)
      for (id, words, result) in [
        (1, ["answer", "s", "the second"], #"{"answer":"the second"}"#),
        (
          2, ["answer", "s", "--cancel"],
          #"{"answer":null,"why":"The user cancelled the question: stop here."}"#
        ),
      ] as [(JSONTree, [String], String)] {
        agent.send([
          "jsonrpc": "2.0", "id": id, "method": "tools/call",
          "params": [
            "name": "ask_person",
            "arguments": ["question": "Which branch?", "options": ["main", "next"]],
          ],
        ])
        try await waits(fixture, for: "awaitingAnswer")
        #expect(await fixture.cospool("task", "show", "s").output.contains("Which branch?"))
        #expect(
          await CommandFixture.cospool(words, variables: ["COSPOOL_DATA": fixture.directory])
            .exitCode == 0)
        let answer = try await agent.answer(to: id)
        #expect(answer["result"]?["content"]?.elements.first?["text"]?.text == result)
      }
      #expect(await agent.end() == .init())
    }
  }
}

extension TaskCommandTests {
  /// A session that comes back does not seem to work forever.
  @Test func aScriptsRequestEndsWithItsSession() async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("session", "add", "s").exitCode == 0)
      async let withdrawn = fixture.cospool("ask", "-s", "s", "Which?")
      try await waits(fixture, for: "awaitingAnswer")
      #expect(await fixture.cospool("session", "delete", "s").output == "deleted s")
      #expect(await withdrawn.errors.contains("withdrawn"))
      #expect(await fixture.cospool("session", "add", "s").exitCode == 0)
      #expect(!(await fixture.cospool("task", "list").output.contains("processing")))
      async let asked = fixture.cospool("ask", "-s", "s", "And now?")
      try await waits(fixture, for: "awaitingAnswer")
      #expect(await fixture.cospool("answer", "s", "this").exitCode == 0)
      #expect(await asked.output == "this")
      try await waits(fixture, for: "idle")
    }
  }
}

/// `cospool mcp` with an agent that continues to send.
private struct LiveMCP {
  private let lines: AsyncStream<[UInt8]>.Continuation
  private let written = Transcript()
  private let running: Task<CommandRunner.Outcome, Never>

  private final class Transcript: Sendable {
    let texts = Mutex<[String]>([])
  }

  init(_ fixture: CommandFixture) {
    let (stream, lines) = AsyncStream<[UInt8]>.makeStream()
    self.lines = lines
    var watching = WatchSurroundings.none
    let written = written
    watching.write = { text in
      written.texts.withLock { $0.append(text) }
      return true
    }
    var environment = Environment(
      variables: ["COSPOOL_DATA": fixture.directory, "COSPOOL_SESSION": "s"],
      input: StandardInput { [] }, style: .plain, watching: watching)
    environment.pieces = { stream }
    let runner = CommandRunner(environment: environment)
    running = Task { await runner.run(["mcp"]) }
  }

  func send(_ message: JSONTree) {
    lines.yield(Array((message.line + "\n").utf8))
  }

  func prompt(_ id: JSONTree) {
    send([
      "jsonrpc": "2.0", "id": id, "method": "tools/call",
      "params": [
        "name": "permission_prompt",
        "arguments": ["tool_name": "Bash", "input": ["command": "make"]],
      ],
    ])
  }

  var answers: [JSONTree] {
    written.texts.withLock { $0 }.compactMap { JSONTree(Array($0.utf8)) }
  }

  /// Waits for the answer to a request.
  func answer(to id: JSONTree) async throws -> JSONTree {
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
      try #require(ContinuousClock.now < deadline, "no answer to \(id.line): \(answers)")
      if let answer = answers.first(where: { $0["id"] == id }) { return answer }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  /// The agent has ended.
  func end() async -> CommandRunner.Outcome {
    lines.finish()
    return await running.value
  }
}

extension TaskCommandTests {
  /// A request that waits for a user blocks no other request, and can be withdrawn.
  @Test func otherCallsAreAnsweredWhileAPersonIsAsked() async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("session", "add", "s").exitCode == 0)
      let agent = LiveMCP(fixture)
      agent.prompt(1)
      try await waits(fixture, for: "awaitingApproval")
      agent.send(["jsonrpc": "2.0", "id": "p", "method": "ping"])
      #expect(try await agent.answer(to: "p")["result"] != nil)
      agent.prompt(1)
      agent.send(["jsonrpc": "2.0", "id": "q", "method": "tools/list"])
      #expect(try await agent.answer(to: "q")["result"] != nil)
      #expect(try await agent.answer(to: 1)["error"]?["code"] == -32_600, "the id is in use")
      #expect(await fixture.cospool("approve", "s").exitCode == 0)
      while agent.answers.count(where: { $0["id"] == 1 }) < 2 {
        try await Task.sleep(for: .milliseconds(20))
      }
      #expect(agent.answers.last?.line.contains("allow") == true)

      agent.prompt(2)
      try await waits(fixture, for: "awaitingApproval")
      agent.send([
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": ["requestId": 2],
      ])
      // Nothing else happens in it.
      try await waits(fixture, for: "idle")
      #expect(await fixture.cospool("approve").exitCode == 1)

      // When an agent ends, its requests end, too.
      agent.prompt(3)
      try await waits(fixture, for: "awaitingApproval")
      #expect(await agent.end() == .init())
      // Nothing else happens in it.
      try await waits(fixture, for: "idle")
      #expect(!agent.answers.contains { $0["id"] == 2 || $0["id"] == 3 })
    }
  }
}

extension CommandFixture {
  /// Decides about the one request, as soon as there is one.
  fileprivate func decision(by verb: String) async throws -> CommandRunner.Outcome {
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
      let outcome = await cospool(verb, "s")
      // It may read before the agent asks, and answer just after that: then it was shown something
      // else.
      if outcome.exitCode == 0 || ContinuousClock.now > deadline { return outcome }
      try await Task.sleep(for: .milliseconds(20))
    }
  }
}
