/// A point in time as the driver sees it; the core owns no clock.
package struct ServerTime: Hashable, Sendable {
  /// A clock that never goes back and runs while the machine sleeps; its origin has no meaning.
  /// Deadlines and rates are measured by it.
  package var uptimeMilliseconds: Int64
  /// Milliseconds since 1970; may step. Stamps and expiry dates are compared with it.
  package var wallMilliseconds: Int64

  package init(uptimeMilliseconds: Int64, wallMilliseconds: Int64) {
    self.uptimeMilliseconds = uptimeMilliseconds
    self.wallMilliseconds = wallMilliseconds
  }

  /// Whether the wall clock was set between an earlier point and this one: the two clocks advanced
  /// by amounts that differ by more than 2 seconds.
  func isOfAnotherClock(than earlier: ServerTime) -> Bool {
    let wall = wallMilliseconds - earlier.wallMilliseconds
    return abs(wall - (uptimeMilliseconds - earlier.uptimeMilliseconds)) > 2_000
  }
}

/// Names one connection for the lifetime of the process; never reused.
package struct ConnectionID: RawRepresentable, Hashable, Comparable, Sendable {
  package var rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  package static func < (left: ConnectionID, right: ConnectionID) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// Names one piece of work handed to the store.
package struct StoreTaskID: RawRepresentable, Hashable, Comparable, Sendable {
  package var rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  package static func < (left: StoreTaskID, right: StoreTaskID) -> Bool {
    left.rawValue < right.rawValue
  }
}
