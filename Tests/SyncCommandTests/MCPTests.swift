import AgentFormats
import Foundation
import LocalAPI
import Synchronization
import Testing

@testable import SyncCommand

/// `cospool mcp` with a real daemon: lines in, lines out.
@Suite struct MCPTests {
  /// Sends these lines to the server, and returns its output.
  private func serve(
    _ fixture: CommandFixture, _ lines: [String], session: String? = nil
  ) async throws -> [JSONTree] {
    let written = Mutex<[String]>([])
    var watching = WatchSurroundings.none
    watching.write = { text in
      written.withLock { $0.append(text) }
      return true
    }
    var environment = Environment(
      variables: ["COSPOOL_DATA": fixture.directory], input: StandardInput { [] }, style: .plain,
      watching: watching)
    environment.variables["COSPOOL_SESSION"] = session
    let bytes = Array((lines.joined(separator: "\n") + "\n").utf8)
    environment.pieces = {
      AsyncStream { continuation in
        // Cut anywhere.
        for start in stride(from: 0, to: bytes.count, by: 23) {
          continuation.yield(Array(bytes[start..<min(start + 23, bytes.count)]))
        }
        continuation.finish()
      }
    }
    let outcome = await CommandRunner(environment: environment).run(["mcp"])
    #expect(outcome == CommandRunner.Outcome())
    return try written.withLock { $0 }.map { text in
      #expect(text.hasSuffix("\n") && text.dropLast().allSatisfy { $0 != "\n" })
      return try #require(JSONTree(Array(text.utf8)))
    }
  }

  private func call(_ tool: String, _ arguments: JSONTree, id: Int = 1) -> String {
    JSONTree.object([
      "jsonrpc": "2.0", "id": .number(Double(id)), "method": "tools/call",
      "params": .object(["name": .string(tool), "arguments": arguments]),
    ]).line
  }

  /// The result of a tool that succeeded.
  private func content(_ answer: JSONTree) throws -> JSONTree {
    #expect(answer["result"]?["isError"]?.flag == false, "\(answer.line)")
    let structured = try #require(answer["result"]?["structuredContent"])
    // Older clients read the text, which has the same content.
    let text = try #require(answer["result"]?["content"]?.elements.first?["text"]?.text)
    #expect(JSONTree(Array(text.utf8)) == structured)
    return structured
  }

  private func failure(_ answer: JSONTree) -> String? {
    guard answer["result"]?["isError"]?.flag == true else { return nil }
    return answer["result"]?["content"]?.elements.first?["text"]?.text
  }

  @Test func theHandshakeAgreesOnARevision() async throws {
    try await CommandFixture.run { fixture in
      let answers = try await serve(
        fixture,
        [
          #"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
          #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
          #"{"jsonrpc":"2.0","id":"two","method":"ping"}"#,
          #"{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"1999-01-01"}}"#,
        ])
      #expect(answers.count == 3)
      #expect(answers[0]["result"]?["protocolVersion"] == "2025-06-18")
      #expect(answers[0]["result"]?["serverInfo"]?["name"] == "cospool")
      #expect(answers[0]["result"]?["capabilities"]?["tools"] != nil)
      #expect(answers[1]["id"] == "two")
      #expect(answers[2]["result"]?["protocolVersion"] == .string(MCPServer.versions[0]))
    }
  }

