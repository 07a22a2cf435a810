import Foundation
import LocalAPI
import Testing

@testable import SyncCommand

/// The command line against a real daemon: text, JSON and exit codes.
@Suite(.timeLimit(.minutes(10))) struct CommandTests {
  private static let first = "11111111-1111-4111-8111-111111111111"
  private static let second = "11112222-2222-4222-8222-222222222222"
  private static var time: Regex<Substring> { /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/ }

  @Test func queueListIsTheContractsJSON() async throws {
    try await CommandFixture.run { fixture in
      let sent = await fixture.cospool("send", "-s", "review", "--id", Self.first, "one", "--json")
      #expect(sent.exitCode == 0)
      #expect(
        sent.output
          == #"{"count":1,"id":"\#(Self.first)","note":"not assigned to a device: "#
          + #"cospool session host review this","position":1,"session":"review","#
          + #""sessionName":"review","status":"queued"}"#)
      let list = await fixture.cospool("queue", "list", "-s", "review", "--json")
      #expect(
        list.output.replacing(Self.time, with: "TIME")
          == #"{"queues":[{"messages":[{"content":"one","createdAt":"TIME","device":"desk","#
          + #""id":"\#(Self.first)","position":1,"priority":"normal","status":"queued"}],"#
          + #""note":"not assigned to a device: cospool session host review this","#
          + #""pauseReasons":[],"paused":false,"session":"review","sessionName":"review"}]}"#)
      let threads = await fixture.cospool("thread", "list", "--json")
      #expect(
        threads.output.replacing(Self.time, with: "TIME")
          == #"{"enabled":true,"threads":[{"lifted":"no host","locked":false,"#
          + #""position":1,"#
          + #""project":"","queuedAt":"TIME","session":"review","sessionName":"review"}]}"#)
    }
  }

  // S0-74, S1-29.
  @Test func dayOfWorkGoesThrough() async throws {
    try await CommandFixture.run { fixture in
      let steps: [([String], String)] = [
        (
          ["send", "-s", "review", "--id", Self.first, "one"],
          "queued, position 1 of 1 in the new session review"
        ),
        (["send", "-s", "review", "--id", Self.second, "two"], "queued, position 2 of 2"),
        (["queue", "move", "11112", "--to", "1"], #"moved "two" in review, position 1"#),
        (["queue", "move", "11112", "--after", "11111"], #"moved "two" in review, position 2"#),
        (["queue", "priority", "11112", "urgent"], #"made urgent: "two" in review, position 1"#),
        (["queue", "edit", "11112", "two, changed"], #"edited "two, changed" in review"#),
        (["queue", "edit", "11112", "two, changed"], "unchanged"),
        (["queue", "hold", "11111", "--seconds", "5"], #"held for 5 seconds: "one" in review"#),
        (["queue", "hold", "11111", "--release"], #"released "one" in review"#),
        (
          ["queue", "cancel", "11111", "11112"],
          "cancelled 2 messages:\n  \"one\" in review\n  \"two, changed\" in review"
        ),
        (["queue", "restore", "11111"], #"restored "one" in review, position 1 of 1"#),
        (["queue", "pause", "-s", "review", "--reason", "holiday"], "paused review"),
        (["queue", "resume", "-s", "review"], "resumed review"),
        (["queue", "clear", "-s", "review"], "cancelled 1 message in review"),
        (["queue", "list", "-s", "review"], "nothing waits in review"),
        (["session", "add", "docs", "--name", "Docs"], "added docs"),
        (["session", "add", "docs"], "there already"),
        (["session", "rename", "docs", "Manual"], "renamed docs"),
        (["session", "on-merge", "docs", "run"], "messages with merged texts start: docs"),
        (["session", "on-merge", "docs", "run"], "unchanged: it is run already"),
        (
          ["session", "on-lost-server", "docs", "stop"],
          "20 seconds after its host loses the server, the agent stops: docs"
        ),
        (["thread", "unlock", "review"], "unlocked review"),
        (["thread", "unlock", "review"], "not locked"),
        (["thread", "move", "review", "--to", "1"], "unchanged"),
        (["thread", "remove", "review"], "removed 1 thread: review"),
        (["thread", "clear"], "unchanged"),
        (["session", "archive", "docs"], "archived docs"),
        (["session", "archive", "docs"], "archived already"),
        (["session", "unarchive", "docs"], "brought back docs"),
        (["session", "unarchive", "docs"], "not archived"),
        (["session", "delete", "docs"], "deleted docs"),
        (["sync", "off"], "sync is off"),
        (["sync", "on"], "sync is on"),
      ]
      for (arguments, text) in steps {
        let outcome = await CommandFixture.cospool(
          arguments, variables: ["COSPOOL_DATA": fixture.directory])
        #expect(outcome.exitCode == 0 && outcome.output == text, "\(arguments): \(outcome)")
      }
    }
  }

  // I-40
  @Test func aMoveSaysWhereItLanded() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "-s", "review", "--id", Self.first, "one")
      _ = await fixture.cospool("send", "-s", "review", "two")
      _ = await fixture.cospool("send", "-s", "review", "--urgent", "--id", Self.second, "three")
      let end =
        ", the nearest possible one: a message that an agent had comes first, then urgent ones, then normal ones"
      let stays = await fixture.cospool("queue", "move", "11111", "--to", "1")
      #expect(
        stays.output == "unchanged: it is there already. It is at position 2" + end, "\(stays)")
      let moved = await fixture.cospool("queue", "move", "11112", "--to", "3")
      #expect(moved.output.hasSuffix("It is at position 1" + end), "\(moved)")
      #expect(
        await fixture.cospool("queue", "move", "11111", "--to", "3").output
          == #"moved "one" in review, position 3"#)
    }
  }

  @Test func dataFlagReachesItsDaemonFromEitherPlace() async throws {
    try await CommandFixture.run { fixture in
      for arguments in [
        ["--data", fixture.directory, "session", "list"],
        ["session", "list", "--data", fixture.directory],
      ] {
        let outcome = await CommandFixture.cospool(arguments)
        #expect(outcome == CommandRunner.Outcome(output: "no sessions yet"))
      }
    }
  }

  @Test func failuresHaveTheirExitCodes() async throws {
    try await CommandFixture.run(queueSizeMax: 2) { fixture in
      _ = await fixture.cospool("send", "-s", "review", "--id", Self.first, "one")
      _ = await fixture.cospool("send", "-s", "review", "--id", Self.second, "two")
      let cases: [([String], Int32, String)] = [
        (["send", "-s", "review", "three"], 1, "Queue full (2/2)."),
        (["send", "-s", "review", "three"], 1, "cospool config set maxQueueSize NUMBER"),
        (["queue", "edit", "1111111", " "], 2, "Nothing was changed"),
        (["send", "-s", "re\u{FFFD}", "--new", "three"], 2, "is not UTF-8"),
        (["config", "set", "maxQueueSizes", "3"], 2, "There is no setting"),
        (["config", "set", "agnet", "claude"], 2, "Did you mean agent?"),
        (["config", "set", "colour", "red"], 2, "Choose from maxQueueSize, "),
        (["import", "/nonexistent"], 1, "/nonexistent cannot be read: No such file"),
        (["send", "-s", "review", "  "], 2, "blank"),
        (["send", "-s", "review", "--id", Self.first, "other"], 5, "already exists"),
        (["queue", "list", "-s", "none"], 1, "No session none"),
        (["queue", "show", "ffff"], 1, "No message ffff"),
        (["queue", "show", "1111"], 1, "  11112222  review: two"),
        (["queue", "move", "11111", "--to", "9"], 1, "choose 1 to 2"),
        (["queue", "cancel", "ffff"], 1, "No message ffff"),
        (["thread", "remove", "nobody"], 1, "No session nobody"),
        (["queue", "list", "-s", " "], 2, "cannot be a session id"),
        (["sync", "wait", "--timeout", "1"], 1, "not paired"),
        (["sync", "now"], 1, "not paired"),
        (["pair", "ws://127.0.0.1:1", "BCDF-GHJK"], 4, "cannot be reached"),
        (["pair", "ftp://x", "BCDF-GHJK"], 2, "not a server address"),
      ]
      for (arguments, exitCode, part) in cases {
        let outcome = await CommandFixture.cospool(
          arguments, variables: ["COSPOOL_DATA": fixture.directory])
        #expect(outcome.exitCode == exitCode, "\(arguments): \(outcome.errors)")
        #expect(outcome.output.isEmpty, "\(arguments)")
        #expect(outcome.errors.hasPrefix("cospool: "), "\(arguments)")
        #expect(outcome.errors.contains(part), "\(arguments): \(outcome.errors)")
      }
    }
  }

  @Test func aDeletedSessionSaysWhatWentWithIt() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "-s", "review", "one")
      #expect(
        await fixture.cospool("session", "delete", "review").output
          == "deleted review with 1 message; to bring it back: cospool undo")
      #expect(await fixture.cospool("undo").exitCode == 0)
      #expect(await fixture.cospool("queue", "list", "-s", "review").output.contains("one"))
    }
  }

  @Test func ambiguousPrefixListsCandidatesInJSONToo() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "-s", "review", "--id", Self.first, "one")
      _ = await fixture.cospool("send", "-s", "review", "--id", Self.second, "two")
      let outcome = await fixture.cospool("queue", "cancel", "1111", "--json")
      #expect(outcome.exitCode == 1)
      struct Refusal: Decodable {
        var error: CommandFailure
      }
      let refusal = try JSONDecoder().decode(Refusal.self, from: Data(outcome.errors.utf8))
      #expect(refusal.error.code == "messageAmbiguous")
      #expect(refusal.error.candidates == [Self.first, Self.second])
    }
  }

  /// A Unix socket whose backlog is full refuses at once.
  @Test func aBusyDaemonIsNotSaidToBeMissing() {
    let connection = DaemonConnection(dataDirectory: "/nowhere")
    let busy = connection.failure(for: HTTPExchange.Failure.notConnected(errno: EAGAIN))
    #expect(busy.code == "busy" && busy.exitCode == 75)
    let missing = connection.failure(for: HTTPExchange.Failure.notConnected(errno: ECONNREFUSED))
    #expect(missing.code == "noDaemon" && missing.exitCode == 4)
  }

  // I-313: only a command that changes nothing is simply repeated.
  @Test func aChangeWithoutAnAnswerMayBeDone() throws {
    let connection = DaemonConnection(dataDirectory: "/nowhere")
    let timedOut = HTTPExchange.Failure.timedOut
    let read = connection.failure(for: timedOut, to: APIRequest(.get, ["sessions"]))
    #expect(read.exitCode == 75 && read.message.contains("Try again"))
    for method in [APIRequest.Method.post, .put, .patch, .delete] {
      let request = APIRequest(method, ["sessions"])
      let hung = CommandFailure.noAnswer(
        to: request, "It hangs.", fix: "Try again.", cure: "end it")
      for failure in [connection.failure(for: timedOut, to: request), hung] {
        #expect(failure.exitCode == 4 && failure.message.contains("may or may not be done"))
        #expect(!failure.message.contains("Try again"), "\(failure)")
      }
      #expect(hung.message.hasSuffix("If the daemon stays silent, end it"))
    }
  }

  // I-313
  @Test func anOutputThatIsLostIsNoFailureOfTheCommand() {
    let done = CommandRunner.Outcome(output: "queued", errors: "cospool: full")
    let lost = done.withOutputLost(isJSON: false)
    #expect(lost.exitCode == 8, "\(lost)")
    #expect(lost.errors.hasPrefix("cospool: full\ncospool: The command is done"), "\(lost)")
    #expect(done.withOutputLost(isJSON: true).errors.contains(#""code":"outputLost""#))
    let failed = CommandRunner.Outcome(exitCode: 1, output: "a report", errors: "no")
    #expect(failed.withOutputLost(isJSON: false) == failed)
  }

  @Test func warningIsOnStandardError() async throws {
    try await CommandFixture.run(queueSizeMax: 1) { fixture in
      let outcome = await fixture.cospool("send", "-s", "review", "one")
      #expect(outcome.output == "queued, position 1 of 1 in the new session review")
      #expect(outcome.errors.hasPrefix("cospool: The queue of review is full (1/1).\n"))
      #expect(outcome.exitCode == 0)
    }
  }

  @Test func standardInputIsSentAsItIs() async throws {
    try await CommandFixture.run { fixture in
      let text = "line one\n\tline two 🙂 \u{202E}x"
      _ = await fixture.cospool("send", "-s", "review", "-", input: text + "\n\n")
      let list = await fixture.cospool("queue", "list", "-s", "review", "--json")
      let lists = try JSONDecoder().decode(QueuesAnswer.self, from: Data(list.output.utf8))
      #expect(lists.queues.flatMap(\.messages).map(\.content) == [text])
    }
  }

  @Test func textBeyondTheLimitIsRefusedBeforeItIsSent() async throws {
    try await CommandFixture.run { fixture in
      let text = String(repeating: "x", count: (1 << 20) + 1)
      let outcome = await fixture.cospool("send", "-s", "review", "-", input: text)
      #expect(outcome.exitCode == 1)
      #expect(outcome.errors.contains("1048577"))
    }
  }

  @Test func dumpIsJSONWithAndWithoutTheFlag() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "-s", "review", "one")
      let plain = await fixture.cospool("dump")
      #expect(plain == (await fixture.cospool("dump", "--json")))
      #expect(plain.output.hasPrefix(#"{"replicas":["#))
    }
  }

  @Test func daemonBehindALongPathIsFound() async throws {
    try await CommandFixture.run(longPath: true) { fixture in
      #expect(await fixture.cospool("send", "-s", "a", "x").exitCode == 0)
    }
  }

  @Test(arguments: ["status", "dump", "thread list", "sync now"])
  func withoutADaemonItSaysHowToStartOne(command: String) async {
    let words = command.split(separator: " ").map(String.init)
    let directory = "/tmp/no such daemon"
    let outcome = await CommandFixture.cospool(words + ["--data", directory])
    #expect(outcome.exitCode == 4)
    #expect(outcome.output.isEmpty)
    #expect(outcome.errors.contains("cospoold --data '/tmp/no such daemon'"))
    let json = await CommandFixture.cospool(words + ["--json", "--data", directory])
    #expect(json.errors.hasPrefix(#"{"error":{"code":"noDaemon","exitCode":4,"#))
  }
}
