package import QueueModel
import WireProtocol

/// Tasks and answers, as a part of the core: `tasksFollowing` is called after every event.
extension ClientCore {
  /// Moves of tasks that were refused here because they are none.
  package var illegalTaskMoves: Int { tasks.illegalMoves }

  /// Answers that wait to be sent, by request.
  package var pendingAnswers: [PendingAnswer] {
    tasks.answers.values.sorted { $0.answer.request < $1.answer.request }
  }

  /// Whether a request was answered or closed, whatever its host has written so far.
  package func isSettled(_ request: RequestID) -> Bool { tasks.verdict(on: request) != nil }

  /// Whether the authority was asked about an answer, and has not said anything.
  package func isAsked(_ request: RequestID) -> Bool {
    guard let pending = tasks.answers[request] else { return false }
    return tasks.questions.values.contains(.answer(pending.answer))
      || tasks.questions.values.contains(.fate(pending.answer))
  }

  /// Takes up what the store held: answers that were given and not sent.
  package mutating func answersLoaded(_ answers: [PendingAnswer], at occasion: Occasion) {
    for answer in answers { tasks.answers[answer.answer.request] = answer }
    tasks.lastQuestion = occasion.random(7)
  }

  // MARK: - The host's side

  /// Something is heard of an agent that works here.
  package mutating func taskHeard(
    _ news: TaskNews, in session: SessionID, at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    guard mayReport(session) else {
      return heardElsewhere(news, in: session, at: occasion, store: store)
    }
    var actions: [Action] = []
    switch news {
    case .began:
      actions += carryOut(tasks.book.turnEnded(session), at: occasion, store: store)
      if status(of: session) != .processing {
        actions += report(.processing(operation: nil), of: session, at: occasion, store: store)
      }
    case .prompted(let matter, let request):
      let time = time(at: occasion)
      guard ![.awaitingApproval, .awaitingAnswer].contains(status(of: session)),
        tasks.book.prompted(request, in: session)
      else { return [] }
      let ask = Ask(session: session, id: request, matter: matter, patienceMilliseconds: 0)
      let unwritten = tasks.unwritten[session]
      // Its time is over as it begins: no device takes it for one that it can answer.
      actions += report(status(for: ask, time), of: session, at: occasion, store: store)
      if self.replica.workspace.task(of: session)?.status.request != request {
        // It could not be written: nobody is to see it later, when the agent has long gone on.
        tasks.unwritten[session] = unwritten
        _ = tasks.book.wentOn(session)
      }
    case .wentOn:
      actions += carryOut(tasks.book.wentOn(session), at: occasion, store: store)
    case .operation(let name):
      actions += noteProgress(session, operation: .some(name), at: occasion, store: store)
    case .progress(let todo):
      actions += noteProgress(session, todo: todo, at: occasion, store: store)
    case .ended(let result):
      actions += carryOut(tasks.book.turnEnded(session), at: occasion, store: store)
      actions += flush(session, at: occasion, store: store)
      tasks.progress[session] = nil
      // The end of a turn whose beginning nobody heard of tells nothing new of an ended task.
      if isUnderWay(session) {
        actions += report(.completed(result), of: session, at: occasion, store: store)
      }
    }
    return actions
  }

  /// The session has another host by now: its agent here is told all the same, and its end is the
  /// last word of this device where nobody has said anything since.
  private mutating func heardElsewhere(
    _ news: TaskNews, in session: SessionID, at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    switch news {
    case .began, .ended:
      var actions = carryOut(tasks.book.turnEnded(session), at: occasion, store: store)
      tasks.progress[session] = nil
      if case .ended(let result) = news, isOwn(session), isUnderWay(session) {
        actions += report(.completed(result), of: session, at: occasion, store: store)
      }
      return actions
    case .wentOn:
      return carryOut(tasks.book.wentOn(session), at: occasion, store: store)
    case .prompted, .operation, .progress:
      return []
    }
  }

