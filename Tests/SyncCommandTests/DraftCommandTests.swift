import Testing

@testable import SyncCommand

@Suite(.timeLimit(.minutes(10))) struct DraftCommandTests {
  // S2-44
  @Test func draftsAreKeptShownAndSent() async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("draft", "list").output == "no drafts")
      #expect(
        await fixture.cospool("draft", "set", "-s", "review", "Fix the").output
          == "draft kept for review, which is not a session yet")
      let typed = await fixture.cospool("draft", "set", "-s", "docs", "-", input: "one\ntwo\n")
      #expect(typed.output.hasPrefix("draft kept"))
      #expect(await fixture.cospool("draft", "show", "-s", "docs").output == "one\ntwo\n")
      let blank = await fixture.cospool("draft", "set", "-s", "docs", " ")
      #expect(blank.exitCode == 2, "\(blank)")
      #expect(blank.errors.contains("cospool draft clear -s docs"), "\(blank)")
      let list = await fixture.cospool("draft", "list").output.split(separator: "\n")
      #expect(list.count == 3)
      #expect(list[1].hasPrefix("docs") && list[1].hasSuffix("one two"))
      let sent = await fixture.cospool("draft", "send", "-s", "docs", "--urgent")
      #expect(sent.output == "queued, position 1 of 1 in the new session docs")
      let queued = await fixture.cospool("queue", "list", "-s", "docs").output
      #expect(queued.contains("urgent"))
      let gone = await fixture.cospool("draft", "show", "-s", "docs")
      #expect(gone.exitCode == 1)
      #expect(gone.errors == "cospool: Session docs has no draft.")
      #expect(await fixture.cospool("draft", "send", "-s", "docs").exitCode == 1)
      _ = await fixture.cospool("send", "-s", "review", "Fix the flaky test")
      #expect(await fixture.cospool("draft", "list").output == "no drafts")
      _ = await fixture.cospool("draft", "set", "-s", "review", "x")
      #expect(await fixture.cospool("draft", "clear", "-s", "review").output == "no draft")
    }
  }

  // I-38
  @Test func aDraftOfAMistypedSessionIsNotSent() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "-s", "review", "one")
      _ = await fixture.cospool("draft", "set", "-s", "reveiw", "Fix it")
      let refused = await fixture.cospool("draft", "send", "-s", "reveiw")
      #expect(refused.exitCode == 1 && refused.output.isEmpty, "\(refused)")
      #expect(
        refused.errors.contains("Did you mean review? To create it, add --new."), "\(refused)")
      #expect(await !fixture.cospool("session", "list").output.contains("reveiw"))
      #expect(await fixture.cospool("draft", "show", "-s", "reveiw").output == "Fix it")
      let sent = await fixture.cospool("draft", "send", "-s", "reveiw", "--new")
      #expect(sent.output == "queued, position 1 of 1 in the new session reveiw", "\(sent)")
    }
  }
}
