import ArgumentParser
import QueueOracle
import Testing

@testable import CommandArguments

private struct Data: ParsableArguments {
  @Option var data: String?
  @Flag var json = false
}

private struct Say: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "say")
  @Option(name: .shortAndLong) var session: String?
  @Option var to: Int?
  @Option var remark: String?
  @Flag var urgent = false
  @Argument var text: [String] = []
  @OptionGroup var data: Data
}

private struct Edit: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "edit")
  @Option(name: .shortAndLong) var session: String?
  @Argument var id: String
  @Argument var text: String?
  @OptionGroup var data: Data
}

private struct Install: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "install")
  @Flag var dry = false
  @Argument(parsing: .postTerminator) var words: [String] = []
}

private struct Group: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "group", subcommands: [Say.self, Install.self])
}

private struct Look: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "look")
  @Flag var watch = false
  @OptionGroup var data: Data
}

private struct Root: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "root", version: "1.2", subcommands: [Say.self, Edit.self, Group.self, Look.self],
    defaultSubcommand: Look.self)
}

@Suite struct ArgumentReaderTests {
  private static func read(_ arguments: [String]) throws -> [String] {
    try ArgumentReader(Root.self, shared: [Data.self]).read(arguments).arguments
  }

  private static func say(_ arguments: [String]) throws -> Say {
    try #require(try Root.parseAsRoot(try read(arguments)) as? Say)
  }

  @Test func aTextThatBeginsWithADashAndHasASpaceIsText() throws {
    for text in ["- h", "-h ", "--help me", "- [ ] fix it", "--- a rule", "-\nx", "-s x"] {
      let said = try Self.say(["say", "-s", "a", text, "--urgent"])
      #expect(said.text == [text] && said.session == "a" && said.urgent)
      #expect(try Self.say(["say", "--remark", text]).remark == text)
      #expect(try Self.say(["say", "-s", text, "x"]).session == text)
    }
  }

