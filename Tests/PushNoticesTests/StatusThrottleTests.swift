import PushNotices
import SyncTestSupport
import Testing

/// One update per interval, the newest of them; and when a Live Activity is renewed.
@Suite struct StatusThrottleTests {
  @Test func theFirstGoesOutAndTheNextWaits() {
    var throttle = StatusThrottle<String>()
    #expect(throttle.offered("a", at: 0) == "a")
    #expect(throttle.nextDueAt == nil)
    #expect(throttle.offered("b", at: 1) == nil)
    #expect(throttle.offered("c", at: 14_999) == nil)
    #expect(throttle.nextDueAt == 15_000)
    #expect(throttle.due(at: 14_999) == nil)
    #expect(throttle.due(at: 15_000) == "c")
    #expect(throttle.due(at: 40_000) == nil)
    #expect(throttle.offered("d", at: 30_000) == "d")
  }

  @Test func aClockThatWasSetBackHoldsNothing() {
    var throttle = StatusThrottle<Int>()
    #expect(throttle.offered(1, at: 1_000_000) == 1)
    #expect(throttle.offered(2, at: 10) == 2)
    #expect(throttle.offered(3, at: 20) == nil)
  }

  @Test func neverTwoWithinAnIntervalAndTheLastAlwaysComes() {
    for seed in TestSeeds.list(standard: 200) {
      var generator = SeededGenerator(seed: seed)
      var throttle = StatusThrottle<Int>()
      var sent: [(at: Int64, content: Int)] = []
      var now: Int64 = 0
      for content in 0..<50 {
        now += Int64.random(in: 0...9_000, using: &generator)
        let out = content % 3 == 0 ? throttle.due(at: now) : throttle.offered(content, at: now)
        if let out { sent.append((now, out)) }
      }
      if let due = throttle.nextDueAt, let out = throttle.due(at: due) { sent.append((due, out)) }
      #expect(sent.last?.content == 49, "seed \(seed)")
      for (before, after) in zip(sent, sent.dropFirst()) {
        #expect(after.at - before.at >= 15_000, "seed \(seed)")
        #expect(after.content > before.content, "seed \(seed)")
      }
    }
  }

  @Test func activitiesAreRenewedBeforeTheSystemEndsThem() {
    let start: Int64 = 1_000
    #expect(LiveActivityLife.renewalAt(startedAt: start) == start + 27_000_000)
    #expect(LiveActivityLife.steps(startedAt: start, now: start + 26_999_999).isEmpty)
    #expect(LiveActivityLife.steps(startedAt: start, now: start + 27_000_000) == [.end, .start])
    #expect(LiveActivityLife.steps(startedAt: start, now: start + 28_799_999) == [.end, .start])
    #expect(LiveActivityLife.steps(startedAt: start, now: start + 28_800_000) == [.start])
    #expect(LiveActivityLife.steps(startedAt: start, now: 0).isEmpty)
    #expect(LiveActivityLife.steps(startedAt: .min, now: .max).isEmpty)
  }
}
