import Foundation
import LocalAPI
import QueueModel
import Synchronization
import Testing

@testable import SyncCommand

/// A user's word finds sessions, and a typing error does not become a session.
@Suite struct SessionNameTests {
  private static func names(
    _ sessions: [(id: String, name: String, project: String)], named: String? = nil,
    folder: String = "/"
  ) throws -> SessionNames {
    SessionNames(
      sessions: try sessions.map {
        try JSONDecoder().decode(
          SessionAnswer.self,
          from: JSONSerialization.data(withJSONObject: [
            "id": $0.id, "name": $0.name, "project": $0.project, "paused": false, "waiting": 0,
            "locked": false, "onLostServer": "finish", "onMerge": "wait",
          ]))
      }, named: named, folder: folder)
  }

  @Test func anIdComesBeforeANameAndAWholeWordBeforeABeginning() throws {
    let names = try Self.names([
      ("shop", "api", ""), ("api", "api", ""), ("0198aa-1", "Shop agent", ""),
      ("0198ab-2", "Shop agent", ""), ("docs", "Handbook", ""),
    ])
    #expect(try names.id(of: "api") == "api")
    #expect(try names.id(of: "shop") == "shop")
    #expect(try names.id(of: "handbook") == "docs")
    #expect(try names.id(of: "hand") == "docs")
    #expect(try names.id(of: "0198ab") == "0198ab-2")
    #expect(try names.id(of: "nobody") == "nobody", "the daemon refuses it")
    #expect(throws: CommandFailure.self) { try names.id(of: "Shop agent") }
    #expect(throws: CommandFailure.self) { try names.id(of: "0198") }
    #expect(throws: CommandFailure.self) { try names.id(of: "") }
  }