  @Test func anOptionAndItsValueInOneArgumentAreATextIfOneIsMissing() throws {
    for text in ["--data=a b", "--json= x", "-s=a b", "--text=is it"] {
      let edit = try #require(try Root.parseAsRoot(try Self.read(["edit", "3f2a", text])) as? Edit)
      #expect(edit.text == text && edit.data.data == nil && !edit.data.json, "\(text)")
      #expect(try Self.say(["say", "--remark", text]).remark == text)
    }
    let edit = try #require(
      try Root.parseAsRoot(try Self.read(["edit", "--data=a b", "3f2a", "x"])) as? Edit)
    #expect(edit.data.data == "a b" && edit.id == "3f2a" && edit.text == "x")
    let behind = try Root.parseAsRoot(try Self.read(["edit", "3f2a", "--data=a b", "--", "-x"]))
    #expect((behind as? Edit)?.text == "-x" && (behind as? Edit)?.data.data == "a b")
    #expect(
      try Self.read(["--data=a b", "edit", "3f2a", "x"]) == ["edit", "--data=a b", "3f2a", "x"])
    #expect(try Self.read(["look", "--data=a b"]) == ["look", "--data=a b"])
  }

  @Test func behindTheTerminatorEverythingIsText() throws {
    for text in ["-h", "--help", "--urgent", "--", "-", "-v", "say", "help"] {
      let said = try Self.say(["say", "--", text, "-x"])
      #expect(said.text == [text, "-x"] && !said.urgent)
    }
    let reader = ArgumentReader(Root.self, shared: [Data.self])
    #expect(try reader.read(["say", "--", "-"]).isDashText)
    #expect(try !reader.read(["say", "-"]).isDashText)
  }

  @Test func helpTakesNoOtherArguments() throws {
    for words in [["say"], ["group"], ["group", "say"], []] {
      for help in ["-h", "--help", "--version"] {
        #expect(try Self.read(words + [help]) == words + [help])
      }
    }
    for arguments in [
      ["say", "x", "-h"], ["say", "--help", "x"], ["say", "--json", "--help"],
      ["say", "x", "--version"], ["--json", "-h"], ["say", "-s", "--help"],
    ] {
      #expect(throws: ArgumentFault.self, "\(arguments)") { try Self.read(arguments) }
    }
    #expect(try Self.read(["help", "say"]) == ["help", "say"])
    #expect(try Self.read(["--json", "help"]) == ["--json", "--", "help"])
  }

  @Test func textsLikeOptionsAreRefusedWithAdvice() throws {
    for (arguments, words) in [
      (["say", "-v"], "write -- before it"), (["say", "x", "--nope"], "write -- before it"),
      (["say", "-hello"], "write -- before it"), (["say", "-help"], "write -- before it"),
      (["say", "-1"], "write -- before it"), (["say", "---"], "write -- before it"),
      (["say", "--generate-completion-script"], "write -- before it"),
      (["say", "-sNAME", "x"], "Write -s NAME"), (["say", "--remark", "-nah"], "--remark=-nah"),
      (["say", "--remark", "--urgent"], "--remark is missing"),
      (["say", "--remark", "--", "x"], "--remark is missing"), (["say", "-s"], "-s is missing"),
      (["--data"], "--data is missing"), (["group", "-x"], "write -- before it"),
    ] {
      let fault = #expect(throws: ArgumentFault.self, "\(arguments)") { try Self.read(arguments) }
      #expect(fault?.message.contains(words) == true, "\(arguments): \(fault?.message ?? "")")
      #expect(fault?.text.contains("\nUsage: root") == true)
    }
  }

  /// Known flags spare the parser's description of the command, and change nothing else.
  @Test(arguments: UInt64(7_301)..<7_321)
  func aKnownFlagIsReadAsTheDescriptionHasIt(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let pieces = [
      "say", "edit", "group", "look", "install", "--json", "--json", "--json=x", "--json x",
      "--data", "--data=d", "d", "-s", "--urgent", "--", "-", "- x", "-h", "--help", "help",
      "--nope", "-1", "text",
    ]
    let shared: [any ParsableArguments.Type] = [Data.self]
    let described = ArgumentReader(Root.self, shared: shared)
    let quick = ArgumentReader(Root.self, shared: shared, flags: ["--json"])
    func result(_ reader: ArgumentReader, _ line: [String]) -> String {
      do {
        let reading = try reader.read(line)
        return "\(reading.command) \(reading.arguments) \(reading.isDashText)"
      } catch {
        return error.text
      }
    }
    for _ in 0..<100 {
      let line = (0..<Int.random(in: 0...5, using: &generator)).map { _ in
        pieces.randomElement(using: &generator) ?? ""
      }
      #expect(result(quick, line) == result(described, line), "seed \(seed): \(line)")
    }
  }

  @Test func aNegativeNumberIsAValue() throws {
    #expect(try Self.say(["say", "--to", "-1"]).to == -1)
    #expect(try Self.say(["say", "--to=-1"]).to == -1)
    #expect(try Self.say(["say", "--remark", "-1"]).remark == "-1")
  }

  @Test func optionsPrecedeOrFollowTheWords() throws {
    for arguments in [
      ["--data", "d", "--json", "say", "x"], ["say", "--json", "--data=d", "x"],
      ["--json", "say", "x", "--data", "d"],
    ] {
      let said = try Self.say(arguments)
      #expect(said.data.data == "d" && said.data.json && said.text == ["x"], "\(arguments)")
    }
    #expect(
      try Self.read(["--data", "x", "group", "say", "--json"])
        == ["group", "say", "--data", "x", "--json"])
    #expect(try Self.read(["--data=x", "say"]) == ["say", "--data=x"])
    #expect(try Self.read(["--data", "x", "--watch"]) == ["--data", "x", "--watch"])
    #expect(try Self.read(["say", "--remark="]) == ["say", "--remark="])
    #expect(try Self.read(["say", "--remark", ""]) == ["say", "--remark", ""])
  }

  @Test func argumentsAfterTheTerminatorStayThere() throws {
    let install = try Root.parseAsRoot(
      try Self.read(["group", "install", "--dry", "--", "--port", "1"]))
    let installed = try #require(install as? Install)
    #expect(installed.words == ["--port", "1"] && installed.dry)
  }
}
