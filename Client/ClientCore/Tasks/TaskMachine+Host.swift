import QueueModel
import WireProtocol

/// The work and requests of agents here, written for all devices.
extension TaskMachine {
  /// Answers that wait to be sent, by request.
  var pendingAnswers: [PendingAnswer] {
    self.answers.values.sorted { $0.answer.request < $1.answer.request }
  }

  /// Whether a request was answered or closed, even if its host has not written that yet.
  func isSettled(_ request: RequestID) -> Bool { verdict(on: request) != nil }

  /// Whether the authority was asked about an answer, and has not replied.
  func isAsked(_ request: RequestID) -> Bool {
    guard let pending = self.answers[request] else { return false }
    return questions.values.contains(.answer(pending.answer))
      || questions.values.contains(.fate(pending.answer))
  }

  /// Uses the store's answers that were given and not sent.
  mutating func answersLoaded(_ answers: [PendingAnswer], at context: EventContext) {
    for answer in answers { self.answers[answer.answer.request] = answer }
    lastQuestion = context.random(7)
  }

  // MARK: - The host's side

  /// An agent that works here reported something.
  mutating func heard(
    _ news: TaskEvent, in session: SessionID, with execution: ExecutionMachine,
    over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    guard mayReport(session, connection) else {
      return heardElsewhere(
        news, in: session, with: execution, over: &connection, at: context, store: store)
    }
    var actions: [Action] = []
    switch news {
    case .began:
      actions += carryOut(
        pendingAsks.turnEnded(session), with: execution, over: &connection, at: context,
        store: store)
      if status(of: session, connection) != .processing {
        actions += report(
          .processing(operation: nil), of: session, with: execution, over: &connection,
          at: context, store: store)
      }
    case .prompted(let matter, let request):
      let time = connection.time(at: context)
      guard ![.awaitingApproval, .awaitingAnswer].contains(status(of: session, connection)),
        pendingAsks.prompted(request, in: session)
      else { return [] }
      let ask = Ask(session: session, id: request, matter: matter, patienceMilliseconds: 0)
      let unwritten = self.unwritten[session]
      // It expires as it begins, so no device offers to answer it.
      actions += report(
        ask.request(expiresAt: time).status, of: session, with: execution, over: &connection,
        at: context,
        store: store)
      if !connection.replica.workspace.awaits(request, in: session) {
        // It could not be written. It must not be shown later, after the agent has continued.
        self.unwritten[session] = unwritten
        _ = pendingAsks.resumed(session)
      }
    case .resumed:
      actions += carryOut(
        pendingAsks.resumed(session), with: execution, over: &connection, at: context, store: store)
    case .operation(let name):
      actions += noteProgress(
        session, operation: .some(name), with: execution, over: &connection, at: context,
        store: store)
    case .progress(let todo):
      actions += noteProgress(
        session, todo: todo, with: execution, over: &connection, at: context, store: store)
    case .ended(let result):
      actions += carryOut(
        pendingAsks.turnEnded(session), with: execution, over: &connection, at: context,
        store: store)
      actions += flush(session, with: execution, over: &connection, at: context, store: store)
      self.progress[session] = nil
      // The end of a turn without a reported beginning adds nothing to an ended task.
      if isUnderWay(session, connection) {
        actions += report(
          .completed(result), of: session, with: execution, over: &connection, at: context,
          store: store)
      }
    }
    return actions
  }

  /// The session has another host now. Its agent here still gets its answer, and its end is the
  /// last report of this device, unless the new host has reported since.
  private mutating func heardElsewhere(
    _ news: TaskEvent, in session: SessionID, with execution: ExecutionMachine,
    over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    switch news {
    case .began, .ended:
      var actions = carryOut(
        pendingAsks.turnEnded(session), with: execution, over: &connection, at: context,
        store: store)
      self.progress[session] = nil
      if case .ended(let result) = news, isOwn(session, connection), isUnderWay(session, connection)
      {
        actions += report(
          .completed(result), of: session, with: execution, over: &connection, at: context,
          store: store)
      }
      return actions
    case .resumed:
      return carryOut(
        pendingAsks.resumed(session), with: execution, over: &connection, at: context, store: store)
    case .prompted, .operation, .progress:
      return []
    }
  }

