import AgentFormats
import LocalAPI
import QueueModel
import Synchronization
import Testing

@testable import SyncCommand

/// Hooks of an agent in a terminal, with the events that Claude Code 2.1.332 sends.
@Suite(.timeLimit(.minutes(5))) struct HookConversationTests {
  private static let one = "11111111-aaaa-4000-8000-000000000001"
  private static let two = "22222222-aaaa-4000-8000-000000000002"
  private static let three = "33333333-aaaa-4000-8000-000000000003"

  /// Sends one event; returns what the agent reads from its hook.
  @discardableResult
  private func hook(
    _ fixture: CommandFixture, _ name: String, of session: String = one, _ fields: String = "",
    folder: String = "/src/shop", arguments: [String] = [], variables: [String: String] = [:]
  ) async -> String {
    let event =
      #"{"session_id":"\#(session)","cwd":"\#(folder)","hook_event_name":"\#(name)""#
      + (fields.isEmpty ? "}" : ",\(fields)}")
    let complaints = Mutex<[String]>([])
    var environment = Environment(
      variables: variables.merging(["COSPOOL_DATA": fixture.directory]) { own, _ in own },
      input: StandardInput { [] }, style: .plain, watching: .none)
    environment.pieces = {
      AsyncStream { continuation in
        continuation.yield(Array(event.utf8))
        continuation.finish()
      }
    }
    environment.complain = { text in complaints.withLock { $0.append(text) } }
    let outcome = await CommandRunner(environment: environment).run(
      ["hook", "--explain", "--timeout", "60"] + arguments)
    #expect(complaints.withLock { $0 } == [], "\(event)")
    #expect(outcome.exitCode == 0)
    return outcome.output
  }

  private func task(
    _ fixture: CommandFixture, _ session: String = one
  ) async throws -> JSONTree {
    let shown = await fixture.cospool("task", "show", session, "--json").output
    return try #require(JSONTree(Array(shown.utf8)))
  }

  private func expectStatus(
    _ status: String, _ fixture: CommandFixture, _ when: String = ""
  ) async throws {
    let found = try await task(fixture)
    #expect(found["status"]?.text == status, "\(when)")
  }

  private func sessions(_ fixture: CommandFixture) async -> [JSONTree] {
    let list = await fixture.cospool("session", "list", "--json").output
    return JSONTree(Array(list.utf8))?["sessions"]?.elements ?? []
  }

  private static let running =
    #""background_tasks":[{"id":"a1","type":"subagent","status":"running","description":"s"}]"#

  // MARK: - Sub-agents

  @Test func aSubagentTakesNoRequestOfThePersonAway() async throws {
    try await CommandFixture.run { fixture in
      await hook(fixture, "UserPromptSubmit", #""prompt":"go""#)
      let asks = #""tool_name":"Bash","tool_input":{"command":"rm -rf build"}"#
      await hook(fixture, "PermissionRequest", asks)
      for event in ["PreToolUse", "PostToolUse", "PreToolUse", "PostToolUseFailure"] {
        await hook(
          fixture, event, #""tool_name":"Bash","tool_use_id":"t2","agent_id":"sub1""#)
        try await expectStatus("awaitingApproval", fixture, "\(event)")
      }
      // Another tool of the agent itself ended beside it.
      await hook(fixture, "PostToolUse", #""tool_name":"Read","tool_use_id":"t3""#)
      try await expectStatus("awaitingApproval", fixture)
      await hook(fixture, "PostToolUse", #""tool_name":"Bash","tool_use_id":"t1""#)
      try await expectStatus("processing", fixture)
    }
  }

  @Test func aSubagentsRequestEndsWithItsOwnEvents() async throws {
    try await CommandFixture.run { fixture in
      await hook(fixture, "UserPromptSubmit", #""prompt":"go""#)
      let asks = #""tool_name":"Bash","tool_input":{"command":"ls"},"agent_id":"sub1""#
      await hook(fixture, "PermissionRequest", asks)
      // The main agent ends its reply, and then learns that a sub-agent has finished.
      await hook(fixture, "Stop", #""stop_hook_active":false,\#(Self.running)"#)
      let notification = #""prompt":"<task-notification>\n<task-id>a2</task-id>""#
      await hook(fixture, "UserPromptSubmit", notification)
      await hook(
        fixture, "Notification",
        #""message":"Claude needs your permission","notification_type":"permission_prompt""#)
      try await expectStatus("awaitingApproval", fixture)
      await hook(fixture, "PostToolUse", #""tool_name":"Bash","agent_id":"sub1""#)
      try await expectStatus("processing", fixture)
    }
  }

  @Test(arguments: [#""agent_id":"sub1""#, running])
  func aTurnEndsWithItsAgentAndAllOfItsOwn(fields: String) async throws {
    try await CommandFixture.run { fixture in
      await hook(fixture, "UserPromptSubmit", #""prompt":"go""#)
      await hook(fixture, "Stop", #""stop_hook_active":false,\#(fields)"#)
      try await expectStatus("processing", fixture)
      await hook(
        fixture, "UserPromptSubmit", #""prompt":"<task-notification>\n<task-id>a1</task-id>""#)
      // A server that it started runs forever.
      await hook(
        fixture, "Stop",
        #""background_tasks":[{"id":"b","type":"shell","status":"running","command":"serve"}]"#)
      try await expectStatus("completed", fixture)
    }
  }

  /// A prompt is in work until everything that it began has ended. `agents-check` shows that it
  /// ends then; here, all hooks began before the prompt.
  @Test func thePromptThatWasGivenEndsWithItsSubagents() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("config", "set", "agent", "hooks")
      let feed = ["--feed"]
      await hook(fixture, "UserPromptSubmit", #""prompt":"go""#)
      _ = await fixture.cospool("send", "-s", Self.one, "audit it")
      _ = await fixture.cospool("send", "-s", Self.one, "deploy when all is done")
      let given = await hook(fixture, "Stop", #""stop_hook_active":false"#, arguments: feed)
      #expect(given.contains("audit it"))
      await hook(
        fixture, "Stop", #""stop_hook_active":true,\#(Self.running)"#, arguments: feed)
      await hook(
        fixture, "UserPromptSubmit", #""prompt":"<task-notification>\n<task-id>a1</task-id>""#,
        arguments: feed)
      let list = await fixture.cospool("queue", "list", "-s", Self.one, "--json").output
      #expect(list.contains(#""status":"running""#) && list.contains("deploy"), "\(list)")
    }
  }

  // MARK: - Turns that fail

  @Test func aTurnThatFailedShowsWhy() async throws {
    try await CommandFixture.run { fixture in
      await hook(fixture, "UserPromptSubmit", #""prompt":"go""#)
      await hook(
        fixture, "StopFailure", #""error":"unknown","last_assistant_message":"API Error: 400 odd""#)
      let shown = try await task(fixture)
      #expect(shown.line.contains("API Error: 400 odd"), "\(shown.line)")
      #expect(await fixture.cospool("thread", "list", "--json").output.contains("\"locked\":false"))
    }
  }

  @Test func aPromptThatWasGivenFailsOrWaitsForTheLimit() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("config", "set", "agent", "hooks")
      await hook(fixture, "UserPromptSubmit", #""prompt":"go""#)
      _ = await fixture.cospool("send", "-s", Self.one, "audit it")
      await hook(fixture, "Stop", #""stop_hook_active":false"#, arguments: ["--feed"])
      await hook(
        fixture, "StopFailure",
        #""error":"rate_limit","last_assistant_message":"You've hit your limit · resets in 2h""#,
        arguments: ["--feed"])
      let waits = await fixture.cospool("queue", "list", "-s", Self.one, "--json").output
      #expect(waits.contains(#""status":"queued""#) && waits.contains("notBefore"), "\(waits)")
      #expect(waits.contains("hit your limit"))

      await hook(fixture, "UserPromptSubmit", of: Self.two, #""prompt":"go""#, folder: "/src/b")
      _ = await fixture.cospool("send", "-s", Self.two, "audit that")
      await hook(
        fixture, "Stop", of: Self.two, #""stop_hook_active":false"#, folder: "/src/b",
        arguments: ["--feed"])
      await hook(
        fixture, "StopFailure", of: Self.two, #""error":"billing_error""#, folder: "/src/b",
        arguments: ["--feed"])
      let failed = await fixture.cospool("queue", "list", "-s", Self.two, "--json").output
      #expect(failed.contains(#""status":"failed""#) && failed.contains("billing_error"))
    }
  }

  // MARK: - One session for a terminal

  @Test func aTerminalKeepsItsSession() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("config", "set", "agent", "hooks")
      await hook(fixture, "SessionStart", #""source":"startup""#)
      await hook(fixture, "UserPromptSubmit", #""prompt":"go""#)
      await hook(fixture, "Stop")
      _ = await fixture.cospool("send", "-s", "shop", "one")
      _ = await fixture.cospool("send", "-s", "shop", "two")
      // /clear, a turn, /branch, a compaction, a turn.
      await hook(fixture, "SessionEnd", #""reason":"clear""#)
      await hook(fixture, "SessionStart", of: Self.two, #""source":"clear""#)
      await hook(fixture, "UserPromptSubmit", of: Self.two, #""prompt":"go on""#)
      let first = await hook(fixture, "Stop", of: Self.two, arguments: ["--feed"])
      #expect(first.contains("one"))
      await hook(fixture, "Stop", of: Self.two, #""stop_hook_active":true"#)
      await hook(fixture, "SessionEnd", of: Self.two, #""reason":"resume""#)
      await hook(fixture, "SessionStart", of: Self.three, #""source":"fork""#)
      await hook(fixture, "SessionStart", of: Self.three, #""source":"compact""#)
      await hook(fixture, "UserPromptSubmit", of: Self.three, #""prompt":"go on""#)
      try await expectStatus("processing", fixture)
      #expect(await fixture.cospool("queue", "list", "-s", "shop").output.contains("two"))
      #expect(await sessions(fixture).map { $0["id"]?.text } == [Self.one])
      // Back to the cleared conversation, and to the branch of it.
      await hook(fixture, "SessionEnd", of: Self.three, #""reason":"resume""#)
      await hook(fixture, "SessionStart", of: Self.two, #""source":"resume""#)
      #expect(await sessions(fixture).map { $0["id"]?.text } == [Self.one])
      #expect(await fixture.cospool("send", "-s", "shop", "three").exitCode == 0)
    }
  }

  /// After a restart of the daemon, the terminal's conversation is still known.
  @Test func aTerminalKeepsItsSessionOverARestart() async throws {
    let root = "/tmp/csp-\(UInt32.random(in: .min ... .max))"
    for round in 1...2 {
      try await CommandFixture.run(in: root) { fixture in
        if round == 1 {
          await hook(fixture, "SessionStart", #""source":"startup""#)
          await hook(fixture, "SessionEnd", #""reason":"clear""#)
          await hook(fixture, "SessionStart", of: Self.two, #""source":"clear""#)
          await hook(fixture, "SessionEnd", of: Self.two, #""reason":"prompt_input_exit""#)
        } else {
          await hook(fixture, "SessionStart", of: Self.two, #""source":"resume""#)
        }
        #expect(await sessions(fixture).map { $0["id"]?.text } == [Self.one])
        let answer = try await DaemonConnection(dataDirectory: fixture.directory).answer(
          to: APIRequest(.get, ["sessions"]))
        let closed = try answer.decoded(SessionsAnswer.self).closed?.map(\.rawValue)
        #expect(closed == (round == 1 ? [Self.one] : nil))
      }
    }
  }

  @Test func anotherTerminalHasASessionOfItsOwn() async throws {
    try await CommandFixture.run { fixture in
      await hook(fixture, "SessionStart", #""source":"startup""#)
      // A copy of the conversation in another window.
      await hook(fixture, "SessionStart", of: Self.two, #""source":"fork""#)
      #expect(await sessions(fixture).count == 2)
      // The user switched to an unknown conversation.
      await hook(fixture, "SessionEnd", #""reason":"resume""#)
      await hook(fixture, "SessionStart", of: Self.three, #""source":"resume""#)
      #expect(await sessions(fixture).count == 3)
    }
  }

  /// After a deletion, the terminal has another session.
  @Test func aSessionThatWasDeletedIsNotFoundAgain() async throws {
    try await CommandFixture.run { fixture in
      await hook(fixture, "SessionStart", #""source":"startup""#)
      await hook(fixture, "SessionEnd", #""reason":"clear""#)
      await hook(fixture, "SessionStart", of: Self.two, #""source":"clear""#)
      #expect(await fixture.cospool("session", "delete", Self.one).exitCode == 0)
      await hook(fixture, "UserPromptSubmit", of: Self.two, #""prompt":"go""#)
      #expect(await sessions(fixture).map { $0["id"]?.text } == [Self.two])
    }
  }

  @Test func aTerminalThatWasClosedLeavesTheNameToTheNextOne() async throws {
    try await CommandFixture.run { fixture in
      await hook(fixture, "SessionStart", #""source":"startup""#)
      await hook(fixture, "SessionEnd", #""reason":"prompt_input_exit""#)
      await hook(fixture, "SessionStart", of: Self.two, #""source":"startup""#)
      let sent = await fixture.cospool("send", "-s", "shop", "one")
      #expect(sent.exitCode == 0, "\(sent.errors)")
      let queue = await fixture.cospool("queue", "list", "-s", Self.two).output
      #expect(queue.contains("one"), "\(queue)")
      // Messages that wait in a closed session are reported, even if the session is opened again.
      await hook(fixture, "SessionStart", #""source":"resume""#)
      #expect(
        await fixture.cospool("send", "-s", "shop", "two").errors.contains("several sessions"))
    }
  }

  /// Each run of a script would leave a session, a thread and a notice.
  @Test func theAgentOfAScriptMakesNoSession() async throws {
    try await CommandFixture.run { fixture in
      let script = ["CLAUDE_CODE_ENTRYPOINT": "sdk-cli"]
      for event in ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"] {
        await hook(fixture, event, variables: script)
      }
      #expect(await sessions(fixture) == [])
      await hook(
        fixture, "UserPromptSubmit",
        variables: script.merging(["COSPOOL_SESSION": "nightly"]) { $1 })
      #expect(await sessions(fixture).map { $0["id"]?.text } == ["nightly"])
      await hook(
        fixture, "UserPromptSubmit", variables: ["CLAUDE_CODE_ENTRYPOINT": "cli"])
      #expect(await sessions(fixture).count == 2)
    }
  }
}
