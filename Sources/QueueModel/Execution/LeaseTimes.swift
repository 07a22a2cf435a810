/// The times of a lease. They depend on each other: a device that may have lost its lease starts
/// nothing before another device can get it.
///
/// ```text
/// 0 s        5 s, or 10 s   20 s                  28 s         29 s            30 s
/// granted    renewed        not confirmed:        the agent    what it left    the authority may give it to
///            from here on   nothing begins, and   is killed    at work is      another device, unless an
///                           the agent goes on or  by now       killed by now   attempt of it has not ended
///                           is told to stop ───▶
/// ```
public enum LeaseTimes {
  /// How long a lease lasts after the authority granted or confirmed it.
  public static let leaseMilliseconds: Int64 = 30_000
  /// A holder renews a lease that has not been confirmed for this time.
  public static let renewalMilliseconds: Int64 = 10_000
  /// As `renewal`, while an agent works under the lease.
  public static let workingRenewalMilliseconds: Int64 = 5_000
  /// A holder starts nothing under a lease that has not been confirmed for this time. If its
  /// session requires it, the holder also stops what runs.
  public static let selfStopMilliseconds: Int64 = 20_000
  /// The time between an agent's signal to stop and its forced end.
  public static let stopGraceMilliseconds: Int64 = 8_000
  /// The same time for the processes that a stopped agent left behind.
  public static let leftGraceMilliseconds: Int64 = 1_000
  /// A message is granted without a request only within this time after a grant or renewal. A
  /// holder that is silent for longer may be gone, and it would be uncertain whether a message
  /// granted to it can be withdrawn.
  public static let nextMilliseconds: Int64 = 15_000
}
