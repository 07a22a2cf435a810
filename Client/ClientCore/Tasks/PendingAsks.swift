package import QueueModel
package import WireProtocol

/// A request of an agent, as its host raises it.
package struct Ask: Hashable, Sendable {
  package var session: SessionID
  package var id: RequestID
  package var matter: AgentAsk
  /// After this time the request expires; nil: never.
  package var patienceMilliseconds: Int64?
  /// If it is not answered in time the agent asks at its own prompt.
  package var promptsItself: Bool
  /// The digest that an approval must name: `ApprovalRequest.digest`.
  package var digest: ContentHash?

  package init(
    session: SessionID, id: RequestID, matter: AgentAsk, patienceMilliseconds: Int64?,
    promptsItself: Bool = false, digest: ContentHash? = nil
  ) {
    self.digest = digest
    self.session = session
    self.id = id
    self.matter = matter
    self.patienceMilliseconds = patienceMilliseconds
    self.promptsItself = promptsItself
  }
}

extension Ask {
  /// The request as users see it.
  ///
  /// - Parameter expiry: when the request expires, in milliseconds since 1970.
  package func request(expiresAt expiry: Int64?) -> TaskRequest {
    switch matter {
    case .approval(let tool, let summary, let details):
      .approval(
        ApprovalRequest(
          id: id, toolName: tool, summary: summary, details: details, expiresAt: expiry,
          digest: digest))
    case .question(let question, let options):
      .question(UserQuestion(id: id, question: question, options: options, expiresAt: expiry))
    }
  }
}

extension AskAnswer {
  init(_ given: GivenVerdict) {
    self.init(
      ending: given.verdict.ending, device: given.verdict == .closed ? nil : given.device,
      text: given.text)
  }

  /// An approval of a text that this host does not have.
  static var mistaken: AskAnswer {
    var answer = AskAnswer(ending: .withdrawn)
    answer.isMistaken = true
    return answer
  }
}

