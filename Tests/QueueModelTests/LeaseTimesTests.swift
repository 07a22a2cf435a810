import QueueModel
import Testing

@Suite struct LeaseTimesTests {
  /// With the processes that it left, and a second for busy machines.
  @Test func anAgentIsGoneBeforeItsLeaseIs() {
    let gone =
      LeaseTimes.selfStopMilliseconds + LeaseTimes.stopGraceMilliseconds
      + LeaseTimes.leftGraceMilliseconds
    #expect(gone + 1_000 <= LeaseTimes.leaseMilliseconds)
  }

  /// So a server that is away for ten seconds is late with at most one answer.
  @Test func aLeaseIsRenewedOftenWhileAnAgentWorks() {
    #expect(3 * LeaseTimes.workingRenewalMilliseconds < LeaseTimes.selfStopMilliseconds)
  }

  @Test func aLeaseIsRenewedTwiceBeforeItsHolderStops() {
    #expect(2 * LeaseTimes.renewalMilliseconds <= LeaseTimes.selfStopMilliseconds)
  }

  @Test func standingGrantsBeginUnderTheirLease() {
    #expect(LeaseTimes.nextMilliseconds > LeaseTimes.renewalMilliseconds)
    #expect(LeaseTimes.nextMilliseconds < LeaseTimes.selfStopMilliseconds)
  }
}
