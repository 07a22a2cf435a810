package import QueueModel
package import WireProtocol

/// Who may run the messages of which session, and which attempts were let out.
///
/// The queues are merged; starting a message cannot be. So one authority decides: the server, or
/// the daemon of a device that has none. It is pure: times come in, and what has to be stored
/// before an answer may leave comes out.
package struct Authority: Hashable, Sendable {
  /// How far ahead of the clock a token may be that others are to have granted.
  package static let tokenAheadMilliseconds: Int64 = 86_400_000
  /// How far the next token may be from the one before if the clock does not tell: less than 60 ms
  /// of it, so that the clock catches up at 16 leases a second.
  package static let tokenSteps: UInt64 = 64

  private(set) var leases: [SessionID: Lease] = [:]
  /// When each lease ends, on the authority's own clock, which counts sleep.
  private(set) var ends: [SessionID: Int64] = [:]
  /// The request that each lease was granted for, so that the same one gets the same token. Not
  /// stored: after a restart it gets a new one, and the asker, if it took the old one, is fenced.
  private var grants: [SessionID: UInt64] = [:]
  var dispatches: [MessageID: Dispatch] = [:]
  /// The messages of each session with an attempt that may be at work. Some have ended since: that is
  /// found out where it matters.
  var unended: [SessionID: Set<MessageID>] = [:]
  var verdicts: [RequestID: VerdictRecord] = [:]
  /// The greatest token that was granted by the clock. Greater ones are their sessions' matter.
  private var latestToken: UInt64 = 0

  /// An authority that has decided nothing yet.
  package init() {}

  /// An authority that begins with what was stored. Leases hold for one more term from now, because
  /// nobody knows when they were renewed last.
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

  /// Everything that is stored, in a fixed order.
  package var stored: AuthorityRecords {
    AuthorityRecords(
      leases: leases.values.sorted { $0.session < $1.session },
      dispatches: dispatches.values.sorted { $0.message < $1.message },
      verdicts: verdicts.values.sorted { $0.request < $1.request })
  }

  /// Decides.
  ///
  /// - Parameters:
  ///   - id: the client's number of the request; the same one gets the same answer.
  ///   - holder: who asks.
  ///   - workspace: the queues as the authority knows them.
  ///   - uptime: a clock that counts sleep, in milliseconds.
  ///   - wall: milliseconds since 1970.
  ///   - awaySince: since when a store has had no connection, in milliseconds since 1970; nil if it
  ///     is connected.
  /// - Returns: the answer, and what has to be durable before it may leave. nil is none yet: `next`
  ///   stands, and is to be asked here again when the session's queue has changed.
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
      return (.go, letOut(dispatch, id: id, to: holder, wall: wall))
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

  /// A lease goes on, also one that ran out: as long as nobody else got one, it is its holder's. Where an
  /// attempt is at work under it, it goes on whichever device is the host by now.
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

  /// Grants a lease to a session's host, if no other store has one, or may be at work there.
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
      return (granted(current.token), AuthorityRecords())
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
    // A token in a register that nobody can have granted is its session's matter: other sessions lose
    // no tokens to it.
    latestToken = latest > tokenCeiling(wall: wall) ? own : next
    let lease = Lease(session: session, token: next, holder: holder)
    leases[session] = lease
    grants[session] = id
    ends[session] = uptime + LeaseTimes.leaseMilliseconds
    return (granted(next), AuthorityRecords(leases: [lease]))
  }

  /// The greatest token that can have been granted by now: by this authority, or by one whose clock was
  /// a day ahead, as that of a device without a server may be.
  package func tokenCeiling(wall: Int64) -> UInt64 {
    let (later, isBeyond) = wall.addingReportingOverflow(Authority.tokenAheadMilliseconds)
    return max(latestToken, Authority.token(after: 0, wall: isBeyond ? .max : later, for: 0))
  }

  private func granted(_ token: UInt64) -> AuthorityAnswer {
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

  /// The next token: greater than all before it, and, by the clock, than those that were granted
  /// after a backup which the authority was restored from. The time counts to less than a
  /// millisecond, so that this holds also if the backup is a moment old.
  ///
  /// Two servers from one backup whose latest token is ahead of their clocks would count on alike:
  /// so the step is one of `tokenSteps`, by the request's id, which is random.
  private static func token(after latest: UInt64, wall: Int64, for id: UInt64) -> UInt64 {
    let epoch: Int64 = 1_704_067_200_000
    let (minutes, rest) = UInt64(max(wall, epoch) - epoch).quotientAndRemainder(dividingBy: 60_000)
    let time = min(minutes, 0xff_ffff) << 16 | (rest << 16) / 60_000
    return min(max(latest + 1 + id % Authority.tokenSteps, time), Fence.tokenMax)
  }

  // MARK: - Dispatch

  /// Lets the first message of a queue out, if it may start now.
  private mutating func next(
    _ session: SessionID, _ token: UInt64, id: UInt64, for holder: LeaseHolder,
    _ workspace: Workspace, uptime: Int64, wall: Int64
  ) -> (AuthorityAnswer?, AuthorityRecords) {
    guard let rest = rest(of: session, token, heldBy: holder, uptime: uptime) else {
      return (.fenced, AuthorityRecords())
    }
    guard rest > LeaseTimes.leaseMilliseconds - LeaseTimes.nextMilliseconds,
      let (message, state) = workspace.startable(in: session),
      let attempt = UInt16(exactly: Int(state.runState.run?.attempt ?? 0) + 1),
      // What was let out before and not reported is its holder's to ask for: it may have begun.
      dispatches[message]?.attempt ?? 0 < attempt
    else { return (nil, AuthorityRecords()) }
    let dispatch = DispatchRequest(
      session: session, message: message, token: token, attempt: attempt,
      tags: state.tags.sorted(), content: DispatchRequest.contentDigest(state.text))
    let answer = decide(
      dispatch, id: id, for: holder, workspace, uptime: uptime, wall: wall, { _ in nil })
    guard answer == .go else { return (nil, AuthorityRecords()) }
    return (
      .letOut(message: message, attempt: attempt, content: dispatch.content),
      letOut(dispatch, id: id, to: holder, wall: wall)
    )
  }

  /// How long a lease still holds; nil if it does not, or is another's.
  private func rest(
    of session: SessionID, _ token: UInt64, heldBy holder: LeaseHolder, uptime: Int64
  ) -> Int64? {
    guard let lease = leases[session], lease.token == token, lease.holder == holder,
      let end = ends[session], end > uptime
    else { return nil }
    return end - uptime
  }

  /// Takes down that a prompt may go out.
  private mutating func letOut(
    _ dispatch: DispatchRequest, id: UInt64, to holder: LeaseHolder, wall: Int64
  ) -> AuthorityRecords {
    var record = Dispatch(
      message: dispatch.message, session: dispatch.session, holder: holder,
      token: dispatch.token, attempt: dispatch.attempt, request: id, content: dispatch.content,
      milliseconds: wall)
    if let known = dispatches[dispatch.message], known.token == record.token,
      known.attempt == record.attempt
    {
      // The same once more: its answer was lost.
      record.milliseconds = known.milliseconds
      record.intervention = known.intervention
    }
    guard dispatches[dispatch.message] != record else { return AuthorityRecords() }
    note(record)
    return AuthorityRecords(dispatches: [record])
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
      // It did not begin, and is not to: its host hears so with the lease.
      if known.intervention == .stop { return .cancelled }
      if known.request == id { return .go }
    }
    guard let state = workspace.dispatchState(of: request.message), state.stands,
      !state.runState.isFinal
    else { return .cancelled }
    let run = state.runState.run
    // It ran in another queue, under a later lease, or may have: what this one's holder wrote would not
    // count.
    guard max(run?.token ?? 0, known?.token ?? 0) <= request.token else { return .fenced }
    if let other = otherRunner(
      of: request.message, run, than: holder, uptime: uptime, wall: wall, awaySince)
    {
      return other
    }
    // What became of the latest attempt has to be known before another one begins. Who asks for that
    // very attempt under the lease that it was let out under has not begun it: the answer was lost.
    // No copy of its store knows the lease's token.
    if let known, known.attempt > run?.attempt ?? 0,
      known.attempt != request.attempt || known.token != request.token
    {
      return .duplicate(attempt: known.attempt, token: known.token)
    }
    guard state.session == request.session, state.tags == request.tags.sorted(),
      DispatchRequest.contentDigest(state.text) == request.content,
      Int(request.attempt) == Int(run?.attempt ?? 0) + 1
    else { return .stale }
    guard !state.queueStands, !state.runState.isInFlight else { return .paused }
    let earliest = state.earliest ?? 0
    guard earliest <= wall else { return .notYet(earliest) }
    return .go
  }
}
