import Basics
package import QueueModel

package struct ThreadsRequest: APIValue {
  package static let notes = ["sessions": Note.list(of: .sessionID, upTo: Limits.batchMax)]

  package var sessions: [String]

  package init(sessions: [String]) { self.sessions = sessions }
}

/// Exactly one of `to`, `before` and `after`.
package struct ThreadsMoveRequest: APIValue {
  package static let notes: [String: Note] = [
    "sessions": .list(of: .sessionID, upTo: Limits.batchMax), "to": .positive,
    "before": .sessionID, "after": .sessionID,
  ]

  package var sessions: [String]
  package var to: Int?
  package var before: String?
  package var after: String?

  package init(sessions: [String], to: Int? = nil, before: String? = nil, after: String? = nil) {
    self.sessions = sessions
    self.to = to
    self.before = before
    self.after = after
  }
}

package struct ThreadMoveRequest: APIValue {
  package static let notes = ["to": Note.positive]

  package var to: Int

  package init(to: Int) { self.to = to }
}

/// One thread of the thread queue.
package struct ThreadAnswer: APIValue {
  package static let notes: [String: Note] = [
    "queuedAt": .time, "awaits": .choice(["approval", "answer"]),
  ]

  package var session: SessionID
  package var sessionName: String
  package var project: String
  package var position: Int
  package var queuedAt: String
  package var locked: Bool
  /// `approval` or `answer`, if its task waits for one; absent if it does not, and in steps.
  package var awaits: String?
  /// Why it is visible although locked: no agent can be at work in it. Absent in steps.
  package var lifted: String?
  /// How many of its session's messages were merged from independent saves, and need a check; only
  /// in the list, and absent if there are none.
  package var merged: Int?

  package init(_ view: ThreadView) {
    session = view.session
    sessionName = view.name
    project = view.project
    position = view.position
    queuedAt = ISOTime.text(milliseconds: view.queuedAt)
    locked = view.locked
  }
}

/// The thread queue, locked threads included; empty and `enabled: false` if it is off.
package struct ThreadsAnswer: APIValue {
  package var enabled: Bool
  package var threads: [ThreadAnswer]
  /// The beginning of the next page; absent on the last page.
  package var next: String?

  package init(enabled: Bool, threads: [ThreadAnswer], next: String? = nil) {
    self.enabled = enabled
    self.threads = threads
    self.next = next
  }
}

/// A thread that was viewed.
package struct ThreadVisitAnswer: APIValue {
  /// Absent if no thread needs its user.
  package var thread: ThreadAnswer?
  /// How many messages wait in its session.
  package var waiting: Int
  /// Whether looking at it removed it from the thread queue.
  package var removed: Bool

  package init(thread: ThreadAnswer?, waiting: Int, removed: Bool) {
    self.thread = thread
    self.waiting = waiting
    self.removed = removed
  }
}

/// The thread queue in numbers.
package struct ThreadStatisticsAnswer: APIValue {
  package static let notes = ["oldestQueuedAt": Note.time]

  package var enabled: Bool
  package var count: Int
  package var ready: Int
  package var locked: Int
  /// When the ready thread with the longest wait was queued; absent if none is ready.
  package var oldestQueuedAt: String?
  /// How long a thread takes, estimated from `reviews` earlier ones; absent if there are too few.
  package var reviewSeconds: Int64?
  /// How long the ready threads will take.
  package var estimateSeconds: Int64?
  package var reviews: Int

  package init(_ numbers: ThreadStatistics, isEnabled: Bool) {
    let numbers = isEnabled ? numbers : ThreadStatistics(of: .init(threads: []), history: [])
    enabled = isEnabled
    count = numbers.count
    ready = numbers.ready
    locked = numbers.locked
    oldestQueuedAt = numbers.oldestQueuedAt.map(ISOTime.text(milliseconds:))
    reviewSeconds = numbers.reviewMilliseconds.map { $0 / 1_000 }
    estimateSeconds = numbers.estimateMilliseconds.map { $0 / 1_000 }
    reviews = numbers.reviews
  }
}
