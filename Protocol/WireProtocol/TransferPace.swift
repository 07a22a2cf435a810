/// How long a transfer of a file may go on: what goes over gives time back, so that a slow way carries
/// a large file, and a stalled one ends. SPECIFICATION.md, section "Attachments".
package struct TransferPace: Hashable, Sendable {
  /// When it is over, in milliseconds of the clock that the times are of.
  package private(set) var deadline: Int64
  private let graceMilliseconds: Int64

  /// - Parameters:
  ///   - start: when it began, on a clock that never steps, in milliseconds.
  ///   - graceMilliseconds: what it may take with nothing going over.
  package init(start: Int64, graceMilliseconds: Int64) {
    self.graceMilliseconds = graceMilliseconds
    deadline = start + graceMilliseconds
  }

  /// So many bytes of the file went over.
  package mutating func moved(_ count: Int, at now: Int64) {
    let bytes = min(Int64(max(0, count)), 1 << 40)
    let time = bytes * 1_000 / Int64(WireLimits.blobBytesPerSecondMin)
    // Never later than the grace from now on: haste gives no leave to stall.
    deadline = max(deadline, min(deadline + time, now + graceMilliseconds))
  }
}
