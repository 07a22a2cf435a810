import Foundation
import LocalAPI
import QueueModel
import Testing

@testable import SyncCommand

/// On the command line: several threads at once, manual order, projects and statistics.
@Suite(.timeLimit(.minutes(10))) struct ThreadBatchCommandTests {
  private func names(_ fixture: CommandFixture, _ arguments: String...) async throws -> [String] {
    let outcome = await CommandFixture.cospool(
      ["thread", "list", "--json"] + arguments, variables: ["COSPOOL_DATA": fixture.directory])
    return try JSONDecoder().decode(ThreadsAnswer.self, from: Data(outcome.output.utf8))
      .threads.map(\.session.rawValue)
  }

  // S2-90, S2-96.
  @Test func severalThreadsMoveAndComeBackByUndo() async throws {
    try await CommandFixture.run { fixture async throws in
      for name in ["a", "b", "c", "d"] { _ = await fixture.cospool("send", "-s", name, "go") }
      #expect(
        await fixture.cospool("thread", "move", "D", "b", "--to", "1").output
          == "moved d, b, position 1")
      #expect(try await names(fixture) == ["d", "b", "a", "c"])
      #expect(
        await fixture.cospool("thread", "move", "d", "--after", "a").output == "moved d, position 3"
      )
      #expect(
        await fixture.cospool("thread", "move", "c", "--before", "b").output
          == "moved c, position 1")
      #expect(try await names(fixture) == ["c", "b", "a", "d"])
      #expect(
        await fixture.cospool("thread", "remove", "a", "c").output == "removed 2 threads: a, c")
      #expect(await fixture.cospool("undo").output == "undone: removing 2 threads")
      #expect(try await names(fixture) == ["c", "b", "a", "d"])
      let wrong = await fixture.cospool("thread", "move", "a", "--after", "a")
      #expect(wrong.exitCode == 1)
      #expect(wrong.errors.contains("next to itself"))
      for arguments in [["a"], ["a", "--to", "1", "--before", "b"]] {
        let outcome = await CommandFixture.cospool(
          ["thread", "move"] + arguments, variables: ["COSPOOL_DATA": fixture.directory])
        #expect(outcome.exitCode == 2)
      }
    }
  }

  @Test func threadsAreAddedByHand() async throws {
    try await CommandFixture.run { fixture async throws in
      _ = await fixture.cospool("send", "-s", "a", "go")
      _ = await fixture.cospool("session", "add", "b")
      #expect(await fixture.cospool("thread", "add", "B", "a").output == "queued 2 threads: b, a")
      #expect(try await names(fixture) == ["b", "a"])
      #expect(await fixture.cospool("thread", "list").output.contains("1  b"))
      let unknown = await fixture.cospool("thread", "add", "nobody")
      #expect(unknown.exitCode == 1)
      #expect(unknown.errors.contains("No session nobody"))
    }
    try await CommandFixture.run(threadQueue: false) { fixture async throws in
      _ = await fixture.cospool("session", "add", "b")
      let outcome = await fixture.cospool("thread", "add", "b")
      #expect(outcome.exitCode == 1)
      #expect(outcome.errors.contains("is off"))
    }
  }

  // S2-91, S2-92.
  @Test func threadsOfAProjectAreListedAndCounted() async throws {
    try await CommandFixture.run { fixture async throws in
      _ = await fixture.cospool("send", "-s", "a", "--project", "/src/shop", "go")
      _ = await fixture.cospool("send", "-s", "b", "--project", "/src/blog", "go")
      _ = await fixture.cospool("send", "-s", "c", "--project", "/src/shop/cart", "go")
      _ = await fixture.cospool("thread", "unlock", "c")
      #expect(try await names(fixture, "--project", "/src/shop/") == ["a", "c"])
      #expect(try await names(fixture, "--project", "blog") == ["b"])
      #expect(try await names(fixture, "--project", "/none") == [])
      #expect(
        await fixture.cospool("thread", "stats", "--project", "shop").output
          .hasPrefix("threads    2 in the queue, 2 ready, 0 locked\noldest     "))
      let json = await fixture.cospool("thread", "stats", "--json").output
      let numbers = try JSONDecoder().decode(ThreadStatisticsAnswer.self, from: Data(json.utf8))
      #expect(numbers.count == 3)
      #expect(numbers.reviewSeconds == nil)
      #expect(numbers.oldestQueuedAt != nil)
    }
  }

  // S2-93.
  @Test func viewingAThreadRemovesItIfSet() async throws {
    try await CommandFixture.run { fixture async throws in
      #expect(await fixture.cospool("thread", "next").output == "no thread needs you")
      _ = await fixture.cospool("config", "set", "command", "true")
      _ = await fixture.cospool("config", "set", "agent", "command")
      for name in ["a", "b"] {
        _ = await fixture.cospool("session", "add", name)
        _ = await fixture.cospool("queue", "pause", "-s", name)
        _ = await fixture.cospool("session", "host", name, "this")
        _ = await fixture.cospool("send", "-s", name, "go")
      }
      _ = await fixture.cospool("thread", "unlock", "b")
      let seen = await fixture.cospool("thread", "next").output
      #expect(seen.hasPrefix("thread   b\nqueued   ") && seen.hasSuffix("waiting  1 message"))
      #expect(try await names(fixture) == ["a", "b"])
      _ = await fixture.cospool("config", "set", "autoRemoveOnView", "on")
      #expect(await fixture.cospool("thread", "view", "a").exitCode == 0)
      #expect(try await names(fixture) == ["a", "b"], "a locked thread stays")
      #expect(await fixture.cospool("thread", "next").output.contains("removed  from the thread"))
      #expect(try await names(fixture) == ["a"])
      let gone = await fixture.cospool("thread", "view", "b")
      #expect(gone.exitCode == 1)
      #expect(gone.errors.contains("not in the thread queue"))
      #expect(await fixture.cospool("undo").exitCode == 0)
      #expect(try await names(fixture) == ["a", "b"])
    }
  }

  // S2-97.
  @Test func theThreadQueueHasItsOwnHistory() async throws {
    try await CommandFixture.run { fixture async throws in
      _ = await fixture.cospool("send", "-s", "a", "go")
      _ = await fixture.cospool("send", "-s", "b", "go")
      _ = await fixture.cospool("queue", "pause", "-s", "a")
      _ = await fixture.cospool("thread", "remove", "a")
      _ = await fixture.cospool("thread", "add", "a")
      let all = await fixture.cospool("thread", "history").output
      let what = all.split(separator: "\n").dropFirst().map(String.init)
      #expect(what.count == 4)
      #expect(what[0].contains("queued the thread") && what[1].contains("removed the thread"))
      #expect(!all.contains("paused"))
      let one = await fixture.cospool("thread", "history", "b").output
      #expect(one.split(separator: "\n").count == 2)
    }
  }

  @Test func durationsHaveTheirTwoLargestUnits() {
    let cases: [(Int64, String)] = [
      (-1, "0s"), (0, "0s"), (59, "59s"), (60, "1m"), (95, "1m 35s"), (599, "9m 59s"),
      (600, "10m"), (755, "12m"), (3_600, "1h"), (3_900, "1h 5m"), (86_400, "1d"),
      (97_200, "1d 3h"), (90_060, "1d 1h"),
    ]
    for (seconds, text) in cases { #expect(TextStyle.duration(seconds: seconds) == text) }
  }
}
