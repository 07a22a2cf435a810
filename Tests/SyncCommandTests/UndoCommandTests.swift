import Foundation
import LocalAPI
import QueueModel
import Synchronization
import Testing

@testable import SyncCommand

/// Undo, the log and documents: from the command line through a daemon to its store.
@Suite(.timeLimit(.minutes(10))) struct UndoCommandTests {
  private static let first = "11111111-1111-4111-8111-111111111111"
  private static let second = "22222222-2222-4222-8222-222222222222"

  @Test func changesGoBackAndForth() async throws {
    try await CommandFixture.run { fixture in
      let steps: [([String], Int32, String)] = [
        (["undo", "--show"], 0, "nothing to undo\nnothing to redo"),
        (
          ["send", "-s", "review", "--id", Self.first, "one"], 0,
          "queued, position 1 of 1 in the new session review"
        ),
        (["send", "-s", "review", "--id", Self.second, "two"], 0, "queued, position 2 of 2"),
        (["queue", "move", "2222", "--to", "1"], 0, #"moved "two" in review, position 1"#),
        (
          ["undo", "--show"], 0,
          #"undo: moving "two" in review (now), and 2 more"# + "\nnothing to redo"
        ),
        (["undo"], 0, #"undone: moving "two" in review"#),
        (["undo"], 0, #"undone: sending "two" to review"#),
        (["redo"], 0, #"redone: sending "two" to review"#),
        (["queue", "priority", "2222", "urgent"], 0, #"made urgent: "two" in review, position 1"#),
        (["undo"], 0, #"undone: setting the priority of "two" in review"#),
        (["undo"], 0, #"undone: sending "two" to review"#),
        (["undo"], 0, #"undone: sending "one" to review"#),
        (["session", "add", "docs"], 0, "added docs"),
      ]
      for (arguments, code, text) in steps {
        let outcome = await CommandFixture.cospool(
          arguments, variables: ["COSPOOL_DATA": fixture.directory])
        #expect(
          outcome.exitCode == code && outcome.output == text, "\(arguments): \(outcome)")
      }
      let redo = await fixture.cospool("redo")
      #expect(redo.exitCode == 1)
      #expect(redo.errors.contains("Nothing to redo"))
      _ = await fixture.cospool("undo")
      let undo = await fixture.cospool("undo", "--json")
      #expect(undo.exitCode == 1)
      #expect(undo.errors.contains(#""code":"nothingToUndo""#))
    }
  }

  @Test func theListOfChangesSurvivesTheDaemon() async throws {
    let directory = "/tmp/csp-\(UInt32.random(in: .min ... .max))"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try await CommandFixture.run(in: directory) { fixture in
      _ = await fixture.cospool("send", "-s", "a", "--id", Self.first, "one")
      _ = await fixture.cospool("queue", "edit", "1111", "one more")
    }
    try await CommandFixture.run(in: directory) { fixture in
      let undone = await fixture.cospool("undo")
      #expect(undone.output.hasPrefix(#"undone: editing "one"#), "\(undone)")
      let list = await fixture.cospool("queue", "list", "-s", "a", "--json")
      #expect(list.output.contains(#""content":"one""#))
    }
  }

  /// A change that cannot be undone stays the next one, with the command that reverses it, until a
  /// user skips it.
  @Test func irreversibleChangesNameTheirCommand() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "-s", "a b", "--id", Self.first, "one")
      let acts: [([String], String)] = [
        (["session", "agent", "a b", "codex"], "cospool session agent 'a b' device"),
        // Without an agent nothing starts.
        (["session", "agent", "a b", "device"], "cospool session agent 'a b' codex"),
        (["session", "host", "a b", "this"], "cospool session host --none 'a b'"),
        (
          ["session", "on-lost-server", "a b", "stop"],
          "cospool session on-lost-server 'a b' finish"
        ),
        (["session", "on-merge", "a b", "run"], "cospool session on-merge 'a b' wait"),
        (["config", "set", "command", "my agent {}"], "cospool config unset command"),
        (["config", "set", "command", "other {}"], "cospool config set command 'my agent {}'"),
        (["config", "unset", "command"], "cospool config set command 'other {}'"),
      ]
      for (arguments, reversing) in acts {
        let done = await CommandFixture.cospool(
          arguments, variables: ["COSPOOL_DATA": fixture.directory])
        #expect(done.exitCode == 0, "\(arguments): \(done)")
        for _ in 1...2 {
          let refused = await fixture.cospool("undo")
          #expect(refused.exitCode == 1 && refused.errors.contains(reversing), "\(refused)")
        }
        let shown = await fixture.cospool("undo", "--show")
        #expect(shown.exitCode == 0 && shown.output.contains(reversing), "\(shown)")
      }
      // Setting the same value again changes nothing.
      _ = await fixture.cospool("config", "unset", "command")
      for _ in acts {
        let skipped = await fixture.cospool("undo", "--skip")
        #expect(skipped.exitCode == 0 && skipped.output.hasPrefix("left as it is: "), "\(skipped)")
      }
      #expect(await fixture.cospool("undo").output == #"undone: sending "one" to a b"#)
      let both = await fixture.cospool("undo", "--skip", "--show")
      #expect(both.exitCode == 2)
    }
  }

  /// A user at a terminal is asked about a change that is older than a minute.
  @Test func anOldChangeIsAskedAbout() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "-s", "review", "--id", Self.first, "one")
      let asked = Mutex<[String]>([])
      func undo(after seconds: Double, _ words: [String] = [], answer: Bool) async
        -> CommandRunner.Outcome
      {
        var style = TextStyle.plain
        style.now = Date(timeIntervalSinceNow: seconds)
        var environment = Environment(
          variables: ["COSPOOL_DATA": fixture.directory], input: StandardInput { [] },
          style: style, watching: .none)
        environment.confirm = { text in
          asked.withLock { $0.append(text) }
          return answer
        }
        return await CommandRunner(environment: environment).run(["undo"] + words)
      }
      let refused = await undo(after: 200, answer: false)
      #expect(refused.exitCode == 1 && refused.errors.contains("Nothing was undone"))
      #expect(
        asked.withLock { $0 } == [#"This undoes sending "one" to review (3m ago)."# + "\nUndo it?"])
      #expect(await undo(after: 200, answer: true).output == #"undone: sending "one" to review"#)
      #expect(asked.withLock(\.count) == 2)
      // No question if the change is recent, for a script, or for a preview.
      _ = await fixture.cospool("redo")
      #expect(await undo(after: 200, ["--show"], answer: false).exitCode == 0)
      #expect(await undo(after: 200, ["--json"], answer: false).exitCode == 0)
      _ = await fixture.cospool("redo")
      #expect(await undo(after: 30, answer: false).exitCode == 0)
      #expect(asked.withLock(\.count) == 2)
    }
  }

  /// An undo reports what it paused and left alone.
  @Test func anAnswerSaysWhatElseWasDone() throws {
    let answer = Answer(
      json: Data(
        #"""
        {"result":"undone","what":"cancelling \"one\" in a b","paused":["a b"],
        "left":[{"reason":"started","note":"\"two\" has started."}]}
        """#.utf8))
    #expect(
      try HistoryText.undone(answer, verb: "undone") == #"""
        undone: cancelling "one" in a b
        a part is left as it is: "two" has started.
        a b is paused, so that nothing starts. To let it go on: cospool queue resume -s 'a b'
        """#)
  }

  @Test func theLogTellsWhoDidWhat() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "-s", "review", "--id", Self.first, "one")
      _ = await fixture.cospool("send", "-s", "docs", "--id", Self.second, "two")
      _ = await fixture.cospool("queue", "edit", "1111", "one, changed")
      _ = await fixture.cospool("queue", "cancel", "1111")
      let log = await fixture.cospool("log", "1111")
      #expect(log.exitCode == 0)
      let lines = log.output.split(separator: "\n")
      #expect(lines.count == 4, "\(log.output)")
      #expect(lines.first?.contains("WHAT") == true)
      #expect(lines[1].contains("cancelled it") && lines[1].hasPrefix("20"))
      #expect(lines[2].contains("edited the text, +12 −3"))
      #expect(lines[3].contains(#"queued "one""#) && lines[3].contains("desk"))
      let page = await fixture.cospool("log", "-n", "2", "--json")
      let answer = try JSONDecoder().decode(HistoryAnswer.self, from: Data(page.output.utf8))
      #expect(answer.entries.count == 2)
      let next = try #require(answer.next)
      let rest = await fixture.cospool("log", "--before", next)
      #expect(rest.output.contains(#"queued "two""#))
      #expect(!rest.output.contains("cancelled"))
      let session = await fixture.cospool("log", "-s", "docs")
      #expect(!session.output.contains("one"))
      let wrong = await fixture.cospool("log", "-s", "docs", "1111")
      #expect(wrong.exitCode == 2)
      let unknown = await fixture.cospool("log", "ffff")
      #expect(unknown.exitCode == 1)
    }
  }

  @Test func documentsGoFromOneDataDirectoryToAnother() async throws {
    let file = "/tmp/csp-\(UInt32.random(in: .min ... .max)).json"
    defer { try? FileManager.default.removeItem(atPath: file) }
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "-s", "review", "--id", Self.first, "one \u{1F600} é")
      _ = await fixture.cospool("send", "-s", "review", "--urgent", "two")
      _ = await fixture.cospool("session", "rename", "review", "Review")
      for name in ["docs", "shop"] { _ = await fixture.cospool("send", "-s", name, "three") }
      let exported = await fixture.cospool("export", file)
      #expect(exported.output.hasPrefix("written to \(file), "), "\(exported)")
      let written = try String(contentsOfFile: file, encoding: .utf8)
      for arguments in [["export"], ["export", "-"]] {
        let shown = await CommandFixture.cospool(
          arguments, variables: ["COSPOOL_DATA": fixture.directory])
        #expect(shown.output == written)
      }
      let link = file + "-link"
      defer { try? FileManager.default.removeItem(atPath: link) }
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
      for (path, words) in [
        (file, "--force"), (link, "not a regular file"), ("/dev/full", "not a regular"),
      ] {
        let refused = await fixture.cospool("export", path)
        #expect(refused.exitCode == 1)
        #expect(refused.errors.contains(words), "\(refused)")
      }
      #expect(await fixture.cospool("export", link, "--force").exitCode == 1)
      #expect(await fixture.cospool("export", file, "--force").exitCode == 0)
      let again = await fixture.cospool("import", file)
      #expect(again.output == "imported 0 messages, 0 sessions, 0 threads; 4 known already")
    }
    try await CommandFixture.run { fixture in
      let trial = await fixture.cospool("import", file, "--dry-run")
      #expect(trial.output == "would import 4 messages, 3 sessions, 3 threads")
      let empty = await fixture.cospool("session", "list")
      #expect(empty.output == "no sessions yet")
      let imported = await fixture.cospool("import", file)
      #expect(imported.output == "imported 4 messages, 3 sessions, 3 threads")
      let document = await fixture.cospool("export")
      let before = try String(contentsOfFile: file, encoding: .utf8)
      #expect(document.output == before)
      let undone = await fixture.cospool("undo")
      #expect(undone.output == "undone: importing 4 messages")
      #expect(await fixture.cospool("session", "list").output == "no sessions yet")
      #expect(await fixture.cospool("redo").output == "redone: importing 4 messages")
      let restored = await fixture.cospool("queue", "list", "--json").output
      #expect(["one", "two", "three"].allSatisfy(restored.contains), "\(restored)")
    }
  }

  @Test func damagedDocumentsAreRefusedWithTheirPlace() async throws {
    try await CommandFixture.run { fixture in
      let cases: [(String, String)] = [
        ("{\n  \"format\": \"cospool-workspace\",\n  \"version\": }", "line 3"),
        (#"{"format":"cospool-workspace","version":9}"#, "version: 9 is unknown"),
        (#"{"format":"x","version":1}"#, #"format: "x""#),
        (#"{"version":1}"#, "format: it is missing"),
        (
          #"{"format":"cospool-workspace","version":1,"threads":[],"sessions":[{"id":"a"}]}"#,
          "sessions[0].pauses: it is missing"
        ),
        (
          #"{"format":"cospool-workspace","version":1,"threads":[{"session":"a","queuedAt":"x"}],"#
            + #""sessions":[]}"#, "threads[0].queuedAt: "
        ),
        ("", "the JSON is invalid"),
      ]
      for (document, words) in cases {
        let outcome = await fixture.cospool("import", "-", input: document)
        #expect(outcome.exitCode == 6, "\(document)")
        #expect(outcome.errors.contains(words), "\(outcome.errors)")
      }
      let missing = await fixture.cospool("import", "/nowhere/at-all.json")
      #expect(missing.exitCode == 1)
      let sessions = await fixture.cospool("session", "list")
      #expect(sessions.output == "no sessions yet")
    }
  }

  /// A user who presses Ctrl-C before the answer learns the outcome.
  @Test func anInterruptionReportsWhatIsKnown() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "-s", "review", "--id", Self.first, "one")
      func interrupted(confirms: Bool) async -> CommandRunner.Outcome {
        var watching = WatchSurroundings.none
        watching.stop = { AsyncStream { $0.yield(()) } }
        var environment = Environment(
          variables: ["COSPOOL_DATA": fixture.directory], input: StandardInput { [] },
          style: .plain, watching: watching)
        if confirms { environment.confirm = { _ in true } }
        return await CommandRunner(environment: environment).run(["undo"])
      }
      // The change may be done before the signal counts; then that is reported.
      for confirms in [true, false] {
        let outcome = await interrupted(confirms: confirms)
        let isDone = await fixture.cospool("queue", "list", "-s", "review").output
          .contains("nothing waits")
        if outcome.exitCode == 0 {
          #expect(outcome.output.hasPrefix("undone: ") && isDone)
        } else {
          #expect(outcome.exitCode == 130, "\(outcome)")
          let words =
            !confirms
            ? "Interrupted before the daemon answered"
            : isDone ? "Interrupted, but it was undone before" : "Interrupted: nothing was undone."
          #expect(outcome.errors.contains(words), "\(outcome)")
        }
        if isDone { _ = await fixture.cospool("redo") }
      }
    }
  }
}
