import ArgumentParser
import Foundation
import Testing

@testable import SyncCommand

/// The command line's aids for a user: help, suggestions and completion.
@Suite(.timeLimit(.minutes(10))) struct GuidanceTests {
  /// Every command with its words, without hidden ones.
  private static func commands(
    below group: any ParsableCommand.Type = Cospool.self, path: [String] = []
  ) -> [(path: [String], command: any ParsableCommand.Type)] {
    [(path, group)]
      + group.configuration.subcommands.filter { $0.configuration.shouldDisplay }.flatMap {
        commands(below: $0, path: path + [$0._commandName])
      }
  }

  @Test func everyCommandsHelpBeginsWithExamples() async throws {
    let commands = Self.commands()
    #expect(commands.count > 40)
    for (path, _) in commands {
      let help = await CommandFixture.cospool(["help"] + path).output
      let examples = try #require(help.firstRange(of: "EXAMPLES"), "\(path) has no examples")
      let usage = try #require(help.firstRange(of: "USAGE"), "\(path)")
      #expect(examples.lowerBound < usage.lowerBound, "\(path)")
      let lines = help[examples.upperBound...].split(separator: "\n").prefix { $0.hasPrefix("  ") }
      #expect(lines.contains { $0.contains("cospool") }, "\(path): \(lines)")
      // The line of the usage is the parser's own, and a single line whatever its length.
      for line in help.split(separator: "\n") where !line.hasPrefix("USAGE:") {
        #expect(line.count <= 100, "\(path): \(line)")
      }
    }
  }

  // I-314
  @Test func examplesHaveOptionsThatTheirCommandsTake() {
    let commands = Self.commands()
    var checked = 0
    for (path, command) in commands {
      for line in command.configuration.discussion.split(separator: "\n") {
        // A remark is behind two spaces.
        let example = line.drop { $0 == " " }
        let typed = example.firstRange(of: "  ").map { example[..<$0.lowerBound] } ?? example
        let words = typed.split(separator: " ").map(String.init)
          .prefix { !["|", "&&", "--"].contains($0) && !$0.hasPrefix("#") }
        guard words.first == "cospool" else { continue }
        // The longest path that the words begin with.
        let named = commands.filter { Array(words.dropFirst().prefix($0.path.count)) == $0.path }
        guard let meant = named.max(by: { $0.path.count < $1.path.count }) else { continue }
        let standard = meant.command.configuration.defaultSubcommand
        let kinds = [meant.command, standard].compactMap(\.self)
        let help = kinds.map { Cospool.helpMessage(for: $0, includeHidden: true) }.joined()
        for word in words where word.hasPrefix("--") {
          let option = String(word.prefix { $0 != "=" })
          // A longer option begins with the same letters.
          let isKnown = help.ranges(of: option).contains { range in
            let next = help[range.upperBound...].first ?? " "
            return next != "-" && !next.isLetter
          }
          #expect(isKnown, "\(path): \(line)")
          checked += 1
        }
      }
    }
    #expect(checked > 40, "\(checked)")
  }

  @Test func anArgumentTooManyIsExplained() async {
    for (words, hint) in [
      (["queue", "pause", "review"], "-s NAME"), (["queue", "clear", "a", "b"], "-s NAME"),
      (["deny", "review", "not now"], "--remark TEXT"), (["send", "fix", "it"], "quotation marks"),
    ] {
      let outcome = await CommandFixture.cospool(words)
      #expect(outcome.exitCode == 2 && outcome.errors.contains(hint), "\(words): \(outcome)")
    }
  }

  @Test func helpOfACommandThatThereIsNotIsNone() async {
    for (words, meant) in [
      (["help", "nope"], "'cospool nope'"), (["help", "queue", "lst"], "list'"),
    ] {
      let outcome = await CommandFixture.cospool(words)
      #expect(outcome.exitCode == 2 && outcome.output.isEmpty, "\(words)")
      #expect(outcome.errors.contains(meant), "\(outcome)")
    }
    #expect(await CommandFixture.cospool(["help", "queue", "list"]).exitCode == 0)
  }

  /// A refusal that the server would word in its own terms is worded in the command's.
  @Test(arguments: [
    (["ntfy", "nonsense"], "https://SERVER/TOPIC"),
    (["webhook", "example.org", "--secret-file", "-"], "must start with https://"),
    (["webhook", "https://example.org", "--secret-file", "-"], "at least 16 bytes"),
    (["ntfy", "-", "--token-file", "-"], "Only one of the two"),
    (["ntfy", "-"], "https://SERVER/TOPIC"),
    (
      ["apns", "00", "--topic", "a.b", "--environment", "production", "--live", "--me"],
      "Leave out --me"
    ),
  ])
  func pushAddressesAreReadBeforeTheyAreSent(words: [String], text: String) async {
    let outcome = await CommandFixture.cospool(
      ["push", "add"] + words, variables: ["COSPOOL_DATA": "/nonexistent"])
    #expect(outcome.exitCode == 2)
    #expect(outcome.errors.contains(text), "\(outcome)")
  }

  // S-40
  @Test func secretsOfPushAddressesAreNotArguments() throws {
    let file = URL.temporaryDirectory.appending(
      path: "cospool-secret-\(UInt32.random(in: 1...(.max)))")
    try Data("0123456789abcdef\n".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let path = file.path(percentEncoded: false)
    func body(_ words: [String], input: String) throws -> String {
      let command = try #require(
        try Cospool.parseAsRoot(["push", "add"] + words) as? any DaemonCommand)
      return try command.request(input: StandardInput { Array(input.utf8) }).body ?? ""
    }
    let hook = "webhook+https://example.org/hook#0123456789abcdef"
    #expect(
      try body(["webhook", "https://example.org/hook", "--secret-file", path], input: "")
        .contains(hook))
    #expect(
      try body(
        ["webhook", "https://example.org/hook", "--secret-file", "-"], input: "0123456789abcdef\n"
      ).contains(hook))
    #expect(
      try body(["ntfy", "-", "--token-file", path], input: "https://ntfy.example/topic\n")
        .contains("ntfy+https://ntfy.example/topic#0123456789abcdef"))
    for words in [
      ["webhook", "https://example.org/hook", "--secret", "0123456789abcdef"],
      ["ntfy", "https://ntfy.example/topic", "--token", "tk_1"],
    ] {
      #expect(throws: (any Error).self) { try Cospool.parseAsRoot(["push", "add"] + words) }
    }
  }

  /// Each command is listed once, under its purpose.
  @Test func commandsAreInGroups() async {
    let help = await CommandFixture.cospool(["--help"]).output
    let names = help.split(separator: "\n").filter { $0.hasSuffix("SUBCOMMANDS:") }
    #expect(
      names
        == ["LOOK", "QUEUE", "AGENTS", "DEVICES", "DOCUMENTS", "SET UP"].map {
          $0 + " SUBCOMMANDS:"
        })
    for command in Cospool.configuration.subcommands where command.configuration.shouldDisplay {
      let name = "  \(command._commandName) "
      #expect(
        help.split(separator: "\n").count { $0.hasPrefix(name) && !$0.contains("cospool") } == 1)
    }
    #expect(Cospool.configuration.ungroupedSubcommands.isEmpty)
  }

  // S2-47: every command that needs the daemon reports a missing answer.
  @Test func noCommandIsSilentWithoutADaemon() async {
    let commands = Self.commands().filter { $0.command is any DaemonCommand.Type }
    #expect(commands.count > 40)
    for (path, command) in commands {
      // Every word without brackets in the usage is required.
      let needed = Cospool.usageString(for: command).replacing(#/\[[^\]]*\]/#, with: "")
        .split(separator: " ").filter { $0.hasPrefix("<") || $0.hasPrefix("--") }
        .map { $0.hasPrefix("<") ? "1" : String($0) }
      let words = path + needed + ["--data", "/tmp/no such daemon"]
      let outcome = await CommandFixture.cospool(words)
      #expect(outcome.exitCode != 0 && outcome.output.isEmpty, "\(words)")
      #expect(!outcome.errors.isEmpty, "\(words)")
    }
  }

  @Test(arguments: [
    (["quue", "list"], "'cospool queue'"), (["thr"], "'cospool thread'"),
    (["queue", "lst", "-s", "a"], "'cospool queue list'"),
    (["--data", "/d", "thread", "mov", "a", "--to", "1"], "'cospool thread move'"),
    (["--data", "queue", "staus"], "'cospool status'"),
  ])
  func misspeltCommandsAreAnsweredWithTheRightOne(words: [String], meant: String) async {
    let outcome = await CommandFixture.cospool(words)
    #expect(outcome.exitCode == 2)
    #expect(outcome.errors.hasPrefix("Error: There is no command '"), "\(outcome.errors)")
    #expect(outcome.errors.contains("Did you mean \(meant)"), "\(outcome.errors)")
    #expect(outcome.errors.contains("\nUsage: cospool"))
  }

  @Test func wordsThatAreLikeNothingAreNotGuessed() async {
    let outcome = await CommandFixture.cospool(["frobnicate"])
    #expect(outcome.errors.hasPrefix("Error: There is no command 'cospool frobnicate'.\n"))
  }

  @Test func misspeltSessionsAreAnsweredWithTheRightOnes() async throws {
    try await CommandFixture.run { fixture async throws in
      for name in ["review", "review-2", "docs"] {
        _ = await fixture.cospool("session", "add", name)
      }
      let outcome = await fixture.cospool("queue", "list", "-s", "reveiw")
      #expect(outcome.exitCode == 1)
      #expect(outcome.errors == "cospool: No session reveiw. Did you mean review?")
      let json = await fixture.cospool("queue", "clear", "-s", "rev", "--json").errors
      #expect(json.contains(#""candidates":["review","review-2"]"#), "\(json)")
      let unlike = await fixture.cospool("queue", "list", "-s", "frobnicate").errors
      #expect(unlike.contains("List the sessions"))
    }
  }

  @Test(arguments: ["bash", "zsh", "fish"])
  func shellsGetTheirCompletions(shell: String) async {
    let outcome = await CommandFixture.cospool(["completions", shell])
    #expect(outcome.exitCode == 0)
    #expect(outcome.output.contains("cospool complete sessions"))
    #expect(outcome.output.contains("cospool complete messages"))
    #expect(await CommandFixture.cospool(["completions", "tcsh"]).exitCode == 2)
  }

  @Test func idsToCompleteWithComeOneALine() async throws {
    try await CommandFixture.run { fixture async throws in
      #expect(await fixture.cospool("complete", "sessions").output.isEmpty)
      let id = "11111111-1111-4111-8111-111111111111"
      _ = await fixture.cospool("send", "-s", "review", "--id", id, "one")
      _ = await fixture.cospool("session", "add", "docs")
      #expect(await fixture.cospool("complete", "sessions").output == "docs\nreview")
      #expect(await fixture.cospool("complete", "messages").output == "11111111")
      #expect(await fixture.cospool("complete", "devices").output == "this")
      let settings = await fixture.cospool("complete", "settings").output.split(separator: "\n")
      #expect(settings.contains("notifyMeAfter"))
    }
  }

  /// Each shell gets ids in the form that its completion reads: bash expands the words of a list.
  @Test func idsComeAsTheShellReadsThem() async throws {
    try await CommandFixture.run { fixture async throws in
      _ = await fixture.cospool("session", "add", "a:$(b) 'c\\d")
      for (shell, read) in [
        ("bash", #"'a:$(b) '\''c\d'"#), ("zsh", #"a\:$(b) 'c\\d"#), ("fish", #"a:$(b) 'c\d"#),
      ] {
        let outcome = await CommandFixture.cospool(
          ["complete", "sessions"],
          variables: ["COSPOOL_DATA": fixture.directory, "SAP_SHELL": shell])
        #expect(outcome == .init(output: read), "\(shell)")
      }
    }
  }

  @Test func theLogOfAMessageNamesEachStateWithTimeAndDevice() async throws {
    try await CommandFixture.run { fixture async throws in
      let id = "11111111-1111-4111-8111-111111111111"
      _ = await fixture.cospool("send", "-s", "review", "--id", id, "one")
      _ = await fixture.cospool("queue", "priority", "1111", "urgent")
      _ = await fixture.cospool("queue", "cancel", "1111")
      let lines = await fixture.cospool("log", "1111").output.split(separator: "\n").map(
        String.init)
      #expect(lines.count == 4)
      #expect(lines.first?.split(separator: " ") == ["TIME", "AGE", "DEVICE", "WHAT"])
      #expect(lines.dropFirst().allSatisfy { $0.contains("desk") && $0.contains("2") })
      #expect(lines[1].contains("cancelled it") && lines[2].contains("made it urgent"))
      #expect(lines[3].contains(#"queued "one""#))
    }
  }

  /// The commands that the table of requirements names exist.
  @Test func requirementsNameCommandsThatExist() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "REQUIREMENTS.md")
    let text = try String(contentsOf: file, encoding: .utf8)
    let known = Set(Self.commands().map { $0.path.joined(separator: " ") })
    let named = Set(text.matches(of: #/`cospool ([a-z -]+)`/#).map { String($0.1) })
    #expect(named.count > 15)
    for command in named {
      let words = command.split(separator: " ").prefix { !$0.hasPrefix("-") }
      #expect(known.contains(words.joined(separator: " ")), "cospool \(command)")
    }
  }
}
