import QueueModel
import Testing

@Suite struct LeaseTimesTests {
  /// With what it left at work, and a second for machines that are busy.
  @Test func anAgentIsGoneBeforeItsLeaseIs() {
    let gone =
      LeaseTimes.selfStopMilliseconds + LeaseTimes.stopGraceMilliseconds
      + LeaseTimes.leftGraceMilliseconds
    #expect(gone + 1_000 <= LeaseTimes.leaseMilliseconds)
  }

  @Test func aLeaseIsRenewedTwiceBeforeItsHolderStops() {
    #expect(2 * LeaseTimes.renewalMilliseconds <= LeaseTimes.selfStopMilliseconds)
  }

  @Test func whatIsLetOutByItselfBeginsUnderItsLease() {
    #expect(LeaseTimes.nextMilliseconds > LeaseTimes.renewalMilliseconds)
    #expect(LeaseTimes.nextMilliseconds < LeaseTimes.selfStopMilliseconds)
  }
}
