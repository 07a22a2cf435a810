package import QueueModel
package import WireProtocol

/// A report about an agent's task on the device where it works.
package enum TaskEvent: Hashable, Sendable {
  /// It began to work on a prompt.
  case began
  /// The current work; nil if it has no name.
  case operation(String?)
  /// It asks its user at its own prompt; the request's name.
  case prompted(AgentAsk, RequestID)
  /// It continues, whatever it waited for.
  case resumed
  /// The progress.
  case progress(TodoProgress)
  /// It is done.
  case ended(TaskResult)
}

/// An answer that a user gave on this device and that the authority has not accepted or refused.
package struct PendingAnswer: Hashable, Sendable {
  package var answer: AnswerRequest
  /// When it was given, in milliseconds since 1970 by the device's own clock: only its age matters,
  /// and the best known time jumps when a server sends it.
  package var givenAt: Int64
  /// Whether it was sent once, so that it may have arrived and may count.
  package var wasSent: Bool

  package init(answer: AnswerRequest, givenAt: Int64, wasSent: Bool = false) {
    self.answer = answer
    self.givenAt = givenAt
    self.wasSent = wasSent
  }

  /// Whether it is too old to be sent.
  func isOld(wall: Int64) -> Bool { givenAt < wall - TaskMachine.answerMilliseconds }
}

/// The result of an answer.
package enum AnswerEnding: Hashable, Sendable {
  /// It is the one that counts.
  case taken
  /// Another one came first.
  case answeredAlready(Verdict, by: DeviceID)
  /// The request is no longer awaited.
  case notAwaited
  /// It could not be sent in time.
  case tooLate
}

/// Changes to the answers that are kept to be sent.
package struct AnswerChanges: Hashable, Sendable {
  package var kept: PendingAnswer?
  package var ended: RequestID?

  package init(kept: PendingAnswer? = nil, ended: RequestID? = nil) {
    self.kept = kept
    self.ended = ended
  }

  package var isEmpty: Bool { kept == nil && ended == nil }
}

/// The requests of this device's agents, the answers of its users, and the agents' progress that is
/// still to be written.
///
/// ```text
/// a request of an agent here   `PendingAsks`
///
/// an answer of a user here     kept ──connection──▶ asked ──taken, or another came first──▶ reported
///                               │  ▲                  │
///                               │  └── not now, lost ─┘
///                               └── 2 min old and never sent ──▶ reported as too late
///
/// a status of a task           written; if the store fails ──▶ unwritten ──every 2 s──▶ written
/// ```
struct TaskMachine: Sendable {
  typealias Action = ClientCore.Action

  /// After this time an answer that could not be sent is dropped, in milliseconds (N-4).
  static let answerMilliseconds: Int64 = 120_000
  /// The shortest time between two writes of mere progress of one task, in milliseconds (N-8).
  static let progressMilliseconds: Int64 = 15_000

  /// A question to the authority.
  enum Question: Hashable, Sendable {
    case verdict(VerdictRequest)
    case answer(AnswerRequest)
    /// Whether an answer that was sent is the one that counts.
    case fate(AnswerRequest)
  }

  /// The known progress of a task that is not written yet.
  struct Progress: Hashable, Sendable {
    /// When it was written last, on the clock that never steps.
    var writtenAt: Int64
    /// nil if there is nothing new.
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

  /// The wait before an answer that the authority could not store is asked about again.
  static let retryMilliseconds: Int64 = 2_000

  var pendingAsks = PendingAsks()
  /// Answers of this device that are on their way or wait for a connection.
  var answers: [RequestID: PendingAnswer] = [:]
  /// Verdicts that the registers may not show yet, the latest last; bounded.
  private(set) var knownVerdicts: [(request: RequestID, given: GivenVerdict)] = []
  /// When answers that the authority could not store are sent again; nil if there are none.
  var retryAt: Int64?
  /// Questions that were sent, by number.
  var questions: [UInt64: Question] = [:]
  var lastQuestion: UInt64 = 0
  var progress: [SessionID: Progress] = [:]
  /// Statuses that a failed store refused, by session; they would not be reported again.
  var unwritten: [SessionID: Unwritten] = [:]
  /// The connection over which the waiting questions were asked.
  var asked: TransportID?
  /// Events of its own agents for this device's user, the latest last; bounded.
  var news: [InboxNotification] = []
  /// Whether this device was paired and has not yet examined earlier merges.
  var looksForMerges = false
  /// The number of refused, invalid moves of tasks.
  var illegalMoves = 0
  /// When something must be done, on the clock that never steps.
  var deadline: Int64?

  /// The maximum number of events that are kept while the store is full.
  static let newsMax = 64
  /// The maximum number of remembered verdicts; more than the sessions that can await something at
  /// once.
  static let knownVerdictsMax = 1_000

  /// A request was answered: it is no longer shown, even before its host writes that. A restored
  /// server may have accepted another answer since; that one counts.
  mutating func noteVerdict(_ request: RequestID, _ given: GivenVerdict) {
    knownVerdicts.removeAll { $0.request == request }
    if knownVerdicts.count == TaskMachine.knownVerdictsMax { knownVerdicts.removeFirst() }
    knownVerdicts.append((request, given))
  }

  /// The known verdict on a request.
  func verdict(on request: RequestID) -> GivenVerdict? {
    knownVerdicts.last { $0.request == request }?.given
  }

  /// The next time at which something must be done, on the clock that never steps.
  ///
  /// - Parameter isAtWork: whether a session's task is at work. Progress of one that waits for its
  ///   user is written when it continues, however long that takes.
  func nextDeadline(now: Int64, wall: Int64, isAtWork: (SessionID) -> Bool) -> Int64? {
    let writes = progress.filter { $1.isPending && isAtWork($0) }.map {
      $1.writtenAt + TaskMachine.progressMilliseconds
    }
    // The wall clock may be set meanwhile, so it is checked now and then.
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
    try require(
      knownVerdicts.count <= TaskMachine.knownVerdictsMax,
      "\(knownVerdicts.count) verdicts are remembered")
    try require(
      Set(knownVerdicts.map(\.request)).count == knownVerdicts.count,
      "two verdicts on one request are remembered")
    try require(
      asked != nil || questions.isEmpty, "questions wait for answers without a connection")
  }
}

extension TaskStatus {
  /// The states to pass through to this one, itself included; each follows the previous one.
  func path(from current: TaskStatus.Kind) -> [TaskStatus] {
    if current.successors.contains(kind) { return [self] }
    let working = TaskStatus.processing(operation: nil)
    if kind == .idle { return working.path(from: current) + [.completed(.cancelled), .idle] }
    return [working, self]
  }
}

extension VerdictRequest {
  /// The outcome of a request with this answer.
  init(of answer: AnswerRequest) {
    self.init(session: answer.session, request: answer.request, closes: false)
  }
}
