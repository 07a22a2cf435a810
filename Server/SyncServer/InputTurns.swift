import NIOCore
import QueueModel

/// Connections that share turns.
enum TurnGroup: Hashable {
  /// Connections of unknown devices.
  case strangers
  case workspace(WorkspaceID)
}

/// A connection that waits for a turn: its input was read and not processed yet.
protocol TurnTaker: AnyObject {
  /// The group whose turn it uses, as of the last time that it began to wait.
  var group: TurnGroup { get }

  /// Processes a piece of the input.
  ///
  /// - Returns: whether more waits.
  func takeTurn() -> Bool
}

/// Gives turns to connections with waiting input: to the groups in order, and within a group to
/// each connection, a piece of `pieceBytes` at a time. So another workspace's input waits only for
/// one piece of each, however much one workspace or strangers send.
///
/// After `spellMicroseconds` the loop polls the sockets, so that new arrivals get their turn as
/// well.
final class InputTurns {
  /// Bytes that are processed in one turn: about 170 empty frames, or one batch of a few changes.
  static let pieceBytes = 1 << 10
  /// Waiting bytes of one connection above which it is not read further. One more read may be in
  /// progress.
  static let waitingBytesMax = 16 << 10
  /// The maximum number of bytes of one read.
  static let readingBytesMax = 64 << 10
  /// The time for turns before the sockets are polled.
  static let spellMicroseconds: Int64 = 1_000

  private let clock: () -> NIODeadline
  /// Schedules `giveTurns`: now, or after the next poll of the sockets.
  private let call: (_ afterSockets: Bool) -> Void
  private var groups: CircularBuffer<TurnGroup> = []
  private var waiting: [TurnGroup: CircularBuffer<any TurnTaker>] = [:]
  private var isCalled = false

  init(
    clock: @escaping () -> NIODeadline = NIODeadline.now,
    call: @escaping (_ afterSockets: Bool) -> Void
  ) {
    self.clock = clock
    self.call = call
  }

  /// A connection that did not wait has input; its turn comes after those of its group.
  func wait(_ taker: any TurnTaker) {
    enter(taker)
    callOnce(afterSockets: false)
  }

  /// Gives turns until no connection waits or the time is up.
  func giveTurns() {
    isCalled = false
    let end = clock() + .microseconds(Self.spellMicroseconds)
    repeat {
      guard let taker = next() else { return }
      if taker.takeTurn() { enter(taker) }
    } while clock() < end
    if !groups.isEmpty { callOnce(afterSockets: true) }
  }

  private func callOnce(afterSockets: Bool) {
    guard !isCalled else { return }
    isCalled = true
    call(afterSockets)
  }

  private func enter(_ taker: any TurnTaker) {
    let group = taker.group
    if waiting[group] == nil { groups.append(group) }
    waiting[group, default: []].append(taker)
  }

  private func next() -> (any TurnTaker)? {
    guard let group = groups.popFirst(), let taker = waiting[group]?.popFirst() else { return nil }
    if waiting[group]?.isEmpty == true {
      waiting[group] = nil
    } else {
      groups.append(group)
    }
    return taker
  }
}