  @Test func severalMatchesAreListedAsTyped() throws {
    let names = try Self.names([
      ("0198aabb-77aa-4000", "shop", "/home/ada/shop"), ("0198aabb-81aa-4000", "shop", "/srv/shop"),
      ("0198", "shop", ""), ("shop-docs", "shop-docs", ""),
    ])
    let failure = #expect(throws: CommandFailure.self) { try names.id(of: "Shop") }
    let lines = (failure?.message ?? "").split(separator: "\n").dropFirst().map(String.init)
    #expect(
      lines == [
        "  0198aabb-7  shop  /home/ada/shop", "  0198aabb-8  shop  /srv/shop", "  0198  shop",
      ])
    for line in lines {
      let word = String(line.split(separator: " ")[0])
      #expect(throws: Never.self) { try names.id(of: word) }
    }
    // The dashboard distinguishes them, too.
    #expect(
      SessionText.names(of: names.sessions) == [
        "shop (0198aabb-7)", "shop (0198aabb-8)", "shop (0198)", "shop-docs",
      ])
    let beginning = #expect(throws: CommandFailure.self) { try names.id(of: "0198aabb") }
    #expect(beginning?.message.contains("\n  0198aabb-8") == true)
  }

  @Test func theDefaultSessionIsTheVariableElseTheFolder() throws {
    let sessions = [
      (id: "app", name: "app", project: "/home/ada/app"),
      (id: "ui", name: "ui", project: "/home/ada/app/ui"),
      (id: "one", name: "one", project: "/srv"), (id: "two", name: "two", project: "/srv"),
    ]
    func id(_ folder: String, _ named: String? = nil) throws -> String {
      try Self.names(sessions, named: named, folder: folder).id(ofOption: nil)
    }
    #expect(try id("/home/ada/app") == "app")
    #expect(try id("/home/ada/app/ui/tests") == "ui")
    #expect(try id("/home/ada/app/ui", "one") == "one")
    #expect(throws: CommandFailure.self) { try id("/home/ada/application") }
    #expect(throws: CommandFailure.self) { try id("/srv") }
  }

  // I-12
  @Test func aMissingOrReplacedProjectIsReported() async throws {
    try await CommandFixture.run { fixture in
      func send(_ project: String) async -> String {
        await fixture.cospool("send", "-s", "s", "--project", project, "text").errors
      }
      #expect(await send("/nowhere/shop").contains("/nowhere/shop is not a folder on this device"))
      let other = await send(fixture.directory)
      #expect(
        other.contains("project is now \(fixture.directory); it was /nowhere/shop"), "\(other)")
      #expect(!other.contains("not a folder"), "\(other)")
      #expect(await !send(fixture.directory).contains("project"))
    }
  }

  @Test func theAnswerNamesASessionThatWasGuessed() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("session", "add", "review")
      let within = ["COSPOOL_DATA": fixture.directory, "COSPOOL_SESSION": "review"]
      let guessed = await CommandFixture.cospool(["send", "where am I"], variables: within)
      #expect(guessed.output == "queued, position 1 of 1 in review")
      #expect(
        await fixture.cospool("send", "-s", "review", "here").output == "queued, position 2 of 2")
    }
  }

  @Test func theAnswerSaysIfNoDeviceRunsIt() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("session", "add", "review")
      let unhosted = await fixture.cospool("send", "-s", "review", "one")
      #expect(unhosted.output == "queued, position 1 of 1")
      #expect(
        unhosted.errors
          == "cospool: not assigned to a device: cospool session host review this",
        "\(unhosted.errors)")
      let known = await fixture.cospool("send", "-s", "review", "two")
      #expect(known.output == "queued, position 2 of 2" && known.errors.isEmpty)
      _ = await fixture.cospool("session", "add", "checks")
      _ = await fixture.cospool("session", "host", "checks", "this")
      let agentless = await fixture.cospool("send", "-s", "checks", "one")
      #expect(agentless.errors.contains("no agent set up"), "\(agentless.errors)")
      _ = await fixture.cospool("config", "set", "agent", "hooks")
      _ = await fixture.cospool("session", "add", "tests")
      _ = await fixture.cospool("session", "host", "tests", "this")
      let waits = await fixture.cospool("send", "-s", "tests", "one")
      #expect(waits.output == "queued, position 1 of 1" && waits.errors.isEmpty)
    }
  }

  @Test func commandsTakeNamesAndBeginnings() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("session", "add", "0198aabb", "--name", "Shop agent")
      #expect(
        await fixture.cospool("send", "-s", "shop agent", "by name").output
          == "queued, position 1 of 1")
      #expect(
        await fixture.cospool("send", "-s", "0198", "by beginning").errors
          .contains("Did you mean 0198aabb"), "a script says it whole")
      #expect(await fixture.cospool("queue", "pause", "-s", "shop").output == "paused 0198aabb")
      #expect(
        await fixture.cospool("session", "host", "shop", "this").output
          .hasPrefix("0198aabb runs on desk"))
      #expect(await fixture.cospool("task", "show", "shop").output.contains("0198aabb"))
      #expect(await fixture.cospool("session", "list", "--json").output.contains("0198aabb"))
    }
  }

  @Test func mistypedNamesMakeNoSession() async throws {
    try await CommandFixture.run { fixture in
      #expect(
        await fixture.cospool("send", "-s", "login-page", "one").output
          == "queued, position 1 of 1 in the new session login-page")
      let typo = await fixture.cospool("send", "-s", "login-pgae", "two")
      #expect(typo.exitCode == 1)
      #expect(typo.errors.contains("Did you mean login-page? To create it, add --new."))
      #expect(
        await fixture.cospool("send", "-s", "deploy", "three").output
          == "queued, position 1 of 1 in the new session deploy")
      #expect(await fixture.cospool("send", "--new", "-s", "login-pgae", "four").exitCode == 0)
      #expect(await fixture.cospool("session", "list").output.contains("login-pgae"))
    }
  }

  /// Lists name sessions of agents by the first digits of their UUIDs.
  @Test func aPromptGoesToASessionByTheDigitsOfItsID() async throws {
    try await CommandFixture.run { fixture in
      let id = "0b9d3f4e-8a3c-4b6a-9d3e-111111111111"
      _ = await fixture.cospool("session", "add", id)
      _ = await fixture.cospool("session", "add", "0b9d-notes")
      let sent = await fixture.cospool("send", "-s", "0b9d3", "text")
      #expect(sent.output == "queued, position 1 of 1", "\(sent)")
      #expect(await fixture.cospool("queue", "list", "-s", id).output.contains("text"))
      // The beginning of a name is not a name, and a new name stays one.
      #expect(await fixture.cospool("send", "-s", "0b9d-note", "text").exitCode == 1)
      let new = await fixture.cospool("send", "--new", "-s", "0b9d3", "text")
      #expect(new.output.hasSuffix("in the new session 0b9d3"), "\(new)")
    }
  }

  @Test func atATerminalItIsAsked() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("session", "add", "login-page")
      let asked = Mutex<[String]>([])
      func send(_ answer: Bool) async -> CommandRunner.Outcome {
        var environment = Environment(
          variables: ["COSPOOL_DATA": fixture.directory], input: StandardInput { [] },
          style: .plain,
          watching: .none)
        environment.confirm = { text in
          asked.withLock { $0.append(text) }
          return answer
        }
        return await CommandRunner(environment: environment).run([
          "send", "-s", "login-pgae", "text",
        ])
      }
      #expect(await send(false).exitCode == 1)
      #expect(asked.withLock { $0 } == ["Create the new session login-pgae (login-page exists)?"])
      #expect(await !fixture.cospool("session", "list").output.contains("login-pgae"))
      #expect(await send(true).exitCode == 0)
      #expect(await fixture.cospool("session", "list").output.contains("login-pgae"))
    }
  }

  @Test(arguments: [
    ["queue", "show", ""], ["queue", "retry", ""], ["queue", "edit", "", "text"],
    ["queue", "list", "-s", ""], ["send", "-s", "", "text"], ["session", "host", "", "this"],
    ["approve", ""], ["queue", "priority", "", "urgent"],
  ])
  func anEmptyNameIsWrongUsage(words: [String]) async throws {
    try await CommandFixture.run { fixture in
      let outcome = await CommandFixture.cospool(
        words, variables: ["COSPOOL_DATA": fixture.directory])
      #expect(outcome.exitCode == 2, "\(words): \(outcome.errors)")
      #expect(outcome.errors.contains("empty"), "\(words): \(outcome.errors)")
    }
  }
}

