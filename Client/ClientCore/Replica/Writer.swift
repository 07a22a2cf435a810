import QueueModel
import SequenceCRDT

/// The author of new operations: a process draws it when it makes its first one, and no other
/// process continues it. SPECIFICATION.md, section "Replicas".
///
/// A copy of the files, or restored files, have operations of a replica, but no author that
/// continues its numbers. Only copies of a running program's memory remain. They are detected by
/// the clocks, by the broken connection, or by incoming operations.
struct Writer: Hashable, Sendable {
  let replica: ReplicaID
  /// The clocks at its last write.
  private var now: Int64
  private var wall: Int64
  /// The place and milliseconds of its last stamp; nil before the first.
  private var stamped: Stamped?

  private struct Stamped: Hashable {
    var seq: UInt32
    var milliseconds: Int64
  }

  /// - Parameter nonce: the server's random number; two copies of one machine may draw the same
  ///   random numbers.
  init(device: DeviceID, nonce: UInt64, at context: EventContext) {
    var value = context.random(0)
    let words = [nonce, UInt64(bitPattern: context.deviceWall), device.high, device.low]
    for word in words {
      value = EventContext.mixed(value ^ word)
    }
    // 0 is reserved.
    replica = ReplicaID(rawValue: value == 0 ? 1 : value)
    now = context.now
    wall = context.deviceWall
  }

  /// Whether it may write: the clock that never steps and the wall clock have advanced by equal
  /// amounts. A machine that was stopped, restored or copied in between usually shows a different
  /// time once it knows the time.
  func mayWrite(at context: EventContext) -> Bool {
    let (passed, shown) = (context.now &- now, context.deviceWall &- wall)
    return passed >= 0
      && (passed &- shown).magnitude <= UInt64(ClientLimits.clockToleranceMilliseconds)
  }

  /// Records that an operation with a stamp of these milliseconds was made.
  mutating func stamped(_ milliseconds: Int64, at seq: UInt32) {
    stamped = Stamped(seq: seq, milliseconds: milliseconds)
  }

  /// The milliseconds of the last stamp before operations; nil if a log would not search so far
  /// back for it.
  func stamp(near operations: [Operation]) -> Int64? {
    guard let stamped, let last = operations.last?.lastID?.seq,
      last &- stamped.seq <= Replica.stampDistanceMax
    else { return nil }
    return stamped.milliseconds
  }

  mutating func wrote(at context: EventContext) {
    now = context.now
    wall = context.deviceWall
  }
}
