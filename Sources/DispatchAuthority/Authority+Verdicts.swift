import QueueModel
import WireProtocol

/// Answers to the requests of tasks: each request has one, the first to arrive.
extension Authority {
  /// How long a verdict is kept, in milliseconds: 7 days.
  package static let verdictMilliseconds: Int64 = 7 * 24 * 3_600 * 1_000

  /// A device answers.
  mutating func take(
    _ answer: AnswerRequest, from holder: LeaseHolder, _ workspace: Workspace, wall: Int64
  ) -> (AuthorityAnswer, AuthorityRecords) {
    if let known = verdicts[answer.request] {
      if known.given.verdict == .closed { return (.notAwaited, AuthorityRecords()) }
      let given = answer.given(by: holder.device)
      if known.given == given { return (.taken, AuthorityRecords()) }
      return (
        .answeredAlready(known.given.verdict, by: known.given.device), AuthorityRecords()
      )
    }
    guard let request = workspace.task(of: answer.session)?.request(answer.request),
      answer.verdict.answers(request), request.expiresAt.map({ wall < $0 }) ?? true,
      // A device may only allow what it showed.
      answer.verdict != .allowed || answer.digest == request.digest,
      !isStopping(answer.session, workspace)
    else { return (.notAwaited, AuthorityRecords()) }
    return (
      .taken,
      note(
        VerdictRecord(
          request: answer.request, session: answer.session,
          given: answer.given(by: holder.device), milliseconds: wall))
    )
  }

  /// A host asks for the verdict of a request, or stops waiting for it.
  mutating func tell(
    _ question: VerdictRequest, to holder: LeaseHolder, _ workspace: Workspace, wall: Int64
  ) -> (AuthorityAnswer, AuthorityRecords) {
    if let known = verdicts[question.request] {
      return (.verdict(known.given), AuthorityRecords())
    }
    // A request of a deleted session is closed as well: the session may come back.
    let task =
      question.closes
      ? workspace.keptTask(of: question.session) : workspace.taskRecord(of: question.session)
    guard task?.state.awaits(question.request) == true else {
      return (.notAwaited, AuthorityRecords())
    }
    // Only the device that raised it may close it.
    guard question.closes, workspace.taskDevice(of: question.session) == holder.device else {
      return (.verdict(nil), AuthorityRecords())
    }
    let closed = GivenVerdict(verdict: .closed, device: holder.device)
    let records = note(
      VerdictRecord(
        request: question.request, session: question.session, given: closed, milliseconds: wall))
    return (.verdict(closed), records)
  }

  /// Whether a user stopped the agent of a session: it gets no answers any more, even if its host has not heard of
  /// the stop.
  private mutating func isStopping(_ session: SessionID, _ workspace: Workspace) -> Bool {
    attemptsAtWork(in: session, workspace).contains {
      $0.intervention == .stop || Withdrawal.stops($0.attempt, at: $0.message, in: workspace)
    }
  }

  private mutating func note(_ record: VerdictRecord) -> AuthorityRecords {
    let limit = record.milliseconds - Authority.verdictMilliseconds
    verdicts = verdicts.filter { $0.value.milliseconds >= limit }
    verdicts[record.request] = record
    return AuthorityRecords(verdicts: [record])
  }
}
