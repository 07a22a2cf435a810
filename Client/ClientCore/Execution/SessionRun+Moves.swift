import DispatchAuthority
import QueueModel
import WireProtocol

extension SessionRun.Lease {
  var held: HeldLease? { if case .held(let lease) = self { lease } else { nil } }

  /// The token of a lapsed lease.
  var lapsedToken: UInt64? { if case .lapsed(let token) = self { token } else { nil } }

  /// The token of a lease that is held or lapsed.
  var token: UInt64? { held?.token ?? lapsedToken }

  /// Gives a held lease up; a lapsed one stays lapsed.
  mutating func drop() {
    if held != nil { self = .none }
  }
}

extension SessionRun.Question {
  var asking: Asking? { if case .asking(let asking, _) = self { asking } else { nil } }

  var pause: Pause? {
    switch self {
    case .silent: nil
    case .asking(_, let pause): pause
    case .paused(let pause): pause
    }
  }

  /// Asks a question that replaces an earlier one.
  mutating func ask(_ asking: Asking) {
    self = .asking(asking, then: pause)
  }

  /// The answer arrived, or is no longer awaited.
  mutating func end() {
    guard case .asking(_, let pause) = self else { return }
    self = pause.map { .paused($0) } ?? .silent
  }

  /// Asks nothing for a while after the answer to the open question.
  mutating func wait(_ pause: Pause) {
    self = asking.map { .asking($0, then: pause) } ?? .paused(pause)
  }

  mutating func endPause() {
    self = asking.map { .asking($0, then: nil) } ?? .silent
  }

  /// The same question is sent again.
  mutating func sendAgain(repeats: Int, at now: Int64) {
    guard case .asking(var asking, let pause) = self else { return }
    asking.sentAt = now
    asking.repeats = repeats
    self = .asking(asking, then: pause)
  }
}

extension SessionRun.NextRequest {
  /// The number of the request, even while it is being withdrawn.
  var id: UInt64? {
    switch self {
    case .none: nil
    case .waiting(let id, _, _), .withdrawing(let id, _, _): id
    }
  }

  /// The token under which it was asked.
  var token: UInt64? {
    switch self {
    case .none: nil
    case .waiting(_, let token, _), .withdrawing(_, let token, _): token
    }
  }

  var withdrawal: UInt64? {
    if case .withdrawing(_, _, let withdrawal) = self { withdrawal } else { nil }
  }

  /// Since when a message is overdue.
  var overdueSince: Int64? {
    if case .waiting(_, _, let since) = self { since } else { nil }
  }

  /// Whether the authority answers it when the first message may start under a lease.
  func isWaiting(under lease: HeldLease) -> Bool {
    if case .waiting(_, let token, _) = self { token == lease.token } else { false }
  }

  mutating func setOverdue(since: Int64?) {
    guard case .waiting(let id, let token, _) = self else { return }
    self = .waiting(id: id, token: token, overdueSince: since)
  }
}

extension SessionRun.Work {
  var run: ActiveRun? {
    switch self {
    case .none: nil
    case .running(let run), .stopping(let run, _): run
    }
  }

  var order: StartOrder? { run?.order }

  var stopReason: StopReason? { if case .stopping(_, let reason) = self { reason } else { nil } }
}

extension SessionRun {
  /// The age at which a lease is renewed.
  var renewalMilliseconds: Int64 {
    work == .none ? LeaseTimes.renewalMilliseconds : LeaseTimes.workingRenewalMilliseconds
  }

  /// Whether its messages may start only after a time, or after another message has succeeded.
  var isAwaited: Bool { times.wakeAtWall != nil || !times.passedOver.isEmpty || times.isInNeed }

  /// When something must be done, on the clock that never steps; nil: never.
  ///
  /// - Parameter isAlone: whether leases continue without being confirmed.
  func deadline(wall: Int64, now: Int64, isAlone: Bool) -> Int64? {
    var next: [Int64] = []
    switch question {
    case .silent: break
    case .asking(let asking, _): next.append(asking.repeatAt)
    case .paused(let pause): next.append(pause.until)
    }
    if let backoffUntil = times.backoffUntil { next.append(backoffUntil) }
    next += times.passedOver.values
    if let since = self.next.overdueSince, question.asking == nil {
      next.append(since + ExecutorTimes.overdueMilliseconds)
    }
    // The wall clock may be set meanwhile, so it is checked now and then.
    if let wakeAtWall = times.wakeAtWall {
      next.append(now + min(max(0, wakeAtWall - wall), ExecutorTimes.wallLookMilliseconds))
    }
    if case .held(let lease) = lease {
      if question.asking == nil, question.pause?.isForRenewal != true {
        next.append(lease.provenAt + renewalMilliseconds)
      } else if !isAlone {
        next.append(lease.provenAt + LeaseTimes.selfStopMilliseconds)
      }
      if let idleSince = times.idleSince, question == .silent, work == .none {
        next.append(idleSince + ExecutorTimes.idleMilliseconds)
      }
    }
    return next.min()
  }

  /// Checks the machines against each other.
  func checkInvariants() throws(InvariantViolation) {
    if case .asking(let asking, _) = question,
      case .dispatch(let request, _) = asking.subject
    {
      try require(request.session == session, "asks for a message of another session")
      try require(lease.held?.token == request.token, "asks for a message without its lease")
      try require(next == .none, "asks for a message that the authority may let out by itself")
      try require(work == .none, "asks for a message while an agent works")
    }
    if let order = work.order {
      try require(order.session == session, "runs a message of another session")
    }
    if case .running = work, lease == .none {
      throw violation("runs an agent without a lease, and has not ordered it to stop")
    }
    let numbers = [question.asking?.id, next.id, next.withdrawal].compactMap { $0 }
    try require(Set(numbers).count == numbers.count, "gave two requests one number")
    try require(
      past.failures >= 0 && past.failures <= SessionRun.failuresMax,
      "counts \(past.failures) failures")
    try require(past.spawnFailures >= 0, "counts \(past.spawnFailures) failed starts")
  }

  private func require(_ holds: Bool, _ reason: String) throws(InvariantViolation) {
    if !holds { throw violation(reason) }
  }

  private func violation(_ reason: String) -> InvariantViolation {
    InvariantViolation(reason: "session \(session) \(reason)")
  }
}
