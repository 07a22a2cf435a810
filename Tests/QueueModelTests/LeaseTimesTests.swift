import QueueModel
import Testing

@Suite struct LeaseTimesTests {
  @Test func anAgentIsGoneBeforeItsLeaseIs() {
    #expect(
      LeaseTimes.selfStopMilliseconds + LeaseTimes.stopGraceMilliseconds
        <= LeaseTimes.leaseMilliseconds)
  }

  @Test func aLeaseIsRenewedTwiceBeforeItsHolderStops() {
    #expect(2 * LeaseTimes.renewalMilliseconds <= LeaseTimes.selfStopMilliseconds)
  }

  @Test func whatIsLetOutByItselfBeginsUnderItsLease() {
    #expect(LeaseTimes.nextMilliseconds > LeaseTimes.renewalMilliseconds)
    #expect(LeaseTimes.nextMilliseconds < LeaseTimes.selfStopMilliseconds)
  }
}
