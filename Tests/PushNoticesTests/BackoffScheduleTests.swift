import PushNotices
import SyncTestSupport
import Testing

/// When pushes are retried, and when they are given up.
@Suite struct BackoffScheduleTests {
  static let schedule = BackoffSchedule(
    firstMilliseconds: 1_000, longestMilliseconds: 8_000, attemptsMax: 6,
    spanMilliseconds: 60_000)

  @Test func theBoundDoublesUpToTheLongest() {
    #expect((1...6).map(Self.schedule.bound) == [1_000, 2_000, 4_000, 8_000, 8_000, 8_000])
    #expect(Self.schedule.bound(after: 0) == 1_000)
    #expect(Self.schedule.bound(after: .max) == 8_000)
  }

  @Test func waitsAreDrawnEvenlyFromNothingToTheBound() {
    var generator = TestSeeds.generator(standard: 3)
    var waits: [Int64] = []
    for _ in 0..<4_000 {
      let next = Self.schedule.next(
        attempts: 3, firstAttemptAt: 0, now: 10_000, random: generator.next())
      guard case .again(let at) = next else {
        Issue.record("given up")
        return
      }
      waits.append(at - 10_000)
    }
    #expect(waits.allSatisfy { (0...4_000).contains($0) })
    for quarter in 0..<4 {
      let range = Int64(quarter * 1_000)..<Int64((quarter + 1) * 1_000)
      #expect((800...1_200).contains(waits.count { range.contains($0) }))
    }
  }

  @Test func theWaitThatTheProviderRequestedComesFirst() {
    let next = Self.schedule.next(
      attempts: 1, firstAttemptAt: 0, now: 0, retryAfter: .seconds(30), random: 500)
    #expect(next == .again(at: 30_500))
    let fraction = Self.schedule.next(
      attempts: 1, firstAttemptAt: 0, now: 0, retryAfter: .microseconds(1), random: 0)
    #expect(fraction == .again(at: 1))
  }

  @Test func itEndsByCountByTimeAndByExpiry() {
    #expect(
      Self.schedule.next(attempts: 6, firstAttemptAt: 0, now: 0, random: 0)
        == .deadLetter(reason: "not delivered in 6 attempts"))
    #expect(
      Self.schedule.next(attempts: 1, firstAttemptAt: 0, now: 60_000, random: 0)
        == .again(at: 60_000))
    #expect(
      Self.schedule.next(attempts: 1, firstAttemptAt: 0, now: 60_001, random: 0)
        == .deadLetter(reason: "not delivered in 1 minutes"))
    #expect(
      Self.schedule.next(attempts: 1, firstAttemptAt: 0, now: 5, expiresAt: 4, random: 0)
        == .deadLetter(reason: "expired"))
    #expect(
      Self.schedule.next(
        attempts: 1, firstAttemptAt: 0, now: 0, retryAfter: .seconds(Int64.max), random: 0)
        == .deadLetter(reason: "not delivered in 1 minutes"))
  }

  /// A provider, or this machine's own network, may be unreachable for hours.
  @Test func theStandardLastsForHours() {
    let schedule = BackoffSchedule.standard
    let mean = (1..<schedule.attemptsMax).map { schedule.bound(after: $0) / 2 }.reduce(0, +)
    #expect(mean > 4 * 3_600_000 && 2 * mean < schedule.spanMilliseconds)
  }

  @Test func everyWayEnds() {
    for seed in TestSeeds.list(standard: 200) {
      var generator = SeededGenerator(seed: seed)
      var now: Int64 = 0
      var attempts = 0
      while attempts < 100 {
        attempts += 1
        let asked = Int64.random(in: 0...20, using: &generator)
        let next = BackoffSchedule.standard.next(
          attempts: attempts, firstAttemptAt: 0, now: now, retryAfter: .seconds(asked),
          random: generator.next())
        guard case .again(let at) = next else { break }
        #expect(at >= now)
        now = at
      }
      #expect(attempts <= BackoffSchedule.standard.attemptsMax, "seed \(seed)")
      #expect(now <= BackoffSchedule.standard.spanMilliseconds, "seed \(seed)")
    }
  }
}
