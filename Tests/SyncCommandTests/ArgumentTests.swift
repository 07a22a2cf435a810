import ArgumentParser
import Foundation
import Testing

@testable import SyncCommand

@Suite struct ArgumentTests {
  /// The requests that arguments lead to.
  private func request(_ arguments: String..., input: String = "") throws -> APIRequest {
    let command = try #require(
      try Cospool.parseAsRoot(arguments) as? any DaemonCommand, "\(arguments)")
    return try command.request(input: StandardInput { Array(input.utf8) })
  }

  @Test(arguments: [
    ["--data", "/d", "--json", "queue", "list", "-s", "a"],
    ["queue", "--data", "/d", "list", "--json", "-s", "a"],
    ["queue", "list", "--data", "/d", "-s", "a", "--json"],
    ["--json", "queue", "list", "-s", "a", "--data=/d"],
  ])
  func optionsPrecedeOrFollowTheSubcommand(arguments: [String]) throws {
    let command = try #require(try Cospool.parseAsRoot(arguments) as? any DaemonCommand)
    #expect(command.options.data == "/d")
    #expect(command.options.json)
  }

  @Test func optionsAreOffByThemselves() throws {
    let command = try #require(try Cospool.parseAsRoot(["status"]) as? any DaemonCommand)
    #expect(command.options.data == nil)
    #expect(!command.options.json)
  }

  @Test func everyCommandTakesBothOptions() throws {
    let commands = [
      ["send", "-s", "a", "text"], ["queue", "list", "-s", "a"], ["queue", "show", "1"],
      ["queue", "edit", "1", "text"], ["queue", "move", "1", "--to", "1"],
      ["queue", "cancel", "1"], ["queue", "restore", "1"], ["queue", "clear", "-s", "a"],
      ["queue", "priority", "1", "urgent"], ["queue", "pause", "-s", "a"],
      ["queue", "resume", "-s", "a"], ["thread", "list"], ["thread", "move", "a", "--to", "1"],
      ["thread", "remove", "a"], ["thread", "clear"], ["thread", "unlock", "a"],
      ["session", "list"], ["session", "add", "a"], ["session", "rename", "a", "b"],
      ["session", "delete", "a"], ["status"], ["dump"], ["pair", "ws://h:1", "CODE"],
      ["pair", "--show"], ["sync", "on"], ["sync", "off"], ["sync", "now"], ["sync", "wait"],
    ]
    for words in commands {
      for arguments in [["--data", "/d", "--json"] + words, words + ["--json", "--data", "/d"]] {
        let command = try Cospool.parseAsRoot(arguments) as? any DaemonCommand
        #expect(command?.options.data == "/d", "\(arguments)")
        #expect(command?.options.json == true, "\(arguments)")
      }
    }
  }

  /// A name that is derived from the type has Swift's runtime search all conformances of the program, for each
  /// command of each line.
  @Test func everyCommandSaysItsName() {
    var commands: [any ParsableCommand.Type] = [Cospool.self]
    var index = 0
    while index < commands.count {
      let configuration = commands[index].configuration
      #expect(configuration.commandName != nil, "\(commands[index])")
      commands += configuration.subcommands
      index += 1
    }
    #expect(commands.count > 100)
  }

  /// Other devices, and later the device itself, do not know which folder `.` was.
  @Test func aProjectNamedFromThisFolderIsAbsolute() throws {
    let here = FileManager.default.currentDirectoryPath
    for (given, stored) in [
      (".", here), ("./web", here + "/web"), ("web/page", here + "/web/page"),
      ("shop", "shop"), ("~/shop", "~/shop"),
    ] {
      let send = try request("send", "-s", "a", "--project", given, "x")
      #expect(send.body?.contains("\"project\":\"\(stored)\"") == true, "\(send)")
      let add = try request("session", "add", "a", "--project", given)
      #expect(add.body?.contains("\"project\":\"\(stored)\"") == true, "\(add)")
    }
  }

  @Test func sendSaysWhatTheContractSays() throws {
    let plain = try request("send", "-s", "a/b", "hello")
    #expect(plain.method == .post)
    #expect(plain.path == "sessions/a%2Fb/queue")
    #expect(plain.body == #"{"text":"hello"}"#)
    let id = "11111111-1111-4111-8111-111111111111"
    let full = try request(
      "send", "-s", "a", "--id", id, "--urgent", "--project", "/src", "hello")
    #expect(
      full.body == #"{"id":"\#(id)","priority":"urgent","project":"/src","text":"hello"}"#)
  }

  @Test func textMayBeginWithADash() throws {
    #expect(try request("send", "-s", "a", "--", "-v").body == #"{"text":"-v"}"#)
    #expect(try request("send", "-s", "a", "--", "--json").body == #"{"text":"--json"}"#)
    #expect(
      try request("queue", "edit", "1", "--", "--to").body == #"{"content":"--to"}"#)
  }

  @Test func dashReadsStandardInput() throws {
    #expect(try request("send", "-s", "a", "-", input: "in\n").body == #"{"text":"in\n"}"#)
    #expect(try request("queue", "edit", "1", "-", input: "x").body == #"{"content":"x"}"#)
  }

  @Test func queueCommandsBecomeRequests() throws {
    #expect(
      try request("queue", "move", "1", "2", "--to", "3")
        == APIRequest(.post, ["messages", "move"], body: Move(ids: ["1", "2"], to: 3)))
    #expect(
      try request("queue", "move", "1", "--before", "2").body == #"{"before":"2","ids":["1"]}"#)
    #expect(
      try request("queue", "move", "1", "--after", "2").body == #"{"after":"2","ids":["1"]}"#)
    #expect(try request("queue", "cancel", "1", "2").body == #"{"ids":["1","2"]}"#)
    #expect(try request("queue", "pause", "-s", "a").body == nil)
    #expect(
      try request("queue", "pause", "-s", "a", "--reason", "no").body == #"{"reason":"no"}"#)
    #expect(try request("queue", "show", "../x").path == "messages/..%2Fx")
  }

  private struct Move: Encodable {
    var ids: [String]
    var to: Int
  }

  @Test func waitingIsGivenItsTime() throws {
    let request = try request("sync", "wait", "--timeout", "300")
    #expect(request.body == #"{"timeoutSeconds":300}"#)
    #expect(request.timeoutSeconds > 300)
  }

  @Test(arguments: [
    ["nonsense"], ["queue", "nonsense"], ["send", "-s", "a"],
    ["send", "-s", "a", "two", "words"], ["send", "-s", "a", "--id", "7", "text"],
    ["queue", "move", "1"], ["queue", "move", "1", "--to", "1", "--before", "2"],
    ["queue", "move", "--to", "1"], ["queue", "move", "1", "--to", "x"],
    ["queue", "move", "1", "--to", "99999999999999999999"], ["queue", "cancel"],
    ["queue", "priority", "1", "high"], ["thread", "move", "a"],
    ["sync", "wait", "--timeout", "x"],
    ["sync", "wait", "--timeout", "nan"], ["sync", "wait", "--timeout", "inf"],
    ["sync", "wait", "--timeout", "86401"], ["pair", "ws://h:1"], ["status", "--data"],
    ["pair"], ["pair", "--show", "ws://h:1"], ["pair", "--show", "--role", "king"],
    ["pair", "--show", "--expires", "soon"], ["pair", "--show", "--expires", "0d"],
    ["pair", "ws://h:1", "CODE", "--role", "viewer"],
  ])
  func wrongUsageExitsWithTwo(arguments: [String]) async {
    let outcome = await CommandFixture.cospool(arguments)
    #expect(outcome.exitCode == 2)
    #expect(outcome.output.isEmpty)
    #expect(outcome.errors.contains("Usage: cospool"))
  }

  @Test(arguments: [
    ["send", "-s", "a", "-v"], ["send", "-s", "a", "-v", "foo"], ["send", "-s", "a", "-hello"],
    ["queue", "edit", "3f", "-v"], ["ask", "-s", "a", "--leave", "-push"], ["answer", "-no"],
    ["ask", "-s", "a", "--leave", "-h"], ["send", "-s", "a", "--help"],
    ["ask", "-s", "a", "--generate-completion-script"], ["ask", "x", "--version"],
  ])
  func ifATextLooksLikeAnOptionTheAnswerSaysHowToWriteIt(arguments: [String]) async {
    let outcome = await CommandFixture.cospool(arguments)
    #expect(outcome.exitCode == 2 && outcome.output.isEmpty)
    #expect(outcome.errors.contains("write -- before it"), "\(outcome.errors)")
  }

  @Test(arguments: [
    (["web", "--port", "abc"], "--port"), (["queue", "ls"], "'cospool queue list'"),
    (["status", "--data", ""], "--data is empty"),
  ])
  func theAnswerIsAboutWhatIsWrong(_ arguments: [String], _ part: String) async {
    let outcome = await CommandFixture.cospool(arguments)
    #expect(outcome.exitCode == 2 && outcome.errors.contains(part), "\(outcome.errors)")
    #expect(!outcome.errors.contains("'cospool web abc'"), "\(outcome.errors)")
  }

  @Test(arguments: [
    ["ask", "-h"], ["ask", "--help"], ["--json", "ask", "--help"], ["ask", "--version"],
  ])
  func askNeverSucceedsWithoutAnAnswer(arguments: [String]) async {
    let outcome = await CommandFixture.cospool(arguments)
    #expect(outcome.exitCode == 2 && outcome.output.isEmpty && !outcome.errors.isEmpty)
  }

  @Test(arguments: [
    ["--help"], ["queue", "--help"], ["queue", "move", "--help"], ["help", "send"], ["queue"],
    ["--version"],
  ])
  func helpIsAnAnswer(arguments: [String]) async {
    let outcome = await CommandFixture.cospool(arguments)
    #expect(outcome.exitCode == 0)
    #expect(outcome.errors.isEmpty)
    #expect(!outcome.output.isEmpty)
  }

  @Test func helpBeginsWithExamples() async throws {
    for group in [[], ["send"], ["queue"], ["thread"], ["session"], ["sync"], ["pair"]] {
      let help = await CommandFixture.cospool(group + ["--help"]).output
      let examples = try #require(help.firstRange(of: "EXAMPLES"), "\(group)")
      let usage = try #require(help.firstRange(of: "USAGE"), "\(group)")
      #expect(examples.lowerBound < usage.lowerBound, "\(group)")
    }
    #expect(await CommandFixture.cospool(["--version"]).output == "0.1.0")
  }

  @Test(
    arguments: [
      ("/flag/", ["COSPOOL_DATA": "/env"], "/flag"),
      (nil, ["COSPOOL_DATA": "/env/", "XDG_DATA_HOME": "/xdg", "HOME": "/h"], "/env"),
      (nil, ["COSPOOL_DATA": "", "XDG_DATA_HOME": "/xdg", "HOME": "/h"], "/xdg/cospool"),
      (nil, ["XDG_DATA_HOME": "relative", "HOME": "/h"], "/h/.local/share/cospool"),
    ] as [(String?, [String: String], String)])
  func dataDirectoryIsFlagEnvironmentDefault(
    flag: String?, variables: [String: String], expected: String
  ) throws {
    let environment = Environment(
      variables: variables, input: StandardInput { [] }, style: .plain, watching: .none)
    #expect(try environment.dataDirectory(flag: flag) == expected)
  }

  @Test func withoutAHomeTheDirectoryMustBeGiven() async {
    let outcome = await CommandFixture.cospool(["status"])
    #expect(outcome.exitCode == 2)
    #expect(outcome.errors.contains("--data"))
  }
}

@Suite struct StandardInputTests {
  @Test func invalidTextIsRefused() {
    let input = StandardInput { [0x61, 0xFF] }
    #expect(throws: CommandFailure.self) { try input.text(for: "-") }
    #expect(throws: Never.self) { try input.text(for: "not read") }
  }

  @Test func tooMuchIsRefusedAndTheLimitIsNot() throws {
    let atLimit = StandardInput { [UInt8](repeating: 0x20, count: StandardInput.bytesMax) }
    #expect(try atLimit.text(for: "-").utf8.count == StandardInput.bytesMax)
    let beyond = StandardInput { [UInt8](repeating: 0x20, count: StandardInput.bytesMax + 1) }
    let failure = #expect(throws: CommandFailure.self) { try beyond.text(for: "-") }
    #expect(failure?.code == "contentTooLong")
  }
}
