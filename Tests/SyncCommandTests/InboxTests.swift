import Foundation
import LocalAPI
import QueueModel
import Testing

@testable import SyncCommand

/// `cospool inbox`: everything that needs its user, in one order, each line with the command that
/// decides it.
@Suite(.timeLimit(.minutes(10))) struct InboxTests {
  private static let id = "11111111-1111-4111-8111-111111111111"
  private static let merged =
    #"{"version":1,"sessionId":"release","messages":[{"id":"\#(id)","content":"1.3 2.0","#
    + #""createdAt":"2026-01-01T00:00:00Z","editions":[{"content":"1.3","savedAt":1},"#
    + #"{"content":"2.0","savedAt":2}]}]}"#

  private func lines(_ fixture: CommandFixture) async throws -> [InboxListAnswer.Line] {
    let output = await fixture.cospool("inbox", "--json").output
    return try JSONDecoder().decode(InboxListAnswer.self, from: Data(output.utf8)).lines
  }

  private func until(
    _ fixture: CommandFixture, _ sessions: [String]
  ) async throws -> [InboxListAnswer.Line] {
    let deadline = ContinuousClock.now + .seconds(60)
    var found: [InboxListAnswer.Line] = []
    repeat {
      found = try await lines(fixture)
      if found.map(\.session.rawValue) == sessions { return found }
      try await Task.sleep(for: .milliseconds(20))
    } while ContinuousClock.now < deadline
    Issue.record("the inbox never was \(sessions): \(found)")
    return found
  }

  @Test func theOldestComesFirstThenTheThreadsInTheirOrder() async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("inbox").output == "nothing needs you")
      for name in ["later", "sooner"] {
        #expect(await fixture.cospool("send", "-s", name, "prompt of \(name)").exitCode == 0)
      }
      #expect(await fixture.cospool("thread", "move", "sooner", "--to", "1").exitCode == 0)
      let brought = await fixture.cospool("queue", "import", "-", input: Self.merged)
      #expect(brought.exitCode == 0, "\(brought)")
      #expect(await fixture.cospool("session", "add", "asking").exitCode == 0)
      async let asked = DaemonConnection(dataDirectory: fixture.directory).answer(
        to: APIRequest(
          .post, ["sessions", "asking", "asks"],
          body: ["kind": "approval", "toolName": "Bash", "summary": "git push"]))
      // A session that asks, and that is also a thread, has one line.
      #expect(await fixture.cospool("thread", "add", "asking").exitCode == 0)
      let found = try await until(fixture, ["release", "asking", "sooner", "later"])
      #expect(found.map(\.reason) == [.merged, .asks, .ready, .ready])
      let request = try #require(found[1].request?.description.prefix(8))
      #expect(
        found.map(\.command) == [
          "cospool queue show 11111111", "cospool approve \(request)",
          "cospool session host sooner this", "cospool session host later this",
        ])
      #expect(
        found.map(\.note).dropFirst() == [
          "Bash: git push", "not assigned to a device", "not assigned to a device",
        ])
      let output = await fixture.cospool("inbox").output.split(separator: "\n")
      #expect(output.count == 5 && output[1].hasPrefix("release  merged text"), "\(output)")
      #expect(output[2].contains("cospool approve \(request)"), "\(output)")
      // Each is decided by its command.
      #expect(await fixture.cospool("approve", "asking").exitCode == 0)
      _ = try await asked
      let first = try await fixture.marked("1", of: "1111")
      #expect(await fixture.cospool("queue", "resolve", "1111", "--take", first).exitCode == 0)
      #expect(await fixture.cospool("thread", "remove", "later").exitCode == 0)
      #expect(try await lines(fixture).contains { $0.session.rawValue == "later" } == false)
    }
  }

  // I-37
  @Test func commandsAreForTheirOwnLines() async throws {
    try await CommandFixture.run { fixture in
      for name in ["deploys", "notes"] {
        #expect(await fixture.cospool("send", "-s", name, "prompt of \(name)").exitCode == 0)
      }
      #expect(await fixture.cospool("session", "rename", "notes", "deploys").exitCode == 0)
      let found = try await until(fixture, ["deploys", "notes"])
      for line in found {
        #expect(line.command == "cospool session host \(line.session) this", "\(line)")
      }
    }
  }

  @Test func failedMessagesAreRetriedByTheirCommand() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("config", "set", "command", "sh -c 'echo no branch >&2; exit 3'")
      _ = await fixture.cospool("config", "set", "agent", "command")
      _ = await fixture.cospool("send", "-s", "two words", "--new", "--id", Self.id, "go")
      #expect(await fixture.cospool("session", "host", "two words", "this").exitCode == 0)
      let found = try await until(fixture, ["two words"])
      var line = found.first
      let deadline = ContinuousClock.now + .seconds(60)
      while line?.reason != .failed, ContinuousClock.now < deadline {
        try await Task.sleep(for: .milliseconds(20))
        line = try await lines(fixture).first
      }
      #expect(line?.command == "cospool queue retry 11111111", "\(String(describing: line))")
      #expect(line?.note.contains("no branch") == true, "\(String(describing: line))")
      #expect(await fixture.cospool("queue", "skip", "1111").exitCode == 0)
      #expect(try await lines(fixture).first?.reason != .failed)
    }
  }

  // I-41
  @Test func whatWaitsInVainIsListedWithItsCommand() async throws {
    try await CommandFixture.run(threadQueue: false) { fixture in
      _ = await fixture.cospool("send", "-s", "build", "--id", Self.id, "Build it")
      let other = "22222222-2222-4222-8222-222222222222"
      _ = await fixture.cospool(
        "send", "--new", "-s", "s", "--id", other, "--after", "1111", "Deploy it")
      #expect(try await lines(fixture).isEmpty)
      #expect(await fixture.cospool("queue", "cancel", "1111").exitCode == 0)
      let found = try await lines(fixture)
      #expect(found.map(\.reason) == [.inVain] && found.map(\.session.rawValue) == ["s"])
      #expect(found.first?.note == "waits for “Build it” in build, which was cancelled")
      #expect(found.first?.command == "cospool queue start 22222222", "\(found)")
      #expect(await fixture.cospool("inbox").output.contains("waits in vain"))
      #expect(await fixture.cospool("queue", "start", "2222").exitCode == 0)
      #expect(try await lines(fixture).isEmpty)
    }
  }

  @Test func withTheThreadQueueOffItSaysHowToTurnItOn() async throws {
    try await CommandFixture.run(threadQueue: false) { fixture in
      #expect(await fixture.cospool("send", "-s", "a", "go").exitCode == 0)
      let output = await fixture.cospool("inbox").output
      #expect(
        output == """
          nothing needs you
          The thread queue is off, so finished sessions are not listed. To turn it on: cospool config set queueEnabled on
          """)
      let json = await fixture.cospool("inbox", "--json").output
      #expect(json == #"{"lines":[],"threadQueue":false}"#)
    }
  }
}
