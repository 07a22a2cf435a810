import QueueModel
import WireProtocol

/// Attempts that may be at work: granted, and *run* does not report their end.
///
/// A host that gets no answer keeps its agent at work. So the end of a lease says nothing about the
/// agent, and no other store gets the session while an attempt of it may be at work.
extension Authority {
  /// Whether an attempt may be at work: *run* does not report its end, and its host neither released
  /// the lease under which it was granted nor went on with another message under it.
  ///
  /// `unknown` under the attempt's own token is written by its host, which lost its memory, or by
  /// the next host, if a device took the attempt over.
  func mayWork(_ dispatch: Dispatch, _ run: Run?) -> Bool {
    guard dispatch.intervention != .released else { return false }
    guard let run, run.attempt >= dispatch.attempt else { return true }
    guard run.attempt == dispatch.attempt else { return false }
    switch run.phase {
    case .dispatched, .running: return true
    case .unknown: return run.token != dispatch.token && dispatch.intervention != .takeOver
    case .interrupted, .failed, .cancelled, .succeeded: return false
    }
  }

  /// The attempts of a session that may be at work. Ended ones are not examined again.
  ///
  /// - Complexity: O(attempts granted since the last call), and O(messages of the session) once for
  ///   each message that is not open.
  mutating func attemptsAtWork(in session: SessionID, _ workspace: Workspace) -> [Dispatch] {
    guard let messages = unended[session] else { return [] }
    let runs = workspace.runs(of: messages)
    let atWork = messages.compactMap { message in
      dispatches[message].flatMap { dispatch in
        dispatch.session == session && mayWork(dispatch, runs[message]) ? dispatch : nil
      }
    }.sorted { $0.message < $1.message }
    unended[session] = atWork.isEmpty ? nil : Set(atWork.map(\.message))
    return atWork
  }

  /// Another store's attempt at a message that may be at work, in whichever session the message is
  /// now, or one that was taken over; nil if there is none.
  func otherRunner(
    of message: MessageID, _ run: Run?, than holder: LeaseHolder, uptime: Int64, wall: Int64,
    _ awaySince: (LeaseHolder) -> Int64?
  ) -> AuthorityAnswer? {
    guard let known = dispatches[message], mayWork(known, run) else { return nil }
    if known.intervention == .takeOver { return .takenOver(attempt: known.attempt) }
    return known.holder == holder ? nil : held(by: known, uptime: uptime, wall: wall, awaySince)
  }

  /// The answer to a request for a session that an attempt occupies.
  func held(
    by dispatch: Dispatch, uptime: Int64, wall: Int64, _ awaySince: (LeaseHolder) -> Int64?
  ) -> AuthorityAnswer {
    let rest = ends[dispatch.session].map { $0 - uptime } ?? 0
    let since = absentSince(dispatch, uptime: uptime, wall: wall, awaySince)
    return .held(
      by: dispatch.holder.device,
      milliseconds: UInt32(clamping: max(rest, LeaseTimes.renewalMilliseconds)),
      AttemptAtWork(attempt: dispatch.name, awaySince: since))
  }

  /// Since when an attempt's host has been silent, in milliseconds since 1970: it has no
  /// connection, or does not renew the lease. nil if it is active.
  private func absentSince(
    _ dispatch: Dispatch, uptime: Int64, wall: Int64, _ awaySince: (LeaseHolder) -> Int64?
  ) -> Int64? {
    if let since = awaySince(dispatch.holder) { return max(since, dispatch.milliseconds) }
    guard let lease = leases[dispatch.session], lease.token == dispatch.token,
      let end = ends[dispatch.session]
    else { return dispatch.milliseconds }
    return end > uptime ? nil : wall - (uptime - end) - LeaseTimes.leaseMilliseconds
  }

  // MARK: - Stopping and taking over

  /// Records a request to stop an attempt: its host learns of it with the next renewal of its
  /// lease.
  mutating func stop(
    _ attempt: AttemptName, _ workspace: Workspace, uptime: Int64, wall: Int64,
    _ awaySince: (LeaseHolder) -> Int64?
  ) -> (AuthorityAnswer, AuthorityRecords) {
    guard let known = atWork(attempt, workspace), known.intervention != .takeOver else {
      return (.notAtWork, AuthorityRecords())
    }
    let since = absentSince(known, uptime: uptime, wall: wall, awaySince)
    let answer = AuthorityAnswer.stopping(on: known.holder.device, awaySince: since)
    return (answer, intervene(.stop, in: known))
  }

  /// Gives up an attempt whose host is away: its lease ends, and the next host may have the
  /// session.
  mutating func takeOver(
    _ attempt: AttemptName, _ workspace: Workspace, uptime: Int64, wall: Int64,
    _ awaySince: (LeaseHolder) -> Int64?
  ) -> (AuthorityAnswer, AuthorityRecords) {
    guard let known = atWork(attempt, workspace) else { return (.notAtWork, AuthorityRecords()) }
    guard known.intervention != .takeOver else { return (.taken, AuthorityRecords()) }
    guard absentSince(known, uptime: uptime, wall: wall, awaySince) != nil else {
      return (held(by: known, uptime: uptime, wall: wall, awaySince), AuthorityRecords())
    }
    var records = intervene(.takeOver, in: known)
    if let lease = leases[known.session], lease.token == known.token {
      records.leases = end(lease)
    }
    return (.taken, records)
  }

  private func atWork(_ attempt: AttemptName, _ workspace: Workspace) -> Dispatch? {
    guard let known = dispatches[attempt.message], known.attempt == attempt.number,
      mayWork(known, workspace.runs(of: [attempt.message])[attempt.message])
    else { return nil }
    return known
  }

  /// A host released a lease: none of the attempts granted under it is at work there.
  mutating func attemptsReleased(with lease: Lease, _ workspace: Workspace) -> [Dispatch] {
    attemptsAtWork(in: lease.session, workspace).filter {
      $0.token == lease.token && $0.holder == lease.holder
    }.flatMap { intervene(.released, in: $0).dispatches }
  }

  /// A host begins a message only if none is at work in the session. So of the attempts that were
  /// granted to it under the same lease, those that *run* does not report never began, or have
  /// ended. Where their messages are now, they wait no longer for that host.
  ///
  /// Messages that are still in the session keep their attempts: the host may ask for one again.
  mutating func attemptsPassed(by latest: Dispatch, _ workspace: Workspace) -> [Dispatch] {
    attemptsAtWork(in: latest.session, workspace).filter {
      guard $0.token == latest.token, $0.holder == latest.holder, $0.message != latest.message,
        let state = workspace.dispatchState(of: $0.message)
      else { return false }
      return state.session != latest.session && state.runState.run?.attempt ?? 0 < $0.attempt
    }.flatMap { intervene(.released, in: $0).dispatches }
  }

  private mutating func intervene(
    _ intervention: Intervention, in dispatch: Dispatch
  ) -> AuthorityRecords {
    guard dispatch.intervention != intervention else { return AuthorityRecords() }
    var record = dispatch
    record.intervention = intervention
    dispatches[record.message] = record
    return AuthorityRecords(dispatches: [record])
  }
}
