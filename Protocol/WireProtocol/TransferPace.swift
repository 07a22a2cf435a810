/// The time limit of a file transfer. Progress extends the time, so that a large file can pass over
/// a slow connection, and a stalled transfer ends. SPECIFICATION.md, section "Attachments".
package struct TransferPace: Hashable, Sendable {
  /// When the transfer must end, in milliseconds of the caller's clock.
  package private(set) var deadline: Int64
  private let graceMilliseconds: Int64

  /// - Parameters:
  ///   - start: when it began, on a clock that never steps, in milliseconds.
  ///   - graceMilliseconds: how long it may take without progress.
  package init(start: Int64, graceMilliseconds: Int64) {
    self.graceMilliseconds = graceMilliseconds
    deadline = start + graceMilliseconds
  }

  /// Records that bytes of the file were transferred.
  package mutating func moved(_ count: Int, at now: Int64) {
    let bytes = min(Int64(max(0, count)), 1 << 40)
    let time = bytes * 1_000 / Int64(WireLimits.blobBytesPerSecondMin)
    // Never later than the grace from now on, because fast progress must not allow a later stall.
    deadline = max(deadline, min(deadline + time, now + graceMilliseconds))
  }
}
