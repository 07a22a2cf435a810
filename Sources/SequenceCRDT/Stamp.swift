/// A reading of a hybrid logical clock: 48 bits of milliseconds since 1970, 16 bits of counter.
///
/// Stamps order register writes; equal stamps are ordered by replica, then by sequence number.
/// Nothing expires by its stamp. Source: Kulkarni et al., "Logical Physical Clocks", 2014.
public struct Stamp: RawRepresentable, Hashable, Comparable, Sendable {
  /// Milliseconds in the upper 48 bits, the counter in the lower 16.
  public var rawValue: UInt64

  /// Wraps a raw reading.
  public init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// Creates a reading; milliseconds outside 0 … 2⁴⁸−1 are clamped.
  public init(milliseconds: Int64, counter: UInt16 = 0) {
    let clamped = UInt64(min(max(milliseconds, 0), Stamp.millisecondsMax))
    rawValue = clamped << 16 | UInt64(counter)
  }

  /// The largest wall clock reading that a stamp can hold.
  public static let millisecondsMax: Int64 = (1 << 48) - 1

  /// The earliest stamp.
  public static let zero = Stamp(rawValue: 0)

  /// Milliseconds since 1970-01-01T00:00:00Z.
  public var milliseconds: Int64 { Int64(rawValue >> 16) }

  /// Counts readings within one millisecond.
  public var counter: UInt16 { UInt16(truncatingIfNeeded: rawValue) }

  /// Orders by time, then by counter.
  public static func < (left: Stamp, right: Stamp) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// Returns stamps that never go back, whatever the wall clock does.
package struct HybridClock: Hashable, Sendable {
  /// The latest stamp returned or observed.
  package private(set) var latest: Stamp

  package init(latest: Stamp = .zero) {
    self.latest = latest
  }

  /// The next stamp: the wall clock's time if it is ahead, else one past the latest.
  ///
  /// - Parameter milliseconds: wall clock time since 1970; may be wrong, negative or stepped back.
  package mutating func tick(milliseconds: Int64) -> Stamp {
    let wall = Stamp(milliseconds: milliseconds)
    if wall > latest {
      latest = wall
    } else if latest.rawValue < .max {
      latest = Stamp(rawValue: latest.rawValue + 1)
    }
    return latest
  }

  /// Records a stamp from elsewhere, so that later local writes are ordered after it.
  package mutating func observe(_ stamp: Stamp) {
    latest = max(latest, stamp)
  }
}

extension Stamp: Codable {}
