import AgentFormats
import Foundation
import LocalAPI
import QueueModel
import Synchronization
import Testing

@testable import SyncCommand

/// The shown request is the one that is allowed.
extension TaskCommandTests {
  /// A request of 6,000 bytes is shown completely, and an approval names what was shown.
  @Test func aYesIsForWhatWasShown() async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("session", "add", "s").exitCode == 0)
      let command = "make " + String(repeating: "x", count: 6_000) + "; rm -rf ~"
      let input = JSONTree.object(["command": .string(command), "cwd": "/"]).line
      async let asked = ask(fixture, ["kind": "approval", "toolName": "Bash", "input": input])
      try await waits(fixture, for: "awaitingApproval")
      #expect(await fixture.cospool("task", "show", "s").output.contains("; rm -rf ~\ncwd: /"))
      let shown = await fixture.cospool("task", "show", "s", "--json").output
      let request = try #require(JSONTree(Array(shown.utf8))?["request"])
      let digest = try #require(request["digest"]?.text)
      #expect(request["isCut"] == nil)
      let other = String(repeating: "0", count: 64)
      let refused = await CommandFixture.cospool(
        ["approve", "s", "--digest", other], variables: ["COSPOOL_DATA": fixture.directory])
      #expect(refused.exitCode == 5 && refused.errors.contains("that was shown"), "\(refused)")
      await #expect(throws: CommandFailure.self) {
        try await daemon(fixture).answer(
          to: APIRequest(.post, ["asks", "only", "answer"], body: ["verdict": "allowed"]))
      }
      try await waits(fixture, for: "awaitingApproval")
      let allowed = await CommandFixture.cospool(
        ["approve", "s", "--digest", digest], variables: ["COSPOOL_DATA": fixture.directory])
      #expect(allowed.exitCode == 0, "\(allowed)")
      #expect(try await asked["ending"] == "allowed")
      // Its text is sent with it.
      let deadline = ContinuousClock.now + .seconds(60)
      let folder = fixture.directory + "/attachments"
      while try !FileManager.default.contentsOfDirectory(atPath: folder).isEmpty {
        try #require(ContinuousClock.now < deadline, "the text of the request is still there")
        try await Task.sleep(for: .milliseconds(20))
      }
    }
  }

  /// Above 256 KiB, no user is asked.
  @Test func unreadableInputsAreDenied() async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("session", "add", "s").exitCode == 0)
      let command = String(repeating: "x", count: Limits.taskInputBytesMax)
      let input = JSONTree.object(["command": .string(command)]).line
      let denied = try await ask(fixture, ["kind": "approval", "toolName": "Bash", "input": input])
      #expect(denied["ending"] == "denied" && denied["text"]?.text?.contains("bytes") == true)
      let event =
        #"{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"Bash","#
        + #""tool_input":\#(input)}"#
      #expect(await hook(fixture, event, ["--approvals", "300"]) == .init())
      let task = await fixture.cospool("task", "show", "s").output
      #expect(task.contains("not all of it"), "\(task.suffix(500))")
      #expect(await fixture.cospool("approve", "s").exitCode != 0)
    }
  }

  /// A user at a terminal, who says this to each question.
  private func atTerminal(
    _ fixture: CommandFixture, says answer: Bool, _ shown: @escaping @Sendable (String) -> Void
  ) -> CommandRunner {
    var environment = Environment(
      variables: ["COSPOOL_DATA": fixture.directory], input: StandardInput { [] }, style: .plain,
      watching: .none)
    environment.confirm = { text in
      shown(text)
      return answer
    }
    return CommandRunner(environment: environment)
  }

  /// The id in the command that `task show` prints, once the request has this text.
  private func printed(
    _ fixture: CommandFixture, _ note: String, besides: String? = nil
  ) async throws -> String {
    let deadline = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < deadline {
      let text = await fixture.cospool("task", "show", "s").output
      if text.contains(note),
        let match = text.matches(of: /cospool (?:approve|answer) ([0-9a-f]{8})/)
          .first(where: { String($0.1) != besides })
      {
        return String(match.1)
      }
      try await Task.sleep(for: .milliseconds(20))
    }
    throw CommandFailure.usage("\(note) is not shown within a minute.")
  }

  // I-158
  @Test(arguments: ["approval", "question"])
  func aPrintedCommandMeansNoOtherRequest(kind: String) async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("session", "add", "s").exitCode == 0)
      let words = { (id: String) in
        kind == "approval" ? ["approve", id] : ["answer", id, "the blue one"]
      }
      let body = { @Sendable (text: String) in
        kind == "approval"
          ? ["kind": kind, "toolName": "Bash", "summary": text] : ["kind": kind, "question": text]
      }
      async let first = ask(fixture, body("ls build"))
      let id = try await printed(fixture, "ls build")
      let ends = kind == "approval" ? ["deny", id] : ["answer", id, "--cancel"]
      #expect(await atTerminal(fixture, says: true) { _ in }.run(ends).exitCode == 0)
      _ = try await first
      async let second = ask(fixture, body("rm -rf build"))
      let other = try await printed(fixture, "rm -rf build", besides: id)
      let late = await atTerminal(fixture, says: true) { _ in }.run(words(id))
      #expect(late.exitCode != 0 && late.output.isEmpty, "\(late)")
      let taken = await atTerminal(fixture, says: false) { _ in
        Issue.record("A request that its id names was shown before.")
      }.run(words(other))
      #expect(taken.exitCode == 0, "\(taken)")
      #expect(try await second["ending"] == (kind == "approval" ? "allowed" : "answered"))
    }
  }

  // I-158
  @Test(arguments: [["approve", "s"], ["answer", "s", "yes"], ["answer", "yes"]])
  func aSessionsNameShowsWhatIsOpen(words: [String]) async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("session", "add", "s").exitCode == 0)
      let isApproval = words[0] == "approve"
      async let asked = ask(
        fixture,
        isApproval
          ? ["kind": "approval", "toolName": "Bash", "summary": "rm -rf build"]
          : ["kind": "question", "question": "rm -rf build?"])
      _ = try await printed(fixture, "rm -rf build")
      let shown = Mutex<[String]>([])
      let note = { @Sendable (text: String) in shown.withLock { $0.append(text) } }
      let refused = await atTerminal(fixture, says: false, note).run(words)
      #expect(refused.exitCode == 1 && refused.errors.contains("still open"), "\(refused)")
      let given = await atTerminal(fixture, says: true, note).run(words)
      #expect(given.exitCode == 0, "\(given)")
      let texts = shown.withLock { $0 }
      #expect(texts.count == 2 && texts.allSatisfy { $0.contains("rm -rf build") }, "\(texts)")
      #expect(try await asked["ending"] == (isApproval ? "allowed" : "answered"))
    }
  }
}
