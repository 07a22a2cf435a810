import Foundation
import LocalAPI
import QueueModel
import Testing

@testable import SyncCommand

/// Several threads at once, by hand, by project, and in numbers, through the command line.
@Suite(.timeLimit(.minutes(10))) struct ThreadBatchCommandTests {
  private func names(_ house: CommandFixture, _ arguments: String...) async throws -> [String] {
    let outcome = await CommandFixture.cospool(
      ["thread", "list", "--json"] + arguments, variables: ["COSPOOL_DATA": house.directory])
    return try JSONDecoder().decode(ThreadsAnswer.self, from: Data(outcome.output.utf8))
      .threads.map(\.session.rawValue)
  }

  // S2-90, S2-96.
  @Test func severalThreadsMoveAndComeBackByUndo() async throws {
    try await CommandFixture.run { house async throws in
      for name in ["a", "b", "c", "d"] { _ = await house.cospool("send", "-s", name, "go") }
      #expect(
        await house.cospool("thread", "move", "D", "b", "--to", "1").output == "moved, position 1")
      #expect(try await names(house) == ["d", "b", "a", "c"])
      #expect(
        await house.cospool("thread", "move", "d", "--after", "a").output == "moved, position 3")
      #expect(
        await house.cospool("thread", "move", "c", "--before", "b").output == "moved, position 1")
      #expect(try await names(house) == ["c", "b", "a", "d"])
      #expect(await house.cospool("thread", "remove", "a", "c").output == "removed 2 threads")
      #expect(await house.cospool("undo").output == "undone: removing 2 threads")
      #expect(try await names(house) == ["c", "b", "a", "d"])
      let wrong = await house.cospool("thread", "move", "a", "--after", "a")
      #expect(wrong.exitCode == 1)
      #expect(wrong.errors.contains("next to itself"))
      for arguments in [["a"], ["a", "--to", "1", "--before", "b"]] {
        let outcome = await CommandFixture.cospool(
          ["thread", "move"] + arguments, variables: ["COSPOOL_DATA": house.directory])
        #expect(outcome.exitCode == 2)
      }
    }
  }

  @Test func threadsAreAddedByHand() async throws {
    try await CommandFixture.run { house async throws in
      _ = await house.cospool("send", "-s", "a", "go")
      _ = await house.cospool("session", "add", "b")
      #expect(await house.cospool("thread", "add", "B", "a").output == "queued 2 threads")
      #expect(try await names(house) == ["b", "a"])
      #expect(await house.cospool("thread", "list").output.contains("1  b"))
      let unknown = await house.cospool("thread", "add", "nobody")
      #expect(unknown.exitCode == 1)
      #expect(unknown.errors.contains("No session nobody"))
    }
    try await CommandFixture.run(threadQueue: false) { house async throws in
      _ = await house.cospool("session", "add", "b")
      let outcome = await house.cospool("thread", "add", "b")
      #expect(outcome.exitCode == 1)
      #expect(outcome.errors.contains("is off"))
    }
  }

  // S2-91, S2-92.
  @Test func threadsOfAProjectAreListedAndCounted() async throws {
    try await CommandFixture.run { house async throws in
      _ = await house.cospool("send", "-s", "a", "--project", "/src/shop", "go")
      _ = await house.cospool("send", "-s", "b", "--project", "/src/blog", "go")
      _ = await house.cospool("send", "-s", "c", "--project", "/src/shop/cart", "go")
      _ = await house.cospool("thread", "unlock", "c")
      #expect(try await names(house, "--project", "/src/shop/") == ["a", "c"])
      #expect(try await names(house, "--project", "blog") == ["b"])
      #expect(try await names(house, "--project", "/none") == [])
      #expect(
        await house.cospool("thread", "stats", "--project", "shop").output
          .hasPrefix("threads    2 in the queue, 2 ready, 0 locked\noldest     "))
      let json = await house.cospool("thread", "stats", "--json").output
      let numbers = try JSONDecoder().decode(ThreadStatisticsAnswer.self, from: Data(json.utf8))
      #expect(numbers.count == 3)
      #expect(numbers.reviewSeconds == nil)
      #expect(numbers.oldestQueuedAt != nil)
    }
  }

  // S2-93.
  @Test func lookingAtAThreadRemovesItWhereThatIsSet() async throws {
    try await CommandFixture.run { house async throws in
      #expect(await house.cospool("thread", "next").output == "no thread needs you")
      _ = await house.cospool("config", "set", "command", "true")
      _ = await house.cospool("config", "set", "agent", "command")
      for name in ["a", "b"] {
        _ = await house.cospool("session", "add", name)
        _ = await house.cospool("queue", "pause", "-s", name)
        _ = await house.cospool("session", "host", name, "this")
        _ = await house.cospool("send", "-s", name, "go")
      }
      _ = await house.cospool("thread", "unlock", "b")
      let seen = await house.cospool("thread", "next").output
      #expect(seen.hasPrefix("thread   b\nqueued   ") && seen.hasSuffix("waiting  1 message"))
      #expect(try await names(house) == ["a", "b"])
      _ = await house.cospool("config", "set", "autoRemoveOnView", "on")
      #expect(await house.cospool("thread", "view", "a").exitCode == 0)
      #expect(try await names(house) == ["a", "b"], "a locked thread stays")
      #expect(await house.cospool("thread", "next").output.contains("removed  from the thread"))
      #expect(try await names(house) == ["a"])
      let gone = await house.cospool("thread", "view", "b")
      #expect(gone.exitCode == 1)
      #expect(gone.errors.contains("not in the thread queue"))
      #expect(await house.cospool("undo").exitCode == 0)
      #expect(try await names(house) == ["a", "b"])
    }
  }

  // S2-97.
  @Test func theThreadQueueHasItsOwnHistory() async throws {
    try await CommandFixture.run { house async throws in
      _ = await house.cospool("send", "-s", "a", "go")
      _ = await house.cospool("send", "-s", "b", "go")
      _ = await house.cospool("queue", "pause", "-s", "a")
      _ = await house.cospool("thread", "remove", "a")
      _ = await house.cospool("thread", "add", "a")
      let all = await house.cospool("thread", "history").output
      let what = all.split(separator: "\n").dropFirst().map(String.init)
      #expect(what.count == 4)
      #expect(what[0].contains("queued the thread") && what[1].contains("removed the thread"))
      #expect(!all.contains("paused"))
      let one = await house.cospool("thread", "history", "b").output
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
