package import QueueModel

/// Why sessions wait: what a person is told, and what the executor holds itself to.
extension Executor {
  /// Why nothing of a session starts, as `step` sees it; nil if this device is not the host,
  /// nothing waits, an agent works, or the queue itself says why: it is paused, or waits for a
  /// decision.
  ///
  /// - Complexity: O(messages of the session + sessions with a run).
  package func obstacle(
    of session: SessionID, in workspace: Workspace, at context: EventContext
  ) -> StartObstacle? {
    let run = sessions[session]
    guard workspace.host(of: session) == .some(.some(device)), run?.work.order == nil,
      let first = workspace.firstMessage(of: session),
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
    guard !state.queueStands else { return nil }
    if let other = sessions.values.first(where: { $0.work.order?.message == first }) {
      return .movedWhileRunning(other.session)
    }
    if run?.past.runsElsewhere != nil { return .runsElsewhere }
    if let earliest = state.earliest, earliest > context.wall { return .notBefore(earliest) }
    let wait = run?.times.backoffUntil ?? run?.question.pause?.until
    if let wait, wait > context.now { return .triesAgain(context.wall + wait - context.now) }
    return .unanswered
  }

  /// The sessions that would run here if a person at this device let them.
  func unconsented(in workspace: Workspace) -> [SessionID] {
    workspace.sessions().map(\.id).filter {
      lacksConsent($0) && workspace.host(of: $0) == .some(.some(device))
    }
  }

  /// Checks that nothing that may begin here stands still: whatever waits has a time at which it is
  /// looked at again, and the driver wakes it then. To be called behind every event and what
  /// follows from it.
  ///
  /// - Parameters:
  ///   - waiting: those of `sessionsWithWork`.
  ///   - deadline: when the driver looks again without any event.
  /// - Throws: `InvariantViolation` naming the first session that waits for nothing.
  /// - Complexity: O(waiting); if one waits for nothing, also O(its messages).
  func checkLiveness(
    of waiting: [SessionID], in workspace: Workspace, deadline: Int64?, at context: EventContext
  ) throws(InvariantViolation) {
    guard !isDraining else { return }
    for session in waiting where sessions[session]?.work.order == nil {
      // What is looked at in time may begin or not; to find out which takes the longest.
      let look = nextLook(at: session, at: context)
      if let look, let deadline, deadline <= look { continue }
      let mayBegin =
        mayStart(in: session) && !busy.contains(session) && candidate(in: session, workspace) != nil
      guard mayBegin || orphan(of: session, in: workspace) != nil else { continue }
      guard let look else {
        throw InvariantViolation(reason: "session \(session) may begin and waits for nothing")
      }
      throw InvariantViolation(
        reason: "session \(session) may begin at \(look), and is looked at "
          + (deadline.map { "at \($0)" } ?? "no more"))
    }
  }

  /// The sessions of this device whose first message may begin as far as the queues go, or in whose queues
  /// one is said to run: `checkLiveness` finds nothing in others.
  ///
  /// - Complexity: O(sessions + messages of those whose host this device is).
  func sessionsWithWork(in workspace: Workspace) -> [SessionID] {
    workspace.sessions(hostedBy: device).filter { session in
      workspace.startable(in: session) != nil
        || (try? workspace.messageQueue(session))?.messages.contains { $0.status == .running }
          == true
    }
  }

  /// When a session is looked at again whose next message may begin; nil: never.
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
      run.times.backoffUntil,
      run.next.overdueSince.map { $0 + ExecutorTimes.overdueMilliseconds },
    ]
    return times.compactMap { $0 }.min()
  }
}