/// One view of everything.
@Suite struct OverviewTests {
  @Test func nothingButTheNameShowsEverything() async throws {
    try await CommandFixture.run { fixture in
      let empty = await fixture.cospool()
      #expect(empty.exitCode == 0)
      #expect(empty.output.hasPrefix("no sessions yet. To start one: cospool send -s NAME"))
      _ = await fixture.cospool("send", "-s", "review", "one")
      _ = await fixture.cospool("send", "-s", "build", "two")
      _ = await fixture.cospool("session", "host", "build", "this")
      _ = await fixture.cospool("send", "-s", "docs", "three")
      _ = await fixture.cospool("queue", "pause", "-s", "docs", "--reason", "on holiday")
      _ = await fixture.cospool("session", "add", "old")
      let lines = await fixture.cospool().output.split(separator: "\n").map(String.init)
      #expect(lines.first?.hasPrefix("SESSION") == true)
      let states = lines.dropFirst().prefix(4).map { line in
        line.split(separator: " ", omittingEmptySubsequences: true).prefix(3)
          .joined(separator: " ")
      }
      #expect(states == ["docs paused 1", "review no host", "build no agent", "old idle 0"])
      #expect(lines.contains { $0.contains("cospool session host review this") })
      #expect(lines.contains { $0.contains("cospool session agent build claude") })
      #expect(lines.last == "desk, no server")
      let status = await fixture.cospool("status").output
      #expect(status.contains("review: not assigned to a device: cospool session host review this"))
      #expect(status.contains("build: no agent set up: cospool session agent build claude"))
    }
  }