  /// An agent here asks for something; `.decided` comes once.
  package mutating func askRaised(
    _ ask: Ask, at occasion: Occasion, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    guard replica.workspace.session(ask.session) != nil else {
      throw .queue(.sessionNotFound(id: ask.session.rawValue))
    }
    // Another device says what the session's agent does: this one asks at its own prompt.
    guard mayReport(ask.session) else {
      return [.decided(ask.id, AskDecision(ending: .withdrawn))]
    }
    let actions = tasks.book.raised(ask, now: occasion.now, wall: time(at: occasion))
    return carryOut(actions, at: occasion, store: store)
  }

  /// The agent does not wait for it any more.
  package mutating func askWithdrawn(
    _ request: RequestID, at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    carryOut(
      tasks.book.withdrawn(request, now: occasion.now, wall: time(at: occasion)), at: occasion,
      store: store)
  }

  /// The program begins to run agents: what an earlier run left unfinished it does not go on with.
  mutating func tasksRecovered(
    at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    replica.workspace.sessionsUnderWay().flatMap { session -> [Action] in
      guard mayReport(session), isOwn(session) else { return [] }
      let request = replica.workspace.keptTask(of: session)?.state.status.request
      return report(
        .error(message: "The host stopped while the agent worked; it may have gone on."),
        of: session, outcome: request.flatMap { AskOutcome(request: $0, ending: .withdrawn) },
        at: occasion, store: store)
    }
  }

  /// What follows for tasks from what came in: to be called after every event.
  mutating func tasksFollowing(
    at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    var actions: [Action] = []
    if case .exchanging(let exchange) = link, exchange.hasCaughtUp {
      if tasks.connection != exchange.connection {
        tasks.connection = exchange.connection
        tasks.questions = [:]
        actions += carryOut(tasks.book.connected(), at: occasion, store: store)
        tasks.retryAt = occasion.now
      }
    } else if link.connection == nil {
      tasks.connection = nil
      tasks.questions = [:]
    }
    if let retryAt = tasks.retryAt, retryAt <= occasion.now {
      tasks.retryAt = nil
      for pending in pendingAnswers where !isAsked(pending.answer.request) {
        let isFateAsked = pending.isOld(wall: occasion.wall) && pending.wasSent
        actions +=
          isFateAsked
          ? askFate(of: pending.answer, at: occasion, store: store)
          : sendAnswer(pending.answer, at: occasion, store: store)
      }
    }
    while !tasks.verdicts.isEmpty {
      let (request, given) = tasks.verdicts.removeFirst()
      actions += carryOut(
        tasks.book.answered(
          request, given, now: occasion.now, wall: time(at: occasion)),
        at: occasion, store: store)
    }
    // Nobody is to answer in a session that was deleted; an answer of before was told above.
    for session in tasks.book.sessions.sorted()
    where replica.workspace.host(of: session) == nil {
      actions += carryOut(
        tasks.book.sessionDeleted(session, now: occasion.now), at: occasion, store: store)
    }
    actions += dropOldAnswers(at: occasion, store: store)
    actions += carryOut(
      tasks.book.timePassed(now: occasion.now, wall: time(at: occasion)), at: occasion,
      store: store)
    actions += writeAgain(at: occasion, store: store)
    for session in tasks.progress.keys.sorted() where isDue(session, occasion) {
      actions += flush(session, at: occasion, store: store)
    }
    taskDeadline = tasks.deadline(now: occasion.now, wall: occasion.wall) { session in
      replica.workspace.task(of: session)?.status.kind == .processing
    }
    return actions
  }

