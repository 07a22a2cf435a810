/// The thread queue in numbers (S2-92).
public struct ThreadStatistics: Hashable, Sendable {
  /// Threads in the queue.
  public var count: Int
  /// The threads that wait for their user.
  public var ready: Int
  /// The threads that an agent works on.
  public var locked: Int
  /// When the longest waiting thread was queued, in milliseconds since 1970; nil if none is ready.
  public var oldestQueuedAt: Int64?
  /// How long a user needs for a thread, in milliseconds: the median of their own latest reviews.
  /// nil if there are too few.
  public var reviewMilliseconds: Int64?
  /// The number of reviews in that median.
  public var reviews: Int
  /// The estimated time for all ready threads, in milliseconds.
  public var estimateMilliseconds: Int64? { reviewMilliseconds.map { $0 * Int64(ready) } }

  /// The maximum number of reviews used, the latest.
  public static let reviewsMax = 100
  /// The minimum number of reviews for an estimate.
  public static let reviewsMin = 3
  /// A longer time between two threads does not count as a review.
  public static let reviewMillisecondsMax: Int64 = 30 * 60 * 1_000
  /// If the time is shorter, both threads were handled together.
  public static let reviewMillisecondsMin: Int64 = 1_000

  /// Counts a thread queue, and estimates from the history of the thread queue.
  ///
  /// A review begins when its user has finished with another thread, and ends with their next
  /// prompt. So it is the time between sends in two threads, unless they paused.
  ///
  /// - Parameter history: entries of `HistorySubject.threadQueue`, the newest first.
  public init(of view: ThreadQueueView, history: [HistoryEntry]) {
    count = view.threads.count
    ready = view.ready.count
    locked = count - ready
    oldestQueuedAt = view.ready.map(\.queuedAt).min()
    let times = ThreadStatistics.reviews(in: history)
    reviews = times.count
    reviewMilliseconds =
      times.count < ThreadStatistics.reviewsMin ? nil : times.sorted()[times.count / 2]
  }

  /// The durations of the latest reviews.
  private static func reviews(in history: [HistoryEntry]) -> [Int64] {
    var times: [Int64] = []
    var next: (session: SessionID, milliseconds: Int64)?
    for entry in history {
      guard times.count < reviewsMax else { break }
      // A thread that an undo or a user restored was not answered.
      guard case .queued = entry.action, let session = entry.session,
        let milliseconds = entry.milliseconds
      else { continue }
      if let next, next.session != session {
        let duration = next.milliseconds - milliseconds
        if (reviewMillisecondsMin...reviewMillisecondsMax).contains(duration) {
          times.append(duration)
        }
      }
      next = (session, milliseconds)
    }
    return times
  }
}
