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

  /// So a server that is away for ten seconds is one answer late at most.
  @Test func aLeaseIsRenewedOftenWhileAnAgentWorks() {
    #expect(3 * LeaseTimes.workingRenewalMilliseconds < LeaseTimes.selfStopMilliseconds)
  }

  @Test func aLeaseIsRenewedTwiceBeforeItsHolderStops() {
    #expect(2 * LeaseTimes.renewalMilliseconds <= LeaseTimes.selfStopMilliseconds)
  }

  @Test func whatIsGrantedByItselfBeginsUnderItsLease() {
    #expect(LeaseTimes.nextMilliseconds > LeaseTimes.renewalMilliseconds)
    #expect(LeaseTimes.nextMilliseconds < LeaseTimes.selfStopMilliseconds)
  }
}