  /// The authority's answer to a question of the tasks'; nil where it is another's.
  mutating func takeTaskResponse(
    _ response: Response, at occasion: Occasion, store: some ReplicaStore
  ) -> [Action]? {
    guard let question = tasks.questions.removeValue(forKey: response.id) else { return nil }
    switch question {
    case .verdict(let verdict):
      // An answer that breaks the specification is as good as none.
      let answer = (try? AuthorityAnswer(response, to: .verdict(verdict))) ?? .unavailable
      return told(question, answer, at: occasion, store: store)
    case .answer(let given):
      let answer = (try? AuthorityAnswer(response, to: .answer(given))) ?? .unavailable
      return told(question, answer, at: occasion, store: store)
    case .fate(let sent):
      let verdict = AuthorityRequest.verdict(VerdictRequest(of: sent))
      let answer = (try? AuthorityAnswer(response, to: verdict)) ?? .unavailable
      return told(question, answer, at: occasion, store: store)
    }
  }
}

extension ClientCore {
  /// Whether there is a connection over which questions go.
  var canAskServer: Bool {
    guard case .exchanging(let exchange) = link else { return false }
    return exchange.hasCaughtUp
  }

  private func status(of session: SessionID) -> TaskStatus.Kind {
    replica.workspace.keptTask(of: session)?.state.status.kind ?? .idle
  }

  /// Whether this device is the one that says what a session's agent does, and how what it did ends
  /// where the session was deleted.
  private func mayReport(_ session: SessionID) -> Bool {
    guard let host = replica.workspace.keptHost(of: session) else { return false }
    return host == nil || host == replica.record.device
  }

  private func isUnderWay(_ session: SessionID) -> Bool {
    status(of: session).isUnderWay
  }

  /// Whether this device wrote the task last.
  private func isOwn(_ session: SessionID) -> Bool {
    replica.workspace.taskDevice(of: session) == replica.record.device
  }

  private mutating func carryOut(
    _ orders: [AskBook.Action], at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    var actions: [Action] = []
    for order in orders {
      switch order {
      case .await(let ask, let expiry):
        let unwritten = tasks.unwritten[ask.session]
        let done = report(status(for: ask, expiry), of: ask.session, at: occasion, store: store)
        actions += done
        if replica.workspace.task(of: ask.session)?.status.request != ask.id {
          // The agent does not wait for it: nobody is to see it later.
          tasks.unwritten[ask.session] = unwritten
          let refused = tasks.book.refused(ask.id, now: occasion.now, wall: time(at: occasion))
          actions += carryOut(refused, at: occasion, store: store)
        }
      case .goOn(let session, let outcome):
        let task = replica.workspace.keptTask(of: session)?.state
        guard task?.status.request == outcome.request else { continue }
        actions += report(
          .processing(operation: nil), of: session, outcome: outcome, at: occasion, store: store)
      case .ask(let question):
        actions += ask(.verdict(question), as: .verdict(question), at: occasion, store: store)
      case .decide(let request, let decision):
        actions.append(.decided(request, decision))
      }
    }
    return actions
  }

  private func status(for ask: Ask, _ expiry: Int64?) -> TaskStatus {
    switch ask.matter {
    case .approval(let tool, let summary, let details):
      .awaitingApproval(
        ApprovalRequest(
          id: ask.id, toolName: tool, summary: summary, details: details, expiresAt: expiry))
    case .question(let question, let options):
      .awaitingAnswer(
        UserQuestion(id: ask.id, question: question, options: options, expiresAt: expiry))
    }
  }

  mutating func ask(
    _ request: AuthorityRequest, as question: TaskDesk.Question, at occasion: Occasion,
    store: some ReplicaStore
  ) -> [Action] {
    tasks.lastQuestion &+= 1
    let id = tasks.lastQuestion
    guard hasServer else {
      let answer = decide(request, id: id, at: occasion, store: store) ?? .unavailable
      return told(question, answer, at: occasion, store: store)
    }
    // Without a connection it is asked when there is one.
    guard canAskServer else { return [] }
    tasks.questions[id] = question
    if case .answer(let answer) = question { noteSent(answer, store: store) }
    execution.held.append((request, id))
    return sendHeld()
  }

