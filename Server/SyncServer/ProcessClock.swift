import Foundation
import ServerCore

/// The clocks of the machine.
struct ProcessClock: Sendable {
  private let origin = ContinuousClock.now

  /// Uptime counts from the start of the process and runs while the machine sleeps.
  var now: ServerTime {
    let elapsed = origin.duration(to: ContinuousClock.now).components
    return ServerTime(
      uptimeMilliseconds: elapsed.seconds * 1_000 + elapsed.attoseconds / 1_000_000_000_000_000,
      wallMilliseconds: ProcessClock.wallMilliseconds)
  }

  static var wallMilliseconds: Int64 {
    Int64((Date().timeIntervalSince1970 * 1_000).rounded(.down))
  }
}
