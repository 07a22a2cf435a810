import DispatchAuthority
import QueueModel
import WireProtocol

/// The next step of a session.
extension Executor {
  /// Examines a session, and asks, starts or stops.
  mutating func step(
    _ session: SessionID, in workspace: Workspace, at context: EventContext
  ) -> [Action] {
    guard let run = sessions[session] else { return [] }
    var actions: [Action] = []
    forgetPastTimes(of: session, at: context)
    forgetWhatWasMoved(from: session, in: workspace)
    if !isAlone, let lease = run.lease.held,
      context.now - lease.provenAt >= LeaseTimes.selfStopMilliseconds
    {
      // The lease was not confirmed for a long time, so nothing may start under it before the next
      // confirmation.
      lapse(session)
      sessions[session]?.question.end()
    }
    if let reason = reasonToStop(session, in: workspace), let stop = stop(session, because: reason)
    {
      actions.append(stop)
    }
    if isDraining, sessions[session]?.work == SessionRun.Work.none,
      sessions[session]?.question.asking?.isDispatch == false
    {
      // Its possible results are no longer wanted.
      sessions[session]?.question.end()
    }
    switch sessions[session]?.question {
    case .asking(let asking, _):
      guard context.now >= asking.repeatAt else { return actions }
      // The same question with the same number: asking twice is safe.
      sessions[session]?.question.sendAgain(repeats: asking.repeats + 1, at: context.now)
      return actions + [.ask(asking.request, id: asking.id)]
    case .paused(let pause):
      guard context.now >= pause.until else { return actions + renewal(session, at: context) }
      sessions[session]?.question.endPause()
    case .silent, nil:
      break
    }
    return actions + next(session, in: workspace, at: context)
  }

  /// Why an agent at work must stop. A silent server is a reason only if the session's setting
  /// requires it. Until the attempt has ended or was taken over, no other device gets the session.
  private func reasonToStop(_ session: SessionID, in workspace: Workspace) -> StopReason? {
    if isDeleted(session, in: workspace) { return .deleted }
    if isStopped(session, in: workspace) { return .person }
    switch sessions[session]?.lease {
    case .some(.none): return .fenced
    case .lapsed: return workspace.session(session)?.onLostServer == .stop ? .serverLost : nil
    case .held, nil: return nil
    }
  }

  /// Whether the running message was deleted with its session; not if it was moved elsewhere
  /// before.
  private func isDeleted(_ session: SessionID, in workspace: Workspace) -> Bool {
    guard let order = sessions[session]?.work.order, workspace.host(of: session) == nil else {
      return false
    }
    return workspace.dispatchState(of: order.message)?.stands != true
  }

  /// A time that has passed wakes nothing again, whatever else blocks the session.
  private mutating func forgetPastTimes(of session: SessionID, at context: EventContext) {
    guard let run = sessions[session] else { return }
    if let time = run.times.backoffUntil, time <= context.now {
      sessions[session]?.times.backoffUntil = nil
    }
    if let time = run.times.wakeAtWall, time <= context.wall {
      sessions[session]?.times.wakeAtWall = nil
    }
    sessions[session]?.times.passedOver = run.times.passedOver.filter { $0.value > context.now }
  }

  private mutating func next(
    _ session: SessionID, in workspace: Workspace, at context: EventContext
  ) -> [Action] {
    guard let run = sessions[session] else { return [] }
    if run.work != .none { return renewal(session, at: context) }
    let isHost = workspace.host(of: session) == .some(.some(device))
    let mayRun = isHost && !isDraining && mayStart(in: session) && !busy.contains(session)
    let line = mayRun ? queueLine(of: session, workspace, at: context) : nil
    sessions[session]?.times.wakeAtWall = line?.next
    sessions[session]?.times.isInNeed = line?.needy != nil
    guard let line, let head = candidate(in: session, of: line, workspace) else {
      sessions[session]?.next.setOverdue(since: nil)
      // A message that comes into line is requested by name. The two clocks may differ, and a
      // message that is granted too early would have to be returned.
      let withdrawal = line?.isAwaited == false ? [] : withdraw(session)
      if isHost, !isDraining, let lost = orphan(of: session, in: workspace) {
        return withdrawal + seek(lost.message, lost.run, of: session, in: workspace, at: context)
      }
      return withdrawal + rest(session, isHost: isHost, mayRun: mayRun, at: context)
    }
    sessions[session]?.times.idleSince = nil
    guard let lease = run.lease.held else {
      return [claim(session, at: context)]
    }
    if let earliest = head.state.earliest, earliest > context.wall {
      sessions[session]?.next.setOverdue(since: nil)
      sessions[session]?.times.wakeAtWall = min(line.next ?? earliest, earliest)
      return renewal(session, at: context)
    }
    guard sessions[session]?.times.backoffUntil == nil else {
      sessions[session]?.next.setOverdue(since: nil)
      return renewal(session, at: context)
    }
    let renewal = renewal(session, at: context)
    guard renewal.isEmpty else { return renewal }
    if run.next.isWaiting(under: lease), head.state.due == nil, !line.isAwaited {
      let since = run.next.overdueSince ?? context.now
      sessions[session]?.next.setOverdue(since: since)
      guard context.now - since >= ExecutorTimes.overdueMilliseconds else { return [] }
    }
    // For the authority, this ends the request for the next message.
    sessions[session]?.next = .none
    let request = DispatchRequest(
      session: session, message: head.message, token: lease.token, attempt: head.attempt,
      tags: head.state.tags, content: DispatchRequest.contentDigest(head.state.text))
    return [ask(.dispatch(request, text: head.state.text), for: session, at: context)]
  }

