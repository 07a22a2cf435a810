package import QueueModel

/// Why sessions wait: the reasons for users, and the executor's own checks.
extension Executor {
  /// Why no message of a session starts, as `step` sees it. nil if this device is not the host,
  /// nothing waits, or an agent works. nil also if the queue itself shows the reason: it is paused,
  /// or waits for a decision.
  ///
  /// - Complexity: O(messages of the session + sessions with a run).
  package func obstacle(
    of session: SessionID, in workspace: Workspace, at context: EventContext
  ) -> StartObstacle? {
    let run = sessions[session]
    let line = queueLine(of: session, workspace, at: context)
    guard workspace.host(of: session) == .some(.some(device)), run?.work.order == nil,
      let first = line.first ?? workspace.firstMessage(of: session),
      let state = workspace.dispatchState(of: first), !state.runState.isInFlight
    else { return nil }
    if isDraining { return .draining }
    switch mode(of: session) {
    case .off: return lacksConsent(session) ? .consentMissing : .noAgent
    case .gated where !opened.contains(session):
      return busy.contains(session) ? .agentBusy : .agentNotAsking
    case .free, .gated: break
    }
    if busy.contains(session) { return .agentBusy }
    if state.isIncomplete { return .changeIncomplete }
    if state.isMerged { return .merged }
    if state.isBlank { return .blank }
    guard !state.queueStands else { return nil }
    if let other = sessions.values.first(where: { $0.work.order?.message == first }) {
      return .movedWhileRunning(other.session)
    }
    if run?.past.runsElsewhere != nil { return .runsElsewhere }
    if line.first == nil, line.next == nil, let needy = line.needy,
      let need = workspace.unmetNeeds(of: needy).mostPressing
    {
      return .needs(need)
    }
    if let due = line.first == nil ? line.next ?? state.later : state.earliest, due > context.wall {
      return .notBefore(due)
    }
    let wait = run?.times.backoffUntil ?? run?.question.pause?.until
    if let wait, wait > context.now { return .triesAgain(context.wall + wait - context.now) }
    return .unanswered
  }

  /// The sessions that would run here if a user at this device allowed it.
  func unconsented(in workspace: Workspace) -> [SessionID] {
    workspace.sessions().map(\.id).filter {
      lacksConsent($0) && workspace.host(of: $0) == .some(.some(device))
    }
  }

  /// Checks that nothing that may start here is stuck: whatever waits has a time for its next
  /// check, and the driver wakes it then. Call it after every event and its consequences.
  ///
  /// - Parameters:
  ///   - waiting: those of `sessionsWithWork`.
  ///   - deadline: when the driver calls again without an event.
  /// - Throws: `InvariantViolation` naming the first stuck session.
  /// - Complexity: O(waiting); if one is stuck, also O(its messages).
  func checkLiveness(
    of waiting: [SessionID], in workspace: Workspace, deadline: Int64?, at context: EventContext
  ) throws(InvariantViolation) {
    guard !isDraining else { return }
    for session in waiting where sessions[session]?.work.order == nil {
      // A session that is checked in time is not stuck, whether or not it starts. Whether it may
      // start is examined last, because that takes longest.
      let look = nextLook(at: session, at: context)
      if let look, let deadline, deadline <= look { continue }
      let line = queueLine(of: session, workspace, at: context)
      let mayBegin =
        mayStart(in: session) && !busy.contains(session)
        && (candidate(in: session, of: line, workspace) != nil || line.next != nil)
      guard mayBegin || orphan(of: session, in: workspace) != nil else { continue }
      guard let look else {
        throw InvariantViolation(reason: "session \(session) may begin and waits for nothing")
      }
      throw InvariantViolation(
        reason: "session \(session) may begin at \(look), and is looked at "
          + (deadline.map { "at \($0)" } ?? "no more"))
    }
  }

  /// The sessions of this device that `checkLiveness` has to examine: their queues allow the first
  /// message to start, or report one as running.
  ///
  /// - Complexity: O(sessions + messages of those whose host this device is).
  func sessionsWithWork(in workspace: Workspace) -> [SessionID] {
    workspace.sessions(hostedBy: device).filter { session in
      QueueLine.comes(to: session, in: workspace)
        || (try? workspace.messageQueue(session))?.messages.contains { $0.status == .running }
          == true
    }
  }

  /// When a session with a message that may start is checked again; nil: never.
  private func nextLook(at session: SessionID, at context: EventContext) -> Int64? {
    guard let run = sessions[session] else { return nil }
    switch run.question {
    case .asking(let asking, _): return asking.repeatAt
    case .paused(let pause): return pause.until
    case .silent: break
    }
    let times = [
      run.times.wakeAtWall.map {
        context.now + min(max(0, $0 - context.wall), ExecutorTimes.wallLookMilliseconds)
      },
      run.times.backoffUntil, run.times.passedOver.values.min(),
      run.next.overdueSince.map { $0 + ExecutorTimes.overdueMilliseconds },
    ]
    return times.compactMap { $0 }.min()
  }
}
