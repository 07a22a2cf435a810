import Foundation

/// Clocks and chance, which the core does not look at itself.
extension Engine {
  static func randomValue() -> UInt64 {
    UInt64.random(in: .min ... .max)
  }

  static func milliseconds(_ duration: Duration) -> Int64 {
    let (seconds, attoseconds) = duration.components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
    return overflow ? .max : product &+ attoseconds / 1_000_000_000_000_000
  }

  static var wallMilliseconds: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }
}