  /// Nothing is waiting to run: the lease is kept for a while, so that the next message starts at
  /// once, and is then released.
  private mutating func rest(
    _ session: SessionID, isHost: Bool, mayRun: Bool, at context: EventContext
  ) -> [Action] {
    guard let lease = sessions[session]?.lease.held else {
      // A dispatch granted under a lapsed lease can only be claimed under that lease.
      guard let lapsed = sessions[session]?.lease.lapsedToken else {
        if !isHost || sessions[session]?.isAwaited != true { sessions[session] = nil }
        return drainedIfDone()
      }
      // A message that never began does not keep the session from its next host.
      return (isHost ? [] : [giveBack(session, under: lapsed, at: context)]) + drainedIfDone()
    }
    let idleSince = sessions[session]?.times.idleSince ?? context.now
    sessions[session]?.times.idleSince = idleSince
    guard isHost, !isDraining, context.now - idleSince < ExecutorTimes.idleMilliseconds else {
      return [giveBack(session, under: lease.token, at: context)] + drainedIfDone()
    }
    let renewal = renewal(session, at: context)
    guard renewal.isEmpty, mayRun, authorityStands, sessions[session]?.isAwaited != true,
      sessions[session]?.next == SessionRun.NextRequest.none,
      sessions[session]?.times.backoffUntil == nil
    else { return renewal }
    return [requestNext(session, under: lease.token)]
  }

  /// Releases a lease under which nothing is at work.
  ///
  /// That ends the request for the next message; an answer to it that is on its way arrives before
  /// the answer to the release.
  private mutating func giveBack(
    _ session: SessionID, under token: UInt64, at context: EventContext
  ) -> Action {
    sessions[session]?.lease = .none
    return ask(.other(.release(session: session, token: token)), for: session, at: context)
  }

  mutating func renewal(_ session: SessionID, at context: EventContext) -> [Action] {
    guard let run = sessions[session], run.question.asking == nil,
      run.question.pause?.isForRenewal != true
    else { return [] }
    switch run.lease {
    case .held(let lease) where context.now - lease.provenAt >= run.renewalMilliseconds:
      return [ask(.other(.lease(session: session, token: lease.token)), for: session, at: context)]
    case .lapsed(let token) where run.work != .none:
      // An agent under it keeps working, and the lease continues once it is confirmed.
      return [ask(.other(.lease(session: session, token: token)), for: session, at: context)]
    default:
      return []
    }
  }

  /// The message of a queue that is the first in line.
  func queueLine(
    of session: SessionID, _ workspace: Workspace, at context: EventContext
  ) -> QueueLine {
    let passedOver = sessions[session]?.times.passedOver ?? [:]
    return QueueLine(of: session, in: workspace, by: context.wall) { passedOver[$0] != nil }
  }

  /// The message that would be next: the first in a line that is not stopped.
  func candidate(
    in session: SessionID, of line: QueueLine, _ workspace: Workspace
  ) -> (message: MessageID, attempt: UInt16, state: DispatchState)? {
    guard let (head, state) = line.startable(in: workspace),
      // Its agent may still work for the session from which it was moved, whatever others report
      // about it.
      !sessions.values.contains(where: { $0.work.order?.message == head }),
      let attempt = UInt16(exactly: Int(state.runState.run?.attempt ?? 0) + 1)
    else { return nil }
    return (head, attempt, state)
  }

  // MARK: - Answers

