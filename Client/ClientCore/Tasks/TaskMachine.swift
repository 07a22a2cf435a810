package import QueueModel
package import WireProtocol

/// What is heard of an agent's task on the device where it works.
package enum TaskEvent: Hashable, Sendable {
  /// It began to work on a prompt.
  case began
  /// It does this now; nil: nothing that has a name.
  case operation(String?)
  /// It asks its person at its own prompt; the request's name.
  case prompted(AgentAsk, RequestID)
  /// It goes on, whatever it waited for.
  case wentOn
  /// It is so far.
  case progress(TodoProgress)
  /// It is done.
  case ended(TaskResult)
}

/// An answer that a person gave on this device and that the authority has not taken or refused.
package struct PendingAnswer: Hashable, Sendable {
  package var answer: AnswerRequest
  /// When it was given, in milliseconds since 1970 by the device's own clock: its age alone counts,
  /// and the best known time jumps if a server tells it.
  package var givenAt: Int64
  /// Whether it was on its way once, so that it may have arrived, and be the one that counts.
  package var wasSent: Bool

  package init(answer: AnswerRequest, givenAt: Int64, wasSent: Bool = false) {
    self.answer = answer
    self.givenAt = givenAt
    self.wasSent = wasSent
  }

  /// Whether it is too old to be sent.
  func isOld(wall: Int64) -> Bool { givenAt < wall - TaskMachine.answerMilliseconds }
}

/// What became of an answer.
package enum AnswerEnding: Hashable, Sendable {
  /// It is the one that counts.
  case taken
  /// Another one came first.
  case answeredAlready(Verdict, by: DeviceID)
  /// Nobody waits for it any more.
  case notAwaited
  /// It could not be sent in time.
  case tooLate
}

/// What changed of the answers that are kept to be sent.
package struct AnswerChanges: Hashable, Sendable {
  package var kept: PendingAnswer?
  package var ended: RequestID?

  package init(kept: PendingAnswer? = nil, ended: RequestID? = nil) {
    self.kept = kept
    self.ended = ended
  }

  package var isEmpty: Bool { kept == nil && ended == nil }
}

/// What this device's agents wait for, what people answered here, and what of the agents' progress
/// is still to be written.
///
/// ```text
/// a request of an agent here   `PendingAsks`
///
/// an answer of a person here   kept ──connection──▶ asked ──taken, or another came first──▶ told
///                               │  ▲                  │
///                               │  └── not now, lost ─┘
///                               └── 2 min old and never sent ──▶ told that it is too late
///
/// a status of a task           written; if the store fails ──▶ unwritten ──every 2 s──▶ written
/// ```
struct TaskMachine: Sendable {
  typealias Action = ClientCore.Action

  /// An answer that could not be sent for so long is dropped, in milliseconds (N-4).
  static let answerMilliseconds: Int64 = 120_000
  /// Mere progress of one task is written so often at most, in milliseconds (N-8).
  static let progressMilliseconds: Int64 = 15_000

  /// A question to the authority.
  enum Question: Hashable, Sendable {
    case verdict(VerdictRequest)
    case answer(AnswerRequest)
    /// Whether an answer that was sent is the one that counts.
    case fate(AnswerRequest)
  }

  /// What is known of a task's progress and not written yet.
  struct Progress: Hashable, Sendable {
    /// When it was written last, on the clock that never steps.
    var writtenAt: Int64
    /// nil: nothing new.
    var operation: String??
    var todo: TodoProgress?

    var isPending: Bool { operation != nil || todo != nil }
  }

  /// A status that is still to be written.
  struct Unwritten: Hashable, Sendable {
    var status: TaskStatus
    var todo: TodoProgress?
    var outcome: AskOutcome?
    /// When it is tried again, on the clock that never steps.
    var retryAt: Int64
  }

  /// An answer that the authority could not store is asked about again after so long.
  static let retryMilliseconds: Int64 = 2_000

