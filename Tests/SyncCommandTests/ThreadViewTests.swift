import Foundation
import LocalAPI
import QueueModel
import Testing

@testable import SyncCommand

/// The thread queue as users see it: sends, locks, removals, the switch, restarts.
@Suite(.timeLimit(.minutes(10))) struct ThreadViewTests {
  private struct Shown: Equatable {
    var name: String
    var position: Int
    var locked: Bool
  }

  private func shown(_ fixture: CommandFixture) async throws -> [Shown] {
    let output = await fixture.cospool("thread", "list", "--json").output
    return try JSONDecoder().decode(ThreadsAnswer.self, from: Data(output.utf8))
      .threads.map { Shown(name: $0.session.rawValue, position: $0.position, locked: $0.locked) }
  }

  /// What `thread list` shows without `--all`: the sessions, in order.
  private func ready(_ fixture: CommandFixture) async -> [String] {
    let lines = await fixture.cospool("thread", "list").output.split(separator: "\n")
    guard lines.first?.hasPrefix("#") == true else { return [] }
    return lines.dropFirst().filter { $0.first?.isNumber == true && $0.contains("ready") }
      .compactMap { $0.split(separator: " ").dropFirst().first.map(String.init) }
  }

  /// In sessions that run here but are paused, so that nothing ends their locks.
  private func send(_ names: String..., in fixture: CommandFixture) async {
    _ = await fixture.cospool("config", "set", "command", "true")
    _ = await fixture.cospool("config", "set", "agent", "command")
    for name in names {
      _ = await fixture.cospool("session", "add", name)
      _ = await fixture.cospool("queue", "pause", "-s", name)
      _ = await fixture.cospool("session", "host", name, "this")
      let outcome = await fixture.cospool("send", "-s", name, "go on")
      #expect(outcome.exitCode == 0, "\(outcome.errors)")
    }
  }

  private func unlock(_ names: String..., in fixture: CommandFixture) async {
    for name in names {
      #expect(await fixture.cospool("thread", "unlock", name).output == "unlocked \(name)")
    }
  }

  // S2-69 to S2-71.
  @Test func sendingAddsAndSendingAgainRequeues() async throws {
    try await CommandFixture.run { fixture async throws in
      await send("a", "b", "c", in: fixture)
      #expect(try await shown(fixture).map(\.name) == ["a", "b", "c"])
      await send("a", in: fixture)
      let threads = try await shown(fixture)
      #expect(threads.map(\.name) == ["b", "c", "a"])
      #expect(threads.map(\.position) == [1, 2, 3])
    }
  }

  // S2-73: the thread one is in needs no name.
  @Test func theThreadOneLooksAtIsRemoved() async throws {
    try await CommandFixture.run { fixture async throws in
      await send("a", "b", "c", in: fixture)
      let within = ["COSPOOL_DATA": fixture.directory, "COSPOOL_SESSION": "b"]
      let removed = await CommandFixture.cospool(["thread", "remove"], variables: within)
      #expect(removed.output == "removed 1 thread: b", "\(removed.errors)")
      #expect(try await shown(fixture).map(\.name) == ["a", "c"])
      #expect(await fixture.cospool("undo").exitCode == 0)
      #expect(try await shown(fixture).map(\.name) == ["a", "b", "c"])
      let nowhere = await fixture.cospool("thread", "remove")
      #expect(nowhere.exitCode == 2 && nowhere.errors.contains("Name the session"))
      #expect(try await shown(fixture).count == 3)
    }
  }

  // S2-72.
  @Test func removalFromTheListClosesTheGap() async throws {
    try await CommandFixture.run { fixture async throws in
      await send("a", "b", "c", "d", "e", in: fixture)
      #expect(await fixture.cospool("thread", "remove", "b").output == "removed 1 thread: b")
      #expect(try await shown(fixture).map(\.position) == [1, 2, 3, 4])
      #expect(
        await fixture.cospool("thread", "remove", "D", "a").output == "removed 2 threads: d, a")
      #expect(
        try await shown(fixture) == [
          Shown(name: "c", position: 1, locked: true), Shown(name: "e", position: 2, locked: true),
        ])
      #expect(await fixture.cospool("thread", "remove", "b").output == "not in the queue")
      // The prompts are unchanged.
      #expect(await fixture.cospool("queue", "list", "-s", "b").output.contains("go on"))
    }
  }

  // S2-78, S2-79, S2-103: five threads in the order of their sends; those in work are hidden.
  @Test func fiveThreadsComeInTheOrderOfTheirSends() async throws {
    try await CommandFixture.run { fixture async throws in
      await send("a", "b", "c", "d", "e", in: fixture)
      #expect(await fixture.cospool("thread", "list").output.hasPrefix("no thread needs you"))
      await unlock("d", "a", "b", in: fixture)
      #expect(await ready(fixture) == ["a", "b", "d"])
      let all = await fixture.cospool("thread", "list", "--all").output
      #expect(all.split(separator: "\n").count { $0.contains("locked") } == 2)
      // Answering the first one moves it to the end and hides it.
      await send("a", in: fixture)
      #expect(await ready(fixture) == ["b", "d"])
      await unlock("a", "c", in: fixture)
      #expect(await ready(fixture) == ["b", "c", "d", "a"])
      let deleted = await fixture.cospool("session", "delete", "c").output
      #expect(deleted == "deleted c with 1 message; to bring it back: cospool undo")
      #expect(await ready(fixture) == ["b", "d", "a"])
      #expect(await fixture.cospool("thread", "clear").output == "removed 4 threads")
      #expect(await fixture.cospool("thread", "list").output == "no thread needs you")
    }
  }

  // S2-66 to S2-68, S2-81, S2-103: off hides everything and adds nothing, on shows what was there.
  @Test func switchingItOffAndOnKeepsTheQueue() async throws {
    let root = "/tmp/csp-\(UInt32.random(in: .min ... .max))"
    defer { try? FileManager.default.removeItem(atPath: root) }
    try await CommandFixture.run(in: root) { fixture async throws in
      #expect(await fixture.cospool("thread", "list").output == "no thread needs you")
      await send("a", "b", "c", in: fixture)
      await unlock("b", in: fixture)
    }
    try await CommandFixture.run(in: root, threadQueue: false) { fixture async throws in
      #expect(await fixture.cospool("thread", "list").output.contains("is off on this device"))
      #expect(try await shown(fixture).isEmpty)
      await send("a", "d", in: fixture)
      #expect(await fixture.cospool("status").output.contains("thread queue off"))
    }
    try await CommandFixture.run(in: root) { fixture async throws in
      #expect(
        try await shown(fixture) == [
          Shown(name: "a", position: 1, locked: true), Shown(name: "b", position: 2, locked: false),
          Shown(name: "c", position: 3, locked: true),
        ])
    }
  }

  // S2-76, S2-52.
  @Test func theQueueIsThereAfterARestart() async throws {
    let root = "/tmp/csp-\(UInt32.random(in: .min ... .max))"
    defer { try? FileManager.default.removeItem(atPath: root) }
    try await CommandFixture.run(in: root) { fixture async throws in
      await send("a", "b", "c", in: fixture)
      await unlock("c", in: fixture)
      _ = await fixture.cospool("thread", "move", "c", "--to", "1")
    }
    try await CommandFixture.run(in: root) { fixture async throws in
      #expect(
        try await shown(fixture) == [
          Shown(name: "c", position: 1, locked: false), Shown(name: "a", position: 2, locked: true),
          Shown(name: "b", position: 3, locked: true),
        ])
    }
  }

  // S2-54: a thread in which no agent works is not hidden.
  @Test func aLockWithNothingBehindItShows() async throws {
    try await CommandFixture.run { fixture async throws in
      _ = await fixture.cospool("send", "-s", "a", "go on")
      #expect(await fixture.cospool("thread", "list").output.contains("no host"))
      #expect(try await shown(fixture).map(\.locked) == [false])
      #expect(await fixture.cospool("thread", "next").output.hasPrefix("thread   a\n"))
      _ = await fixture.cospool("session", "host", "a", "this")
      #expect(await fixture.cospool("thread", "list").output.contains("no agent"))
      _ = await fixture.cospool("queue", "pause", "-s", "a")
      _ = await fixture.cospool("config", "set", "command", "true")
      _ = await fixture.cospool("config", "set", "agent", "command")
      #expect(try await shown(fixture).map(\.locked) == [true])
      #expect(await fixture.cospool("thread", "next").output == "no thread needs you")
    }
  }

  // S2-54: after a failure, and if all waiting messages were cancelled, no agent works, either.
  @Test func aSendBehindAFailureHidesNoThread() async throws {
    try await CommandFixture.run { fixture async throws in
      _ = await fixture.cospool("config", "set", "command", "false")
      _ = await fixture.cospool("config", "set", "agent", "command")
      _ = await fixture.cospool("session", "add", "a")
      _ = await fixture.cospool("session", "host", "a", "this")
      _ = await fixture.cospool("send", "-s", "a", "this fails")
      let deadline = ContinuousClock.now + .seconds(60)
      while await !fixture.cospool("queue", "list", "-s", "a").output.contains("blocked: ") {
        try #require(ContinuousClock.now < deadline, "it never failed")
        try await Task.sleep(for: .milliseconds(50))
      }
      _ = await fixture.cospool("send", "-s", "a", "--id", Self.second, "then this")
      #expect(await fixture.cospool("thread", "list").output.contains("stopped: needs you"))
      #expect(await fixture.cospool("thread", "next").output.hasPrefix("thread   a\n"))
      _ = await fixture.cospool("queue", "pause", "-s", "a")
      _ = await fixture.cospool("queue", "clear", "-s", "a")
      _ = await fixture.cospool("send", "-s", "a", "--id", Self.third, "and this")
      #expect(try await shown(fixture).map(\.locked) == [true])
      #expect(await fixture.cospool("queue", "cancel", Self.third).exitCode == 0)
      #expect(await fixture.cospool("thread", "list").output.contains("nothing waits"))
    }
  }

  private static let second = "22222222-0000-4000-8000-000000000002"
  private static let third = "33333333-0000-4000-8000-000000000003"

  // S1-26: a thread in work takes further prompts, and they wait in their order.
  @Test func sendingIsNeverBlockedByWorkInProgress() async throws {
    try await CommandFixture.run { fixture async throws in
      await send("a", in: fixture)
      #expect(try await shown(fixture).map(\.locked) == [true])
      #expect(
        await fixture.cospool("send", "-s", "a", "then this").output == "queued, position 2 of 2")
      #expect(
        await fixture.cospool("send", "-s", "a", "--urgent", "first this").output
          == "queued, position 1 of 3")
    }
  }
}
