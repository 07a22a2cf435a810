import Foundation
import LocalAPI
import QueueModel
import Testing

@testable import SyncCommand

/// Prompts that wait for others, on the command line, in front of a real daemon.
@Suite(.timeLimit(.minutes(10))) struct NeedsCommandTests {
  private func message(
    _ text: String, in session: String = "s", of fixture: CommandFixture
  ) async throws -> (id: String, answer: MessageAnswer) {
    let list = await fixture.cospool("queue", "list", "-s", session, "--json")
    let queues = try JSONDecoder().decode(QueuesAnswer.self, from: Data(list.output.utf8)).queues
    let found = try #require(queues.first?.messages.first { $0.content == text })
    return (String(found.id.description.prefix(8)), found)
  }

  @Test func aPromptAfterOthersIsShownAndStarted() async throws {
    try await CommandFixture.run { fixture in
      #expect(await fixture.cospool("send", "-s", "desk", "Build it: all of it").exitCode == 0)
      let (build, _) = try await message("Build it: all of it", in: "desk", of: fixture)
      let sent = await fixture.cospool("send", "-s", "s", "--after", build, "Deploy it")
      #expect(sent.exitCode == 0, "\(sent)")
      let (id, answer) = try await message("Deploy it", of: fixture)
      #expect(answer.needs?.map(\.description.count) == [36])
      #expect(answer.waitsFor == "waits for “Build it: all of it” in desk")
      let list = await fixture.cospool("queue", "list", "-s", "s")
      #expect(list.output.contains("[waits for “Build it: all of it” in desk]"), "\(list.output)")
      let log = await fixture.cospool("log", id)
      #expect(log.output.contains("let the message wait for another one"), "\(log.output)")

      #expect(await fixture.cospool("queue", "cancel", build).exitCode == 0)
      let show = await fixture.cospool("queue", "show", id)
      let reason = "in desk, which was cancelled; to start it now: cospool queue start \(id)"
      #expect(show.output.contains(reason), "\(show.output)")
      let vain = await fixture.cospool("send", "-s", "s", "--after", build, "Announce it")
      #expect(vain.exitCode == 0 && vain.errors.contains("which was cancelled"), "\(vain)")
      #expect(vain.errors.contains("To start it all the same: cospool queue start"), "\(vain)")
      let started = await fixture.cospool("queue", "start", id)
      #expect(started.output == "due now: \"Deploy it\" in s", "\(started)")
      #expect(try await message("Deploy it", of: fixture).answer.needs == nil)
      let waits = await fixture.cospool("queue", "start", id).output
      #expect(waits == "unchanged: it waits neither for a time nor for other messages")

      let again = await fixture.cospool("queue", "after", id, build)
      #expect(again.output == "starts after them: \"Deploy it\" in s", "\(again)")
      #expect(await fixture.cospool("undo").exitCode == 0)
      #expect(try await message("Deploy it", of: fixture).answer.needs == nil)
    }
  }

  @Test func whatCannotBeWaitedForIsRefused() async throws {
    try await CommandFixture.run { fixture in
      for text in ["one", "two"] { _ = await fixture.cospool("send", "-s", "s", text) }
      let (one, _) = try await message("one", of: fixture)
      let (two, _) = try await message("two", of: fixture)
      #expect(await fixture.cospool("queue", "after", two, one).exitCode == 0)
      let circle = await fixture.cospool("queue", "after", one, two)
      #expect(circle.exitCode != 0 && circle.errors.contains("which waits for it"), "\(circle)")
      for needs in [one, "99999999", ",", "\(two),zzzz"] {
        let refused = await fixture.cospool("queue", "after", one, needs)
        #expect(refused.exitCode != 0 && refused.errors.contains("."), "\(refused)")
      }
      #expect(try await message("one", of: fixture).answer.needs == nil)
    }
  }

  @Test func itIsKeptByAnExport() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "-s", "s", "one")
      let (one, _) = try await message("one", of: fixture)
      _ = await fixture.cospool("send", "-s", "s", "--after", one, "two")
      let before = try await message("two", of: fixture).answer
      let file = await fixture.cospool("queue", "export", "-s", "s", "-")
      try await CommandFixture.run { other in
        let brought = await other.cospool("queue", "import", "-", input: file.output)
        #expect(brought.exitCode == 0, "\(brought)")
        let after = try await message("two", of: other).answer
        #expect(after.needs == before.needs)
      }
    }
  }
}
