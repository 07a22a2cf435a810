import ArgumentParser
import Foundation
import LocalAPI
import QueueModel
import Testing

@testable import SyncCommand

/// Prompts for later on the command line, with a real daemon.
@Suite(.timeLimit(.minutes(10))) struct LaterCommandTests {
  private func message(
    _ text: String, in fixture: CommandFixture
  ) async throws -> (id: String, answer: MessageAnswer) {
    let list = await fixture.cospool("queue", "list", "-s", "s", "--json")
    let queues = try JSONDecoder().decode(QueuesAnswer.self, from: Data(list.output.utf8)).queues
    let found = try #require(queues.first?.messages.first { $0.content == text })
    return (String(found.id.description.prefix(8)), found)
  }

  @Test func aPromptForLaterIsShownAndStarted() async throws {
    try await CommandFixture.run { fixture in
      let sent = await fixture.cospool("send", "-s", "s", "--in", "3h", "tonight")
      #expect(sent.exitCode == 0 && sent.output.contains(", not before 20"), "\(sent)")
      #expect(await fixture.cospool("send", "-s", "s", "now").exitCode == 0)
      let (id, answer) = try await message("tonight", in: fixture)
      #expect(answer.position == 1 && answer.later != nil)
      let list = await fixture.cospool("queue", "list", "-s", "s")
      #expect(list.output.contains("[not before 20"), "\(list.output)")
      let show = await fixture.cospool("queue", "show", id)
      #expect(show.output.contains("to start it now: cospool queue start \(id)"), "\(show.output)")
      let log = await fixture.cospool("log", id)
      #expect(log.output.contains("let the message wait until"), "\(log.output)")

      let started = await fixture.cospool("queue", "start", id)
      #expect(started.output == "due now: \"tonight\" in s", "\(started)")
      #expect(try await message("tonight", in: fixture).answer.later == nil)
      #expect(
        await fixture.cospool("queue", "start", id).output
          == "unchanged: it waits neither for a time nor for other messages")

      let at = await fixture.cospool("queue", "later", id, "--at", "02:00")
      #expect(
        at.output.wholeMatch(of: #/not before 20\S+ 02:00(:00)?: "tonight" in s/#) != nil, "\(at)")
      #expect(try await message("tonight", in: fixture).answer.later != nil)
      #expect(await fixture.cospool("undo").exitCode == 0)
      #expect(try await message("tonight", in: fixture).answer.later == nil)
    }
  }

  @Test func itIsKeptByAnEditAndAnExport() async throws {
    try await CommandFixture.run { fixture in
      _ = await fixture.cospool("send", "-s", "s", "--in", "2d", "tonight")
      let (id, before) = try await message("tonight", in: fixture)
      #expect(await fixture.cospool("queue", "edit", id, "tomorrow").exitCode == 0)
      #expect(try await message("tomorrow", in: fixture).answer.later == before.later)
      let file = await fixture.cospool("queue", "export", "-s", "s", "-")
      try await CommandFixture.run { other in
        let brought = await other.cospool("queue", "import", "-", input: file.output)
        #expect(brought.exitCode == 0, "\(brought)")
        let there = try await message("tomorrow", in: other).answer
        #expect(there.later == before.later)
      }
    }
  }

  @Test(arguments: [
    ["--at", "2020-01-01 02:00"], ["--at", "soon"], ["--in", "0m"], ["--in", "3"], [],
    ["--at", "02:00", "--in", "3h"],
  ])
  func pastTimesAreRefused(words: [String]) async throws {
    try await CommandFixture.run { fixture in
      let variables = ["COSPOOL_DATA": fixture.directory]
      if !words.isEmpty {
        let sent = await CommandFixture.cospool(
          ["send", "-s", "s"] + words + ["text"], variables: variables)
        #expect(sent.exitCode == 2 && sent.errors.contains("."), "\(sent)")
        let list = await fixture.cospool("queue", "list", "-s", "s", "--json")
        #expect(!list.output.contains("text"), "\(list)")
      }
      _ = await fixture.cospool("send", "-s", "s", "waits")
      let (id, _) = try await message("waits", in: fixture)
      let answer = await CommandFixture.cospool(
        ["queue", "later", id] + words, variables: variables)
      #expect(answer.exitCode == 2, "\(answer)")
      #expect(try await message("waits", in: fixture).answer.later == nil)
    }
  }
}

/// Times as users write them.
struct LaterTimeTests {
  private static let zone = TimeZone(secondsFromGMT: 3_600) ?? .gmt
  /// 2026-11-30T12:00:00Z, one o'clock in the afternoon there.
  private static let now = Date(timeIntervalSince1970: 1_796_040_000)

  private func text(at text: String, zone: TimeZone = Self.zone) throws -> String? {
    try Self.options("--at", text).later(zone: zone)
  }

  private static func options(_ words: String...) throws -> LaterOptions {
    var options = try LaterOptions.parse(words)
    options.now = Self.now
    return options
  }

  @Test(arguments: [
    ("14:30", "2026-11-30T13:30:00.000Z"), ("02:00", "2026-12-01T01:00:00.000Z"),
    ("13:00", "2026-12-01T12:00:00.000Z"), ("23:59:30", "2026-11-30T22:59:30.000Z"),
    ("2026-12-24 18:00", "2026-12-24T17:00:00.000Z"),
    ("2026-12-24T18:00", "2026-12-24T17:00:00.000Z"),
    ("2026-12-01T02:00:00Z", "2026-12-01T02:00:00.000Z"),
    ("2026-12-01T02:00:00+02:00", "2026-12-01T00:00:00.000Z"),
  ])
  func aTimeIsThatOfTheDevice(text: String, expected: String) throws {
    #expect(try self.text(at: text) == expected)
  }

  @Test(arguments: [
    ("90m", 5_400.0), ("3h", 10_800), ("1d12h", 129_600), ("45s", 45), ("366d", 31_622_400),
  ])
  func aDurationCountsFromNow(text: String, seconds: Double) throws {
    let later = try Self.options("--in", text).later(zone: Self.zone)
    let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    #expect(try format.parse(try #require(later)) == Self.now.addingTimeInterval(seconds))
  }

  @Test(arguments: [
    "--at=2026-11-30 12:59", "--at=24:00", "--at=2:60", "--at=2", "--at=2026-02-30 02:00",
    "--at=2026-13-01 02:00", "--at=tomorrow", "--at=2028-01-01 02:00", "--at=-1:00",
    "--at=2026-12-01 02:00 03:00", "--at=99999-12-01 02:00", "--in=3", "--in=3w", "--in=0s",
    "--in=367d", "--in=999999999d999999999d", "--in=h", "--in=1.5h", "--in=-3h", "--in=3h4",
  ])
  func implausibleTimesAreRefused(option: String) throws {
    let failure = #expect(throws: CommandFailure.self) {
      _ = try Self.options(option).later(zone: Self.zone)
    }
    #expect(failure?.message.hasSuffix(".") == true, "\(option): \(failure?.message ?? "")")
    #expect(try LaterOptions.parse([]).later() == nil)
  }

  /// An hour that summer time skips means the next one; one that occurs twice means the first.
  @Test func summerTimeLosesNothing() throws {
    let berlin = try #require(TimeZone(identifier: "Europe/Berlin"))
    #expect(try text(at: "2027-03-28 02:30", zone: berlin) == "2027-03-28T01:30:00.000Z")
    #expect(try text(at: "2027-03-28 03:30", zone: berlin) == "2027-03-28T01:30:00.000Z")
    #expect(try text(at: "2027-10-31 02:30", zone: berlin) == "2027-10-31T00:30:00.000Z")
  }
}
