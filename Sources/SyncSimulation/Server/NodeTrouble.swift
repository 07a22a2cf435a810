/// The faults of one of several nodes.
struct NodeTrouble {
  /// Until when the process does not run; nil while it runs.
  private(set) var pausedUntil: Int64?
  private var cutUntil: Int64 = 0

  mutating func pause(until end: Int64) { pausedUntil = max(pausedUntil ?? 0, end) }
  mutating func endPause() { pausedUntil = nil }

  func isPaused(at now: Int64) -> Bool { pausedUntil ?? 0 > now }

  mutating func cut(until end: Int64) { cutUntil = max(cutUntil, end) }

  /// Whether the node cannot reach the store.
  func isCut(at now: Int64) -> Bool { cutUntil > now }

  mutating func end() { self = NodeTrouble() }
}
