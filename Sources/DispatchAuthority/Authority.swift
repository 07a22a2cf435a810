package import QueueModel
package import WireProtocol

/// Decides which device may run the messages of which session, and which attempts it grants.
///
/// The queues are merged; starting a message cannot be. So one authority decides: the server, or
/// the daemon of a device that has no server. It is pure: times are parameters, and it returns what
/// must be stored before an answer may be sent.
package struct Authority: Hashable, Sendable {
  /// How far ahead of the clock, in milliseconds, a token from another authority may be.
  package static let tokenAheadMilliseconds: Int64 = 86_400_000
  /// The largest step from one token to the next if the clock is behind: less than 60 ms of it, so
  /// that the clock catches up at 16 leases a second.
  package static let tokenSteps: UInt64 = 64

  private(set) var leases: [SessionID: Lease] = [:]
  /// When each lease ends, on the authority's own clock, which counts sleep.
  private(set) var ends: [SessionID: Int64] = [:]
  /// The request that each lease was granted for, so that the same request gets the same token. Not
  /// stored: after a restart the request gets a new token, and an asker that took the old one is
  /// fenced.
  private var grants: [SessionID: UInt64] = [:]
  var dispatches: [MessageID: Dispatch] = [:]
  /// The messages of each session with an attempt that may be at work. Some may have ended;
  /// `attemptsAtWork` checks that.
  var unended: [SessionID: Set<MessageID>] = [:]
  var verdicts: [RequestID: VerdictRecord] = [:]
  /// The greatest token that was granted by the clock. Greater ones concern only their own
  /// sessions.
  private var latestToken: UInt64 = 0

  /// Makes an authority that has decided nothing yet.
  package init() {}

  /// Makes an authority from what was stored. Leases hold for one more term from now, because the
  /// times of their last renewals are unknown.
  package init(_ stored: AuthorityRecords, uptime: Int64, wall: Int64) {
    let ceiling = tokenCeiling(wall: wall)
    for lease in stored.leases {
      self.leases[lease.session] = lease
      if lease.token <= ceiling { latestToken = max(latestToken, lease.token) }
      if lease.holder != nil { ends[lease.session] = uptime + LeaseTimes.leaseMilliseconds }
    }
    for dispatch in stored.dispatches { note(dispatch) }
    for verdict in stored.verdicts { verdicts[verdict.request] = verdict }
  }

  /// Everything to store, in a fixed order.
  package var stored: AuthorityRecords {
    AuthorityRecords(
      leases: leases.values.sorted { $0.session < $1.session },
      dispatches: dispatches.values.sorted { $0.message < $1.message },
      verdicts: verdicts.values.sorted { $0.request < $1.request })
  }

  /// Decides a request.
  ///
  /// - Parameters:
  ///   - id: the client's number of the request; the same one gets the same answer.
  ///   - holder: the device and store that ask.
  ///   - workspace: the queues as the authority knows them.
  ///   - uptime: a clock that counts sleep, in milliseconds.
  ///   - wall: milliseconds since 1970.
  ///   - awaySince: since when a store has had no connection, in milliseconds since 1970; nil if it
  ///     is connected.
  /// - Returns: the answer, and what must be durable before it may be sent. nil is no answer yet:
  ///   `next` waits, and must be asked here again when the session's queue has changed.
  /// - Complexity: O(messages of the session).
  package mutating func answer(
    _ request: AuthorityRequest, id: UInt64, from holder: LeaseHolder,
    in workspace: Workspace, uptime: Int64, wall: Int64,
    awaySince: (LeaseHolder) -> Int64? = { _ in nil }
  ) -> (answer: AuthorityAnswer?, changes: AuthorityRecords) {
    switch request {
    case .lease(let session, 0):
      return grant(
        session, id: id, for: holder, workspace, uptime: uptime, wall: wall, awaySince)
    case .lease(let session, let token):
      return (
        renew(session, token, by: holder, workspace, uptime: uptime), AuthorityRecords()
      )
    case .release(let session, let token):
      return release(session, token, by: holder, workspace)
    case .dispatch(let dispatch):
      let answer = decide(
        dispatch, id: id, for: holder, workspace, uptime: uptime, wall: wall, awaySince)
      guard answer == .go else { return (answer, AuthorityRecords()) }
      return (.go, grantAttempt(dispatch, id: id, to: holder, workspace, wall: wall))
    case .next(let session, let token):
      return next(session, token, id: id, for: holder, workspace, uptime: uptime, wall: wall)
    case .stop(let attempt):
      return stop(attempt, workspace, uptime: uptime, wall: wall, awaySince)
    case .takeOver(let attempt):
      return takeOver(attempt, workspace, uptime: uptime, wall: wall, awaySince)
    case .withdraw:
      return (.withdrawn, AuthorityRecords())
    case .answer(let answer):
      return take(answer, from: holder, workspace, wall: wall)
    case .verdict(let question):
      return tell(question, to: holder, workspace, wall: wall)
    case .outcome(let message):
      let record = dispatches[message]
      return (
        .outcome(
          attempt: record?.attempt ?? 0, token: record?.token ?? 0, content: record?.content ?? 0),
        AuthorityRecords()
      )
    case .whereabouts(let message):
      let run = workspace.dispatchState(of: message)?.runState.run
      let other = otherRunner(
        of: message, run, than: holder, uptime: uptime, wall: wall, awaySince)
      return (other ?? .runsNowhereElse, AuthorityRecords())
    }
  }

  // MARK: - Leases

  /// Renews a lease, even an expired one: until another store gets one, it belongs to its holder.
  /// If an attempt is at work under it, it is renewed whichever device is the host now.
  private mutating func renew(
    _ session: SessionID, _ token: UInt64, by holder: LeaseHolder, _ workspace: Workspace,
    uptime: Int64
  ) -> AuthorityAnswer {
    guard let host = workspace.host(of: session) else { return .noSession }
    guard leases[session]?.token == token, leases[session]?.holder == holder else { return .fenced }
    let own = attemptsAtWork(in: session, workspace).first {
      $0.token == token && $0.holder == holder
    }
    guard host == holder.device || own != nil else { return .otherHost(host) }
    ends[session] = uptime + LeaseTimes.leaseMilliseconds
    return .leased(
      token: token, milliseconds: UInt32(LeaseTimes.leaseMilliseconds),
      stops: own?.intervention == .stop ? own?.name : nil)
  }

  /// Grants a lease to a session's host, unless another store has one, or may be at work there.
  private mutating func grant(
    _ session: SessionID, id: UInt64, for holder: LeaseHolder, _ workspace: Workspace,
    uptime: Int64, wall: Int64, _ awaySince: (LeaseHolder) -> Int64?
  ) -> (AuthorityAnswer, AuthorityRecords) {
    guard let host = workspace.host(of: session) else { return (.noSession, AuthorityRecords()) }
    guard host == holder.device else { return (.otherHost(host), AuthorityRecords()) }
    let current = leases[session]
    let rest = ends[session].map { $0 - uptime } ?? 0
    if let current, current.holder == holder, rest > 0, grants[session] == id {
      ends[session] = uptime + LeaseTimes.leaseMilliseconds
      return (leased(current.token), AuthorityRecords())
    }
    let other = attemptsAtWork(in: session, workspace).first {
      $0.holder != holder && $0.intervention != .takeOver
    }
    if let other {
      return (held(by: other, uptime: uptime, wall: wall, awaySince), AuthorityRecords())
    }
    if let owner = current?.holder, owner != holder, rest > 0 {
      return (
        .held(by: owner.device, milliseconds: UInt32(clamping: rest)), AuthorityRecords()
      )
    }
    let own = Authority.token(after: latestToken, wall: wall, for: id)
    let latest = max(workspace.latestToken(of: session), current?.token ?? 0)
    let next = latest < own ? own : Authority.token(after: latest, wall: wall, for: id)
    // An impossible token in a register concerns only its session: other sessions lose no tokens to
    // it.
    latestToken = latest > tokenCeiling(wall: wall) ? own : next
    let lease = Lease(session: session, token: next, holder: holder)
    leases[session] = lease
    grants[session] = id
    ends[session] = uptime + LeaseTimes.leaseMilliseconds
    return (leased(next), AuthorityRecords(leases: [lease]))
  }

  /// The greatest token that can exist by now: granted by this authority, or by one whose clock was
  /// a day ahead, as that of a device without a server may be.
  package func tokenCeiling(wall: Int64) -> UInt64 {
    let (later, isBeyond) = wall.addingReportingOverflow(Authority.tokenAheadMilliseconds)
    return max(latestToken, Authority.token(after: 0, wall: isBeyond ? .max : later, for: 0))
  }

  private func leased(_ token: UInt64) -> AuthorityAnswer {
    .leased(token: token, milliseconds: UInt32(LeaseTimes.leaseMilliseconds))
  }

  private mutating func release(
    _ session: SessionID, _ token: UInt64, by holder: LeaseHolder, _ workspace: Workspace
  ) -> (AuthorityAnswer, AuthorityRecords) {
    guard let lease = leases[session], lease.token == token, lease.holder == holder else {
      return (.released, AuthorityRecords())
    }
    let attempts = attemptsReleased(with: lease, workspace)
    return (.released, AuthorityRecords(leases: end(lease), dispatches: attempts))
  }

  /// Ends a lease. Its token stays known, so that it is never granted again.
  mutating func end(_ lease: Lease) -> [Lease] {
    var lease = lease
    lease.holder = nil
    leases[lease.session] = lease
    ends[lease.session] = nil
    return [lease]
  }

  /// The next token: greater than all before it, and, by the clock, than those granted after the
  /// backup from which the authority was restored. The time counts to less than a millisecond, so
  /// this holds even for a backup a moment old.
  ///
  /// Two servers from one backup whose latest token is ahead of their clocks would grant the same
  /// tokens. So the step is one of `tokenSteps`, by the request's id, which is random.
  private static func token(after latest: UInt64, wall: Int64, for id: UInt64) -> UInt64 {
    let epoch: Int64 = 1_704_067_200_000
    let (minutes, rest) = UInt64(max(wall, epoch) - epoch).quotientAndRemainder(dividingBy: 60_000)
    let time = min(minutes, 0xff_ffff) << 16 | (rest << 16) / 60_000
    return min(max(latest + 1 + id % Authority.tokenSteps, time), Fence.tokenMax)
  }

  // MARK: - Dispatch

  /// Grants the first message of a queue, if it may start now.
  private mutating func next(
    _ session: SessionID, _ token: UInt64, id: UInt64, for holder: LeaseHolder,
    _ workspace: Workspace, uptime: Int64, wall: Int64
  ) -> (AuthorityAnswer?, AuthorityRecords) {
    guard let rest = rest(of: session, token, heldBy: holder, uptime: uptime) else {
      return (.fenced, AuthorityRecords())
    }
    guard rest > LeaseTimes.leaseMilliseconds - LeaseTimes.nextMilliseconds,
      let (message, state) = workspace.startable(in: session, by: wall),
      let attempt = UInt16(exactly: Int(state.runState.run?.attempt ?? 0) + 1),
      // Only its holder may ask for a message that was granted and not reported: it may have begun.
      dispatches[message]?.attempt ?? 0 < attempt
    else { return (nil, AuthorityRecords()) }
    let dispatch = DispatchRequest(
      session: session, message: message, token: token, attempt: attempt,
      tags: state.tags.sorted(), content: DispatchRequest.contentDigest(state.text))
    let answer = decide(
      dispatch, id: id, for: holder, workspace, uptime: uptime, wall: wall, { _ in nil })
    guard answer == .go else { return (nil, AuthorityRecords()) }
    return (
      .granted(message: message, attempt: attempt, content: dispatch.content),
      grantAttempt(dispatch, id: id, to: holder, workspace, wall: wall)
    )
  }

  /// How long a lease still holds; nil if it does not, or has another holder.
  private func rest(
    of session: SessionID, _ token: UInt64, heldBy holder: LeaseHolder, uptime: Int64
  ) -> Int64? {
    guard let lease = leases[session], lease.token == token, lease.holder == holder,
      let end = ends[session], end > uptime
    else { return nil }
    return end - uptime
  }

  /// Records that a prompt may be handed out, and what that says about earlier attempts.
  private mutating func grantAttempt(
    _ dispatch: DispatchRequest, id: UInt64, to holder: LeaseHolder, _ workspace: Workspace,
    wall: Int64
  ) -> AuthorityRecords {
    var record = Dispatch(
      message: dispatch.message, session: dispatch.session, holder: holder,
      token: dispatch.token, attempt: dispatch.attempt, request: id, content: dispatch.content,
      milliseconds: wall)
    if let known = dispatches[dispatch.message], known.token == record.token,
      known.attempt == record.attempt
    {
      // The same request again: its answer was lost.
      record.milliseconds = known.milliseconds
      record.intervention = known.intervention
    }
    guard dispatches[dispatch.message] != record else { return AuthorityRecords() }
    let passed = attemptsPassed(by: record, workspace)
    note(record)
    return AuthorityRecords(dispatches: passed + [record])
  }

  private mutating func note(_ dispatch: Dispatch) {
    dispatches[dispatch.message] = dispatch
    unended[dispatch.session, default: []].insert(dispatch.message)
  }

  private func decide(
    _ request: DispatchRequest, id: UInt64, for holder: LeaseHolder,
    _ workspace: Workspace, uptime: Int64, wall: Int64, _ awaySince: (LeaseHolder) -> Int64?
  ) -> AuthorityAnswer {
    guard rest(of: request.session, request.token, heldBy: holder, uptime: uptime) != nil else {
      return .fenced
    }
    let known = dispatches[request.message]
    if let known, known.token == request.token, known.attempt == request.attempt {
      // It did not begin and must not: its host learns that with the lease.
      if known.intervention == .stop { return .cancelled }
      if known.request == id, known.intervention != .released { return .go }
    }
    guard let state = workspace.dispatchState(of: request.message), state.stands,
      !state.runState.isFinal
    else { return .cancelled }
    let run = state.runState.run
    // It ran, or may have run, in another queue under a later lease: a report of this lease's
    // holder would not count.
    guard max(run?.token ?? 0, known?.token ?? 0) <= request.token else { return .fenced }
    if let other = otherRunner(
      of: request.message, run, than: holder, uptime: uptime, wall: wall, awaySince)
    {
      return other
    }
    // The outcome of the latest attempt must be known before another one begins. If the lease's
    // holder asks for that very attempt, it has not begun it: the answer was lost. No copy of its
    // store knows the lease's token. If the message was free for another host meanwhile, that one
    // may be reporting the attempt as unknown.
    if let known, known.attempt > run?.attempt ?? 0,
      known.attempt != request.attempt || known.token != request.token
        || known.intervention == .released
    {
      return .duplicate(attempt: known.attempt, token: known.token)
    }
    guard state.session == request.session, state.tags == request.tags.sorted(),
      DispatchRequest.contentDigest(state.text) == request.content,
      Int(request.attempt) == Int(run?.attempt ?? 0) + 1
    else { return .stale }
    guard !state.queueStands, !state.runState.isInFlight, state.unmetNeeds.isEmpty else {
      return .paused
    }
    let due = state.due ?? 0
    guard due <= wall else { return .notYet(due) }
    return .go
  }
}
