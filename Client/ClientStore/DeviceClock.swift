package import ClientCore
import Foundation

/// The clocks and random numbers of a device, which the core does not read itself.
package struct DeviceClock: Sendable {
  private let origin = ContinuousClock.now

  package init() {}

  /// Milliseconds since this clock was created, on a clock that never steps.
  package var now: Int64 { DeviceClock.milliseconds(origin.duration(to: .now)) }

  /// An event that happens now.
  package var context: EventContext {
    EventContext(
      now: now, wall: DeviceClock.wallMilliseconds, random: DeviceClock.randomValue())
  }

  package static func randomValue() -> UInt64 {
    UInt64.random(in: .min ... .max)
  }

  package static func milliseconds(_ duration: Duration) -> Int64 {
    let (seconds, attoseconds) = duration.components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
    return overflow ? .max : product &+ attoseconds / 1_000_000_000_000_000
  }

  /// Milliseconds since 1970.
  package static var wallMilliseconds: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }
}
