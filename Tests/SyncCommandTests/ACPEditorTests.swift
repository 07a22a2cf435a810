import AgentFormats
import Foundation
import LocalAPI
import Synchronization
import Testing

@testable import SyncCommand

/// `cospool acp` with a real daemon, and an editor that writes lines.
@Suite(.timeLimit(.minutes(5))) struct ACPEditorTests {
  private final class Editor: Sendable {
    private let written = Mutex<[JSONTree]>([])
    private let input: AsyncStream<[UInt8]>.Continuation

    private init(_ input: AsyncStream<[UInt8]>.Continuation) { self.input = input }

    /// Runs the command while `body` runs; at its end, the editor is gone.
    static func run(
      _ fixture: CommandFixture, _ arguments: [String],
      _ body: @Sendable (Editor) async throws -> Void
    ) async throws {
      let (pieces, input) = AsyncStream<[UInt8]>.makeStream()
      let editor = Editor(input)
      var watching = WatchSurroundings.none
      watching.write = { text in
        if let line = JSONTree(Array(text.utf8)) { editor.written.withLock { $0.append(line) } }
        return true
      }
      var environment = Environment(
        variables: ["COSPOOL_DATA": fixture.directory], input: StandardInput { [] }, style: .plain,
        watching: watching)
      environment.pieces = { pieces }
      let runner = CommandRunner(environment: environment)
      let outcome = Task { await runner.run(["acp"] + arguments) }
      defer { input.finish() }
      try await body(editor)
      input.finish()
      #expect(await outcome.value == CommandRunner.Outcome())
    }

    func send(_ members: [String: JSONTree]) {
      let message = members.merging(["jsonrpc": "2.0"]) { $1 }
      input.yield(Array((JSONTree.object(message).line + "\n").utf8))
    }

    func ask(_ id: Int, _ method: String, _ params: JSONTree = [:]) async throws -> JSONTree {
      send(["id": .whole(Int64(id)), "method": .string(method), "params": params])
      return try await answer(id)
    }

    func prompt(_ id: Int, _ text: String, in session: String = "review") {
      send([
        "id": .whole(Int64(id)), "method": "session/prompt",
        "params": [
          "sessionId": .string(session), "prompt": [["type": "text", "text": .string(text)]],
        ],
      ])
    }

    /// The first line that is looked for, once it is there.
    func line(_ isWanted: (JSONTree) -> Bool) async throws -> JSONTree {
      for _ in 0..<6_000 {
        if let line = written.withLock({ $0.first(where: isWanted) }) { return line }
        try await Task.sleep(for: .milliseconds(10))
      }
      Issue.record("It was not written: \(written.withLock { $0.map(\.line) })")
      throw CancellationError()
    }

    func answer(_ id: Int) async throws -> JSONTree {
      try await line { $0["id"]?.integer == Int64(id) && $0["method"] == nil }
    }

    func said(_ words: String) async throws {
      _ = try await line {
        $0["params"]?["update"]?["content"]?["text"]?.text?.contains(words) == true
      }
    }
  }

  private func until(
    _ fixture: CommandFixture, _ words: [String], shows text: String
  ) async throws {
    for _ in 0..<600 {
      let outcome = await CommandFixture.cospool(
        words, variables: ["COSPOOL_DATA": fixture.directory])
      if outcome.output.contains(text) { return }
      try await Task.sleep(for: .milliseconds(100))
    }
    Issue.record("\(words) never showed \(text)")
  }

  @Test func promptsAreQueuedAndStayWhenTheEditorIsGone() async throws {
    try await CommandFixture.run { fixture in
      try await Editor.run(fixture, []) { editor in
        let answer = try await editor.ask(1, "initialize", ["protocolVersion": 1])
        #expect(answer["result"]?["protocolVersion"]?.integer == 1)
        #expect(answer["result"]?["agentCapabilities"]?["loadSession"] == true)
        let new = try await editor.ask(2, "session/new", ["cwd": "/srv/shop", "mcpServers": []])
        let session = try #require(new["result"]?["sessionId"]?.text)
        #expect(await !fixture.cospool("session", "list").output.contains("shop"))
        editor.prompt(3, "first", in: session)
        try await editor.said("not assigned to a device")
        editor.prompt(4, "second", in: session)
        try await editor.said("Queued, 2 of 2.")
        #expect(await fixture.cospool("session", "list").output.contains("shop"))
        // A session that does not exist; another conversation of the folder has its own name.
        let lost = try await editor.ask(5, "session/load", ["sessionId": "other", "cwd": "/"])
        #expect(lost["error"]?["code"]?.integer == -32_002)
        editor.prompt(9, "lost", in: "other")
        #expect(try await editor.answer(9)["error"]?["code"]?.integer == -32_002)
        #expect(try await editor.ask(6, "session/fork")["error"]?["code"]?.integer == -32_601)
        let next = try await editor.ask(7, "session/new", ["cwd": "/srv/shop"])
        editor.prompt(8, "third", in: try #require(next["result"]?["sessionId"]?.text))
        try await until(fixture, ["session", "list"], shows: "shop-2")
      }
      let queue = await fixture.cospool("queue", "list", "-s", "shop").output
      #expect(queue.contains("first") && queue.contains("second"))
    }
  }

  @Test func aStopInTheEditorCancelsWhatWaits() async throws {
    try await CommandFixture.run { fixture in
      try await Editor.run(fixture, ["-s", "review"]) { editor in
        let new = try await editor.ask(1, "session/new", ["cwd": "/srv/shop"])
        #expect(new["result"]?["sessionId"] == "review")
        _ = await fixture.cospool("send", "-s", "review", "--new", "somebody's")
        editor.prompt(2, "mine")
        try await editor.said("Queued, 2 of 2.")
        editor.send(["method": "session/cancel", "params": ["sessionId": "review"]])
        #expect(try await editor.answer(2)["result"]?["stopReason"] == "cancelled")
      }
      let queue = await fixture.cospool("queue", "list", "-s", "review").output
      #expect(queue.contains("somebody's") && !queue.contains("mine"))
    }
  }

  @Test func anAgentsRequestsAreAnsweredInTheEditorOrElsewhere() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("config", "set", "command", "sleep 600")
      _ = await fixture.cospool("config", "set", "agent", "command")
      try await Editor.run(fixture, ["--here"]) { editor in
        let new = try await editor.ask(1, "session/new", ["cwd": "/tmp"])
        let session = try #require(new["result"]?["sessionId"]?.text)
        editor.prompt(2, "work", in: session)
        try await until(fixture, ["queue", "list", "-s", session], shows: "running")
        let first = Task { await fixture.cospool("ask", "-s", session, "--leave", "git push") }
        let asked = try await editor.line { $0["method"] == "session/request_permission" }
        #expect(asked.line.contains("git push"))
        editor.send([
          "id": try #require(asked["id"]),
          "result": ["outcome": ["outcome": "selected", "optionId": "allow"]],
        ])
        #expect(await first.value.exitCode == 0)
        let second = Task { await fixture.cospool("ask", "-s", session, "--leave", "git pull") }
        let again = try await editor.line {
          $0["method"] == "session/request_permission" && $0["id"] != asked["id"]
        }
        try await until(fixture, ["deny", session], shows: "denied")
        _ = try await editor.line {
          $0["method"] == "$/cancel_request" && $0["params"]?["requestId"] == again["id"]
        }
        #expect(await second.value.exitCode == 1)
        editor.send(["method": "session/cancel", "params": ["sessionId": .string(session)]])
        #expect(try await editor.answer(2)["result"]?["stopReason"] == "cancelled")
      }
    }
  }

  @Test func aFailureIsAnErrorAndASuccessEndsTheTurn() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("config", "set", "command", "cat")
      _ = await fixture.cospool("config", "set", "agent", "command")
      try await Editor.run(fixture, ["--here", "-s", "review"]) { editor in
        _ = try await editor.ask(1, "session/new", ["cwd": "/tmp"])
        editor.prompt(2, "All tests pass.")
        #expect(try await editor.answer(2)["result"]?["stopReason"] == "end_turn")
        try await editor.said("All tests pass.")
        _ = await fixture.cospool("config", "set", "command", "false")
        editor.prompt(3, "next")
        let answer = try await editor.answer(3)
        #expect(answer["error"]?["message"]?.text?.contains("cospool queue retry") == true)
        // What was asked before is shown to an editor that comes back.
        _ = try await editor.ask(4, "session/load", ["sessionId": "review", "cwd": "/tmp"])
        _ = try await editor.line {
          $0["params"]?["update"]?["sessionUpdate"] == "user_message_chunk"
        }
        // A line that is too long has no id to answer to.
        editor.send(["id": 5, "x": .string(String(repeating: "x", count: ACPCommand.lineBytesMax))])
        _ = try await editor.line { $0["error"]?["code"]?.integer == -32_700 }
      }
    }
  }

  @Test func aPromptHasThePartsThatAnEditorSends() throws {
    let prompt = try EditorPrompt([
      ["type": "text", "text": "Look at "],
      ["type": "resource_link", "name": "a b", "uri": "file:///srv/a%20b"],
      ["type": "text", "text": "!"],
      ["type": "resource", "resource": ["uri": "file:///srv/c", "text": "let it = 1"]],
      ["type": "image", "mimeType": "image/png", "data": "AAAA"],
    ])
    #expect(prompt.text == "Look at /srv/a b!\n\n/srv/c:\nlet it = 1")
    #expect(prompt.attachments.map(\.name) == ["picture-1.png"])
    #expect(throws: CommandFailure.self) { try EditorPrompt([["type": "audio"]]) }
  }
}