/// The requests of this host's agents: raised in the task's register, answered once, handed to the
/// agent once. SPECIFICATION.md, section "Answers".
///
/// ```text
/// raised ──▶ waiting for room ──▶ shown ──answered──────────────────────▶ decided
///                 │                │  └──its time ended────▶ closing ─────▲
///                 │                │      or session deleted  │ no answer came first, or 5 s
///                 └── its time ended, withdrawn, the turn ended ──────────┘
/// ```
///
/// A state machine without sockets, files and clocks; methods are events, and each returns the
/// driver's actions, in order.
package struct PendingAsks: Sendable {
  package enum Action: Hashable, Sendable {
    /// Write what the task awaits, and the outcome of a request that it awaited before.
    case await(SessionID, Awaited, AskOutcome?)
    /// Write that the task continues, and the outcome of the request.
    case goOn(SessionID, AskOutcome)
    /// Ask the authority.
    case ask(VerdictRequest)
    /// Hand it to the agent.
    case decide(RequestID, AskAnswer)
  }

  /// The requests of a session's agent, as its register shows them.
  package struct Awaited: Hashable, Sendable {
    /// The requests that users can answer, in the order in which they were raised; at least one.
    package var requests: [TaskRequest]
    /// The number of requests that wait until there is room for them.
    package var more: Int
    /// The displayed request; nil if there is none.
    package var raised: RequestID?

    package init(requests: [TaskRequest], more: Int = 0, raised: RequestID? = nil) {
      self.requests = requests
      self.more = more
      self.raised = raised
    }
  }

  /// A request that is displayed or waits for room.
  private struct Entry: Hashable, Sendable {
    var ask: Ask
    /// When it expires, on the clock that never steps.
    var expiresAt: Int64?
    /// The same in milliseconds since 1970, as in the register once it is displayed.
    var shownExpiry: Int64?
    /// Since when the authority has been asked to close it; nil before.
    var closingSince: Int64?
    /// Its outcome if the authority had no answer before it was closed.
    var closesAs: AskOutcome.Ending = .expired
  }

  /// How long a host that cannot ask keeps waiting, in milliseconds.
  package static let closingMillisecondsMax: Int64 = 5_000
  /// The maximum number of displayed requests of one session.
  package static let shownMax = Limits.taskRequestsMax
  /// The maximum number of requests of one session that are displayed or wait for room; further
  /// ones are refused at once.
  package static let waitingMax = 32

  /// By session, in the order in which they were raised; the first `shownMax` are in the register.
  private var entries: [SessionID: [Entry]] = [:]
  /// Sessions whose agents ask at their own prompts, with the outcome of the request. It is in the
  /// register until the agent reports something.
  private var prompting: [SessionID: AskOutcome] = [:]

  package init() {}

  /// When `timePassed` must be called; nil: never.
  package var deadline: Int64? {
    entries.values.flatMap { $0 }.compactMap { entry in
      entry.closingSince.map { $0 + PendingAsks.closingMillisecondsMax } ?? entry.expiresAt
    }.min()
  }

  /// The waiting requests, by session.
  package var waiting: [RequestID] {
    entries.keys.sorted().flatMap { entries[$0]?.map(\.ask.id) ?? [] }
  }

  /// The sessions whose agents wait for an answer.
  var sessions: Set<SessionID> { Set(entries.keys).union(prompting.keys) }

  /// An agent makes a request. It is displayed beside the other requests of its session, or waits
  /// until there is room; its time runs meanwhile.
  package mutating func raised(_ ask: Ask, now: Int64, wall: Int64) -> [Action] {
    let count = entries[ask.session]?.count ?? 0
    guard count < PendingAsks.waitingMax else {
      return [.decide(ask.id, AskAnswer(ending: .expired))]
    }
    let entry = Entry(ask: ask, expiresAt: ask.patienceMilliseconds.map { now + max(0, $0) })
    entries[ask.session, default: []].append(entry)
    let isShown = count < PendingAsks.shownMax
    return resumed(ask.session)
      + show(ask.session, raised: isShown ? ask.id : nil, now: now, wall: wall)
  }

  /// An agent asks at its own prompt, and can only be answered there.
  ///
  /// - Returns: whether to display that: not if a request is awaited already.
  package mutating func prompted(_ request: RequestID, in session: SessionID) -> Bool {
    guard entries[session] == nil, prompting[session] == nil,
      let outcome = AskOutcome(request: request, ending: .withdrawn)
    else { return false }
    prompting[session] = outcome
    return true
  }

  /// An agent's report shows that it no longer asks at its own prompt.
  package mutating func resumed(_ session: SessionID) -> [Action] {
    prompting.removeValue(forKey: session).map { [.goOn(session, $0)] } ?? []
  }

  /// The register could not be written: the agent asks at its own prompt.
  package mutating func refused(_ request: RequestID, now: Int64, wall: Int64) -> [Action] {
    guard let (session, index) = place(of: request) else { return [] }
    return remove(index, of: session, now: now, wall: wall)
      + [.decide(request, AskAnswer(ending: .withdrawn))]
  }

  /// The authority accepted an answer, or reports an earlier one.
  package mutating func answered(
    _ request: RequestID, _ given: GivenVerdict, now: Int64, wall: Int64
  ) -> [Action] {
    // A request that has ended, or that belongs to another host, needs no report.
    guard let (session, index) = place(of: request), index < PendingAsks.shownMax,
      let entry = entries[session]?[index]
    else { return [] }
    let decision: AskAnswer
    switch given.verdict {
    case .closed: decision = AskAnswer(ending: entry.closesAs)
    // The authority knows no more than the register, which another device may have written.
    case .allowed where given.digest != entry.ask.digest: decision = .mistaken
    default: decision = AskAnswer(given)
    }
    return settle(index, of: session, decision, now: now, wall: wall)
  }

  /// The authority's answer to a `VerdictRequest`.
  package mutating func verdictReceived(
    _ question: VerdictRequest, _ answer: AuthorityAnswer, now: Int64, wall: Int64
  ) -> [Action] {
    switch answer {
    case .verdict(let given?):
      return answered(question.request, given, now: now, wall: wall)
    case .notAwaited where question.closes:
      // The authority never saw it awaited, or it no longer is: no answer can come.
      guard let (session, index) = place(of: question.request), session == question.session,
        let entry = entries[session]?[index]
      else { return [] }
      return settle(index, of: session, AskAnswer(ending: entry.closesAs), now: now, wall: wall)
    default:
      return []
    }
  }

  /// The authority is connected again: answers may have arrived meanwhile.
  package func connected() -> [Action] {
    entries.keys.sorted().flatMap { session in
      shown(of: session).map { entry in
        .ask(
          VerdictRequest(
            session: session, request: entry.ask.id, closes: entry.closingSince != nil))
      }
    }
  }

  /// The agent continues by itself, or no longer accepts an answer.
  package mutating func withdrawn(_ request: RequestID, now: Int64, wall: Int64) -> [Action] {
    guard let (session, index) = place(of: request) else { return [] }
    return settle(index, of: session, AskAnswer(ending: .withdrawn), now: now, wall: wall)
  }

  /// The agent's turn has ended: its requests no longer wait.
  package mutating func turnEnded(_ session: SessionID) -> [Action] {
    guard let ended = entries.removeValue(forKey: session), let first = ended.first else {
      return resumed(session)
    }
    let outcome = AskOutcome(request: first.ask.id, ending: .withdrawn)
    return (outcome.map { [.goOn(session, $0)] } ?? [])
      + ended.map { .decide($0.ask.id, AskAnswer(ending: .withdrawn)) }
  }

  /// The session was deleted: its requests must no longer be answered. The authority may have
  /// accepted an answer to a displayed one before.
  package mutating func sessionDeleted(_ session: SessionID, now: Int64) -> [Action] {
    guard let all = entries[session] else { return resumed(session) }
    let hidden = all.dropFirst(PendingAsks.shownMax)
    var actions = hidden.map { Action.decide($0.ask.id, AskAnswer(ending: .withdrawn)) }
    let closed = all.prefix(PendingAsks.shownMax).map { entry in
      var entry = entry
      if entry.closingSince == nil {
        actions.append(
          .ask(VerdictRequest(session: session, request: entry.ask.id, closes: true)))
      }
      entry.closingSince = entry.closingSince ?? now
      entry.closesAs = .withdrawn
      return entry
    }
    entries[session] = closed
    return actions
  }

  /// Time has passed. Call it at `deadline`.
  package mutating func timePassed(now: Int64, wall: Int64) -> [Action] {
    var actions: [Action] = []
    for session in entries.keys.sorted() {
      for request in entries[session]?.map(\.ask.id) ?? [] {
        actions += timePassed(for: request, now: now, wall: wall)
      }
    }
    return actions
  }

  private mutating func timePassed(
    for request: RequestID, now: Int64, wall: Int64
  ) -> [Action] {
    guard let (session, index) = place(of: request), let entry = entries[session]?[index] else {
      return []
    }
    if let since = entry.closingSince {
      guard now - since >= PendingAsks.closingMillisecondsMax else { return [] }
      return settle(index, of: session, AskAnswer(ending: entry.closesAs), now: now, wall: wall)
    }
    guard let expiry = entry.expiresAt, expiry <= now else { return [] }
    guard index < PendingAsks.shownMax else {
      return settle(index, of: session, AskAnswer(ending: .expired), now: now, wall: wall)
    }
    entries[session]?[index].closingSince = now
    return [.ask(VerdictRequest(session: session, request: request, closes: true))]
  }

  private func shown(of session: SessionID) -> ArraySlice<Entry> {
    (entries[session] ?? []).prefix(PendingAsks.shownMax)
  }

  /// The session of a request, and the request's place there.
  private func place(of request: RequestID) -> (SessionID, Int)? {
    for (session, waiting) in entries {
      if let index = waiting.firstIndex(where: { $0.ask.id == request }) { return (session, index) }
    }
    return nil
  }

  /// A request of a session has ended. The register shows that first, and then the agent gets the
  /// answer, so that no agent knows more than the devices.
  private mutating func settle(
    _ index: Int, of session: SessionID, _ decision: AskAnswer, now: Int64, wall: Int64
  ) -> [Action] {
    guard let entry = entries[session]?[index] else { return [] }
    let isLast = entries[session]?.count == 1
    let outcome = AskOutcome(
      request: entry.ask.id, ending: decision.ending, device: decision.device)
    if isLast, entry.ask.promptsItself, decision.ending == .expired, let outcome {
      // Its time shows all devices that it has expired; the agent keeps waiting, now at its own
      // prompt.
      entries[session] = nil
      prompting[session] = outcome
      return [.decide(entry.ask.id, decision)]
    }
    let isShown = index < PendingAsks.shownMax
    return remove(index, of: session, isShown ? outcome : nil, now: now, wall: wall)
      + [.decide(entry.ask.id, decision)]
  }

  /// Removes a request. Another one that waited for room is displayed in its place; if there is
  /// none, the task continues.
  private mutating func remove(
    _ index: Int, of session: SessionID, _ outcome: AskOutcome? = nil, now: Int64, wall: Int64
  ) -> [Action] {
    entries[session]?.remove(at: index)
    guard let left = entries[session], !left.isEmpty else {
      entries[session] = nil
      return outcome.map { [.goOn(session, $0)] } ?? []
    }
    let raised = index < PendingAsks.shownMax && left.count >= PendingAsks.shownMax
    return show(
      session, outcome, raised: raised ? left[PendingAsks.shownMax - 1].ask.id : nil, now: now,
      wall: wall)
  }

  private mutating func show(
    _ session: SessionID, _ outcome: AskOutcome? = nil, raised: RequestID?, now: Int64, wall: Int64
  ) -> [Action] {
    guard let all = entries[session] else { return [] }
    for index in all.indices.prefix(PendingAsks.shownMax) where all[index].ask.id == raised {
      entries[session]?[index].shownExpiry = all[index].expiresAt.map { wall + max(0, $0 - now) }
    }
    return awaited(in: session, raised: raised).map { [.await(session, $0, outcome)] } ?? []
  }

  /// The awaited requests for a session's register; nil if there are none.
  package func awaited(in session: SessionID, raised: RequestID? = nil) -> Awaited? {
    guard let all = entries[session] else { return nil }
    return Awaited(
      requests: shown(of: session).map { $0.ask.request(expiresAt: $0.shownExpiry) },
      more: max(0, all.count - PendingAsks.shownMax), raised: raised)
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
        try require(
          index < PendingAsks.shownMax || entry.closingSince == nil, "closes what was not shown")
      }
    }
  }
}