  @Test func everyToolIsListedWithItsArguments() async throws {
    try await CommandFixture.run { fixture in
      let answers = try await serve(
        fixture, [#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#])
      let tools = try #require(answers.first?["result"]?["tools"]?.elements)
      #expect(
        Set(tools.compactMap { $0["name"]?.text }) == [
          "queue_list", "queue_add", "queue_edit", "queue_resolve", "queue_move", "queue_later",
          "queue_after", "queue_cancel",
          "queue_pause",
          "queue_resume", "queue_retry", "queue_skip", "thread_list", "thread_remove",
          "session_list", "task_state", "ask_person", "permission_prompt",
        ])
      for tool in tools {
        #expect(tool["inputSchema"]?["type"] == "object")
        let changes = tool["annotations"]?["readOnlyHint"]?.flag == false
        #expect((tool["inputSchema"]?["properties"]?[MCPTool.key] != nil) == changes)
      }
    }
  }

  @Test func aDayOfWorkGoesThrough() async throws {
    try await CommandFixture.run { fixture in
      let first = try await serve(
        fixture,
        [
          call("queue_add", ["text": "one", "idempotency_key": "k1"]),
          call("queue_add", ["text": "two"]), call("queue_add", ["text": "now", "urgent": true]),
          call("queue_list", [:]), call("task_state", [:]),
          call("queue_pause", ["reason": "lunch"]),
          call("thread_list", [:]), call("session_list", [:]),
        ], session: "review")
      let ids = try first.prefix(3).map { try #require(try content($0)["id"]?.text) }
      let list = try content(first[3])
      #expect(
        list["messages"]?.elements.compactMap { $0["content"]?.text } == ["now", "one", "two"])
      #expect(try content(first[4])["busy"] == false)
      #expect(try content(first[4])["task"] == nil, "its agent was not heard of")
      _ = try content(first[5])
      // No agent works in it, so it is shown.
      #expect(try content(first[6])["threads"]?.elements.first?["session"] == "review")
      #expect(try content(first[7])["sessions"]?.elements.map { $0["id"] } == ["review"])

      let second = try await serve(
        fixture,
        [
          call("queue_edit", ["id": .string(ids[0]), "text": "uno"]),
          call("queue_move", ["ids": [.string(ids[1])], "before": .string(ids[0])]),
          call("queue_cancel", ["ids": [.string(ids[2])]]),
          call("queue_list", ["session": "review"]),
          call("queue_resume", ["session": "review"]),
          call("queue_retry", ["id": .string(ids[0])]), call("queue_skip", ["id": .string(ids[0])]),
          call("thread_remove", ["sessions": ["review"]]),
        ])
      for answer in second.prefix(3) { _ = try content(answer) }
      let after = try content(second[3])
      #expect(after["messages"]?.elements.compactMap { $0["content"]?.text } == ["two", "uno"])
      #expect(after["paused"] == true)
      #expect(try content(second[4])["result"] == "done")
      #expect(failure(second[5])?.contains("(messageNotFailed)") == true)
      #expect(failure(second[6])?.contains("(messageNotFailed)") == true)
      _ = try content(second[7])
    }
  }

  /// A merged prompt is shown with its texts, and starts with the one that an agent chooses.
  @Test func aMergedPromptIsResolved() async throws {
    try await CommandFixture.run { fixture in
      let file =
        #"{"version":1,"sessionId":"release","messages":[{"#
        + #""id":"11111111-1111-4111-8111-111111111111","content":"Bump to 1.3 2.0","#
        + #""createdAt":"2026-01-01T00:00:00Z","editions":["#
        + #"{"content":"Bump to 1.3","savedAt":1},{"content":"Bump to 2.0","savedAt":2}]}]}"#
      #expect(await fixture.cospool("queue", "import", "-", input: file).exitCode == 0)
      let before = try await serve(fixture, [call("queue_list", ["session": "release"])])
      let message = try #require(try content(before[0])["messages"]?.elements.first)
      #expect(message["merged"] == true)
      let text = try #require(message["editions"]?.elements.last?["text"]?.text)
      let given: [String: JSONTree] = [
        "id": "1111", "text": .string(text), "base": .string(try #require(message["base"]?.text)),
      ]
      var without = given
      without["base"] = nil
      let after = try await serve(
        fixture,
        [
          call("queue_resolve", .object(without)), call("queue_resolve", .object(given)),
          call("queue_list", ["session": "release"]),
        ])
      #expect(failure(after[0])?.contains("base") == true)
      _ = try content(after[1])
      let taken = try #require(try content(after[2])["messages"]?.elements.first)
      #expect(taken["content"]?.text == "Bump to 2.0" && taken["merged"] == nil)
      #expect(taken["base"] == nil)
    }
  }

  @Test func aRepeatedCallIsDoneOnce() async throws {
    try await CommandFixture.run { fixture in
      let add = call("queue_add", ["text": "once", "idempotency_key": "key-1"])
      let answers = try await serve(
        fixture,
        [
          add, add, call("queue_add", ["text": "else", "idempotency_key": "key-1"]),
          call("queue_pause", ["idempotency_key": "p"]),
          call("queue_resume", [:]), call("queue_pause", ["idempotency_key": "p"]),
          call("queue_list", [:]),
        ], session: "s")
      #expect(answers[0]["result"] == answers[1]["result"])
      #expect(failure(answers[2])?.contains("idempotency_key") == true)
      #expect(answers[3]["result"] == answers[5]["result"])
      let list = try content(answers[6])
      #expect(list["messages"]?.elements.count == 1)
      // The pause was repeated, and not done a second time.
      #expect(list["paused"] == false)
      // Another server, after a restart of the agent: still the same message.
      let again = try await serve(fixture, [add, call("queue_list", [:])], session: "s")
      #expect(try content(again[0])["id"] == content(answers[0])["id"])
      #expect(try content(again[1])["messages"]?.elements.count == 1)
      // In another session, the key means a different message.
      let other = try await serve(fixture, [add], session: "t")
      #expect(try content(other[0])["id"] != content(answers[0])["id"])
    }
  }

  // I-315
  @Test func aKeyThatEndsWithTheServerSaysSo() async throws {
    try await CommandFixture.run { fixture in
      let pause = call("queue_pause", ["idempotency_key": "p"])
      let resume = call("queue_resume", [:])
      _ = try await serve(fixture, [call("queue_add", ["text": "a"]), pause, resume], session: "s")
      let again = try await serve(fixture, [pause, call("queue_list", [:])], session: "s")
      #expect(try content(again[1])["paused"] == true, "a new server does not know the key")
      for tool in MCPTools.all where tool.changes {
        let key = try #require(tool.allFields.first { $0.name == MCPTool.key })
        #expect(key.description.contains("While this server runs"), "\(tool.name)")
        #expect(key.description.contains("restart") == (tool.name == "queue_add"), "\(tool.name)")
      }
    }
  }

  @Test func longContentsAreCutUnlessAsked() async throws {
    try await CommandFixture.run { fixture in
      let text = String(repeating: "é", count: 1_000)
      let answers = try await serve(
        fixture,
        [
          call("queue_add", ["text": .string(text)]), call("queue_list", [:]),
          call("queue_list", ["full": true]),
        ], session: "s")
      let short = try content(answers[1])["messages"]?.elements.first
      #expect(short?["content"]?.text?.count == MCPTools.previewMax)
      #expect(short?["cut"] == true)
      #expect(try content(answers[2])["messages"]?.elements.first?["content"]?.text == text)
    }
  }

  @Test func errorsAreReportedAndTheServerContinues() async throws {
    try await CommandFixture.run { fixture in
      let answers = try await serve(
        fixture,
        [
          "not json", "[]", #"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
          #"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#,
          #"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, #"{"jsonrpc":"2.0","id":1}"#, "   ",
          #"{"jsonrpc":"2.0","id":9,"result":{}}"#, call("no_such_tool", [:]),
          call("queue_list", [:]), call("queue_add", ["session": "s"]),
          call("queue_add", ["session": "s", "text": 3]), call("queue_add", ["sesion": "s"]),
          call("queue_add", ["session": "s", "text": "  "]),
          call("queue_cancel", ["ids": ["ffff"]]), call("task_state", ["session": "none"]),
          call("queue_add", ["session": "s", "text": "ok", "idempotency_key": ""]),
          #"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        ])
      let codes = answers.prefix(7).map { $0["error"]?["code"]?.integer }
      #expect(codes == [-32_700, -32_600, -32_600, -32_601, -32_600, -32_600, -32_602])
      let failures = answers.dropFirst(7).dropLast().map { failure($0) ?? "none" }
      #expect(failures.count == 8)
      #expect(failures[0].contains("COSPOOL_SESSION"))
      #expect(failures[1].contains("needs \"text\""))
      #expect(failures[2].contains("is not a valid value"))
      #expect(failures[3].contains("no argument \"sesion\""))
      #expect(failures[4].contains("(blankText)"))
      #expect(failures[5].contains("(messageNotFound)"))
      #expect(failures[6].contains("(sessionNotFound)"))
      #expect(failures[7].contains("1 to 256 bytes"))
      #expect(answers.last?["result"] == .object([:]))
    }
  }

  @Test func withoutADaemonEveryCallSaysHowToStartIt() async throws {
    let fixture = CommandFixture(directory: "/tmp/csp-none-\(UInt32.random(in: .min ... .max))")
    let answers = try await serve(fixture, [call("queue_list", ["session": "s"])])
    #expect(answers.first.flatMap(failure)?.contains("cospoold") == true)
  }

  @Test func keysMakeIdsThatStay() {
    let id = MessageKey.id(for: "nightly-1", in: "review")
    // This must never change: a later version must not add the same prompt under a different id.
    #expect(id == MessageKey.id(for: "nightly-1", in: "Review"))
    #expect(id != MessageKey.id(for: "nightly-2", in: "review"))
    #expect(id != MessageKey.id(for: "nightly-1", in: "revie"))
    let own = "6f1d6f0e-6f0a-4f5b-8a58-0f0c4b3b9d10"
    #expect(MessageKey.id(for: own.uppercased(), in: "x") == own)
    #expect(Set((0..<10_000).map { MessageKey.id(for: "\($0)", in: "s") }).count == 10_000)
  }
}
