import DispatchAuthority
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// A granted attempt keeps its session until it has ended, or a device takes it over.
struct AttemptTests {
  private static let desk = LeaseHolder(
    device: DeviceID(high: 0xD, low: 1), store: StoreID(rawValue: 1))
  private static let laptop = LeaseHolder(
    device: DeviceID(high: 0xD, low: 2), store: StoreID(rawValue: 2))
  private static let start: Int64 = 1_800_000_000_000
  private static let first = AttemptName(message: .numbered(1), number: 1)

  private struct MissingLease: Error {}

  /// The desk works on message 1 of session s; an hour later, the laptop becomes the host.
  private struct Scene {
    var device = TestDevice(1)
    var authority = Authority()
    var now: Int64 = 0
    var token: UInt64 = 0
    /// The time since which the desk is offline.
    var deskAwaySince: Int64?
    private var requests: UInt64 = 0

    init() throws {
      for number in 1...2 as ClosedRange<UInt64> {
        try device.perform(.send("text \(number)", as: number, in: "s"))
      }
      try device.perform(.setHost(.named("s"), AttemptTests.desk.device))
      token = try lease()
      #expect(ask(try dispatch(token: token)) == .go)
      now += 3_600_000
      token = try lease(token)
      try device.perform(.setHost(.named("s"), AttemptTests.laptop.device))
    }

    @discardableResult
    mutating func ask(_ request: AuthorityRequest, as holder: LeaseHolder = desk)
      -> AuthorityAnswer?
    {
      requests += 1
      let away = deskAwaySince
      let outcome = authority.answer(
        request, id: requests, from: holder, in: device.workspace, uptime: now,
        wall: AttemptTests.start + now,
        awaySince: { $0 == AttemptTests.desk ? away : nil })
      return outcome.answer
    }

    mutating func restart() {
      authority = Authority(authority.stored, uptime: now, wall: AttemptTests.start + now)
    }

    mutating func lease(_ token: UInt64 = 0, as holder: LeaseHolder = desk) throws -> UInt64 {
      guard case .leased(let token, _, _) = askLease(token, as: holder) else {
        throw MissingLease()
      }
      return token
    }

    mutating func askLease(_ token: UInt64 = 0, as holder: LeaseHolder) -> AuthorityAnswer? {
      ask(.lease(session: .named("s"), token: token), as: holder)
    }

    func dispatch(token: UInt64, attempt: UInt16 = 1) throws -> AuthorityRequest {
      let state = try #require(device.workspace.dispatchState(of: .numbered(1)))
      return .dispatch(
        DispatchRequest(
          session: .named("s"), message: .numbered(1), token: token, attempt: attempt,
          tags: state.tags, content: DispatchRequest.contentDigest(state.text)))
    }

    mutating func report(_ phase: RunPhase, token: UInt64) throws {
      try device.perform(
        .reportRun(
          .numbered(1), Run(token: token, attempt: 1, phase: phase, milliseconds: 1)))
    }

    func held(milliseconds: UInt32, awaySince: Int64?) -> AuthorityAnswer {
      .held(
        by: AttemptTests.desk.device, milliseconds: milliseconds,
        AttemptAtWork(attempt: AttemptTests.first, awaySince: awaySince))
    }
  }

  // F4: only the attempt's end gives its session to another store.
  @Test(arguments: [nil, .dispatched, .running] as [RunPhase?])
  func aRunningAttemptKeepsItsSession(_ phase: RunPhase?) throws {
    var scene = try Scene()
    if let phase { try scene.report(phase, token: scene.token) }
    let held = scene.held(milliseconds: 30_000, awaySince: nil)
    #expect(scene.askLease(as: AttemptTests.laptop) == held)
    scene.restart()
    scene.deskAwaySince = AttemptTests.start + 5_000
    scene.now += 86_400_000
    let away = scene.held(milliseconds: 10_000, awaySince: AttemptTests.start + 5_000)
    #expect(scene.askLease(as: AttemptTests.laptop) == away)
    #expect(scene.ask(.whereabouts(.numbered(1)), as: AttemptTests.laptop) == away)
    // The desk is back: its turn has continued, and its lease continues, though it is no longer the
    // host.
    #expect(try scene.lease(scene.token) == scene.token)
    #expect(scene.askLease(as: AttemptTests.desk) == .otherHost(AttemptTests.laptop.device))
  }

