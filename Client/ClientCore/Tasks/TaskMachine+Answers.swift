import QueueModel
import WireProtocol

/// The answers of users at this device, until the authority has accepted or refused them.
extension TaskMachine {
  /// A user answers a request.
  ///
  /// - Returns: the result if it is known at once; nil if the authority is or will be asked, and
  ///   `.answerEnded` comes later.
  mutating func answerGiven(
    _ answer: AnswerRequest, with execution: ExecutionMachine,
    over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> (ending: AnswerEnding?, actions: [Action]) {
    // The same answer is on its way already: this is a second tap of the same button.
    if self.answers[answer.request]?.answer == answer { return (nil, []) }
    if let given = verdict(on: answer.request) {
      let isOwn = given == answer.given(by: connection.replica.record.device)
      if isOwn { return (.taken, []) }
      return (
        given.verdict == .closed
          ? .notAwaited : .answeredAlready(given.verdict, by: given.device), []
      )
    }
    let task = connection.replica.workspace.task(of: answer.session)
    guard let request = task?.request(answer.request), answer.verdict.answers(request),
      answer.verdict != .allowed || answer.digest == request.digest,
      !Withdrawal.stopsAgent(of: answer.session, in: connection.replica.workspace)
    else {
      return (knownEnding(of: answer.request, task), [])
    }
    let pending = PendingAnswer(
      answer: answer, givenAt: context.wall,
      wasSent: connection.hasServer && connection.ready != nil)
    try commit(AnswerChanges(kept: pending), connection.replica.record, store: store)
    self.answers[answer.request] = pending
    return (nil, sendAnswer(answer, with: execution, over: &connection, at: context, store: store))
  }

  /// The register's outcome of a request that is not awaited.
  private func knownEnding(of request: RequestID, _ task: TaskState?) -> AnswerEnding {
    guard let outcome = task?.outcome, outcome.request == request, let device = outcome.device,
      let verdict = Verdict.allCases.first(where: { $0.ending == outcome.ending })
    else { return .notAwaited }
    return .answeredAlready(verdict, by: device)
  }

  mutating func sendAnswer(
    _ answer: AnswerRequest, with execution: ExecutionMachine,
    over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    ask(
      .answer(answer), as: .answer(answer), with: execution, over: &connection, at: context,
      store: store)
  }

  /// An answer that is too old to be sent may have arrived before: asks which one counts.
  mutating func askFate(
    of answer: AnswerRequest, with execution: ExecutionMachine,
    over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    ask(
      .verdict(VerdictRequest(of: answer)), as: .fate(answer), with: execution, over: &connection,
      at: context, store: store)
  }

  mutating func fateReceived(
    _ sent: AnswerRequest, _ answer: AuthorityAnswer, over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    guard let pending = self.answers[sent.request], pending.answer == sent else { return [] }
    switch answer {
    case .verdict(let given?):
      if given == sent.given(by: connection.replica.record.device) {
        return answerReceived(sent, .taken, over: &connection, at: context, store: store)
      }
      return end(
        pending,
        given.verdict == .closed ? .notAwaited : .answeredAlready(given.verdict, by: given.device),
        connection, store: store)
    case .verdict(nil):
      return end(pending, .tooLate, connection, store: store)
    case .notAwaited:
      return end(pending, .notAwaited, connection, store: store)
    default:
      self.retryAt = context.now + TaskMachine.retryMilliseconds
      return []
    }
  }

  mutating func answerReceived(
    _ given: AnswerRequest, _ answer: AuthorityAnswer, over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    if case .taken = answer {
      // The server notifies all other devices; here the response has the verdict.
      let verdict = given.given(by: connection.replica.record.device)
      connection.authority.verdicts.append((given.request, verdict))
      noteVerdict(given.request, verdict)
    }
    guard let pending = self.answers[given.request] else { return [] }
    guard pending.answer == given else {
      // The user has given another answer since, and that one's response is on its way.
      return answer == .taken ? [.answerEnded(given, .taken)] : []
    }
    switch answer {
    case .taken:
      return end(pending, .taken, connection, store: store)
    case .answeredAlready(let verdict, let device):
      return end(pending, .answeredAlready(verdict, by: device), connection, store: store)
    case .notAwaited:
      return end(pending, .notAwaited, connection, store: store)
    default:
      // Not now: it is asked again, here or over the next connection, or dropped in time.
      self.retryAt = context.now + TaskMachine.retryMilliseconds
      return []
    }
  }

  private mutating func end(
    _ pending: PendingAnswer, _ ending: AnswerEnding, _ connection: ConnectionMachine,
    store: some ReplicaStore
  ) -> [Action] {
    let request = pending.answer.request
    self.answers[request] = nil
    // An answer that cannot be removed now is sent or dropped once more later, which is safe.
    try? commit(AnswerChanges(ended: request), connection.replica.record, store: store)
    return [.answerEnded(pending.answer, ending)]
  }

  /// An answer is on its way. If a full disk cannot record that, only a restart forgets it.
  mutating func noteSent(
    _ answer: AnswerRequest, _ connection: ConnectionMachine, store: some ReplicaStore
  ) {
    guard var pending = self.answers[answer.request], pending.answer == answer, !pending.wasSent
    else { return }
    pending.wasSent = true
    self.answers[answer.request] = pending
    // An answer that seems unsent is dropped in time, and its user notified that it was too late.
    try? commit(
      AnswerChanges(kept: pending), waitsForDisk: true, connection.replica.record, store: store)
  }

  private func commit(
    _ changes: AnswerChanges, waitsForDisk: Bool = false, _ record: ReplicaRecord,
    store: some ReplicaStore
  ) throws(Replica.Fault) {
    var transaction = StoreTransaction(record: record)
    // Before an answer is reported as waiting, it is on the disk; the outcome of an answer is on
    // the authority's disk.
    transaction.waitsForDisk = waitsForDisk
    transaction.answers = changes
    do {
      try store.commit(transaction)
    } catch {
      throw .store(error)
    }
  }

  /// An answer that was sent may be the one that counts, and its response lost.
  mutating func dropOldAnswers(
    over connection: inout ConnectionMachine, at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    pendingAnswers
      .filter { $0.isOld(wall: context.wall) && !$0.wasSent }
      .flatMap { end($0, .tooLate, connection, store: store) }
  }
}
