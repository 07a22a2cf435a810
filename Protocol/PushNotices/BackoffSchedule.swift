/// Decides when a failed push is tried again, and when it is abandoned.
///
/// The backoff is exponential with full jitter: the wait is drawn uniformly between zero and a
/// bound that doubles, so that pushes that failed together are not repeated together. The jitter is
/// added to the wait that a provider requested.
package struct BackoffSchedule: Hashable, Sendable {
  /// The bound of the first wait, milliseconds.
  package var firstMilliseconds: Int64
  /// The bound of the longest wait, milliseconds.
  package var longestMilliseconds: Int64
  package var attemptsMax: Int
  /// The longest time from the first attempt to the last, milliseconds.
  package var spanMilliseconds: Int64

  /// Waits from two seconds to an hour, 24 attempts, one day. On average, the attempts span six and
  /// a half hours, the length of a long outage of a network or a provider.
  package static let standard = BackoffSchedule(
    firstMilliseconds: 2_000, longestMilliseconds: 3_600_000, attemptsMax: 24,
    spanMilliseconds: 86_400_000)

  package init(
    firstMilliseconds: Int64, longestMilliseconds: Int64, attemptsMax: Int,
    spanMilliseconds: Int64
  ) {
    precondition(firstMilliseconds > 0 && longestMilliseconds >= firstMilliseconds)
    precondition(attemptsMax > 0 && spanMilliseconds > 0)
    self.firstMilliseconds = firstMilliseconds
    self.longestMilliseconds = longestMilliseconds
    self.attemptsMax = attemptsMax
    self.spanMilliseconds = spanMilliseconds
  }

  package enum Next: Hashable, Sendable {
    /// Milliseconds since 1970.
    case again(at: Int64)
    /// The push is abandoned; the caller stores it as a dead letter.
    case deadLetter(reason: String)
  }

  /// The step after an attempt that failed temporarily.
  ///
  /// - Parameters:
  ///   - attempts: the number of attempts, the failed one included.
  ///   - firstAttemptAt, now, expiresAt: milliseconds since 1970; after `expiresAt` the notice is
  ///     useless.
  ///   - retryAfter: the wait that the provider requested.
  ///   - random: any 64 bits, new for each call.
  package func next(
    attempts: Int, firstAttemptAt: Int64, now: Int64, retryAfter: Duration? = nil,
    expiresAt: Int64? = nil, random: UInt64
  ) -> Next {
    guard attempts < attemptsMax else {
      return .deadLetter(reason: "not delivered in \(attempts) attempts")
    }
    let asked = retryAfter.map(\.wholeMilliseconds) ?? 0
    let jitter = Int64(random % UInt64(bound(after: attempts) + 1))
    // Both sums stay far below the maximum of an Int64.
    let at = now.addingClamped(max(asked, 0)).addingClamped(jitter)
    if let expiresAt, at > expiresAt { return .deadLetter(reason: "expired") }
    guard at <= firstAttemptAt.addingClamped(spanMilliseconds) else {
      return .deadLetter(reason: "not delivered in \(spanMilliseconds / 60_000) minutes")
    }
    return .again(at: at)
  }

  /// The longest wait after this many failed attempts, milliseconds.
  package func bound(after attempts: Int) -> Int64 {
    let doublings = min(max(attempts - 1, 0), 40)
    let (grown, overflow) = firstMilliseconds.multipliedReportingOverflow(by: 1 << doublings)
    return overflow ? longestMilliseconds : min(grown, longestMilliseconds)
  }
}

extension Duration {
  /// Rounded up, so that no wait is too short; clamped to the type's range.
  package var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
    if overflow { return seconds < 0 ? .min : .max }
    let unit: Int64 = 1_000_000_000_000_000
    return whole.addingClamped(attoseconds / unit + (attoseconds % unit > 0 ? 1 : 0))
  }
}

extension Int64 {
  /// The sum, or the nearest representable number.
  package func addingClamped(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }
}
