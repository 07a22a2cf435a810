import NIOCore
import ServerCore

/// Answers of buttons that the core has not settled yet.
struct PostedAnswers {
  /// The maximum number of open answers.
  static let countMax = 64

  private var promises: [PostedAnswerID: EventLoopPromise<PostedAnswerOutcome>] = [:]
  private var last: UInt64 = 0

  var isFull: Bool { promises.count >= PostedAnswers.countMax }

  /// Assigns an id to another answer; the promise completes when that is settled.
  mutating func add(_ promise: EventLoopPromise<PostedAnswerOutcome>) -> PostedAnswerID {
    last += 1
    let id = PostedAnswerID(rawValue: last)
    promises[id] = promise
    return id
  }

  mutating func settle(_ id: PostedAnswerID, _ outcome: PostedAnswerOutcome) {
    promises.removeValue(forKey: id)?.succeed(outcome)
  }

  /// No more answers will be decided; each may be posted again.
  mutating func giveUp() {
    for promise in promises.values { promise.succeed(.unavailable) }
    promises = [:]
  }
}
