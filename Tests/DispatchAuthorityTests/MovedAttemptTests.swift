import DispatchAuthority
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// A host may never hear of an attempt that was granted to it. If the message is moved away
/// meanwhile, it does not wait there for as long as that host works on others.
struct MovedAttemptTests {
  private static let desk = LeaseHolder(
    device: DeviceID(high: 0xD, low: 1), store: StoreID(rawValue: 1))
  private static let laptop = LeaseHolder(
    device: DeviceID(high: 0xD, low: 2), store: StoreID(rawValue: 2))
  private static let wall: Int64 = 1_800_000_000_000

  private struct MissingLease: Error {}

  /// Messages 1, 2 and 3 of session s, whose host is the desk, and 4 of session t, whose host is the
  /// laptop. Message 1 was granted, and the answer was lost.
  private struct Scene {
    var device = TestDevice(1)
    var authority = Authority()
    private(set) var token: UInt64 = 0
    private var laptopToken: UInt64 = 0
    private var requests: UInt64 = 0
    /// Everything that the authority stored, in order: later rows replace earlier ones.
    private var stored = AuthorityRecords()

    init(laptopIsFirst: Bool) throws {
      for (number, session) in [(1, "s"), (2, "s"), (3, "s"), (4, "t")] as [(UInt64, String)] {
        try device.perform(.send("text \(number)", as: number, in: session))
      }
      try device.perform(.setHost(.named("s"), MovedAttemptTests.desk.device))
      try device.perform(.setHost(.named("t"), MovedAttemptTests.laptop.device))
      if laptopIsFirst { laptopToken = try lease("t", as: MovedAttemptTests.laptop) }
      token = try lease("s", as: MovedAttemptTests.desk)
      if !laptopIsFirst { laptopToken = try lease("t", as: MovedAttemptTests.laptop) }
      #expect(dispatch(1, "s") == .go)
    }

    mutating func ask(_ request: AuthorityRequest, as holder: LeaseHolder) -> AuthorityAnswer? {
      requests += 1
      let outcome = authority.answer(
        request, id: requests, from: holder, in: device.workspace, uptime: 0,
        wall: MovedAttemptTests.wall)
      stored.leases += outcome.changes.leases
      stored.dispatches += outcome.changes.dispatches
      return outcome.answer
    }

    mutating func restart() {
      authority = Authority(stored, uptime: 0, wall: MovedAttemptTests.wall)
    }

    mutating func lease(_ session: String, as holder: LeaseHolder) throws -> UInt64 {
      let answer = ask(.lease(session: .named(session), token: 0), as: holder)
      guard case .leased(let token, _, _)? = answer else { throw MissingLease() }
      return token
    }

    mutating func dispatch(_ message: UInt64, _ session: String) -> AuthorityAnswer? {
      guard let state = device.workspace.dispatchState(of: .numbered(message)) else { return nil }
      let isLaptop = session == "t"
      return ask(
        .dispatch(
          DispatchRequest(
            session: .named(session), message: .numbered(message),
            token: isLaptop ? laptopToken : token, attempt: 1, tags: state.tags,
            content: DispatchRequest.contentDigest(state.text))),
        as: isLaptop ? MovedAttemptTests.laptop : MovedAttemptTests.desk)
    }

    mutating func renewLaptop() throws {
      laptopToken = try lease("t", as: MovedAttemptTests.laptop)
    }

    /// Whether the laptop hears that the desk may work on message 1.
    mutating func laptopWaits() -> Bool {
      guard case .held(let device, _, .some)? = dispatch(1, "t") else { return false }
      return device == MovedAttemptTests.desk.device
    }
  }

  @Test(arguments: [true, false], [true, false])
  func theHostThatGoesOnWithAnotherMessageSetsItFree(laptopIsFirst: Bool, asksNext: Bool) throws {
    var scene = try Scene(laptopIsFirst: laptopIsFirst)
    try scene.device.perform(.move([.numbered(1)], to: .before(.numbered(4))))
    #expect(scene.laptopWaits() || laptopIsFirst)
    if asksNext {
      let next = AuthorityRequest.next(session: .named("s"), token: scene.token)
      guard case .granted(.numbered(2), attempt: 1, content: _)? = scene.ask(next, as: Self.desk)
      else {
        Issue.record("the desk does not get its next message")
        return
      }
    } else {
      #expect(scene.dispatch(2, "s") == .go)
    }
    scene.restart()
    // The attempt may have begun, so it is not granted a second time.
    if laptopIsFirst {
      #expect(scene.dispatch(1, "t") == .fenced)
      try scene.renewLaptop()
    }
    #expect(scene.dispatch(1, "t") == .duplicate(attempt: 1, token: scene.token))
    #expect(
      scene.ask(.whereabouts(.numbered(1)), as: Self.laptop) == .runsNowhereElse)
    #expect(
      scene.ask(.stop(AttemptName(message: .numbered(1), number: 1)), as: Self.laptop)
        == .notAtWork)
  }

  /// Its new host may be reporting that attempt as unknown.
  @Test func whatWasSetFreeBeginsNoMoreUnderItsLease() throws {
    var scene = try Scene(laptopIsFirst: false)
    try scene.device.perform(.move([.numbered(1)], to: .before(.numbered(4))))
    #expect(scene.dispatch(2, "s") == .go)
    let run = Run(token: scene.token, attempt: 1, phase: .succeeded, milliseconds: 1)
    try scene.device.perform(.reportRun(.numbered(2), run))
    try scene.device.perform(.move([.numbered(1)], to: .before(.numbered(3))))
    #expect(scene.dispatch(1, "s") == .duplicate(attempt: 1, token: scene.token))
  }

  @Test func whatIsReportedAtWorkStaysWithItsHost() throws {
    var scene = try Scene(laptopIsFirst: false)
    let run = Run(token: scene.token, attempt: 1, phase: .running, milliseconds: 1)
    try scene.device.perform(.reportRun(.numbered(1), run))
    try scene.device.perform(.move([.numbered(1)], to: .before(.numbered(4))))
    #expect(scene.dispatch(2, "s") == .go)
    #expect(
      scene.ask(.whereabouts(.numbered(1)), as: Self.laptop) != .runsNowhereElse)
  }

  /// The answer was lost, and a user put another message in front: the host may still ask for it.
  @Test func whatIsStillInItsQueueBeginsLater() throws {
    var scene = try Scene(laptopIsFirst: false)
    #expect(scene.dispatch(2, "s") == .go)
    let run = Run(token: scene.token, attempt: 1, phase: .succeeded, milliseconds: 1)
    try scene.device.perform(.reportRun(.numbered(2), run))
    #expect(scene.dispatch(1, "s") == .go)
  }
}