  // I-38
  @Test func noSessionIsAddedByTheNameOfAnother() async throws {
    try await CommandFixture.run { fixture in
      #expect(
        await fixture.cospool("session", "add", "review", "--name", "login").exitCode == 0)
      let refused = await fixture.cospool("session", "add", "login")
      #expect(refused.exitCode == 5 && refused.errors.contains("session review"), "\(refused)")
      #expect(await fixture.cospool("session", "add", "review").exitCode == 0)
      let list = await fixture.cospool("session", "list", "--json").output
      #expect(!list.contains("\"id\":\"login"), "\(list)")
    }
  }

  // S-37: names from other devices must not run when they are pasted.
  @Test func namesToTypeAreQuoted() async throws {
    try await CommandFixture.run { fixture in
      let name = "a`touch x`$(touch y)"
      let quoted = "'\(name)'"
      _ = await fixture.cospool("send", "--new", "-s", name, "one")
      let unhosted = "not assigned to a device: cospool session host \(quoted) this"
      #expect(await fixture.cospool().output.contains(unhosted))
      #expect(await fixture.cospool("queue", "list", "-s", name).output.contains(unhosted))
      let host = await fixture.cospool("session", "host", name, "this")
      #expect(host.output.contains("cospool session agent \(quoted) claude"), "\(host)")
      #expect(
        await fixture.cospool().output.contains("cospool session agent \(quoted) claude"))
      async let asked = fixture.cospool("ask", "-s", name, "--patience", "60", "which?")
      var refused = CommandRunner.Outcome()
      repeat {
        refused = await fixture.cospool("approve", name)
      } while refused.errors.contains("has no open request")
      // By the id of the request, which needs no quotes.
      #expect(refused.errors.contains(/Answer it: cospool answer [0-9a-f]{8} TEXT/), "\(refused)")
      #expect(
        await fixture.cospool("task", "show", name).output
          .contains(/cospool answer [0-9a-f]{8} TEXT/))
      #expect(await fixture.cospool("answer", name, "this one").exitCode == 0)
      #expect(await asked.output == "this one")
      _ = await fixture.cospool("send", "--new", "-s", "a b", "one")
      #expect(await fixture.cospool().output.contains("cospool session host 'a b' this"))
      _ = await fixture.cospool("send", "--new", "-s=--none", "one")
      #expect(await fixture.cospool().output.contains("cospool session host -- --none this"))
      let hyphened = await fixture.cospool("session", "host", "--", "--none", "this")
      #expect(hyphened.output.contains("cospool session agent -- --none claude"), "\(hyphened)")
    }
  }

  @Test func aHostWithoutAnAgentIsReportedAtOnce() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("session", "add", "review")
      let host = await fixture.cospool("session", "host", "review", "this")
      #expect(host.output.contains("This device has no agent, so nothing starts"))
      _ = await fixture.cospool("send", "-s", "review", "one")
      #expect(
        await fixture.cospool("queue", "list", "-s", "review").output
          .contains("no agent set up: cospool session agent review claude"))
      #expect(
        await fixture.cospool("session", "list").output.split(separator: "\n").last?
          .contains("no agent") == true)
    }
  }

  @Test func queuesOfAllSessionsAreListedAndWhatIsOver() async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("queue", "list").output == "nothing waits")
      let id = "11111111-1111-4111-8111-111111111111"
      _ = await fixture.cospool("send", "-s", "review", "--id", id, "one")
      _ = await fixture.cospool("send", "-s", "build", "two")
      let all = await fixture.cospool("queue", "list").output
      #expect(all.contains("one") && all.contains("two") && all.contains("review\n"))
      _ = await fixture.cospool("queue", "cancel", "1111")
      #expect(await !fixture.cospool("queue", "list").output.contains("one"))
      let cancelled = await fixture.cospool("queue", "list", "--cancelled").output
      #expect(cancelled.contains("[cancelled] one") && !cancelled.contains("two"))
      #expect(
        await fixture.cospool("queue", "list", "-s", "build", "--cancelled").output
          == "nothing was cancelled")
      #expect(await fixture.cospool("queue", "list", "--done").output == "nothing is done")
      #expect(await fixture.cospool("queue", "list", "--done", "--cancelled").exitCode == 2)
    }
  }

  @Test func anEditWithoutAnAgentAnywhereIsNotDoubted() async throws {
    try await CommandFixture.run { fixture in
      let id = "11111111-1111-4111-8111-111111111111"
      _ = await fixture.cospool("send", "-s", "review", "--id", id, "one")
      let edited = await fixture.cospool("queue", "edit", "1111", "two")
      #expect(edited.output == #"edited "two" in review"# && edited.errors.isEmpty)
    }
  }
}
