import QueueModel
package import WireProtocol

/// The answers that people give on this device, until the authority has taken or refused them.
extension ClientCore {
  /// A person answers a request.
  ///
  /// - Returns: the end where it is known at once; nil where the authority is or will be asked, and
  ///   `.answerEnded` comes later.
  package mutating func answerGiven(
    _ answer: AnswerRequest, at occasion: Occasion, store: some ReplicaStore
  ) throws(Replica.Fault) -> (ending: AnswerEnding?, actions: [Action]) {
    // The same answer is under way already: a second tap of the same button.
    if tasks.answers[answer.request]?.answer == answer { return (nil, []) }
    if let given = tasks.verdict(on: answer.request) {
      let isOwn =
        given.device == replica.record.device && given.verdict == answer.verdict
        && given.text == answer.text
      if isOwn { return (.taken, []) }
      return (
        given.verdict == .closed
          ? .notAwaited : .answeredAlready(given.verdict, by: given.device), []
      )
    }
    let task = replica.workspace.task(of: answer.session)
    guard let status = task?.status, status.request == answer.request,
      answer.verdict.answers(status)
    else { return (knownEnding(of: answer.request, task), []) }
    let pending = PendingAnswer(
      answer: answer, givenAt: occasion.wall, wasSent: hasServer && canAskServer)
    try commit(AnswerChanges(kept: pending), store: store)
    tasks.answers[answer.request] = pending
    return (nil, sendAnswer(answer, at: occasion, store: store))
  }

  /// What the register says became of a request that is not awaited.
  private func knownEnding(of request: RequestID, _ task: TaskState?) -> AnswerEnding {
    guard let outcome = task?.outcome, outcome.request == request, let device = outcome.device,
      let verdict = Verdict.allCases.first(where: { $0.ending == outcome.ending })
    else { return .notAwaited }
    return .answeredAlready(verdict, by: device)
  }

  mutating func sendAnswer(
    _ answer: AnswerRequest, at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    ask(.answer(answer), as: .answer(answer), at: occasion, store: store)
  }

  /// An answer that is too old to be sent may have arrived before: asks what counts.
  mutating func askFate(
    of answer: AnswerRequest, at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    ask(.verdict(VerdictRequest(of: answer)), as: .fate(answer), at: occasion, store: store)
  }

  mutating func fateTold(
    _ sent: AnswerRequest, _ answer: AuthorityAnswer, at occasion: Occasion,
    store: some ReplicaStore
  ) -> [Action] {
    guard let pending = tasks.answers[sent.request], pending.answer == sent else { return [] }
    switch answer {
    case .verdict(let given?):
      let own = GivenVerdict(
        verdict: sent.verdict, device: replica.record.device, text: sent.text)
      if given == own { return answerTold(sent, .taken, at: occasion, store: store) }
      return end(
        pending,
        given.verdict == .closed ? .notAwaited : .answeredAlready(given.verdict, by: given.device),
        store: store)
    case .verdict(nil):
      return end(pending, .tooLate, store: store)
    case .notAwaited:
      return end(pending, .notAwaited, store: store)
    default:
      tasks.retryAt = occasion.now + TaskDesk.retryMilliseconds
      return []
    }
  }

  mutating func answerTold(
    _ given: AnswerRequest, _ answer: AuthorityAnswer, at occasion: Occasion,
    store: some ReplicaStore
  ) -> [Action] {
    if case .taken = answer {
      // The server tells everybody else; here the response says it.
      let verdict = GivenVerdict(
        verdict: given.verdict, device: replica.record.device, text: given.text)
      tasks.verdicts.append((given.request, verdict))
      tasks.noteTold(given.request, verdict)
    }
    guard let pending = tasks.answers[given.request] else { return [] }
    guard pending.answer == given else {
      // The person has given another answer since, and that one's response is on its way.
      return answer == .taken ? [.answerEnded(given, .taken)] : []
    }
    switch answer {
    case .taken:
      return end(pending, .taken, store: store)
    case .answeredAlready(let verdict, let device):
      return end(pending, .answeredAlready(verdict, by: device), store: store)
    case .notAwaited:
      return end(pending, .notAwaited, store: store)
    default:
      // Not now: it is asked again, here or over the next connection, or dropped in time.
      tasks.retryAt = occasion.now + TaskDesk.retryMilliseconds
      return []
    }
  }

  private mutating func end(
    _ pending: PendingAnswer, _ ending: AnswerEnding, store: some ReplicaStore
  ) -> [Action] {
    let request = pending.answer.request
    tasks.answers[request] = nil
    // What cannot be forgotten now is sent or dropped once more later, which is harmless.
    try? commit(AnswerChanges(ended: request), store: store)
    return [.answerEnded(pending.answer, ending)]
  }

  /// An answer is on its way. Where a full disk does not take that, only a restart forgets it.
  mutating func noteSent(_ answer: AnswerRequest, store: some ReplicaStore) {
    guard var pending = tasks.answers[answer.request], pending.answer == answer, !pending.wasSent
    else { return }
    pending.wasSent = true
    tasks.answers[answer.request] = pending
    try? commit(AnswerChanges(kept: pending), store: store)
  }

  private func commit(
    _ changes: AnswerChanges, store: some ReplicaStore
  ) throws(Replica.Fault) {
    var transaction = StoreTransaction(record: replica.record)
    transaction.answers = changes
    do {
      try store.commit(transaction)
    } catch {
      throw .store(error)
    }
  }

  /// One that was sent may be the one that counts, whose response was lost.
  mutating func dropOldAnswers(
    at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    pendingAnswers
      .filter { $0.isOld(wall: occasion.wall) && !$0.wasSent }
      .flatMap { end($0, .tooLate, store: store) }
  }
}