  private mutating func told(
    _ question: TaskDesk.Question, _ answer: AuthorityAnswer, at occasion: Occasion,
    store: some ReplicaStore
  ) -> [Action] {
    switch question {
    case .verdict(let verdict):
      return carryOut(
        tasks.book.verdictTold(
          verdict, answer, now: occasion.now, wall: time(at: occasion)),
        at: occasion, store: store)
    case .answer(let given):
      return answerTold(given, answer, at: occasion, store: store)
    case .fate(let sent):
      return fateTold(sent, answer, at: occasion, store: store)
    }
  }

  // MARK: - Writing the register

  private func isDue(_ session: SessionID, _ occasion: Occasion) -> Bool {
    guard let progress = tasks.progress[session], progress.isPending else { return false }
    return occasion.now - progress.writtenAt >= TaskDesk.progressMilliseconds
  }

  /// Mere progress waits until the last of it was written long enough ago.
  private mutating func noteProgress(
    _ session: SessionID, operation: String?? = nil, todo: TodoProgress? = nil,
    at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    var progress =
      tasks.progress[session]
      ?? TaskDesk.Progress(writtenAt: occasion.now - TaskDesk.progressMilliseconds)
    if let operation { progress.operation = operation }
    if let todo { progress.todo = todo }
    tasks.progress[session] = progress
    return isDue(session, occasion) ? flush(session, at: occasion, store: store) : []
  }

  /// Writes what is known of a task's progress, where it is at work.
  private mutating func flush(
    _ session: SessionID, at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    guard let progress = tasks.progress[session], progress.isPending else { return [] }
    guard let task = replica.workspace.task(of: session),
      case .processing(let operation) = task.status
    else { return [] }
    tasks.progress[session] = TaskDesk.Progress(writtenAt: occasion.now)
    return report(
      .processing(operation: progress.operation ?? operation), of: session,
      todo: progress.todo, at: occasion, store: store)
  }

  /// Tries again what the store did not take.
  private mutating func writeAgain(
    at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    let due = tasks.unwritten.filter { $0.value.retryAt <= occasion.now }
    var actions: [Action] = []
    for (session, unwritten) in due.sorted(by: { $0.key < $1.key }) {
      // Another host may say by now what the session's agent does.
      guard mayReport(session) else {
        tasks.unwritten[session] = nil
        continue
      }
      actions += report(
        unwritten.status, of: session, todo: unwritten.todo, outcome: unwritten.outcome,
        at: occasion, store: store)
    }
    return actions
  }

  /// Writes a status, and those that lead to it.
  private mutating func report(
    _ status: TaskStatus, of session: SessionID, todo: TodoProgress? = nil,
    outcome: AskOutcome? = nil, at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    let steps = status.path(from: self.status(of: session))
    let outcome = outcome ?? tasks.unwritten[session]?.outcome
    tasks.unwritten[session] = nil
    var actions: [Action] = []
    for (index, step) in steps.enumerated() {
      let command = Command.reportTask(
        TaskReport(
          session: session, status: step, milliseconds: time(at: occasion),
          todoProgress: index == steps.count - 1 ? todo : nil,
          outcome: index == 0 ? outcome : nil,
          token: execution.executor?.sessions[session]?.lease.held?.token))
      do throws(Replica.Fault) {
        let done = try commandGiven(command, at: occasion, store: store)
        actions += done.actions
      } catch {
        if case .queue(.illegalTaskMove) = error { tasks.illegalMoves += 1 }
        if case .store = error {
          // A full disk takes nothing now. There may be no next state for a long time.
          tasks.unwritten[session] = TaskDesk.Unwritten(
            status: status, todo: todo, outcome: index == 0 ? outcome : nil,
            retryAt: occasion.now + TaskDesk.retryMilliseconds)
        }
        return actions
      }
    }
    return actions
  }
}
