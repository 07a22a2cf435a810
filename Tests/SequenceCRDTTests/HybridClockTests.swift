import SequenceCRDT
import SyncTestSupport
import Testing

struct HybridClockTests {
  private let noon: Int64 = 1_767_268_800_000

  @Test func stampsFollowTheWallClock() {
    var clock = HybridClock()
    #expect(clock.tick(milliseconds: noon) == Stamp(milliseconds: noon))
    #expect(clock.tick(milliseconds: noon + 5) == Stamp(milliseconds: noon + 5))
  }

  @Test func withinOneMillisecondTheCounterRises() {
    var clock = HybridClock()
    _ = clock.tick(milliseconds: noon)
    #expect(clock.tick(milliseconds: noon) == Stamp(milliseconds: noon, counter: 1))
    #expect(clock.tick(milliseconds: noon) == Stamp(milliseconds: noon, counter: 2))
  }

  @Test func aFullCounterFlowsIntoTheMilliseconds() {
    var clock = HybridClock(latest: Stamp(milliseconds: noon, counter: .max))
    #expect(clock.tick(milliseconds: noon) == Stamp(milliseconds: noon + 1, counter: 0))
  }

  @Test func aClockSteppedBackNeverGivesEarlierStamps() {
    var clock = HybridClock()
    var last = clock.tick(milliseconds: noon)
    for wall in [noon - 3_600_000, 0, -1, .min, noon - 1] {
      let next = clock.tick(milliseconds: wall)
      #expect(next > last)
      last = next
    }
    #expect(last.milliseconds == noon)
  }

  @Test func timesBefore1970AreTheBeginning() {
    #expect(Stamp(milliseconds: -1) == .zero)
    #expect(Stamp(milliseconds: .min) == .zero)
    var clock = HybridClock()
    #expect(clock.tick(milliseconds: -5) > .zero)
  }

  @Test func timesBeyondTheRangeAreTheLastMillisecond() {
    let last = Stamp(milliseconds: .max, counter: .max)
    #expect(last.milliseconds == Stamp.millisecondsMax)
    #expect(last.rawValue == .max)
    #expect(Stamp(milliseconds: Stamp.millisecondsMax + 1).milliseconds == Stamp.millisecondsMax)
  }

  @Test func atTheEndOfTimeTheClockStopsInsteadOfWrapping() {
    var clock = HybridClock(latest: Stamp(rawValue: .max - 1))
    #expect(clock.tick(milliseconds: noon).rawValue == .max)
    #expect(clock.tick(milliseconds: noon).rawValue == .max)
  }

  @Test func localWritesOrderAfterObservedOnes() {
    var clock = HybridClock()
    _ = clock.tick(milliseconds: noon)
    let ahead = Stamp(milliseconds: noon + 90_000, counter: 3)
    clock.observe(ahead)
    #expect(clock.tick(milliseconds: noon + 1) == Stamp(rawValue: ahead.rawValue + 1))
    clock.observe(Stamp(milliseconds: noon))
    #expect(clock.latest.rawValue == ahead.rawValue + 1)
  }

  @Test func stampsOfRandomClocksOnlyRise() {
    var generator = TestSeeds.generator(standard: 3)
    var clock = HybridClock()
    var last = Stamp.zero
    for _ in 0..<2_000 {
      if generator.chance(20) {
        clock.observe(Stamp(milliseconds: noon + Int64(generator.below(1_000_000))))
      }
      let next = clock.tick(milliseconds: noon + Int64(generator.below(1_000_000)))
      #expect(next > last, "seed \(generator.seed)")
      last = next
    }
  }

  @Test func partsComeBackOutOfAStamp() {
    let stamp = Stamp(milliseconds: noon, counter: 77)
    #expect(stamp.milliseconds == noon)
    #expect(stamp.counter == 77)
    #expect(Stamp(rawValue: stamp.rawValue) == stamp)
    #expect(stamp < Stamp(milliseconds: noon, counter: 78))
    #expect(stamp < Stamp(milliseconds: noon + 1))
  }
}
