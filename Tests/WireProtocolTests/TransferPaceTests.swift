import Testing
import WireProtocol

struct TransferPaceTests {
  /// The largest file at the lowest pace that is allowed, and a little below it.
  @Test(arguments: [(8_192, true), (8_000, false)])
  func aSlowWayCarriesALargeFile(bytesPerSecond: Int, arrives: Bool) {
    var pace = TransferPace(start: 5_000, graceMilliseconds: 10_000)
    var now: Int64 = 5_000
    var left = 10 << 20
    while left > 0, now < pace.deadline {
      now += 1_000
      pace.moved(bytesPerSecond, at: now)
      left -= bytesPerSecond
    }
    #expect((left <= 0) == arrives)
  }

  @Test func hasteAllowsNoStall() {
    var pace = TransferPace(start: 0, graceMilliseconds: 120_000)
    #expect(pace.deadline == 120_000)
    pace.moved(9 << 20, at: 1_000)
    #expect(pace.deadline == 121_000)
    pace.moved(0, at: 2_000)
    #expect(pace.deadline == 121_000)
    pace.moved(-5, at: 3_000)
    #expect(pace.deadline == 121_000)
    pace.moved(.max, at: 50_000)
    #expect(pace.deadline == 170_000)
  }
}