  mutating func leaseAnswered(
    _ session: SessionID, _ token: UInt64, _ answer: AuthorityAnswer, sentAt: Int64,
    at context: EventContext
  ) {
    let isAtWork = sessions[session]?.work != SessionRun.Work.none
    if token == 0 { sessions[session]?.past.runsElsewhere = nil }
    switch answer {
    case .leased(let token, _, _):
      // The authority counts from when it got the request, which was after it was sent.
      sessions[session]?.lease = .held(HeldLease(token: token, provenAt: sentAt))
    case .unavailable where token != 0:
      // The lease may still be valid; it is requested again, and released in time.
      wait(session, endsWithChange: false, isForRenewal: true, at: context)
    case .fenced where sessions[session]?.lease.held == nil && token != 0:
      // Another device had a lease meanwhile: a new one is requested.
      sessions[session]?.lease = .none
    case .fenced:
      loseLease(session)
      wait(session, endsWithChange: false, at: context)
    case _ where isAtWork:
      // It says nothing about the agent, which keeps working.
      wait(session, endsWithChange: true, isForRenewal: true, at: context)
    case .otherHost, .noSession:
      loseLease(session)
      sessions[session]?.lease = .none
      wait(session, endsWithChange: true, at: context)
    case .held(let other, _, let atWork?):
      loseLease(session)
      sessions[session]?.past.runsElsewhere = AttemptElsewhere(device: other, atWork: atWork)
      wait(session, endsWithChange: true, at: context)
    case .held(_, let milliseconds, nil):
      loseLease(session)
      // The lease of a host that is gone ends then.
      wait(session, endsWithChange: false, atMost: Int64(milliseconds), at: context)
    default:
      loseLease(session)
      wait(session, endsWithChange: false, at: context)
    }
  }

  mutating func dispatchAnswered(
    _ session: SessionID, _ request: DispatchRequest, text: String, _ answer: AuthorityAnswer,
    in workspace: Workspace, at context: EventContext
  ) -> [Action] {
    sessions[session]?.past.runsElsewhere = nil
    switch answer {
    case .go:
      let order = StartOrder(
        session: session, message: request.message, attempt: request.attempt,
        token: request.token, text: text)
      // Whether the message may start is checked again: a user may have withdrawn consent since the
      // question was asked.
      guard let lease = sessions[session]?.lease.held, lease.token == request.token, !isDraining,
        mayStart(in: session), !busy.contains(session)
      else {
        return handedBack(order, at: context) + step(session, in: workspace, at: context)
      }
      guard context.now - lease.provenAt < LeaseTimes.selfStopMilliseconds else {
        // The answer took so long that another device may have the lease. No agent got the prompt:
        // it is requested again.
        lapse(session)
        return step(session, in: workspace, at: context)
      }
      return begin(order)
    case .fenced:
      loseLease(session)
      wait(session, endsWithChange: false, at: context)
    case .duplicate where sessions.values.contains { $0.work.order?.message == request.message }:
      // It was moved here from a session in which it begins: its outcome is reported there.
      wait(session, endsWithChange: true, at: context)
    case .duplicate(let attempt, let token):
      // It was granted, but this store does not know of its beginning. That is reported under the
      // lease of the grant, so that the authority learns that the attempt has ended.
      counters.unknown += 1
      wait(session, endsWithChange: true, at: context)
      let order = StartOrder(
        session: session, message: request.message, attempt: attempt, token: token, text: "")
      let run = order.run(.unknown, milliseconds: context.wall, note: "")
      return [
        .perform(.reportRun(request.message, run), then: policy(after: order, at: context))
      ]
    case .takenOver(let attempt):
      wait(session, endsWithChange: true, at: context)
      let order = StartOrder(
        session: session, message: request.message, attempt: attempt, token: request.token, text: ""
      )
      return [gaveUp(order, in: workspace, at: context)]
    case .notYet(let time) where workspace.dispatchState(of: request.message)?.later == time:
      // By the authority's clock its time has not come: the messages behind it start meanwhile.
      let wait = max(time - context.wall, ExecutorTimes.retryMillisecondsMin)
      sessions[session]?.times.passedOver[request.message] =
        context.now + min(wait, ExecutorTimes.wallLookMilliseconds)
    case .held(let other, _, let atWork?):
      movedHere(session, AttemptElsewhere(device: other, atWork: atWork), at: context)
    case .stale, .paused, .cancelled, .notYet:
      // The authority knows of changes that are on their way here.
      wait(session, endsWithChange: true, at: context)
    default:
      wait(session, endsWithChange: false, at: context)
    }
    return step(session, in: workspace, at: context)
  }

  private mutating func begin(_ order: StartOrder) -> [Action] {
    let isOfPerson = mode(of: order.session) == .gated
    let run = ActiveRun(order: order, isOfPerson: isOfPerson)
    sessions[order.session]?.work = .running(run)
    counters.starts += 1
    return [.tell(.start(order))]
  }

