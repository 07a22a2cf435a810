import DispatchAuthority
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// The authority's answers over the life of leases and attempts.
struct AuthorityTests {
  let session = SessionID.named("s")
  private let host = DeviceID(high: 0xD, low: 1)
  private let start: Int64 = 1_800_000_000_000

  /// One authority, one host with queued messages, and a clock.
  struct Scene {
    var device = TestDevice(1)
    var authority = Authority()
    var now: Int64 = 0
    var holder = LeaseHolder(
      device: DeviceID(high: 0xD, low: 1), store: StoreID(rawValue: 1))
    var requests: UInt64 = 0
    /// Devices without a connection, and since when.
    var away: [DeviceID: Int64] = [:]
    /// The stored rows so far.
    var records = AuthorityRecords()

    init(messages: UInt64) throws {
      for number in 1...messages {
        try device.perform(.send("text \(number)", as: number, in: "s"))
      }
      try device.perform(.setHost(.named("s"), DeviceID(high: 0xD, low: 1)))
    }

    mutating func ask(
      _ request: AuthorityRequest, as other: LeaseHolder? = nil, id: UInt64? = nil
    ) -> AuthorityAnswer? {
      requests += 1
      let outcome = authority.answer(
        request, id: id ?? requests, from: other ?? holder, in: device.workspace, uptime: now,
        wall: 1_800_000_000_000 + now, awaySince: { [away] in away[$0.device] })
      records.leases += outcome.changes.leases
      records.dispatches += outcome.changes.dispatches
      return outcome.answer
    }

    /// Message 1 in the host's session, message 9 in session t of another host.
    static func withTwoHosts() throws -> (scene: Scene, other: LeaseHolder) {
      var scene = try Scene(messages: 1)
      let other = LeaseHolder(
        device: DeviceID(high: 0xD, low: 2), store: StoreID(rawValue: 2))
      try scene.device.perform(.send("text 9", as: 9, in: "t"))
      try scene.device.perform(.setHost(.named("t"), other.device))
      return (scene, other)
    }

    /// The token of a lease, by default of a new one of the host.
    mutating func lease(
      of session: String = "s", _ token: UInt64 = 0, as asker: LeaseHolder? = nil
    ) throws -> UInt64 {
      let request = AuthorityRequest.lease(session: .named(session), token: token)
      guard case .leased(let token, _, _) = ask(request, as: asker) else { throw MissingLease() }
      return token
    }

    /// The host's request, according to its workspace.
    mutating func dispatch(
      _ number: UInt64, token: UInt64, attempt: UInt16 = 1, in session: String = "s"
    ) throws -> AuthorityRequest {
      let state = try #require(device.workspace.dispatchState(of: .numbered(number)))
      return .dispatch(
        DispatchRequest(
          session: .named(session), message: .numbered(number), token: token, attempt: attempt,
          tags: state.tags, content: DispatchRequest.contentDigest(state.text)))
    }

    mutating func report(
      _ phase: RunPhase, of number: UInt64, token: UInt64, attempt: UInt16 = 1
    ) throws {
      try device.perform(
        .reportRun(
          .numbered(number),
          Run(token: token, attempt: attempt, phase: phase, milliseconds: 1)))
    }
  }

  private struct MissingLease: Error {}

  @Test func onlyTheHostGetsTheLease() throws {
    var scene = try Scene(messages: 1)
    let other = LeaseHolder(
      device: DeviceID(high: 0xD, low: 2), store: StoreID(rawValue: 2))
    #expect(scene.ask(.lease(session: session, token: 0), as: other) == .otherHost(host))
    #expect(scene.ask(.lease(session: .named("nowhere"), token: 0)) == .noSession)
    try scene.device.perform(.setHost(session, nil))
    #expect(scene.ask(.lease(session: session, token: 0)) == .otherHost(nil))
  }

  @Test func aLeaseAskedForTwiceUnderOneNumberIsOneLease() throws {
    var scene = try Scene(messages: 1)
    let first = scene.ask(.lease(session: session, token: 0), id: 50)
    scene.now = 6_000
    #expect(scene.ask(.lease(session: session, token: 0), id: 50) == first)
    #expect(scene.ask(.lease(session: session, token: 0), id: 51) != first)
    scene.now = 80_000
    #expect(scene.ask(.lease(session: session, token: 0), id: 51) != first)
  }

