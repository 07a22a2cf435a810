/// Allows `perSecond` units a second in the long run and `burst` at once.
///
/// Spending is never refused: a bucket may go into debt, and its owner decides the consequence.
package struct TokenBucket: Hashable, Sendable {
  private let perSecond: Int64
  private let burst: Int64
  /// In thousandths of a unit, so that refilling needs no fractions.
  private var level: Int64
  private var refilledAt: Int64

  package init(perSecond: Int64, burst: Int64, uptimeMilliseconds: Int64) {
    self.perSecond = perSecond
    self.burst = burst
    level = burst * 1_000
    refilledAt = uptimeMilliseconds
  }

  /// Removes `count` units, or returns them if it is negative.
  package mutating func spend(_ count: Int, uptimeMilliseconds: Int64) {
    refill(uptimeMilliseconds: uptimeMilliseconds)
    level -= Int64(count) * 1_000
  }

  /// Adds the units of the time since the last call.
  package mutating func refill(uptimeMilliseconds: Int64) {
    // The elapsed time may be a day or a decade: a debt of rare units may last long.
    let elapsed = min(max(uptimeMilliseconds - refilledAt, 0), 1 << 40)
    refilledAt = max(refilledAt, uptimeMilliseconds)
    level = min(level + elapsed * perSecond, burst * 1_000)
  }

  /// Whether as much may be spent as from a new bucket.
  func isFull(uptimeMilliseconds: Int64) -> Bool {
    var refilled = self
    refilled.refill(uptimeMilliseconds: uptimeMilliseconds)
    return refilled.level == burst * 1_000
  }

  /// Whether nothing is left: the sender should be slowed down.
  package var isEmpty: Bool { level < 0 }

  /// Whether a whole burst is owed: slowing the sender down did not help.
  var isOverdrawn: Bool { level < -burst * 1_000 }
}
