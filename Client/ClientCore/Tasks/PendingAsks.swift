package import QueueModel
package import WireProtocol

/// Something an agent waits for, as its host raises it.
package struct Ask: Hashable, Sendable {
  package var session: SessionID
  package var id: RequestID
  package var matter: AgentAsk
  /// After so long nobody can answer any more; nil: it waits for ever.
  package var patienceMilliseconds: Int64?
  /// Where nobody answers in time the agent asks at its own prompt.
  package var promptsItself: Bool

  package init(
    session: SessionID, id: RequestID, matter: AgentAsk, patienceMilliseconds: Int64?,
    promptsItself: Bool = false
  ) {
    self.session = session
    self.id = id
    self.matter = matter
    self.patienceMilliseconds = patienceMilliseconds
    self.promptsItself = promptsItself
  }
}

extension AskAnswer {
  init(_ given: GivenVerdict) {
    self.init(
      ending: given.verdict.ending, device: given.verdict == .closed ? nil : given.device,
      text: given.text)
  }
}

/// What this host's agents wait for: raised in the task's register, answered by whoever is first,
/// handed to the agent once. SPECIFICATION.md, section "Answers".
///
/// ```text
/// raised ──▶ waiting for its turn ──▶ shown ──answered──────────────────────▶ told
///                 │                    │  └──its time is over──▶ closing ─────▲
///                 │                    │      or session deleted  │ no answer came first, or 5 s
///                 └── its time is over, withdrawn, the turn is over ──────────┘
/// ```
///
/// A state machine without sockets, files and clocks; methods are events, and each returns what the
/// driver has to do, in order.
package struct PendingAsks: Sendable {
  package enum Action: Hashable, Sendable {
    /// Write that the task awaits it.
    case await(Ask, expiresAt: Int64?)
    /// Write that the task goes on, and what became of the request.
    case goOn(SessionID, AskOutcome)
    /// Ask the authority.
    case ask(VerdictRequest)
    /// Hand it to the agent.
    case decide(RequestID, AskAnswer)
  }

  /// One that is being asked or waits for its turn.
  private struct Entry: Hashable, Sendable {
    var ask: Ask
    /// When nobody can answer any more, on the clock that never steps.
    var expiresAt: Int64?
    /// Since when the authority is asked to close it; nil before.
    var closingSince: Int64?
    /// What becomes of it where the authority took no answer before it was closed.
    var closesAs: AskOutcome.Ending = .expired
  }

  /// How long a host that cannot ask goes on hoping, in milliseconds.
  package static let closingMillisecondsMax: Int64 = 5_000
  /// Requests of one session that may wait for their turn; an agent that asks for more is told at
  /// once that nobody answers.
  package static let waitingMax = 32

  /// By session, in the order they were raised; the first is in the register.
  private var entries: [SessionID: [Entry]] = [:]
  /// Sessions whose agents ask at their own prompts, and what became of the request by that. It is
  /// in the register until something is heard of the agent.
  private var prompting: [SessionID: AskOutcome] = [:]

  package init() {}

  /// When `timePassed` is due; nil where nothing waits for time.
  package var deadline: Int64? {
    entries.values.flatMap { $0 }.compactMap { entry in
      entry.closingSince.map { $0 + PendingAsks.closingMillisecondsMax } ?? entry.expiresAt
    }.min()
  }

  /// The requests that wait, by session.
  package var waiting: [RequestID] {
    entries.keys.sorted().flatMap { entries[$0]?.map(\.ask.id) ?? [] }
  }

  /// The sessions whose agents wait for something.
  var sessions: Set<SessionID> { Set(entries.keys).union(prompting.keys) }

  /// An agent asks. One request of a session is shown at a time; the others wait for their turn,
  /// and their patience runs meanwhile.
  package mutating func raised(_ ask: Ask, now: Int64, wall: Int64) -> [Action] {
    let count = entries[ask.session]?.count ?? 0
    guard count < PendingAsks.waitingMax else {
      return [.decide(ask.id, AskAnswer(ending: .expired))]
    }
    let entry = Entry(ask: ask, expiresAt: ask.patienceMilliseconds.map { now + max(0, $0) })
    entries[ask.session, default: []].append(entry)
    return count == 0 ? wentOn(ask.session) + [show(entry, now: now, wall: wall)] : []
  }

  /// An agent asks at its own prompt, where nobody else can answer.
  ///
  /// - Returns: whether that is to be shown: not where something is awaited already.
  package mutating func prompted(_ request: RequestID, in session: SessionID) -> Bool {
    guard entries[session] == nil, prompting[session] == nil,
      let outcome = AskOutcome(request: request, ending: .withdrawn)
    else { return false }
    prompting[session] = outcome
    return true
  }

  /// Something is heard of an agent that shows that it asks at its own prompt no longer.
  package mutating func wentOn(_ session: SessionID) -> [Action] {
    prompting.removeValue(forKey: session).map { [.goOn(session, $0)] } ?? []
  }

  /// The register could not be written: the agent asks at its own prompt.
  package mutating func refused(_ request: RequestID, now: Int64, wall: Int64) -> [Action] {
    guard let session = session(of: request) else { return [] }
    entries[session]?.removeAll { $0.ask.id == request }
    return [.decide(request, AskAnswer(ending: .withdrawn))]
      + showNext(session, now: now, wall: wall)
  }

  /// The authority took an answer, or says that it had.
  package mutating func answered(
    _ request: RequestID, _ given: GivenVerdict, now: Int64, wall: Int64
  ) -> [Action] {
    // Of a request that is over, or of another host, there is nothing to be told.
    guard let session = session(of: request), let entry = entries[session]?.first,
      entry.ask.id == request
    else { return [] }
    let decision =
      given.verdict == .closed ? AskAnswer(ending: entry.closesAs) : AskAnswer(given)
    return settle(session, decision, now: now, wall: wall)
  }

  /// The authority's answer to a `VerdictRequest`.
  package mutating func verdictTold(
    _ question: VerdictRequest, _ answer: AuthorityAnswer, now: Int64, wall: Int64
  ) -> [Action] {
    switch answer {
    case .verdict(let given?):
      return answered(question.request, given, now: now, wall: wall)
    case .notAwaited where question.closes:
      // The authority never saw it awaited, or not any more: no answer can come.
      guard let entry = entries[question.session]?.first, entry.ask.id == question.request
      else { return [] }
      return settle(question.session, AskAnswer(ending: entry.closesAs), now: now, wall: wall)
    default:
      return []
    }
  }

  /// A connection to the authority is there again: answers may have come meanwhile.
  package func connected() -> [Action] {
    entries.keys.sorted().compactMap { session in
      entries[session]?.first.map { entry in
        .ask(
          VerdictRequest(
            session: session, request: entry.ask.id, closes: entry.closingSince != nil))
      }
    }
  }

  /// The agent goes on by itself, or nobody hands it the answer any more.
  package mutating func withdrawn(_ request: RequestID, now: Int64, wall: Int64) -> [Action] {
    guard let session = session(of: request) else { return [] }
    guard entries[session]?.first?.ask.id == request else {
      entries[session]?.removeAll { $0.ask.id == request }
      return [.decide(request, AskAnswer(ending: .withdrawn))]
    }
    return settle(session, AskAnswer(ending: .withdrawn), now: now, wall: wall)
  }

  /// The agent's turn is over: nothing that it asked in it waits any more.
  package mutating func turnEnded(_ session: SessionID) -> [Action] {
    guard let ended = entries.removeValue(forKey: session), let first = ended.first else {
      return wentOn(session)
    }
    let withdrawn = AskAnswer(ending: .withdrawn)
    return goOn(session, first.ask.id, withdrawn) + ended.map { .decide($0.ask.id, withdrawn) }
  }

  /// The session was deleted: nobody is to answer what was asked in it any more. Of the first, which
  /// people saw, the authority may have taken an answer before.
  package mutating func sessionDeleted(_ session: SessionID, now: Int64) -> [Action] {
    guard var first = entries[session]?.first else { return wentOn(session) }
    let others = entries[session]?.dropFirst() ?? []
    let isClosing = first.closingSince != nil
    first.closingSince = first.closingSince ?? now
    first.closesAs = .withdrawn
    entries[session] = [first]
    let question = VerdictRequest(session: session, request: first.ask.id, closes: true)
    return others.map { .decide($0.ask.id, AskAnswer(ending: .withdrawn)) }
      + (isClosing ? [] : [.ask(question)])
  }

  /// Time has passed: to be called at `deadline`.
  package mutating func timePassed(now: Int64, wall: Int64) -> [Action] {
    var actions: [Action] = []
    for session in entries.keys.sorted() {
      for entry in (entries[session] ?? []).dropFirst() where isOver(entry, now) {
        entries[session]?.removeAll { $0.ask.id == entry.ask.id }
        actions.append(.decide(entry.ask.id, AskAnswer(ending: .expired)))
      }
      guard let first = entries[session]?.first else { continue }
      if let since = first.closingSince {
        guard now - since >= PendingAsks.closingMillisecondsMax else { continue }
        actions += settle(session, AskAnswer(ending: first.closesAs), now: now, wall: wall)
      } else if isOver(first, now) {
        entries[session]?[0].closingSince = now
        actions.append(
          .ask(VerdictRequest(session: session, request: first.ask.id, closes: true)))
      }
    }
    return actions
  }

  private func isOver(_ entry: Entry, _ now: Int64) -> Bool {
    entry.expiresAt.map { $0 <= now } ?? false
  }

  private func session(of request: RequestID) -> SessionID? {
    entries.first { $0.value.contains { $0.ask.id == request } }?.key
  }

  /// The first of a session's is over: the register says so first, then the agent is told, so that
  /// no agent knows more than the devices.
  private mutating func settle(
    _ session: SessionID, _ decision: AskAnswer, now: Int64, wall: Int64
  ) -> [Action] {
    guard let entry = entries[session]?.first else { return [] }
    entries[session]?.removeFirst()
    if entry.ask.promptsItself, decision.ending == .expired {
      // Everybody sees by its time that it is over; the agent waits on, now at its own prompt.
      prompting[session] = AskOutcome(request: entry.ask.id, ending: .expired)
      return [.decide(entry.ask.id, decision)] + showNext(session, now: now, wall: wall)
    }
    return goOn(session, entry.ask.id, decision) + [.decide(entry.ask.id, decision)]
      + showNext(session, now: now, wall: wall)
  }

  private func goOn(
    _ session: SessionID, _ request: RequestID, _ decision: AskAnswer
  ) -> [Action] {
    AskOutcome(request: request, ending: decision.ending, device: decision.device)
      .map { [.goOn(session, $0)] } ?? []
  }

  private mutating func showNext(_ session: SessionID, now: Int64, wall: Int64) -> [Action] {
    guard let next = entries[session]?.first else {
      entries[session] = nil
      return []
    }
    return wentOn(session) + [show(next, now: now, wall: wall)]
  }

  private func show(_ entry: Entry, now: Int64, wall: Int64) -> Action {
    .await(entry.ask, expiresAt: entry.expiresAt.map { wall + max(0, $0 - now) })
  }

  /// Checks the requests against each other.
  ///
  /// - Throws: `InvariantViolation` naming the first contradiction.
  package func checkInvariants() throws(InvariantViolation) {
    var seen: Set<RequestID> = []
    for (session, waiting) in entries {
      func require(_ holds: Bool, _ reason: String) throws(InvariantViolation) {
        if !holds { throw InvariantViolation(reason: "session \(session) \(reason)") }
      }
      try require(!waiting.isEmpty, "waits for nothing")
      try require(waiting.count <= PendingAsks.waitingMax, "has \(waiting.count) requests")
      try require(prompting[session] == nil, "asks here and at its own prompt")
      for (index, entry) in waiting.enumerated() {
        try require(entry.ask.session == session, "waits for the answer of another session")
        try require(seen.insert(entry.ask.id).inserted, "raised a request twice")
        try require(index == 0 || entry.closingSince == nil, "closes what was not shown")
      }
    }
  }
}
