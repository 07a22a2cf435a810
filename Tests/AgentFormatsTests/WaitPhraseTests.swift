import AgentFormats
import Foundation
import QueueOracle
import SyncTestSupport
import Testing

/// When a limit ends, in the words of agents and providers.
@Suite struct WaitPhraseTests {
  private static let berlin = TimeZone(identifier: "Europe/Berlin") ?? .gmt
  /// 2026-11-28T09:30:00Z, 10:30 in Berlin.
  private static let now = time("2026-11-28T09:30:00Z")

  private static func time(_ text: String) -> Int64 {
    (try? Date(text, strategy: .iso8601)).map { Int64($0.timeIntervalSince1970 * 1_000) } ?? 0
  }

  private func end(_ text: String, now: Int64 = now) -> Int64? {
    WaitPhrase.time(in: text, now: now, zone: Self.berlin)
  }

  @Test(arguments: [
    ("try again in 3 days 4 hours 2 minutes.", 273_720_000), ("try again in 5 minutes.", 300_000),
    ("Please try again in 1.898s. Visit https://x.test", 1_898), ("try again in 20ms", 20),
    ("Try again in 1 hour and 30 minutes", 5_400_000), ("resets in 2h5m", 7_500_000),
    ("try again in 6m0s", 360_000), ("try again in 1 week, 2 days", 777_600_000),
  ])
  func aWaitIsCountedFromNow(_ text: String, _ wait: Int64) {
    #expect(end("You've hit your usage limit. Upgrade or \(text)") == Self.now + wait)
  }

  @Test(arguments: [
    // Codex: a time on the same day, and times on other days.
    ("try again at 12:16 PM.", "2026-11-28T11:16:00Z"),
    ("try again at Nov 30th, 2026 10:03 PM.", "2026-11-30T21:03:00Z"),
    ("try again at Jan 1st, 2027 12:00 AM.", "2026-12-31T23:00:00Z"),
    ("try again at Jul 2nd, 2027 8:05 AM.", "2027-07-02T06:05:00Z"),
    // Claude Code.
    ("You've hit your limit · resets 3pm", "2026-11-28T14:00:00Z"),
    ("You've hit your limit · resets 3pm (Asia/Tokyo)", "2026-11-29T06:00:00Z"),
    ("resets at 3:30am (Europe/London)", "2026-11-29T03:30:00Z"),
    ("resets Dec 3 at 9pm (America/New_York)", "2026-12-04T02:00:00Z"),
    ("resets Dec 3, 9:15pm", "2026-12-03T20:15:00Z"), ("resets Jan 5", "2027-01-04T23:00:00Z"),
    // Other agents.
    ("try again at 15:30", "2026-11-28T14:30:00Z"),
    ("resets at 15:30 UTC", "2026-11-28T15:30:00Z"),
    ("try again at 2026-12-01T08:00:00Z", "2026-12-01T08:00:00Z"),
    ("try again after 2026-12-01 08:00:00.123+02:00", "2026-12-01T06:00:00Z"),
    // A time that has passed today is tomorrow's; one that has only just passed is today's.
    ("try again at 9:00 AM", "2026-11-29T08:00:00Z"),
    ("try again at 10:29 AM", "2026-11-28T09:29:00Z"),
  ])
  func aTimeIsUnderstood(_ text: String, _ expected: String) {
    #expect(end("The limit is reached, \(text)") == Self.time(expected))
  }

  /// Between these two times, clocks go back.
  @Test func theHourOfTheDayCountsWhereClocksChange() {
    let evening = Self.time("2026-10-24T20:00:00Z")
    #expect(end("try again at 8:00 AM", now: evening) == Self.time("2026-10-25T07:00:00Z"))
  }

  @Test(arguments: [
    "", "try again later", "try again in a while", "try again in 99999999999999999999 days",
    "try again at 25:00", "try again at 13pm", "try again at noon", "resets", "resets soon",
    "try again at Smarch 3rd", "try again at 2026-13-01", "try again at 7",
    "try again in 0 minutes",
  ])
  func textsWithoutATimeHaveNone(_ text: String) {
    #expect(end(text) == nil)
  }

  /// Whatever the text says, nothing traps, and no wait is longer than ten years.
  @Test func damagedPhrasesNeverTrap() {
    let phrases = [
      "try again in 3 days 4 hours", "try again at Nov 30th, 2026 10:03 PM",
      "resets 3pm (Europe/Berlin)", "try again at 2026-12-01T08:00:00+02:00",
    ]
    for seed in TestSeeds.list(standard: 500) {
      var random = SeededGenerator(seed: seed)
      var bytes = Array(phrases[Int(seed % 4)].utf8)
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        bytes[Int.random(in: 10..<bytes.count, using: &random)] = UInt8.random(
          in: 32...126, using: &random)
      }
      _ = end(String(decoding: bytes, as: UTF8.self))
    }
    let most = end("try again in 999999999 weeks")
    #expect(most == Self.now + 315_360_000_000)
  }
}
