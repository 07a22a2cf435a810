/// Lets one update through per interval, and keeps the newest of those that came too early.
///
/// Nothing is lost that still holds: what is kept back is replaced by newer content only, and
/// becomes due when the interval is over. Starts and ends do not pass through here.
package struct StatusThrottle<Content: Sendable>: Sendable {
  package static var standardIntervalMilliseconds: Int64 { 15_000 }

  package let intervalMilliseconds: Int64
  private var lastAt: Int64?
  private var kept: Content?

  package init(intervalMilliseconds: Int64 = standardIntervalMilliseconds) {
    precondition(intervalMilliseconds > 0)
    self.intervalMilliseconds = intervalMilliseconds
  }

  /// New content arrived.
  ///
  /// - Returns: it, if it may go out now.
  package mutating func offered(_ content: Content, at now: Int64) -> Content? {
    kept = content
    return due(at: now)
  }

  /// The content that was kept back, if its time has come. It counts as sent then.
  package mutating func due(at now: Int64) -> Content? {
    guard let content = kept, isFree(at: now) else { return nil }
    kept = nil
    lastAt = now
    return content
  }

  /// Milliseconds since 1970 at which `due` will have something; nil where nothing is kept back.
  package var nextDueAt: Int64? {
    guard kept != nil else { return nil }
    return lastAt.map { $0.addingClamped(intervalMilliseconds) }
  }

  private func isFree(at now: Int64) -> Bool {
    guard let lastAt else { return true }
    // A clock that was set back must not hold updates until it has caught up.
    return now < lastAt || now - lastAt >= intervalMilliseconds
  }
}

/// How long a Live Activity may live. The system ends it after eight hours; half an hour before that
/// it is ended and started anew, so that a long task keeps showing.
package enum LiveActivityLife {
  package static let renewalMilliseconds: Int64 = 27_000_000
  package static let systemMilliseconds: Int64 = 28_800_000

  package enum Step: Hashable, Sendable {
    case end
    case start
  }

  /// What is due for an activity that started at `startedAt` and whose task still runs.
  package static func steps(startedAt: Int64, now: Int64) -> [Step] {
    let (age, overflow) = now.subtractingReportingOverflow(startedAt)
    if overflow || age < renewalMilliseconds { return [] }
    // What the system has ended already needs no end.
    return age < systemMilliseconds ? [.end, .start] : [.start]
  }

  /// Milliseconds since 1970 at which `steps` has something to do.
  package static func renewalAt(startedAt: Int64) -> Int64 {
    startedAt.addingClamped(renewalMilliseconds)
  }
}
