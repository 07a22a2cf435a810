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
      for text in Self.texts + ["cospool queue resolve 11111111 --take 1", "version 2, by desk"] {
        #expect(show.output.contains(text), "\(text) in \(show.output)")
      }
      let json = await fixture.cospool("queue", "show", "1111", "--json")
      #expect(json.output.contains(#""merged":true"#), "\(json.output)")
      #expect(json.output.contains(#""text":"Bump the version to 2.0""#), "\(json.output)")
      // So do the lists of sessions and of threads.
      #expect(await fixture.cospool("thread", "add", "release").exitCode == 0)
      for words in [["overview"], ["session", "list"], ["thread", "list", "--all"]] {
        let sessions = await CommandFixture.cospool(
          words, variables: ["COSPOOL_DATA": fixture.directory])
        #expect(sessions.output.contains(", 1 merged"), "\(words): \(sessions)")
      }
      // What is exported is merged as well.
      let file = await fixture.cospool("queue", "export", "-s", "release", "-")
      #expect(file.output.contains("editions"), "\(file.output)")
    }
  }

  @Test(arguments: [("1", texts[0]), ("2", texts[1]), ("merged", merged)])
  func oneIsTaken(take: String, text: String) async throws {
    try await withMerged { fixture in
      let answer = await fixture.cospool("queue", "resolve", "1111", "--take", take)
      #expect(answer.exitCode == 0, "\(answer)")
      #expect(answer.output == "resolved \"\(text)\" in release")
      let list = await fixture.cospool("queue", "list", "-s", "release")
      #expect(list.output.contains(text) && !list.output.contains("[merged]"), "\(list.output)")
      #expect(await fixture.cospool("queue", "resolve", "1111", "--take", take).exitCode != 0)
      #expect(await fixture.cospool("undo").exitCode == 0)
      let undone = await fixture.cospool("queue", "list", "-s", "release")
      #expect(undone.output.contains("[merged] \(Self.merged)"), "\(undone.output)")
    }
  }

  @Test func aChoiceThatCannotBeSaysWhy() async throws {
    try await withMerged { fixture in
      for words in [["--take", "3"], ["--take", "both"], []] {
        let answer = await CommandFixture.cospool(
          ["queue", "resolve", "1111"] + words, variables: ["COSPOOL_DATA": fixture.directory])
        #expect(answer.exitCode != 0, "\(words)")
        #expect(
          answer.errors.contains("choose") || answer.errors.contains("cospool queue show 1111"),
          "\(answer)")
      }
    }
  }
}