  @Test func aCopiedStoreWaitsUntilTheLeaseEnds() throws {
    var scene = try Scene(messages: 1)
    let token = try scene.lease()
    let copy = LeaseHolder(device: host, store: StoreID(rawValue: 9))
    scene.now = 12_000
    #expect(
      scene.ask(.lease(session: session, token: 0), as: copy)
        == .held(by: host, milliseconds: 18_000))
    // A token alone is not a lease: it belongs to the store that got it.
    #expect(scene.ask(.lease(session: session, token: token), as: copy) == .fenced)
    #expect(scene.ask(try scene.dispatch(1, token: token), as: copy) == .fenced)
    scene.now = 30_000
    let answer = scene.ask(.lease(session: session, token: 0), as: copy)
    guard case .leased(let next, 30_000, nil) = answer else {
      Issue.record("\(String(describing: answer))")
      return
    }
    #expect(next > token)
    #expect(scene.ask(.lease(session: session, token: token)) == .fenced)
    #expect(scene.ask(try scene.dispatch(1, token: token)) == .fenced)
  }

  /// Anybody may write a register; it uses up no tokens of other sessions.
  @Test func aGreatTokenInARegisterUsesNoTokensUp() throws {
    var (scene, other) = try Scene.withTwoHosts()
    var tokens = [try scene.lease()]
    try scene.report(.running, of: 1, token: Fence.tokenMax)
    #expect(try scene.lease() == Fence.tokenMax)
    for _ in 0..<3 {
      scene.now += LeaseTimes.leaseMilliseconds
      tokens.append(try scene.lease(of: "t", as: other))
    }
    // Neither after a restart, which reads the tokens that were granted after that write.
    for _ in 0..<3 {
      scene.authority = Authority(scene.records, uptime: scene.now, wall: start + scene.now)
      scene.now += LeaseTimes.leaseMilliseconds
      tokens.append(try scene.lease(of: "t", as: other))
    }
    #expect(Set(tokens).count == 7 && !tokens.contains(Fence.tokenMax))
  }

  @Test func aRenewedLeaseHolds() throws {
    var scene = try Scene(messages: 1)
    let token = try scene.lease()
    for _ in 0..<20 {
      scene.now += LeaseTimes.renewalMilliseconds
      #expect(
        scene.ask(.lease(session: session, token: token))
          == .leased(token: token, milliseconds: 30_000))
    }
    #expect(scene.records.leases.count == 1)
    scene.now += LeaseTimes.leaseMilliseconds
    #expect(scene.ask(try scene.dispatch(1, token: token)) == .fenced)
    #expect(try scene.lease() > token)
    #expect(scene.ask(.lease(session: session, token: token)) == .fenced)
  }

  @Test func aReleasedLeaseIsFreeAtOnceAndItsTokenIsUsedUp() throws {
    var scene = try Scene(messages: 1)
    let token = try scene.lease()
    #expect(scene.ask(.release(session: session, token: token)) == .released)
    #expect(scene.ask(try scene.dispatch(1, token: token)) == .fenced)
    #expect(try scene.lease() > token)
  }

  @Test func everyAttemptGoesOutOnce() throws {
    var scene = try Scene(messages: 2)
    let token = try scene.lease()
    let first = try scene.dispatch(1, token: token)
    #expect(scene.ask(first, id: 77) == .go)
    // The answer was lost: the same request gets it again.
    #expect(scene.ask(first, id: 77) == .go)
    #expect(scene.records.dispatches.count == 1)
    #expect(
      scene.ask(.outcome(.numbered(1)))
        == .outcome(
          attempt: 1, token: token, content: DispatchRequest.contentDigest("text 1")))
    #expect(scene.ask(.outcome(.numbered(2))) == .outcome(attempt: 0, token: 0, content: 0))
    // The outcome of the attempt is unknown, so there is no next one.
    #expect(
      scene.ask(try scene.dispatch(1, token: token, attempt: 2))
        == .duplicate(attempt: 1, token: token))
    try scene.report(.failed, of: 1, token: token)
    #expect(scene.ask(try scene.dispatch(1, token: token, attempt: 2)) == .paused)
    try scene.device.perform(.retry(.numbered(1)))
    #expect(scene.ask(try scene.dispatch(1, token: token, attempt: 1)) == .stale)
    #expect(scene.ask(try scene.dispatch(1, token: token, attempt: 2)) == .go)
  }

  /// A device that asks for an attempt under the lease of its grant has not begun it: it would
  /// know.
  @Test func anAttemptThatWasNotBegunGoesOutAgainUnderItsLeaseAlone() throws {
    var scene = try Scene(messages: 1)
    let token = try scene.lease()
    #expect(scene.ask(try scene.dispatch(1, token: token), id: 77) == .go)
    #expect(scene.ask(try scene.dispatch(1, token: token), id: 78) == .go)
    // It was edited meanwhile, and its holder slept while the lease ended; no other device got one.
    try scene.device.perform(.edit(.numbered(1), content: "new", base: nil))
    scene.now += 10 * LeaseTimes.leaseMilliseconds
    #expect(scene.ask(try scene.dispatch(1, token: token)) == .fenced)
    #expect(
      scene.ask(.lease(session: session, token: token))
        == .leased(token: token, milliseconds: 30_000))
    #expect(scene.ask(try scene.dispatch(1, token: token)) == .go)
    #expect(
      scene.ask(.outcome(.numbered(1)))
        == .outcome(attempt: 1, token: token, content: DispatchRequest.contentDigest("new")))
    // The authority still knows it after a restart.
    scene.authority = Authority(
      scene.records, uptime: scene.now, wall: start + scene.now)
    #expect(scene.ask(try scene.dispatch(1, token: token)) == .go)
    // Another program with the same store, a copy of its whole disk, gets its own lease.
    let later = try scene.lease()
    #expect(
      scene.ask(try scene.dispatch(1, token: later)) == .duplicate(attempt: 1, token: token))
    #expect(scene.ask(.lease(session: session, token: token)) == .fenced)
    try scene.device.perform(.cancel([.numbered(1)]))
    #expect(scene.ask(try scene.dispatch(1, token: later)) == .cancelled)
  }

  @Test func theNextMessageIsGrantedWhenItMayStart() throws {
    var scene = try Scene(messages: 1)
    let token = try scene.lease()
    let text = DispatchRequest.contentDigest("text 1")
    try scene.device.perform(.pause(session, reason: nil))
    let next = AuthorityRequest.next(session: session, token: token)
    #expect(scene.ask(next, id: 50) == nil)
    try scene.device.perform(.resume(session))
    #expect(scene.ask(next, id: 50) == .granted(message: .numbered(1), attempt: 1, content: text))
    #expect(scene.records.dispatches.map(\.request) == [50])
    #expect(
      scene.ask(.outcome(.numbered(1))) == .outcome(attempt: 1, token: token, content: text))
    // It may have begun: only its holder knows, and asks for it again by name.
    #expect(scene.ask(next) == nil)
    #expect(scene.ask(try scene.dispatch(1, token: token)) == .go)
    try scene.report(.failed, of: 1, token: token)
    #expect(scene.ask(next) == nil)
    try scene.device.perform(.retry(.numbered(1)))
    #expect(scene.ask(next) == .granted(message: .numbered(1), attempt: 2, content: text))
    try scene.report(.succeeded, of: 1, token: token, attempt: 2)
    #expect(scene.ask(next) == nil)
    #expect(scene.ask(.withdraw(session)) == .withdrawn)
  }

  @Test func theNextMessageWaitsForItsTimeAndItsHolder() throws {
    var scene = try Scene(messages: 1)
    let token = try scene.lease()
    let next = AuthorityRequest.next(session: session, token: token)
    try scene.device.perform(.setNotBefore(.numbered(1), start + 5_000))
    #expect(scene.ask(next) == nil)
    #expect(scene.ask(.next(session: session, token: token + 1)) == .fenced)
    let copy = LeaseHolder(device: host, store: StoreID(rawValue: 9))
    #expect(scene.ask(next, as: copy) == .fenced)
    // A holder that is silent for so long may be gone, though its lease still holds.
    scene.now = LeaseTimes.nextMilliseconds
    #expect(scene.ask(next) == nil)
    #expect(scene.records.dispatches.isEmpty)
    #expect(
      scene.ask(.lease(session: session, token: token))
        == .leased(token: token, milliseconds: 30_000))
    #expect(
      scene.ask(next)
        == .granted(
          message: .numbered(1), attempt: 1, content: DispatchRequest.contentDigest("text 1")))
    scene.now += LeaseTimes.leaseMilliseconds
    #expect(scene.ask(next) == .fenced)
  }

  @Test func laterMessagesAreSkipped() throws {
    var scene = try Scene(messages: 2)
    let token = try scene.lease()
    try scene.device.perform(.setLater(.numbered(1), start + 5_000))
    #expect(scene.ask(try scene.dispatch(1, token: token)) == .notYet(start + 5_000))
    #expect(scene.ask(try scene.dispatch(2, token: token)) == .go)
    try scene.report(.succeeded, of: 2, token: token)
    #expect(scene.ask(.next(session: session, token: token)) == nil)
  }

  @Test func oneMessageOfASessionRunsAtATime() throws {
    var scene = try Scene(messages: 2)
    let token = try scene.lease()
    #expect(scene.ask(try scene.dispatch(1, token: token)) == .go)
    try scene.report(.dispatched, of: 1, token: token)
    #expect(scene.ask(try scene.dispatch(2, token: token)) == .paused)
    try scene.report(.succeeded, of: 1, token: token)
    #expect(scene.ask(try scene.dispatch(2, token: token)) == .go)
    #expect(scene.ask(try scene.dispatch(1, token: token, attempt: 2)) == .cancelled)
  }

  /// Its reports would lose against those of the later lease, so its end would never be known.
  @Test func aMessageThatRanUnderALaterLeaseNeedsAFreshOne() throws {
    var scene = try Scene(messages: 1)
    let token = try scene.lease()
    try scene.report(.failed, of: 1, token: token + 1)
    try scene.device.perform(.retry(.numbered(1)))
    #expect(scene.ask(try scene.dispatch(1, token: token, attempt: 2)) == .fenced)
    let fresh = try scene.lease()
    #expect(fresh > token + 1)
    #expect(scene.ask(try scene.dispatch(1, token: fresh, attempt: 2)) == .go)
  }

  /// Also if no report of that attempt has arrived: the first holder's later reports, under the
  /// later lease, would win over those under the older one.
  @Test func aMessageGrantedUnderALaterLeaseNeedsAFreshOne() throws {
    var (scene, other) = try Scene.withTwoHosts()
    let older = try scene.lease(of: "t", as: other)
    let token = try scene.lease()
    #expect(older < token)
    #expect(scene.ask(try scene.dispatch(1, token: token)) == .go)
    try scene.device.perform(.move([.numbered(1)], to: .before(.numbered(9))))
    scene.now = LeaseTimes.leaseMilliseconds - 1
    #expect(try scene.lease(of: "t", older, as: other) == older)
    scene.now = LeaseTimes.leaseMilliseconds
    #expect(scene.ask(try scene.dispatch(1, token: older, in: "t"), as: other) == .fenced)
    let fresh = try scene.lease(of: "t", as: other)
    #expect(fresh > token)
    #expect(
      scene.ask(try scene.dispatch(1, token: fresh, in: "t"), as: other)
        == .held(
          by: host, milliseconds: 10_000,
          AttemptAtWork(attempt: AttemptName(message: .numbered(1), number: 1), awaySince: start)))
  }

  /// Whatever others report about the attempt, only its holder reports its end, even if its lease
  /// ended long ago.
  @Test func aRunningAttemptIsNotRetriedInAnotherSession() throws {
    var (scene, other) = try Scene.withTwoHosts()
    let token = try scene.lease()
    #expect(scene.ask(try scene.dispatch(1, token: token)) == .go)
    try scene.device.perform(.move([.numbered(1)], to: .before(.numbered(9))))
    let later = try scene.lease(of: "t", as: other)
    func again(_ attempt: UInt16) throws -> AuthorityRequest {
      try scene.dispatch(1, token: later, attempt: attempt, in: "t")
    }
    let name = AttemptName(message: .numbered(1), number: 1)
    scene.now = 10_000
    let held = AuthorityAnswer.held(
      by: host, milliseconds: 20_000, AttemptAtWork(attempt: name, awaySince: nil))
    // Before the server has heard of its beginning, and after another device gave it up.
    #expect(scene.ask(try again(1), as: other) == held)
    #expect(scene.ask(.whereabouts(.numbered(1)), as: other) == held)
    #expect(scene.ask(.whereabouts(.numbered(1))) == .runsNowhereElse)
    try scene.report(.unknown, of: 1, token: later)
    try scene.device.perform(.retry(.numbered(1)))
    #expect(scene.ask(try again(2), as: other) == held)
    scene.authority = Authority(scene.records, uptime: scene.now, wall: start + scene.now)
    scene.away[host] = start + 11_000
    scene.now += 3_600_000
    #expect(try scene.lease(of: "t", later, as: other) == later)
    let away = AuthorityAnswer.held(
      by: host, milliseconds: 10_000, AttemptAtWork(attempt: name, awaySince: start + 11_000))
    #expect(scene.ask(.whereabouts(.numbered(1)), as: other) == away)
    #expect(scene.ask(try again(2), as: other) == away)
  }

  @Test func anAttemptEndedUnderALiveLeaseCanBeRetriedInAnotherSession() throws {
    var scene = try Scene(messages: 1)
    try scene.device.perform(.send("text 9", as: 9, in: "t"))
    let other = LeaseHolder(
      device: DeviceID(high: 0xD, low: 2), store: StoreID(rawValue: 2))
    try scene.device.perform(.setHost(.named("t"), other.device))
    let token = try scene.lease()
    #expect(scene.ask(try scene.dispatch(1, token: token)) == .go)
    try scene.report(.failed, of: 1, token: token)
    try scene.device.perform(.move([.numbered(1)], to: .before(.numbered(9))))
    try scene.device.perform(.retry(.numbered(1)))
    #expect(scene.ask(.whereabouts(.numbered(1)), as: other) == .runsNowhereElse)
    guard
      case .leased(let later, _, _) = scene.ask(.lease(session: .named("t"), token: 0), as: other),
      case .dispatch(var request) = try scene.dispatch(1, token: later, attempt: 2)
    else { throw MissingLease() }
    request.session = .named("t")
    #expect(scene.ask(.dispatch(request), as: other) == .go)
  }

  @Test func decisionsTheHostHasNotSeenAreNotOverruled() throws {
    var scene = try Scene(messages: 2)
    let token = try scene.lease()
    let seen = try scene.dispatch(1, token: token)
    try scene.device.perform(.edit(.numbered(1), content: "new", base: nil))
    #expect(scene.ask(seen) == .stale)
    let fresh = try scene.dispatch(1, token: token)
    try scene.device.perform(.cancel([.numbered(1)]))
    #expect(scene.ask(fresh) == .cancelled)
    try scene.device.perform(.restore(.numbered(1)))
    #expect(scene.ask(fresh) == .stale)
    #expect(scene.ask(.outcome(.numbered(1))) == .outcome(attempt: 0, token: 0, content: 0))
    try scene.device.perform(.pause(session, reason: nil))
    #expect(scene.ask(try scene.dispatch(1, token: token)) == .paused)
    try scene.device.perform(.resume(session))
    try scene.device.perform(.setNotBefore(.numbered(1), start + 5_000))
    #expect(scene.ask(try scene.dispatch(1, token: token)) == .notYet(start + 5_000))
    scene.now = 5_000
    #expect(scene.ask(try scene.dispatch(1, token: token)) == .go)
    let unknown = DispatchRequest(
      session: session, message: .numbered(9), token: token, attempt: 1, tags: [], content: 0)
    #expect(scene.ask(.dispatch(unknown)) == .cancelled)
  }

  @Test func aRestartedAuthorityKnowsWhatItGranted() throws {
    var scene = try Scene(messages: 1)
    let token = try scene.lease()
    let request = try scene.dispatch(1, token: token)
    #expect(scene.ask(request, id: 5) == .go)
    scene.now = 29_000
    scene.authority = Authority(
      scene.records, uptime: scene.now, wall: start + scene.now)
    #expect(scene.authority.stored == scene.records)
    #expect(scene.ask(request, id: 5) == .go)
    #expect(scene.ask(request, id: 6) == .go)
    // The time of the lease's last renewal is unknown, so it holds for another term.
    scene.now += 29_000
    #expect(
      scene.ask(.lease(session: session, token: token))
        == .leased(token: token, milliseconds: 30_000))
  }

  @Test func anAuthorityFromABackupNeverGrantsATokenAgain() throws {
    var scene = try Scene(messages: 2)
    let backup = scene.authority
    var granted: [UInt64] = []
    for _ in 0..<3 {
      granted.append(try scene.lease())
      #expect(scene.ask(.release(session: session, token: granted[granted.count - 1])) == .released)
    }
    // Restored a minute later, without the grants made meanwhile.
    scene.authority = backup
    scene.now += 60_000
    #expect(try scene.lease() > granted[2])
    // Restored at once, with a stopped clock: the queue's record of the past still
    // counts.
    try scene.report(.running, of: 1, token: granted[2] + 1_000_000)
    scene.authority = backup
    #expect(try scene.lease() > granted[2] + 1_000_000)
    // Restarted with a clock that was set back: no token is granted twice.
    let latest = try #require(scene.records.leases.map(\.token).max())
    scene.authority = Authority(scene.records, uptime: 0, wall: 0)
    scene.now = -start
    #expect(try scene.lease() > latest)
  }

  /// A copied disk has the device and replica of the host: only the token distinguishes the two.
  @Test func anAuthorityFromABackupOfThisMomentNeverGrantsATokenAgain() throws {
    var scene = try Scene(messages: 1)
    let backup = scene.authority
    let token = try scene.lease()
    #expect(scene.ask(try scene.dispatch(1, token: token)) == .go)
    scene.authority = backup
    scene.now += 1
    let copied = try scene.lease()
    #expect(copied > token)
    #expect(scene.ask(try scene.dispatch(1, token: token)) == .fenced)
    #expect(scene.ask(.lease(session: session, token: token)) == .fenced)
    #expect(scene.ask(try scene.dispatch(1, token: copied)) == .go)
  }

  /// If the latest token is ahead, the clock does not distinguish two servers from one backup.
  @Test func twoServersFromOneBackupSeldomGrantOneToken() throws {
    let scene = try Scene(messages: 1)
    var backup = Authority()
    func lease(_ authority: inout Authority, _ id: UInt64, _ wall: Int64) throws -> UInt64 {
      let (answer, _) = authority.answer(
        .lease(session: session, token: 0), id: id, from: scene.holder,
        in: scene.device.workspace, uptime: 0, wall: wall)
      guard case .leased(let token, _, _) = answer else { throw MissingLease() }
      return token
    }
    let ahead = try lease(&backup, 1, start + 60_000)
    var tokens: Set<UInt64> = []
    for id in 1...Authority.tokenSteps {
      var server = backup
      tokens.insert(try lease(&server, id &* 0x9E37_79B9_7F4A_7C15, start))
    }
    #expect(tokens.count > 32 && tokens.allSatisfy { $0 > ahead })
  }

  @Test func tokensFitWhateverTheClockSays() throws {
    let scene = try Scene(messages: 1)
    for wall in [Int64.min, -1, 0, 1_704_067_200_000, 5_000_000_000_000, .max] {
      var authority = Authority()
      var latest: UInt64 = 0
      for id in 1...3 as ClosedRange<UInt64> {
        let (answer, _) = authority.answer(
          .lease(session: session, token: 0), id: id, from: scene.holder,
          in: scene.device.workspace, uptime: 0, wall: wall)
        guard case .leased(let token, _, _) = answer else { throw MissingLease() }
        #expect(token > latest || token == Fence.tokenMax)
        #expect(token <= Fence.tokenMax)
        latest = token
      }
    }
  }
}
