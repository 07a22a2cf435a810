import ArgumentParser
import Foundation
import LocalAPI
import QueueModel
import Synchronization
import Testing

@testable import SyncCommand

/// A message whose text was merged, on the command line: both texts are shown, and one is chosen.
@Suite(.timeLimit(.minutes(10))) struct ResolveCommandTests {
  private static let id = "11111111-1111-4111-8111-111111111111"
  private static let texts = ["Bump the version to 1.3", "Bump the version to 2.0"]
  private static let merged = "Bump the version to 1.3 2.0"

  /// A queue file of a message that was merged elsewhere.
  private static var file: String {
    let editions = texts.enumerated().map { #"{"content":"\#($1)","savedAt":\#($0 + 1)}"# }
    return #"{"version":1,"sessionId":"release","messages":[{"id":"\#(id)","content":"\#(merged)","#
      + #""createdAt":"2026-01-01T00:00:00Z","editions":[\#(editions.joined(separator: ","))]}]}"#
  }

  private func withMerged(_ body: @Sendable (CommandFixture) async throws -> Void) async throws {
    try await CommandFixture.run { fixture in
      let brought = await fixture.cospool("queue", "import", "-", input: Self.file)
      #expect(brought.exitCode == 0, "\(brought)")
      try await body(fixture)
    }
  }

  @Test func bothTextsAreShown() async throws {
    try await withMerged { fixture in
      let list = await fixture.cospool("queue", "list", "-s", "release")
      #expect(list.output.contains("[merged] \(Self.merged)"), "\(list.output)")
      let show = await fixture.cospool("queue", "show", "1111")
      for text in Self.texts + ["cospool queue resolve 11111111 --take 1-", "version 2, by desk"] {
        #expect(show.output.contains(text), "\(text) in \(show.output)")
      }
      let json = await fixture.cospool("queue", "show", "1111", "--json")
      #expect(json.output.contains(#""merged":true"#), "\(json.output)")
      #expect(json.output.contains(#""text":"Bump the version to 2.0""#), "\(json.output)")
      // The lists of sessions and of threads show it, too.
      #expect(await fixture.cospool("thread", "add", "release").exitCode == 0)
      for words in [["overview"], ["session", "list"], ["thread", "list", "--all"]] {
        let sessions = await CommandFixture.cospool(
          words, variables: ["COSPOOL_DATA": fixture.directory])
        #expect(sessions.output.contains(", 1 merged"), "\(words): \(sessions)")
      }
      // The exported message is merged, too.
      let file = await fixture.cospool("queue", "export", "-s", "release", "-")
      #expect(file.output.contains("editions"), "\(file.output)")
    }
  }

  @Test(arguments: [
    ("1", texts[0], "version 1, by desk, "), ("2", texts[1], "version 2, by desk, "),
    ("merged", merged, "the merged text"),
  ])
  func oneIsTaken(take: String, text: String, source: String) async throws {
    try await withMerged { fixture in
      let unseen = await fixture.cospool("queue", "resolve", "1111", "--take", take)
      #expect(unseen.exitCode == 5 && unseen.errors.contains("not seen"), "\(unseen)")
      let seen = try await fixture.marked(take, of: "1111")
      let answer = await fixture.cospool("queue", "resolve", "1111", "--take", seen)
      #expect(answer.exitCode == 0, "\(answer)")
      #expect(answer.output.hasPrefix("resolved \"\(text)\" in release: \(source)"), "\(answer)")
      #expect(answer.errors.isEmpty, "\(answer)")
      let list = await fixture.cospool("queue", "list", "-s", "release")
      #expect(list.output.contains(text) && !list.output.contains("[merged]"), "\(list.output)")
      #expect(await fixture.cospool("queue", "resolve", "1111", "--take", seen).exitCode != 0)
      #expect(await fixture.cospool("undo").exitCode == 0)
      let undone = await fixture.cospool("queue", "list", "-s", "release")
      #expect(undone.output.contains("[merged] \(Self.merged)"), "\(undone.output)")
    }
  }

  @Test func aStartSaysThatItWaitsForAChoice() async throws {
    try await withMerged { fixture in
      let answer = await fixture.cospool("queue", "start", "1111")
      #expect(answer.output.contains("cospool queue show 11111111"), "\(answer)")
      let first = try await fixture.marked("1", of: "1111")
      #expect(await fixture.cospool("queue", "resolve", "1111", "--take", first).exitCode == 0)
      #expect(await fixture.cospool("queue", "hold", "1111").exitCode == 0)
      let held = await fixture.cospool("queue", "start", "1111")
      #expect(held.output == "it is on hold while it is edited", "\(held)")
    }
  }

  @Test func aChoiceThatCannotBeSaysWhy() async throws {
    try await withMerged { fixture in
      let mark = try await fixture.marked("", of: "1111")
      let least = "--take=\(Int.min)\(mark)"
      let takes = ["3", "0", "both"].map { ["--take", $0 + mark] }
      for words in takes + [[least], []] {
        let answer = await CommandFixture.cospool(
          ["queue", "resolve", "1111"] + words, variables: ["COSPOOL_DATA": fixture.directory])
        #expect(answer.exitCode != 0, "\(words)")
        #expect(
          answer.errors.contains("choose") || answer.errors.contains("cospool queue show 1111"),
          "\(answer)")
      }
    }
  }

  /// The answer of `queue show` about the message when the command asks.
  private func shown(_ versions: [(device: String, text: String)]) throws -> MessageAnswer {
    let editions = versions.map { version in
      #"{"bytes":1,"device":"\#(version.device)","savedAt":"2026-01-01T00:00:00.000Z","#
        + #""text":"\#(version.text)"}"#
    }
    let json =
      #"{"id":"\#(Self.id)","content":"\#(Self.merged)","priority":"normal","status":"queued","#
      + #""position":1,"createdAt":"2026-01-01T00:00:00.000Z","device":"desk","merged":true,"#
      + #""base":"seen","editions":[\#(editions.joined(separator: ","))]}"#
    return try Answer(json: Data(json.utf8)).decoded(MessageAnswer.self)
  }

  private func resolve(taking take: String) throws -> QueueCommands.Resolve {
    try QueueCommands.Resolve.parse(["1111", "--take", take])
  }

  private func surroundings(confirm: (@Sendable (String) -> Bool)? = nil) -> Environment {
    var environment = Environment(
      variables: [:], input: StandardInput { [] }, style: .plain, watching: .none)
    environment.confirm = confirm
    return environment
  }

  @Test func aVersionHasTheNameOfItsDevice() throws {
    let versions: [(device: String, text: String)] = [
      ("laptop", Self.texts[0]), ("desk", Self.texts[1]),
    ]
    for (take, text) in [("desk", Self.texts[1]), ("laptop", Self.texts[0]), ("2", Self.texts[1])] {
      var command = try resolve(taking: SeenVersions(of: try shown(versions)).marked(take))
      try command.lookUp(try shown(versions), surroundings())
      #expect(command.chosen == EditRequest(content: text, base: "seen"))
      #expect(
        try command.request(input: StandardInput { [] })
          == APIRequest(.put, ["messages", "1111", "content"], body: command.chosen))
    }
    let two = try shown(versions)
    var unknown = try resolve(taking: SeenVersions(of: two).marked("phone"))
    #expect(throws: CommandFailure.self) { try unknown.lookUp(two, surroundings()) }
    // If one device has two versions, the number distinguishes them.
    var several = try resolve(taking: "desk")
    var more = versions
    more.append((device: "desk", text: "Bump nothing"))
    let message = try shown(more)
    let failure = #expect(throws: CommandFailure.self) {
      try several.lookUp(message, surroundings())
    }
    #expect(failure?.code == "versionsUnseen")
    several = try resolve(taking: SeenVersions(of: message).marked("desk"))
    let named = #expect(throws: CommandFailure.self) {
      try several.lookUp(message, surroundings())
    }
    #expect(named?.code == "versionAmbiguous")
    #expect(named?.message.contains("2 or 3") == true, "\(named as Any)")
  }

  /// An older save arrives after the user looked, and the numbers are others.
  @Test func aTextThatWasNotShownIsNotTaken() throws {
    let versions: [(device: String, text: String)] = [
      ("desk", Self.texts[0]), ("laptop", Self.texts[1]),
    ]
    let seen = SeenVersions(of: try shown(versions))
    let now = try shown([("host", "Bump nothing")] + versions)
    for take in ["1", "desk", "merged"] {
      var pasted = try resolve(taking: seen.marked(take))
      try pasted.lookUp(try shown(versions), surroundings())
      #expect(pasted.chosen != nil)
      for (text, code) in [(seen.marked(take), "versionsChanged"), (take, "versionsUnseen")] {
        var late = try resolve(taking: text)
        let failure = #expect(throws: CommandFailure.self) {
          try late.lookUp(now, surroundings())
        }
        #expect(failure?.code == code && failure?.exitCode == 5, "\(failure as Any)")
        #expect(late.chosen == nil)
      }
    }
    // At a terminal, all texts are shown.
    var asking = try resolve(taking: "1")
    let question = Mutex("")
    try asking.lookUp(
      now,
      surroundings { text in
        question.withLock { $0 = text }
        return true
      })
    for text in ["Bump nothing"] + Self.texts {
      #expect(question.withLock { $0 }.contains(text))
    }
  }

  // I-312: another save replaced one of two versions, so there are as many as before.
  @Test func aReplacedVersionNeedsItsMark() throws {
    let seen = SeenVersions(of: try shown([("desk", Self.texts[0]), ("laptop", Self.texts[1])]))
    let now = try shown([("desk", Self.texts[0]), ("laptop", "Bump everything")])
    for take in ["2", "laptop", "merged", seen.marked("2")] {
      var command = try resolve(taking: take)
      let failure = #expect(throws: CommandFailure.self) { try command.lookUp(now, surroundings()) }
      #expect(failure?.exitCode == 5 && command.chosen == nil, "\(failure as Any)")
    }
  }

  /// A user at a terminal sees the text first, because its number may have changed.
  @Test func theTextIsShownBeforeItIsTaken() throws {
    let versions: [(device: String, text: String)] = [
      ("laptop", Self.texts[0]), ("desk", Self.texts[1]),
    ]
    let asked = Mutex<[String]>([])
    for isWanted in [true, false] {
      var command = try resolve(taking: "2")
      let environment = surroundings { text in
        asked.withLock { $0.append(text) }
        return isWanted
      }
      do {
        try command.lookUp(try shown(versions), environment)
        #expect(isWanted)
      } catch let failure as CommandFailure {
        #expect(!isWanted && failure.code == "notResolved")
      }
      #expect((command.chosen != nil) == isWanted)
    }
    #expect(asked.withLock(\.count) == 2)
    let question = asked.withLock { $0.first ?? "" }
    #expect(question.contains(Self.texts[1]) && question.contains("version 2, by desk"))
  }

  /// A version that arrived after the text was shown is neither chosen nor settled.
  @Test func aVersionThatCameMeanwhileGoesOnWaiting() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "-s", "release", "--id", Self.id, "Use a file")
      let connection = surroundings().connection(fixture.directory)
      func message() async throws -> MessageAnswer {
        try await connection.answer(to: APIRequest(.get, ["messages", Self.id]))
          .decoded(MessageAnswer.self)
      }
      let base = try await message().base
      func save(_ text: String) async throws {
        _ = try await connection.answer(
          to: APIRequest(
            .put, ["messages", Self.id, "content"], body: EditRequest(content: text, base: base)))
      }
      try await save("Use SQLite")
      try await save("Use MySQL")
      var command = try resolve(taking: SeenVersions(of: try await message()).marked("1"))
      try command.lookUp(try await message(), surroundings())
      try await save("Use Redis")
      let answer = try await connection.answer(
        to: try command.request(input: StandardInput { [] }))
      #expect(command.warning(of: answer)?.contains("another version was saved meanwhile") == true)
      let texts = try await message().editions?.compactMap(\.text)
      #expect(Set(texts ?? []) == ["Use SQLite", "Use Redis"], "\(texts as Any)")
      // After all versions were seen, it starts.
      command = try resolve(taking: SeenVersions(of: try await message()).marked("1"))
      try command.lookUp(try await message(), surroundings())
      let last = try await connection.answer(to: try command.request(input: StandardInput { [] }))
      #expect(command.warning(of: last) == nil)
      #expect(try await message().merged == nil)
    }
  }
}
