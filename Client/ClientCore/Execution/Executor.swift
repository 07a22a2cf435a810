import DispatchAuthority
package import QueueModel
package import WireProtocol

/// Runs the messages of the sessions whose host is this device: one at a time in each session, in
/// the order of their queues. Every attempt starts at most once.
///
/// A state machine without processes, sockets, files and clocks. Methods are events; each returns
/// the driver's actions, in order. The driver stores an order's intent before it starts the agent.
/// At the next start of the program, it reports the intents that never ended.
package struct Executor: Sendable {
  /// An action of the driver.
  package enum Action: Hashable, Sendable {
    /// Ask the authority; without a connection, once there is one again.
    case ask(AuthorityRequest, id: UInt64)
    /// Pass it to the code that runs the agents; a start is passed on only once the disk has intent
    /// and report, which are stored in one transaction.
    case tell(AgentOrder)
    /// Perform this command with its consequences, and remove the intent of this attempt, all in
    /// one transaction. If the command changes nothing, it has no consequences.
    case end(Command, then: [Command], StartOrder)
    /// The same without an intent.
    case perform(Command, then: [Command])
  }

  package var settings: ExecutionSettings
  /// The choices of users at this device about single sessions.
  package var choices: SessionChoices
  package let device: DeviceID
  /// The number of the latest request; numbers increase.
  private var lastRequest: UInt64
  var sessions: [SessionID: SessionRun] = [:]
  /// Sessions in which a user works at the agent's own prompt.
  var busy: Set<SessionID> = []
  /// Sessions whose agents wait for a prompt; see `StartMode.gated`.
  var opened: Set<SessionID> = []
  /// Sessions for which this run of the program asks for consent, and whether all devices show the
  /// question.
  private var consentAsked: [SessionID: Bool] = [:]
  /// Whether the authority grants messages without a further question, if it has an open request.
  package var authorityStands = false
  /// Whether this device is its own authority: no other device gets a lease, so none of its own
  /// ends.
  package var isAlone = false
  package private(set) var isDraining = false
  package internal(set) var counters = ExecutionCounts()

  /// - Parameter firstRequest: 64 random bits, so that no other run of the program uses the same
  ///   numbers.
  package init(
    device: DeviceID, settings: ExecutionSettings = .init(), choices: SessionChoices = .init(),
    firstRequest: UInt64
  ) {
    self.device = device
    self.settings = settings
    self.choices = choices
    lastRequest = firstRequest
  }

  /// When `timePassed` must be called at the latest; nil: never.
  package func deadline(wall: Int64, now: Int64) -> Int64? {
    sessions.values.compactMap { $0.deadline(wall: wall, now: now, isAlone: isAlone) }.min()
  }

  /// The question with a number; nil if an answer is no longer expected.
  package func question(_ id: UInt64) -> AuthorityRequest? {
    for session in sessions.values {
      if let asking = session.question.asking, asking.id == id { return asking.request }
      if session.next.id == id, let token = session.next.token {
        return .next(session: session.session, token: token)
      }
      if session.next.withdrawal == id { return .withdraw(session.session) }
    }
    return nil
  }

  /// Whether an attempt was granted to this device that did not begin, and will not begin with its
  /// text: local changes since then count.
  ///
  /// - Parameter token: the token of the lease under which it was granted.
  func givesBack(_ message: MessageID, attempt: UInt16, token: UInt64) -> Bool {
    guard let session = sessions.values.first(where: { $0.lease.held?.token == token }) else {
      return false
    }
    let isHere = { (order: StartOrder?) in order?.message == message && order?.attempt == attempt }
    if case .dispatch(let request, _)? = session.question.asking?.subject,
      request.message == message, request.attempt == attempt
    {
      return false
    }
    return !isHere(session.work.order) && !isHere(session.past.lastEnded)
  }

  /// The attempts that agents work on, by session.
  package var running: [SessionID: StartOrder] { sessions.compactMapValues { $0.work.order } }

  /// Whether the authority must confirm a lease.
  var holdsLease: Bool { sessions.values.contains { $0.lease != .none } }

  /// The attempts on other devices that block sessions of this one, as the authority last reported.
  package var runsElsewhere: [SessionID: AttemptElsewhere] {
    sessions.compactMapValues(\.past.runsElsewhere)
  }

  // MARK: - Events

  /// Intents of an earlier run of the program that never ended: the agent's outcome is unknown,
  /// unless the driver knows that the agent died.
  package mutating func recovered(
    _ intents: [StartOrder], deadAgents: Set<MessageID> = [], at context: EventContext
  ) -> [Action] {
    intents.flatMap { order in
      recover(order, deadAgents.contains(order.message) ? .interrupted : .unknown, at: context)
    }
  }

  /// Queues changed, or the program started.
  package mutating func queuesChanged(
    _ changed: Set<SessionID>, in workspace: Workspace, at context: EventContext
  ) -> [Action] {
    var actions: [Action] = []
    for session in changed.sorted() {
      actions += consent(to: session, in: workspace)
      if sessions[session] == nil {
        guard workspace.host(of: session) == .some(.some(device)) else { continue }
        sessions[session] = SessionRun(session: session)
      }
      if sessions[session]?.question.pause?.endsWithChange == true {
        sessions[session]?.question.endPause()
      }
      sessions[session]?.times.passedOver = [:]
      actions += step(session, in: workspace, at: context)
    }
    // What they wait for may have succeeded elsewhere.
    for session in sessions.keys.sorted()
    where !changed.contains(session) && sessions[session]?.times.isInNeed == true {
      actions += step(session, in: workspace, at: context)
    }
    return actions
  }

  /// Whether to ask for consent, or to stop asking. A session shows one question at a time. If
  /// another question replaces it, or the agent continues at a user's prompt, it is asked again
  /// afterwards.
  private mutating func consent(to session: SessionID, in workspace: Workspace) -> [Action] {
    guard settings.asksForConsent, lacksConsent(session),
      workspace.host(of: session) == .some(.some(device))
    else {
      let wasAsked = consentAsked.removeValue(forKey: session) != nil
      return wasAsked ? [.tell(.consentSettled(session))] : []
    }
    let task = workspace.task(of: session)?.status.kind
    let shows = task == .awaitingAnswer || task == .awaitingApproval
    guard let wasShown = consentAsked[session] else {
      guard QueueLine.comes(to: session, in: workspace) else { return [] }
      consentAsked[session] = shows
      return [.tell(.askConsent(session))]
    }
    if shows { consentAsked[session] = true }
    guard wasShown, !shows, task?.isUnderWay != true else { return [] }
    consentAsked[session] = false
    return [.tell(.askConsent(session))]
  }

  /// Time has passed. Call it at `deadline`.
  package mutating func timePassed(in workspace: Workspace, at context: EventContext) -> [Action] {
    var actions: [Action] = []
    for session in sessions.keys.sorted() {
      actions += step(session, in: workspace, at: context)
    }
    return actions
  }

  /// The authority is connected again: unanswered questions are asked again, and no request is open
  /// there.
  package mutating func connected(in workspace: Workspace, at context: EventContext) -> [Action] {
    sessions.keys.sorted().flatMap { session -> [Action] in
      sessions[session]?.next = .none
      guard let asking = sessions[session]?.question.asking else {
        return step(session, in: workspace, at: context)
      }
      sessions[session]?.question.sendAgain(repeats: 0, at: context.now)
      return [.ask(asking.request, id: asking.id)]
    }
  }

  /// Another authority decides from now on: leases of the former one only count for running agents.
  /// Everything must be checked again: `timePassed` must follow.
  package mutating func authorityChanged(isAlone: Bool) {
    self.isAlone = isAlone
    authorityStands = !isAlone
    for session in sessions.keys {
      sessions[session]?.question = .silent
      sessions[session]?.next = .none
      if sessions[session]?.work == SessionRun.Work.none {
        sessions[session]?.lease.drop()
      } else if let token = sessions[session]?.lease.token {
        sessions[session]?.lease = .held(HeldLease(token: token, provenAt: .max / 4))
      }
    }
  }

  /// A user works in a session, or has finished.
  package mutating func busyChanged(
    _ session: SessionID, _ isBusy: Bool, in workspace: Workspace, at context: EventContext
  ) -> [Action] {
    if isBusy { busy.insert(session) } else { busy.remove(session) }
    return queuesChanged([session], in: workspace, at: context)
  }

  /// The agent of a session waits for a prompt, or no longer does.
  package mutating func gateChanged(
    _ session: SessionID, isOpen: Bool, in workspace: Workspace, at context: EventContext
  ) -> [Action] {
    if isOpen { opened.insert(session) } else { opened.remove(session) }
    return queuesChanged([session], in: workspace, at: context)
  }

  /// When a session's messages may start, consent included.
  func mode(of session: SessionID) -> StartMode { choices.mode(of: session, settings) }

  /// Whether only a user's consent is missing for the session to run here.
  package func lacksConsent(_ session: SessionID) -> Bool {
    choices.lacksConsent(session, settings)
  }

  /// Whether settings and consent allow a start in a session now.
  func mayStart(in session: SessionID) -> Bool {
    switch mode(of: session) {
    case .off: false
    case .free: true
    case .gated: opened.contains(session)
    }
  }

  /// An order could not be stored, and so must not be carried out.
  package mutating func beginFailed(
    _ order: StartOrder, in workspace: Workspace, at context: EventContext
  ) -> [Action] {
    guard sessions[order.session]?.work.order == order else { return [] }
    sessions[order.session]?.work = .none
    wait(order.session, endsWithChange: false, at: context)
    return released(order, in: workspace, at: context)
  }

  /// A message is no longer with an agent here: it may start in its present queue.
  private mutating func released(
    _ order: StartOrder, in workspace: Workspace, at context: EventContext
  ) -> [Action] {
    guard let place = workspace.dispatchState(of: order.message)?.session, place != order.session
    else { return [] }
    return queuesChanged([place], in: workspace, at: context)
  }

  /// The authority answered.
  package mutating func answered(
    _ id: UInt64, _ answer: AuthorityAnswer, in workspace: Workspace, at context: EventContext
  ) -> [Action] {
    if let session = sessions.first(where: { $0.value.next.id == id })?.key {
      return nextAnswered(session, answer, in: workspace, at: context)
    }
    if let session = sessions.first(where: { $0.value.next.withdrawal == id })?.key {
      sessions[session]?.next = .none
      return step(session, in: workspace, at: context)
    }
    // An answer to an abandoned question is dropped: a lease that it grants expires, and an attempt
    // that it grants never begins unless it is requested again.
    guard let session = sessions.first(where: { $0.value.question.asking?.id == id })?.key,
      let asking = sessions[session]?.question.asking
    else { return [] }
    sessions[session]?.question.end()
    switch asking.subject {
    case .dispatch(let request, let text):
      return dispatchAnswered(session, request, text: text, answer, in: workspace, at: context)
    case .other(.lease(_, let token)):
      leaseAnswered(session, token, answer, sentAt: asking.sentAt, at: context)
      if case .leased(_, _, let attempt?) = answer {
        return stopped(attempt, of: session, in: workspace, at: context)
          + step(session, in: workspace, at: context)
      }
    case .other(.whereabouts):
      whereaboutsAnswered(session, answer, at: context)
    case .other(.release):
      sessions[session]?.next = .none
    case .other:
      break
    }
    return step(session, in: workspace, at: context)
  }

  /// The agent ended, or could not be started.
  package mutating func ended(
    _ session: SessionID, attempt: UInt16, with result: TurnResult, in workspace: Workspace,
    at context: EventContext
  ) -> [Action] {
    guard let work = sessions[session]?.work, let run = work.run, run.order.attempt == attempt
    else { return [] }
    sessions[session]?.work = .none
    sessions[session]?.past.failures = 0
    sessions[session]?.past.lastEnded = run.order
    let actions = reports(of: run, stopped: work.stopReason, result, at: context)
    return actions + released(run.order, in: workspace, at: context)
      + step(session, in: workspace, at: context)
  }

  /// The program will end: nothing new starts; running agents may finish until they are stopped.
  package mutating func drainRequested(
    in workspace: Workspace, at context: EventContext
  ) -> [Action] {
    isDraining = true
    return timePassed(in: workspace, at: context) + drainedIfDone()
  }

  /// The time for a graceful end has passed.
  package mutating func graceEnded() -> [Action] {
    for session in sessions.keys where sessions[session]?.work == SessionRun.Work.none {
      sessions[session]?.question.end()
      sessions[session]?.lease.drop()
    }
    return sessions.keys.sorted().compactMap { stop($0, because: .drained) } + drainedIfDone()
  }

  /// A user wants to stop the agent of a session.
  package mutating func stopRequested(_ session: SessionID) -> [Action] {
    stop(session, because: .person).map { [$0] } ?? []
  }

  /// A user elsewhere wants to stop an attempt: the agent is stopped, or the attempt never begins.
  private mutating func stopped(
    _ attempt: AttemptName, of session: SessionID, in workspace: Workspace,
    at context: EventContext
  ) -> [Action] {
    if let order = sessions[session]?.work.order {
      let isMeant = order.message == attempt.message && order.attempt == attempt.number
      return isMeant ? stopRequested(session) : []
    }
    guard let token = sessions[session]?.lease.token,
      let state = workspace.dispatchState(of: attempt.message),
      state.runState.run?.attempt ?? 0 < attempt.number
    else { return [] }
    let order = StartOrder(
      session: session, message: attempt.message, attempt: attempt.number, token: token, text: "")
    let run = order.run(.cancelled, milliseconds: context.wall, note: "A user stopped it.")
    // The next message is examined once the queues have that.
    wait(session, endsWithChange: true, at: context)
    return [.perform(.reportRun(attempt.message, run), then: [])]
  }

  /// Whether a user stopped the agent that works for a session here. The queues say so before the authority does.
  func isStopped(_ session: SessionID, in workspace: Workspace) -> Bool {
    guard let work = sessions[session]?.work, let order = work.order else { return false }
    return work.stopReason == .person
      || Withdrawal.stops(order.attempt, at: order.message, in: workspace)
  }

  // MARK: - Helpers of the steps

  mutating func ask(
    _ subject: Asking.Subject, for session: SessionID, at context: EventContext
  ) -> Action {
    lastRequest &+= 1
    let asking = Asking(subject: subject, id: lastRequest, sentAt: context.now)
    sessions[session]?.question.ask(asking)
    return .ask(asking.request, id: lastRequest)
  }

  /// Requests the session's next message.
  mutating func requestNext(_ session: SessionID, under token: UInt64) -> Action {
    lastRequest &+= 1
    sessions[session]?.next = .waiting(id: lastRequest, token: token, overdueSince: nil)
    return .ask(.next(session: session, token: token), id: lastRequest)
  }

  /// Withdraws that request.
  mutating func withdraw(_ session: SessionID) -> [Action] {
    guard case .waiting(let id, let token, _)? = sessions[session]?.next else { return [] }
    lastRequest &+= 1
    sessions[session]?.next = .withdrawing(id: id, token: token, withdrawal: lastRequest)
    return [.ask(.withdraw(session), id: lastRequest)]
  }

  mutating func stop(_ session: SessionID, because reason: StopReason) -> Action? {
    switch sessions[session]?.work {
    case .running(let run):
      sessions[session]?.work = .stopping(run, reason)
      return .tell(.stop(session, attempt: run.order.attempt))
    case .stopping(let run, let earlier):
      // A user's request counts, even if the agent is already being stopped for another reason.
      if reason.isFinal, !earlier.isFinal { sessions[session]?.work = .stopping(run, reason) }
      return nil
    case .some(.none), nil:
      return nil
    }
  }

  func drainedIfDone() -> [Action] {
    let isDone =
      isDraining
      && sessions.values.allSatisfy {
        $0.work == .none && $0.lease.held == nil && $0.question.asking?.isDispatch != true
      }
    return isDone ? [.tell(.drained)] : []
  }

  /// Checks the sessions by themselves and against each other.
  ///
  /// - Throws: `InvariantViolation` naming the first contradiction.
  package func checkInvariants() throws(InvariantViolation) {
    var working: Set<MessageID> = []
    for (id, session) in sessions {
      guard id == session.session else {
        throw InvariantViolation(reason: "session \(session.session) is kept as \(id)")
      }
      try session.checkInvariants()
      guard let order = session.work.order else { continue }
      guard working.insert(order.message).inserted else {
        throw InvariantViolation(reason: "message \(order.message) runs in two sessions")
      }
    }
  }
}
