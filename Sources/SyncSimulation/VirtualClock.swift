/// Virtual time: the current time, and the future events.
///
/// Nothing happens outside this list, so a run depends only on its seed and its events.
package final class VirtualClock {
  /// 2026-01-01T00:00:00Z, the true time at the start.
  package static let startOfTime: Int64 = 1_767_225_600_000

  /// Virtual milliseconds since the start.
  package private(set) var now: Int64 = 0
  private var queue = EventQueue<Happening>()

  /// True time, milliseconds since 1970.
  var wall: Int64 { VirtualClock.startOfTime + now }

  func add(_ happening: Happening, at time: Int64) { queue.add(happening, at: time) }

  func add(_ happening: Happening, after milliseconds: Int64) {
    queue.add(happening, at: now + milliseconds)
  }

  /// Removes the next event and advances to its time; nil if there is none before `end`.
  func next(until end: Int64) -> Happening? {
    guard let due = queue.nextAt, due <= end, let (at, happening) = queue.popFirst() else {
      return nil
    }
    now = max(now, at)
    return happening
  }

  /// Advances to this time, if everything before it has happened.
  func pass(until end: Int64) { now = end }
}
