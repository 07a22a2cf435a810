import QueueModel
import SequenceCRDT

/// The author of new operations: drawn by a process when it makes its first one, and by no other
/// process ever gone on with. SPECIFICATION.md, section "Replicas".
///
/// A copy of the files, or files that were set back, hold operations of a replica, but nobody who
/// would go on with its numbers. What is left are copies of a running program's memory, of which one
/// notices by the clocks that it is another now, by the connection that broke, or by what arrives.
struct Writer: Hashable, Sendable {
  let replica: ReplicaID
  /// The clocks when it wrote last.
  private var now: Int64
  private var wall: Int64
  /// Its last stamp's place and milliseconds; nil before the first.
  private var stamped: Stamped?

  private struct Stamped: Hashable {
    var seq: UInt32
    var milliseconds: Int64
  }

  /// - Parameter nonce: what the server gave; two copies of one machine may draw the same random
  ///   numbers.
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

  /// Whether it may write: the clock that never steps and the wall clock have gone on alike. A machine
  /// that was stopped, set back or copied in between shows another time, as a rule, once it knows it.
  func mayWrite(at context: EventContext) -> Bool {
    let (passed, shown) = (context.now &- now, context.deviceWall &- wall)
    return passed >= 0
      && (passed &- shown).magnitude <= UInt64(ClientLimits.clockToleranceMilliseconds)
  }

  /// Notes that an operation with a stamp of these milliseconds was made.
  mutating func stamped(_ milliseconds: Int64, at seq: UInt32) {
    stamped = Stamped(seq: seq, milliseconds: milliseconds)
  }

  /// The milliseconds of the last stamp in front of operations; nil if a log does not look so far
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