  /// An agent here makes a request; `.decided` comes once.
  mutating func askRaised(
    _ ask: Ask, with execution: ExecutionMachine, over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    guard connection.replica.workspace.session(ask.session) != nil else {
      throw .queue(.sessionNotFound(id: ask.session.rawValue))
    }
    // Another device reports for the session's agent, which asks at its own prompt; or somebody stopped the agent.
    guard mayReport(ask.session, connection),
      !execution.isStopped(ask.session, in: connection.replica.workspace)
    else {
      return [.decided(ask.id, AskAnswer(ending: .withdrawn))]
    }
    let actions = pendingAsks.raised(ask, now: context.now, wall: connection.time(at: context))
    return carryOut(actions, with: execution, over: &connection, at: context, store: store)
  }

  /// The agent no longer waits for it.
  mutating func askWithdrawn(
    _ request: RequestID, with execution: ExecutionMachine,
    over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    carryOut(
      pendingAsks.withdrawn(request, now: context.now, wall: connection.time(at: context)),
      with: execution, over: &connection, at: context,
      store: store)
  }

  /// The consequences of an event for tasks. Call it after every event.
  mutating func following(
    with execution: ExecutionMachine, over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    var actions = withdrawStopped(with: execution, over: &connection, at: context, store: store)
    if let id = connection.ready {
      if asked != id {
        asked = id
        questions = [:]
        actions += carryOut(
          pendingAsks.connected(), with: execution, over: &connection, at: context, store: store)
        self.retryAt = context.now
      }
    } else if connection.current == nil {
      asked = nil
      questions = [:]
    }
    if let retryAt, retryAt <= context.now {
      self.retryAt = nil
      for pending in pendingAnswers where !isAsked(pending.answer.request) {
        let isFateAsked = pending.isOld(wall: context.wall) && pending.wasSent
        actions +=
          isFateAsked
          ? askFate(
            of: pending.answer, with: execution, over: &connection, at: context, store: store)
          : sendAnswer(
            pending.answer, with: execution, over: &connection, at: context, store: store)
      }
    }
    while !connection.authority.verdicts.isEmpty {
      let (request, given) = connection.authority.verdicts.removeFirst()
      actions += carryOut(
        pendingAsks.answered(
          request, given, now: context.now, wall: connection.time(at: context)),
        with: execution, over: &connection, at: context, store: store)
    }
    // A deleted session's requests must not be answered; an earlier answer was handled above.
    for session in pendingAsks.sessions.sorted()
    where connection.replica.workspace.host(of: session) == nil {
      actions += carryOut(
        pendingAsks.sessionDeleted(session, now: context.now), with: execution, over: &connection,
        at: context, store: store)
    }
    actions += dropOldAnswers(over: &connection, at: context, store: store)
    actions += carryOut(
      pendingAsks.timePassed(now: context.now, wall: connection.time(at: context)), with: execution,
      over: &connection, at: context,
      store: store)
    actions += writeAgain(with: execution, over: &connection, at: context, store: store)
    actions += showAgain(with: execution, over: &connection, at: context, store: store)
    for session in self.progress.keys.sorted() where isDue(session, context) {
      actions += flush(session, with: execution, over: &connection, at: context, store: store)
    }
    let workspace = connection.replica.workspace
    deadline = nextDeadline(now: context.now, wall: context.wall) { session in
      workspace.task(of: session)?.status.kind == .processing
    }
    return actions
  }

  /// The authority's answer to a question of the tasks; nil if it is another's.
  mutating func take(
    _ response: Response, with execution: ExecutionMachine,
    over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action]? {
    guard let question = questions.removeValue(forKey: response.id) else { return nil }
    switch question {
    case .verdict(let verdict):
      // An answer that breaks the specification counts as none.
      let answer = (try? AuthorityAnswer(response, to: .verdict(verdict))) ?? .unavailable
      return answered(
        question, answer, with: execution, over: &connection, at: context, store: store)
    case .answer(let given):
      let answer = (try? AuthorityAnswer(response, to: .answer(given))) ?? .unavailable
      return answered(
        question, answer, with: execution, over: &connection, at: context, store: store)
    case .fate(let sent):
      let verdict = AuthorityRequest.verdict(VerdictRequest(of: sent))
      let answer = (try? AuthorityAnswer(response, to: verdict)) ?? .unavailable
      return answered(
        question, answer, with: execution, over: &connection, at: context, store: store)
    }
  }
}

extension TaskMachine {
  private func status(of session: SessionID, _ connection: ConnectionMachine) -> TaskStatus.Kind {
    connection.replica.workspace.keptTask(of: session)?.state.status.kind ?? .idle
  }