  var pendingAsks = PendingAsks()
  /// Answers of this device that are under way or wait for a connection.
  var answers: [RequestID: PendingAnswer] = [:]
  /// Verdicts that the registers may not show yet, the latest last; bounded.
  private(set) var told: [(request: RequestID, given: GivenVerdict)] = []
  /// When answers are sent again that the authority could not store; nil if there are none.
  var retryAt: Int64?
  /// Questions that were sent, by number.
  var questions: [UInt64: Question] = [:]
  var lastQuestion: UInt64 = 0
  var progress: [SessionID: Progress] = [:]
  /// What a store that failed did not take, by session; nobody else would say it again.
  var unwritten: [SessionID: Unwritten] = [:]
  /// The connection over which what waits was asked.
  var asked: TransportID?
  /// What this device's person is to be told of its own agents, the latest last; bounded.
  var news: [InboxNotification] = []
  /// Moves of tasks that were refused because they are none.
  var illegalMoves = 0
  /// When something is due, on the clock that never steps.
  var deadline: Int64?

  /// News that are kept while the store takes none.
  static let newsMax = 64
  /// Verdicts that are remembered; as many sessions as may await something at once are fewer.
  static let toldMax = 1_000

  /// A request was answered: it is shown no longer, whenever its host says so. A server that was put
  /// back may have taken another answer since; that one counts.
  mutating func noteTold(_ request: RequestID, _ given: GivenVerdict) {
    told.removeAll { $0.request == request }
    if told.count == TaskMachine.toldMax { told.removeFirst() }
    told.append((request, given))
  }

  /// What is known to have become of a request.
  func verdict(on request: RequestID) -> GivenVerdict? {
    told.last { $0.request == request }?.given
  }

  /// The next time at which something is due, on the clock that never steps.
  ///
  /// - Parameter isAtWork: whether a session's task is at work. Progress of one that waits for its
  ///   person is written when it goes on, however long that takes.
  func nextDeadline(now: Int64, wall: Int64, isAtWork: (SessionID) -> Bool) -> Int64? {
    let writes = progress.filter { $1.isPending && isAtWork($0) }.map {
      $1.writtenAt + TaskMachine.progressMilliseconds
    }
    // The wall clock may be set meanwhile, so it is looked at again now and then.
    let drops = answers.values.filter { !$0.wasSent }.map { answer in
      now + min(max(0, answer.givenAt + TaskMachine.answerMilliseconds - wall), 10_000)
    }
    let retries = unwritten.values.map(\.retryAt)
    return ([pendingAsks.deadline, retryAt].compactMap { $0 } + writes + drops + retries).min()
  }
}

extension TaskMachine {
  /// Checks the machine against itself.
  ///
  /// - Throws: `InvariantViolation` naming the first contradiction.
  func checkInvariants() throws(InvariantViolation) {
    func require(_ holds: Bool, _ reason: String) throws(InvariantViolation) {
      if !holds { throw InvariantViolation(reason: reason) }
    }
    try pendingAsks.checkInvariants()
    for (request, pending) in answers {
      try require(
        pending.answer.request == request, "an answer to another request is kept for \(request)")
    }
    try require(told.count <= TaskMachine.toldMax, "\(told.count) verdicts are remembered")
    try require(
      Set(told.map(\.request)).count == told.count, "two verdicts on one request are remembered")
    try require(
      asked != nil || questions.isEmpty, "questions wait for answers without a connection")
  }
}

extension TaskStatus {
  /// The states to go through to this one, itself included; each follows the one before.
  func path(from current: TaskStatus.Kind) -> [TaskStatus] {
    if current.successors.contains(kind) { return [self] }
    let working = TaskStatus.processing(operation: nil)
    if kind == .idle { return working.path(from: current) + [.completed(.cancelled), .idle] }
    return [working, self]
  }
}

extension VerdictRequest {
  /// What became of the request that was answered so.
  init(of answer: AnswerRequest) {
    self.init(session: answer.session, request: answer.request, closes: false)
  }
}
