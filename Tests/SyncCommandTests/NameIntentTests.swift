import Foundation
import LocalAPI
import QueueModel
import QueueOracle
import Testing

@testable import SyncCommand

/// A name means that element or nothing, in every command.
@Suite(.timeLimit(.minutes(10))) struct NameIntentTests {
  private struct Listed: Decodable {
    var id: String
    var content: String
  }

  private struct Lists: Decodable {
    struct Queue: Decodable { var messages: [Listed] }

    var queues: [Queue]
  }

  private static func listed(_ session: String, _ fixture: CommandFixture) async throws -> [Listed]
  {
    let output = await fixture.cospool("queue", "list", "-s", session, "--json").output
    return try JSONDecoder().decode(Lists.self, from: Data(output.utf8)).queues
      .flatMap(\.messages)
  }

  /// The id of the request that a session's agent waits for, as soon as it does.
  private func awaited(_ session: String, _ fixture: CommandFixture) async throws -> RequestID {
    let deadline = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < deadline {
      let answer = try await DaemonConnection(dataDirectory: fixture.directory)
        .answer(to: APIRequest(.get, ["tasks"]))
      let task = try answer.decoded(TasksAnswer.self).tasks.map(\.state).first {
        $0.sessionId.rawValue == session
      }
      if let request = task?.requests.first { return request.id }
      try await Task.sleep(for: .milliseconds(20))
    }
    throw CommandFailure.usage("\(session) asked nothing within a minute.")
  }

  // I-6: the name of a session that asks nothing is the beginning of another session's request.
  @Test func approvingASessionThatAsksNothingAllowsNothing() async throws {
    try await CommandFixture.run { fixture in
      // A name that is not the beginning of an id.
      #expect(await fixture.cospool("session", "add", "zebra").exitCode == 0)
      async let asked = fixture.cospool("ask", "-s", "zebra", "--leave", "rm -rf /srv/production")
      let id = try await awaited("zebra", fixture).description
      for length in [1, 2, 4, 8, 36] {
        let name = String(id.prefix(length))
        #expect(await fixture.cospool("session", "add", name).exitCode == 0)
        for words in [["approve", name], ["deny", name], ["answer", name, "yes"]] {
          let outcome = await CommandFixture.cospool(
            words, variables: ["COSPOOL_DATA": fixture.directory])
          #expect(outcome.exitCode == 1 && outcome.output.isEmpty, "\(words): \(outcome)")
          #expect(outcome.errors.contains("has no open request"), "\(words): \(outcome.errors)")
        }
        #expect(await fixture.cospool("session", "delete", name).exitCode == 0)
      }
      // A word that names no session is a beginning of 4 characters or more, or means nothing.
      for length in 1...3 {
        let outcome = await fixture.cospool("approve", String(id.prefix(length)))
        #expect(outcome.exitCode == 1 && outcome.errors.contains("at least 4"), "\(outcome)")
      }
      #expect(
        await fixture.cospool("approve", String(id.prefix(4))).output
          == "allowed, zebra: Command: rm -rf /srv/production")
      #expect(await asked.exitCode == 0)
    }
  }

  // I-6
  @Test func noWordMeansAnyOpenRequest() async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("session", "add", "be").exitCode == 0)
      async let asked = fixture.cospool("ask", "-s", "be", "--leave", "git push")
      _ = try await awaited("be", fixture)
      for word in ["only", "ONLY", "answer", "*"] {
        let outcome = await fixture.cospool("approve", word)
        #expect(outcome.exitCode == 1 && outcome.output.isEmpty, "\(word): \(outcome)")
      }
      #expect(await fixture.cospool("deny").output == "denied, be: Command: git push")
      #expect(await asked.exitCode == 1)
    }
  }

  // I-7: the user means row 8 of the list, and a message id of another session begins with 8.
  @Test func oneCharacterNamesNoMessageAndTheAnswerNamesIt() async throws {
    try await CommandFixture.run { fixture in
      for index in 0..<16 {
        let digit = String(index, radix: 16)
        let id = "\(digit)84dcd53-1111-4111-8111-111111111111"
        _ = await fixture.cospool(
          "send", "-s", index == 8 ? "other" : "todo", "--new", "--id", id,
          index == 8 ? "production hotfix" : "task \(digit)")
        // The queue of a test's daemon holds ten.
        if index == 8 { break }
      }
      let before = try await Self.listed("todo", fixture).map(\.id)
      for word in ["8", "88", "884"] {
        for words in [
          ["cancel", word], ["edit", word, "x"], ["move", word, "--to", "1"], ["skip", word],
          ["retry", word], ["priority", word, "urgent"], ["restore", word], ["hold", word],
        ] {
          let outcome = await CommandFixture.cospool(
            ["queue"] + words, variables: ["COSPOOL_DATA": fixture.directory])
          #expect(outcome.exitCode == 1 && outcome.output.isEmpty, "\(words): \(outcome)")
          #expect(outcome.errors.contains("at least 4"), "\(words): \(outcome.errors)")
        }
      }
      #expect(try await Self.listed("todo", fixture).map(\.id) == before)
      #expect(
        await fixture.cospool("queue", "cancel", "884d").output
          == #"cancelled "production hotfix" in other"#)
      #expect(
        await fixture.cospool("queue", "restore", "884d").output
          .hasPrefix(#"restored "production hotfix" in other"#))
      #expect(
        await fixture.cospool("queue", "edit", "884d", "calm").output == #"edited "calm" in other"#)
    }
  }

  // I-8
  @Test(arguments: [1, 2, 3]) func theNameOfASessionIsThatSession(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<300 {
      func word(_ count: ClosedRange<Int>) -> String {
        String(
          (0..<Int.random(in: count, using: &generator)).map { _ in
            Array("abc01").randomElement(using: &generator) ?? "a"
          })
      }
      let sessions = try (0..<4).map { _ in
        try JSONDecoder().decode(
          SessionAnswer.self,
          from: JSONSerialization.data(withJSONObject: [
            "id": word(1...6), "name": word(1...6), "project": "", "paused": false, "waiting": 0,
            "locked": false, "onLostServer": "finish", "onMerge": "wait",
          ]))
      }
      // No two sessions have one id.
      guard Set(sessions.map(\.id)).count == sessions.count else { continue }
      let names = SessionNames(sessions: sessions, named: nil, folder: "/")
      var ids: [String] = []
      let tasks = try sessions.prefix(2).map { session in
        let id = "\(word(8...8))-\(word(4...4))-4111-8111-\(word(12...12))"
        ids.append(id)
        return try JSONDecoder().decode(
          TaskStateAnswer.self,
          from: Data(
            (#"{"session":"\#(session.id)","project":"","status":"awaitingApproval","#
              + #""request":{"id":"\#(id)","kind":"approval","toolName":"Bash","#
              + #""summary":"x","time":0}}"#).utf8)
        ).state
      }
      for _ in 0..<20 {
        let asked = word(1...6)
        let what = "seed \(seed): \(asked) among \(sessions.map { ($0.id, $0.name) }), \(ids)"
        let found = try? ApproveCommand.named(asked, in: names, tasks)
        if let session = sessions.first(where: { $0.id.rawValue == asked }) {
          #expect(found == session.id.rawValue, "\(what)")
        } else if sessions.contains(where: { $0.name == asked }) {
          let meant = Set(sessions.filter { $0.name == asked }.map(\.id.rawValue))
          #expect(found.map { meant.contains($0) } ?? (meant.count > 1), "\(what)")
        } else if asked.count < 4 {
          #expect(found == asked, "\(what)")
        }
      }
    }
  }
}