  /// Whether this device reports for a session's agent, or reports the end of its own work after
  /// the session was deleted.
  func mayReport(_ session: SessionID, _ connection: ConnectionMachine) -> Bool {
    guard let host = connection.replica.workspace.keptHost(of: session) else { return false }
    return host == nil || host == connection.replica.record.device
  }

  private func isUnderWay(_ session: SessionID, _ connection: ConnectionMachine) -> Bool {
    status(of: session, connection).isUnderWay
  }

  /// Whether this device wrote the task last.
  func isOwn(_ session: SessionID, _ connection: ConnectionMachine) -> Bool {
    connection.replica.workspace.taskDevice(of: session) == connection.replica.record.device
  }

  mutating func carryOut(
    _ orders: [PendingAsks.Action], with execution: ExecutionMachine,
    over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    var actions: [Action] = []
    for order in orders {
      switch order {
      case .await(let session, let awaited, let outcome):
        let unwritten = self.unwritten[session]
        actions += report(
          awaited, of: session, outcome: outcome, with: execution, over: &connection, at: context,
          store: store)
        if let raised = awaited.raised,
          !connection.replica.workspace.awaits(raised, in: session)
        {
          let refused = pendingAsks.refused(
            raised, now: context.now, wall: connection.time(at: context))
          // The agent does not wait for it: it must not be shown later.
          if pendingAsks.awaited(in: session) == nil { self.unwritten[session] = unwritten }
          actions += carryOut(
            refused, with: execution, over: &connection, at: context, store: store)
        }
      case .goOn(let session, let outcome):
        let task = connection.replica.workspace.keptTask(of: session)?.state
        guard task?.awaits(outcome.request) == true else { continue }
        actions += report(
          .processing(operation: nil), of: session, outcome: outcome, with: execution,
          over: &connection, at: context, store: store)
      case .ask(let question):
        actions += ask(
          .verdict(question), as: .verdict(question), with: execution, over: &connection,
          at: context, store: store)
      case .decide(let request, let decision):
        actions.append(.decided(request, decision))
      }
    }
    return actions
  }

  mutating func ask(
    _ request: AuthorityRequest, as question: TaskMachine.Question,
    with execution: ExecutionMachine, over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    lastQuestion &+= 1
    let id = lastQuestion
    guard connection.hasServer else {
      let answer = connection.decide(request, id: id, at: context, store: store) ?? .unavailable
      return answered(
        question, answer, with: execution, over: &connection, at: context, store: store)
    }
    // Without a connection it is asked once there is one.
    guard connection.ready != nil else { return [] }
    questions[id] = question
    if case .answer(let answer) = question { noteSent(answer, connection, store: store) }
    connection.authority.held.append((request, id))
    return connection.sendHeld()
  }

  private mutating func answered(
    _ question: TaskMachine.Question, _ answer: AuthorityAnswer, with execution: ExecutionMachine,
    over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    switch question {
    case .verdict(let verdict):
      return carryOut(
        pendingAsks.verdictReceived(
          verdict, answer, now: context.now, wall: connection.time(at: context)),
        with: execution, over: &connection, at: context, store: store)
    case .answer(let given):
      return answerReceived(given, answer, over: &connection, at: context, store: store)
    case .fate(let sent):
      return fateReceived(sent, answer, over: &connection, at: context, store: store)
    }
  }

  // MARK: - Writing the register

  private func isDue(_ session: SessionID, _ context: EventContext) -> Bool {
    guard let progress = self.progress[session], progress.isPending else { return false }
    return context.now - progress.writtenAt >= TaskMachine.progressMilliseconds
  }

  /// Mere progress waits until long enough after the last write.
  private mutating func noteProgress(
    _ session: SessionID, operation: String?? = nil, todo: TodoProgress? = nil,
    with execution: ExecutionMachine, over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    var progress =
      self.progress[session]
      ?? TaskMachine.Progress(writtenAt: context.now - TaskMachine.progressMilliseconds)
    if let operation { progress.operation = operation }
    if let todo { progress.todo = todo }
    self.progress[session] = progress
    return isDue(session, context)
      ? flush(session, with: execution, over: &connection, at: context, store: store) : []
  }

  /// Writes the known progress of a task, if it is at work.
  private mutating func flush(
    _ session: SessionID, with execution: ExecutionMachine,
    over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    guard let progress = self.progress[session], progress.isPending else { return [] }
    guard let task = connection.replica.workspace.task(of: session),
      case .processing(let operation) = task.status
    else { return [] }
    self.progress[session] = TaskMachine.Progress(writtenAt: context.now)
    return report(
      .processing(operation: progress.operation ?? operation), of: session,
      todo: progress.todo, with: execution, over: &connection, at: context, store: store)
  }

