import DispatchAuthority
import QueueModel
import WireProtocol

/// Messages that other devices may be at work on.
extension Executor {
  /// A message that is reported as running, but that no agent here has. The device that should
  /// report its end is no longer the host, or lost its memory.
  func orphan(
    of session: SessionID, in workspace: Workspace
  ) -> (message: MessageID, run: Run)? {
    guard let session = sessions[session], session.work == .none,
      let head = try? workspace.messageQueue(session.session).messages.first(where: {
        $0.status == .running
      }), let run = head.run,
      // Its report may not be stored yet.
      !sessions.values.contains(where: {
        $0.past.lastEnded?.isReported(by: run, of: head.id) == true
      }),
      // A user may have moved it here while its agent works for another session.
      !sessions.values.contains(where: { $0.work.order?.message == head.id })
    else { return nil }
    return (head.id, run)
  }

  /// It may run elsewhere, and have been moved here meanwhile: the authority knows.
  mutating func seek(
    _ message: MessageID, _ run: Run, of session: SessionID, in workspace: Workspace,
    at context: EventContext
  ) -> [Action] {
    let sought = RunLookup(message: message, attempt: run.attempt, token: run.token)
    if let known = sessions[session]?.past.sought, known.isLost, known.isSame(as: sought) {
      return adopt(
        message, run, isTakenOver: known.isTakenOver, of: session, in: workspace, at: context)
    }
    let renewal = renewal(session, at: context)
    guard renewal.isEmpty else { return renewal }
    sessions[session]?.past.sought = sought
    return [ask(.other(.whereabouts(message)), for: session, at: context)]
  }

  mutating func whereaboutsAnswered(
    _ session: SessionID, _ answer: AuthorityAnswer, at context: EventContext
  ) {
    switch answer {
    case .takenOver:
      sessions[session]?.past.runsElsewhere = nil
      sessions[session]?.past.sought?.isLost = true
      sessions[session]?.past.sought?.isTakenOver = true
    case .held(let other, let milliseconds, let atWork):
      sessions[session]?.past.runsElsewhere = atWork.map {
        AttemptElsewhere(device: other, atWork: $0)
      }
      let wait = max(ExecutorTimes.retryMillisecondsMin, Int64(milliseconds))
      sessions[session]?.question.wait(Pause(until: context.now + wait, endsWithChange: true))
    case .unavailable:
      wait(session, endsWithChange: false, at: context)
    default:
      sessions[session]?.past.runsElsewhere = nil
      sessions[session]?.past.sought?.isLost = true
    }
  }

  /// The lease proves that no other device runs the session; so the outcome of the message is
  /// unknown.
  ///
  /// If the attempt was taken over, that is reported under the new lease, and a user decides. So it
  /// counts, whatever the old host reports later.
  private mutating func adopt(
    _ message: MessageID, _ run: Run, isTakenOver: Bool, of session: SessionID,
    in workspace: Workspace, at context: EventContext
  ) -> [Action] {
    guard let lease = sessions[session]?.lease.held else {
      return [claim(session, at: context)]
    }
    guard lease.token >= run.token else {
      // It ran in another queue, or the lease is no longer this device's: only a later one counts.
      sessions[session]?.lease.drop()
      wait(session, endsWithChange: false, at: context)
      return []
    }
    let order = StartOrder(
      session: session, message: message, attempt: run.attempt,
      token: isTakenOver ? lease.token : run.token, text: "")
    sessions[session]?.past.lastEnded = order
    guard !isTakenOver else { return [gaveUp(order, in: workspace, at: context)] }
    let note = "Its host did not report how it ended."
    return recover(
      order, .unknown, then: endOfTask(of: order, note, in: workspace, at: context), at: context)
  }

  /// A message was moved here, and may be at work in the session from which it came.
  mutating func movedHere(
    _ session: SessionID, _ attempt: AttemptElsewhere, at context: EventContext
  ) {
    sessions[session]?.past.runsElsewhere = attempt
    wait(session, endsWithChange: true, at: context)
  }

  /// Under a lease, only a message of the session itself waits for an attempt on another device.
  mutating func forgetWhatWasMoved(from session: SessionID, in workspace: Workspace) {
    guard let run = sessions[session], run.lease.held != nil,
      let message = run.past.runsElsewhere?.atWork.attempt.message,
      workspace.dispatchState(of: message)?.session != session
    else { return }
    sessions[session]?.past.runsElsewhere = nil
  }
}
