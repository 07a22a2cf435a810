import NIOCore
import QueueModel

/// Whose connections share a turn.
enum TurnGroup: Hashable {
  /// Those whose devices are not known yet.
  case strangers
  case workspace(WorkspaceID)
}

/// Somebody who waits for a turn: one connection whose input was read and not looked at.
protocol TurnTaker: AnyObject {
  /// Whose turn it has; it counts each time that it begins to wait, or waits again after a turn.
  var group: TurnGroup { get }

  /// Looks at a piece of it.
  ///
  /// - Returns: whether more waits.
  func takeTurn() -> Bool
}

/// Gives turns to connections whose input waits: to each group in its order, and within a group to each
/// connection, a piece of `pieceBytes` at a time. So whatever one workspace or strangers send, another
/// one's input waits for one piece of each.
///
/// After `spellMicroseconds` sockets are looked at, so that who comes meanwhile has its turn as well.
final class InputTurns {
  /// Bytes that are looked at in one turn: some 170 empty frames, or one batch of a few changes.
  static let pieceBytes = 1 << 10
  /// Bytes that may wait of one connection before it is read no further. One more reading may be
  /// under way.
  static let waitingBytesMax = 16 << 10
  /// Bytes that one reading brings at most.
  static let readingBytesMax = 64 << 10
  /// For how long turns are given before sockets are looked at.
  static let spellMicroseconds: Int64 = 1_000

  private let clock: () -> NIODeadline
  /// Has `giveTurns` called: now, or once sockets were looked at.
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

  /// Somebody who did not wait has input: it has its turn after those of its group.
  func wait(_ taker: any TurnTaker) {
    enter(taker)
    callOnce(afterSockets: false)
  }

  /// Gives turns until nobody waits or the time is over.
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