  /// The authority granted the first message of a queue, as it knows it, or accepts no open
  /// requests.
  mutating func nextAnswered(
    _ session: SessionID, _ answer: AuthorityAnswer, in workspace: Workspace,
    at context: EventContext
  ) -> [Action] {
    guard let request = sessions[session]?.next, let token = request.token else { return [] }
    sessions[session]?.next = .none
    switch answer {
    case .granted(let message, let attempt, let content):
      if let started = taken(
        message, attempt, content, of: session, by: request, in: workspace, at: context)
      {
        return started
      }
      // A local change that the server has not seen yet forbids it.
      wait(session, endsWithChange: true, at: context)
      return returned(
        message, attempt, of: session, under: token, in: workspace, at: context)
        + step(session, in: workspace, at: context)
    case .fenced:
      loseLease(session)
      wait(session, endsWithChange: false, at: context)
    case .unknown:
      authorityStands = false
    default:
      wait(session, endsWithChange: false, at: context)
    }
    return step(session, in: workspace, at: context)
  }

  /// Starts a granted message, if it is the one that would be started here; nil if it is not.
  private mutating func taken(
    _ message: MessageID, _ attempt: UInt16, _ content: UInt64, of session: SessionID,
    by request: SessionRun.NextRequest, in workspace: Workspace, at context: EventContext
  ) -> [Action]? {
    guard let run = sessions[session], run.work == .none, let lease = run.lease.held,
      request.isWaiting(under: lease),
      run.times.backoffUntil.map({ $0 <= context.now }) ?? true,
      context.now - lease.provenAt < LeaseTimes.selfStopMilliseconds,
      workspace.host(of: session) == .some(.some(device)), !isDraining, mayStart(in: session),
      !busy.contains(session),
      let head = candidate(
        in: session, of: queueLine(of: session, workspace, at: context), workspace),
      head.message == message, head.attempt == attempt, head.state.due ?? 0 <= context.wall,
      DispatchRequest.contentDigest(head.state.text) == content
    else { return nil }
    let order = StartOrder(
      session: session, message: message, attempt: attempt, token: lease.token,
      text: head.state.text)
    sessions[session]?.times.idleSince = nil
    return begin(order)
  }

  /// Returns a granted message that does not start here, unless it is finished, or known to have
  /// begun.
  private func returned(
    _ message: MessageID, _ attempt: UInt16, of session: SessionID, under token: UInt64,
    in workspace: Workspace, at context: EventContext
  ) -> [Action] {
    guard let state = workspace.dispatchState(of: message), state.stands,
      !state.runState.isInFlight, state.runState.run?.attempt ?? 0 < attempt
    else { return [] }
    return handedBack(
      StartOrder(session: session, message: message, attempt: attempt, token: token, text: ""),
      at: context)
  }

  /// A granted attempt can no longer begin: no agent got the prompt, so it is tried again.
  private func handedBack(_ order: StartOrder, at context: EventContext) -> [Action] {
    let run = order.run(
      .interrupted, milliseconds: context.wall, note: "The host stopped before the agent got it.")
    return [.perform(.reportRun(order.message, run), then: [.retry(order.message)])]
  }

  /// Waits before the next attempt, longer each time, with jitter.
  mutating func wait(
    _ session: SessionID, endsWithChange: Bool, isForRenewal: Bool = false,
    atMost milliseconds: Int64 = .max, at context: EventContext
  ) {
    let failures = sessions[session]?.past.failures ?? 0
    sessions[session]?.past.failures = min(failures + 1, SessionRun.failuresMax)
    let pause = min(
      backoff(after: failures, at: context), max(ExecutorTimes.retryMillisecondsMin, milliseconds))
    let until = context.now + pause
    sessions[session]?.question.wait(
      Pause(until: until, endsWithChange: endsWithChange, isForRenewal: isForRenewal))
  }

  /// The lease was not confirmed for too long.
  private mutating func lapse(_ session: SessionID) {
    guard let token = sessions[session]?.lease.held?.token else { return }
    loseLease(session)
    sessions[session]?.lease = .lapsed(token: token)
  }

  mutating func claim(_ session: SessionID, at context: EventContext) -> Action {
    counters.claims += 1
    let lapsed = sessions[session]?.lease.lapsedToken ?? 0
    return ask(.other(.lease(session: session, token: lapsed)), for: session, at: context)
  }

  private mutating func loseLease(_ session: SessionID) {
    guard sessions[session]?.lease.held != nil else { return }
    counters.fenced += 1
    sessions[session]?.lease = .none
    sessions[session]?.next = .none
  }

  func backoff(after failures: Int, at context: EventContext) -> Int64 {
    let range = min(
      ExecutorTimes.retryMillisecondsMin << Int64(min(failures, 6)),
      ExecutorTimes.retryMillisecondsMax)
    return range / 2 + Int64(context.random(5) % UInt64(range / 2 + 1))
  }
}
