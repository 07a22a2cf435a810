import ArgumentParser
import CommandArguments
import Foundation
import QueueOracle
import Testing

@testable import SyncCommand

/// A text that a user types is queued as typed, or the command is refused and does nothing.
@Suite(.timeLimit(.minutes(10))) struct TextArgumentTests {
  /// Texts that begin like options, paths, mentions and lists, made from the seed.
  private static func texts(seed: UInt64, count: Int = 200) -> [String] {
    var generator = SeededGenerator(seed: seed)
    let beginnings = [
      "-", "--", "---", "- ", "-- ", "-h", "-h ", "--help", "--help ", "—", "–", "/", "@", "1. ",
      "-1", "7", "\n", "\r\n", "-\n", "- [ ] ", "--json", "-s", "-s ", "* ", "+", "=", "--to=",
      "--data=",
      "--data= ",
    ]
    let letters = Array("ahsv -=\n\r\t—é@/\"'\\{}0")
    return (0..<count).map { _ in
      let beginning = beginnings.randomElement(using: &generator) ?? "-"
      let rest = (0..<Int.random(in: 0...8, using: &generator)).map { _ in
        letters.randomElement(using: &generator) ?? "-"
      }
      return beginning + String(rest)
    }
  }

  /// Every command that takes a text, with the place of the text; `--` is put before it on request.
  private static let commands: [(words: [String], isOption: Bool)] = [
    (["send", "-s", "a"], false), (["send", "-s", "a", "--urgent"], false),
    (["queue", "edit", "3f2a"], false), (["draft", "set", "-s", "a"], false),
    (["ask", "-s", "a"], false), (["ask", "-s", "a", "--leave"], false),
    (["answer"], false), (["answer", "a"], false), (["session", "rename", "a"], false),
    (["config", "set", "command"], false),
    (["deny", "a", "--remark"], true), (["queue", "pause", "-s", "a", "--reason"], true),
    (["session", "add", "a", "--name"], true), (["ask", "-s", "a", "which?", "--option"], true),
  ]

  /// The request that the arguments lead to; nil if they are refused before anything is done.
  private func request(_ arguments: [String], input: String) throws -> APIRequest? {
    let reading: ArgumentReader.Reading
    let command: any DaemonCommand
    do {
      reading = try CommandRunner.reader.read(arguments)
      let parsed = try Cospool.parseAsRoot(reading.arguments)
      command = try #require(parsed as? any DaemonCommand, "\(arguments)")
    } catch let error where !(error is ExpectationFailedError) {
      // Help would be a success that did nothing.
      #expect(error is ArgumentFault || Cospool.exitCode(for: error) != .success, "\(arguments)")
      return nil
    }
    let text = reading.isDashText ? "-" : input
    return try? command.request(input: StandardInput { Array(text.utf8) })
  }

  private func holds(_ request: APIRequest, _ text: String) -> Bool {
    func holds(_ value: Any) -> Bool {
      switch value {
      case let string as String:
        Array(string.utf8) == Array(text.utf8)
          // The input of a tool is JSON in a text.
          || (try? JSONSerialization.jsonObject(with: Data(string.utf8))).map(holds) ?? false
      case let list as [Any]: list.contains(where: holds)
      case let members as [String: Any]: members.values.contains(where: holds)
      default: false
      }
    }
    return request.body.flatMap {
      try? JSONSerialization.jsonObject(with: Data($0.utf8), options: .fragmentsAllowed)
    }.map(holds) ?? false
  }

  // I-1 to I-4
  @Test(arguments: [20_261_128]) func everyCommandTakesATextAsTypedOrRefusesIt(seed: UInt64)
    throws
  {
    for text in Self.texts(seed: seed) where !text.allSatisfy(\.isWhitespace) {
      let isText = !text.hasPrefix("-") || text.contains(where: \.isWhitespace)
      for (words, isOption) in Self.commands {
        let arguments = words + [text]
        let what = "seed \(seed): \(arguments)"
        // As the only argument after a command's words, it asks for help.
        let isHelp = words == ["answer"] && ["-h", "--help"].contains(text)
        let bare = isHelp ? nil : try request(arguments, input: "stdin")
        switch text {
        case "-": break
        case _ where isText:
          #expect(bare.map { holds($0, text) } == true, "\(what)")
        case _ where isOption && Double(text) != nil:
          #expect(bare.map { holds($0, text) } == true, "\(what)")
        case "--" where !isOption, "--json" where !isOption, "-s": break
        // An option of the command, with its value.
        case _ where text.hasPrefix("-s=") || text.hasPrefix("--data="): break
        default: #expect(bare == nil, "\(what)")
        }
        guard !isOption else { continue }
        let behind = try request(words + ["--", text], input: "stdin")
        #expect(behind.map { holds($0, text) } == true, "\(what) behind --")
      }
    }
  }

  // I-1, I-2
  @Test(arguments: [3, 4]) func acceptedTextsAreQueuedAsTyped(seed: UInt64) async throws {
    try await CommandFixture.run(queueSizeMax: 1_000) { fixture in
      #expect(await fixture.cospool("session", "add", "a").exitCode == 0)
      var expected: [String] = []
      for text in Self.texts(seed: seed) {
        let outcome = await fixture.cospool("send", "-s", "a", text, input: "stdin")
        #expect(outcome.exitCode != 0 || outcome.output.hasPrefix("queued"), "\(seed): \(text)")
        if text.hasPrefix("-"), !text.contains(where: \.isWhitespace), text != "-" {
          #expect(outcome.exitCode == 2, "seed \(seed): \(text): \(outcome)")
        }
        if outcome.exitCode == 0 {
          expected.append(
            text == "-" ? "stdin" : text.trimmingCharacters(in: .whitespacesAndNewlines))
        }
      }
      let list = await fixture.cospool("queue", "list", "-s", "a", "--json").output
      let json = try JSONSerialization.jsonObject(with: Data(list.utf8)) as? [String: Any]
      let queues = json?["queues"] as? [[String: Any]]
      let messages = try #require(queues?.first?["messages"] as? [[String: Any]])
      #expect(messages.compactMap { $0["content"] as? String } == expected, "seed \(seed)")
      #expect(expected.count > 50)
    }
  }

  // I-5
  @Test func aNumberThatIsTooSmallIsAWrongValue() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("session", "add", "a")
      let id = "11111111-1111-4111-8111-111111111111"
      _ = await fixture.cospool("send", "-s", "a", "--id", id, "one")
      for words in [
        ["queue", "move", "1111", "--to", "-1"], ["queue", "move", "1111", "--to=0"],
        ["thread", "move", "a", "--to", "-1"], ["sync", "wait", "--timeout", "-1"],
        ["queue", "hold", "1111", "--seconds", "-1"], ["web", "--port", "-1"],
        ["notifications", "visible", "--for", "-1"],
        ["ask", "-s", "a", "--patience", "-3", "x"], ["log", "-n", "-1"],
      ] {
        let outcome = await CommandFixture.cospool(
          words, variables: ["COSPOOL_DATA": fixture.directory])
        #expect(outcome.exitCode == 2, "\(words): \(outcome)")
        #expect(!outcome.errors.contains("issing"), "\(words): \(outcome.errors)")
      }
    }
  }
}