  /// Retries writes that the store refused.
  private mutating func writeAgain(
    with execution: ExecutionMachine, over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    let due = self.unwritten.filter { $0.value.retryAt <= context.now }
    var actions: [Action] = []
    for (session, unwritten) in due.sorted(by: { $0.key < $1.key }) {
      // Another host may report for the session's agent now. Until it does, this device's last
      // report counts, and with it the requests that it shows.
      guard
        mayReport(session, connection)
          || isOwn(session, connection) && isUnderWay(session, connection)
      else {
        self.unwritten[session] = nil
        continue
      }
      // The awaited requests may have changed by now.
      actions +=
        pendingAsks.awaited(in: session).map {
          report(
            $0, of: session, outcome: unwritten.outcome, with: execution, over: &connection,
            at: context, store: store)
        }
        ?? report(
          unwritten.status, of: session, todo: unwritten.todo, outcome: unwritten.outcome,
          with: execution, over: &connection, at: context, store: store)
    }
    return actions
  }

  /// Writes the awaited requests.
  private mutating func report(
    _ awaited: PendingAsks.Awaited, of session: SessionID, outcome: AskOutcome?,
    with execution: ExecutionMachine, over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    let shown = connection.replica.workspace.keptTask(of: session)?.state
    let missing = awaited.requests.map(\.id).filter { shown?.awaits($0) != true }
    var actions: [Action] = []
    // A write shows at most one more, since each causes a notification of its own. There are
    // several if another host wrote the task in between.
    for count in 1...max(1, missing.count) {
      let requests = awaited.requests.filter { !missing.dropFirst(count).contains($0.id) }
      guard let first = requests.first else { break }
      actions += report(
        first.status, of: session, outcome: count == 1 ? outcome : nil,
        also: Array(requests.dropFirst()), more: awaited.more, with: execution, over: &connection,
        at: context, store: store)
    }
    return actions
  }

  /// Shows the requests of agents here again if another host wrote the task in between.
  private mutating func showAgain(
    with execution: ExecutionMachine, over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    var actions: [Action] = []
    for session in pendingAsks.sessions.sorted() where unwritten[session] == nil {
      guard let awaited = pendingAsks.awaited(in: session), mayReport(session, connection),
        let task = connection.replica.workspace.task(of: session),
        !awaited.requests.allSatisfy({ task.awaits($0.id) })
      else { continue }
      actions += report(
        awaited, of: session, outcome: nil, with: execution, over: &connection, at: context,
        store: store)
    }
    return actions
  }

  /// Writes a status, and the ones that lead to it.
  mutating func report(
    _ status: TaskStatus, of session: SessionID, todo: TodoProgress? = nil,
    outcome: AskOutcome? = nil, also: [TaskRequest] = [], more: Int = 0,
    with execution: ExecutionMachine,
    over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    let steps = status.path(from: self.status(of: session, connection))
    let outcome = outcome ?? self.unwritten[session]?.outcome
    self.unwritten[session] = nil
    var actions: [Action] = []
    for (index, step) in steps.enumerated() {
      let isLast = index == steps.count - 1
      let command = Command.reportTask(
        TaskReport(
          session: session, status: step, milliseconds: connection.time(at: context),
          todoProgress: isLast ? todo : nil, outcome: index == 0 ? outcome : nil,
          alsoAwaits: isLast ? also : [], moreRequests: isLast ? more : 0,
          token: execution.leaseToken(of: session)))
      let before = connection.replica.workspace.keptTask(of: session)
      do throws(Replica.Fault) {
        // An agent may wait for the consequences, and the work of agents ends with the machine.
        let done = try connection.perform(
          command, waitsForDisk: false, at: context, store: store)
        actions += done.actions
        noteNews(of: session, since: before, connection)
      } catch {
        if case .queue(.illegalTaskMove) = error { illegalMoves += 1 }
        if case .store = error {
          // A full disk stores nothing now. The next state may come much later.
          self.unwritten[session] = TaskMachine.Unwritten(
            status: status, todo: todo, outcome: index == 0 ? outcome : nil,
            retryAt: context.now + TaskMachine.retryMilliseconds)
        }
        return actions
      }
    }
    return actions
  }
}