  @Test(arguments: [RunPhase.interrupted, .failed, .cancelled, .succeeded, .unknown])
  func anEndedAttemptFreesItsSession(_ phase: RunPhase) throws {
    var scene = try Scene()
    if phase == .unknown {
      // Reported by a device that may not decide this.
      try scene.report(.unknown, token: scene.token - 1)
      #expect(
        scene.askLease(as: AttemptTests.laptop)
          == scene.held(milliseconds: 30_000, awaySince: nil))
    }
    try scene.report(phase, token: scene.token)
    scene.now += LeaseTimes.leaseMilliseconds
    #expect(try scene.lease(as: AttemptTests.laptop) > scene.token)
    #expect(scene.askLease(scene.token, as: AttemptTests.desk) == .fenced)
    #expect(scene.ask(.whereabouts(.numbered(1)), as: AttemptTests.laptop) == .runsNowhereElse)
  }

  @Test func aTakeOverIsRefusedWhileTheHostIsThereOrTheAttemptHasEnded() throws {
    var scene = try Scene()
    let takeOver = AuthorityRequest.takeOver(AttemptTests.first)
    guard case .held(AttemptTests.desk.device, _, .some) = scene.ask(takeOver) else {
      Issue.record("taken over from a connected host")
      return
    }
    scene.now += LeaseTimes.leaseMilliseconds - 1
    guard case .held? = scene.ask(takeOver) else {
      Issue.record("taken over although the lease is recent enough")
      return
    }
    var other = AttemptTests.first
    other.number = 2
    #expect(scene.ask(.takeOver(other)) == .notAtWork)
    try scene.report(.failed, token: scene.token)
    scene.deskAwaySince = AttemptTests.start
    #expect(scene.ask(takeOver) == .notAtWork)
  }

  /// It is connected and never heard of the attempt, or no longer works on it; otherwise, it would
  /// renew the lease every few seconds.
  @Test func aHostThatDoesNotRenewItsLeaseIsAway() throws {
    var scene = try Scene()
    scene.now += 45_000
    let since = AttemptTests.start + 3_600_000
    #expect(
      scene.askLease(as: AttemptTests.laptop)
        == scene.held(milliseconds: 10_000, awaySince: since))
    #expect(scene.ask(.takeOver(AttemptTests.first), as: AttemptTests.laptop) == .taken)
    #expect(try scene.lease(as: AttemptTests.laptop) > scene.token)
  }

  @Test(arguments: [true, false])
  func theHostContinuesAfterATakeOver(runIsKnown: Bool) throws {
    var scene = try Scene()
    if runIsKnown { try scene.report(.running, token: scene.token) }
    scene.deskAwaySince = AttemptTests.start
    let takeOver = AuthorityRequest.takeOver(AttemptTests.first)
    #expect(scene.ask(takeOver, as: AttemptTests.laptop) == .taken)
    #expect(scene.ask(takeOver, as: AttemptTests.laptop) == .taken)
    scene.restart()
    // The former host is fenced, even before the new one has its lease.
    #expect(scene.askLease(scene.token, as: AttemptTests.desk) == .fenced)
    let later = try scene.lease(as: AttemptTests.laptop)
    #expect(later > scene.token)
    let taken = AuthorityAnswer.takenOver(attempt: 1)
    #expect(scene.ask(.whereabouts(.numbered(1)), as: AttemptTests.laptop) == taken)
    if !runIsKnown {
      #expect(scene.ask(try scene.dispatch(token: later), as: AttemptTests.laptop) == taken)
    }
    try scene.report(.unknown, token: later)
    #expect(scene.ask(takeOver) == .notAtWork)
    #expect(
      scene.ask(try scene.dispatch(token: later, attempt: 2), as: AttemptTests.laptop) == .paused)
    try scene.device.perform(.retry(.numbered(1)))
    #expect(
      scene.ask(try scene.dispatch(token: later, attempt: 2), as: AttemptTests.laptop) == .go)
    // The former host's report about its attempt comes too late.
    try? scene.report(.succeeded, token: scene.token)
    #expect(scene.device.workspace.status(1) != .succeeded)
  }

  // M2: decided once, whichever device asks, and sent to the host with its lease.
  @Test func aStopIsSentToTheHost() throws {
    var scene = try Scene()
    let stop = AuthorityRequest.stop(AttemptTests.first)
    #expect(
      scene.ask(stop, as: AttemptTests.laptop)
        == .stopping(on: AttemptTests.desk.device, awaySince: nil))
    scene.deskAwaySince = AttemptTests.start + 9
    #expect(
      scene.ask(stop, as: AttemptTests.laptop)
        == .stopping(on: AttemptTests.desk.device, awaySince: AttemptTests.start + 9))
    scene.deskAwaySince = nil
    scene.restart()
    let leased = AuthorityAnswer.leased(
      token: scene.token, milliseconds: 30_000, stops: AttemptTests.first)
    #expect(scene.askLease(scene.token, as: AttemptTests.desk) == leased)
    try scene.report(.cancelled, token: scene.token)
    #expect(scene.ask(stop, as: AttemptTests.laptop) == .notAtWork)
    #expect(
      scene.askLease(scene.token, as: AttemptTests.desk)
        == .otherHost(AttemptTests.laptop.device))
  }

  /// A host that releases its lease has no attempt at work. An attempt that was cancelled before it
  /// began blocks no other host, and never begins later.
  @Test func aLeaseThatIsGivenBackFreesTheSession() throws {
    var scene = try Scene()
    let release = AuthorityRequest.release(session: .named("s"), token: scene.token)
    #expect(scene.ask(release, as: AttemptTests.laptop) == .released)
    #expect(
      scene.askLease(as: AttemptTests.laptop) == scene.held(milliseconds: 30_000, awaySince: nil))
    #expect(scene.ask(release) == .released)
    scene.restart()
    let later = try scene.lease(as: AttemptTests.laptop)
    #expect(scene.ask(.takeOver(AttemptTests.first)) == .notAtWork)
    #expect(scene.ask(.whereabouts(.numbered(1)), as: AttemptTests.laptop) == .runsNowhereElse)
    #expect(
      scene.ask(try scene.dispatch(token: later), as: AttemptTests.laptop)
        == .duplicate(attempt: 1, token: scene.token))
  }

  /// The host did not get the answer, or slept: a message that was stopped meanwhile does not
  /// begin.
  @Test func attemptsStoppedBeforeTheirBeginningAreNotGrantedAgain() throws {
    var scene = try Scene()
    try scene.device.perform(.setHost(.named("s"), AttemptTests.desk.device))
    #expect(scene.ask(try scene.dispatch(token: scene.token)) == .go)
    _ = scene.ask(.stop(AttemptTests.first), as: AttemptTests.laptop)
    #expect(scene.ask(try scene.dispatch(token: scene.token)) == .cancelled)
    try scene.report(.cancelled, token: scene.token)
    #expect(scene.askLease(scene.token, as: AttemptTests.desk) != .fenced)
  }
}
