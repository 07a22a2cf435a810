import ClientCore
import DispatchAuthority
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// A host that works while its server is unreachable, takes over another host's session, or must
/// stop.
struct OutageTests {
  /// The host of session s with two messages; the test is the authority.
  private struct Scene {
    static let device = DeviceID(high: 0xD, low: 1)
    static let session = SessionID.named("s")
    var executor = Executor(device: Scene.device, firstRequest: 1)
    var host = TestDevice(1)
    var now: Int64 = 1_000
    /// The questions that are not answered yet; without a connection, nothing arrives.
    var asked: [(request: AuthorityRequest, id: UInt64)] = []
    var isConnected = true
    var begun: [StartOrder] = []
    var stopped: [UInt16] = []
    var done: [Command] = []

    init(_ policy: UnknownPolicy = .ask) throws {
      executor.settings.onUnknown = policy
      try host.perform(.addSession(Scene.session, name: nil, project: nil))
      try host.perform(.setHost(Scene.session, Scene.device))
      for number in 1...2 as ClosedRange<UInt64> {
        try host.perform(.send("text \(number)", as: number, in: "s"))
      }
    }

    /// Its agent works on message 1.
    static func atWork(_ policy: UnknownPolicy = .ask) throws -> Scene {
      var scene = try Scene(policy)
      try scene.changed()
      try scene.answer(.leased(token: 7, milliseconds: 30_000))
      try scene.answer(.go)
      #expect(scene.begun.map(\.message) == [.numbered(1)])
      return scene
    }

    private var context: EventContext {
      EventContext(now: now, wall: TestDevice.startOfTime + now, random: 7)
    }

    mutating func changed() throws {
      try follow(executor.queuesChanged([Scene.session], in: host.workspace, at: context))
    }

    mutating func pass(milliseconds: Int64) throws {
      let end = now + milliseconds
      while now < end {
        now += 500
        guard let due = executor.deadline(wall: context.wall, now: now), due <= now else {
          continue
        }
        try follow(executor.timePassed(in: host.workspace, at: context))
      }
    }

    /// The server is reachable again.
    mutating func connect() throws {
      isConnected = true
      asked = []
      try follow(executor.connected(in: host.workspace, at: context))
    }

    /// Answers the last question.
    mutating func answer(_ answer: AuthorityAnswer) throws {
      let question = asked.popLast()
      let last = try #require(question)
      try follow(executor.answered(last.id, answer, in: host.workspace, at: context))
    }

    mutating func end(with result: TurnResult, attempt: UInt16 = 1) throws {
      try follow(
        executor.ended(
          Scene.session, attempt: attempt, with: result, in: host.workspace, at: context))
    }

    private mutating func follow(_ actions: [Executor.Action]) throws {
      for action in actions {
        switch action {
        case .ask(let request, let id): if isConnected { asked.append((request, id)) }
        case .tell(.start(let order)):
          begun.append(order)
          try host.perform(
            .reportRun(order.message, order.run(.running, milliseconds: 1, note: "")))
        case .tell(.stop(_, let attempt)): stopped.append(attempt)
        case .end(let command, let following, _), .perform(let command, let following):
          done += [command] + following
          for command in [command] + following { try host.perform(command) }
        case .tell: break
        }
      }
      try executor.checkInvariants()
    }
  }

  private static let renewal = AuthorityRequest.lease(session: Scene.session, token: 7)

  // M1: the turn ends by itself, nothing new starts, and its end is reported when the server is
  // back.
  @Test(arguments: [8_000, 25_000, 600_000] as [Int64])
  func anOutageEndsNothing(_ duration: Int64) throws {
    var scene = try Scene.atWork()
    scene.isConnected = false
    try scene.pass(milliseconds: duration)
    #expect(scene.stopped == [])
    try scene.end(with: .succeeded(summary: "done"))
    try scene.changed()
    try scene.pass(milliseconds: 30_000)
    #expect(scene.host.workspace.status(1) == .succeeded && scene.begun.count == 1)
    try scene.connect()
    #expect(scene.asked.last?.request == OutageTests.renewal)
    try scene.answer(.leased(token: 7, milliseconds: 30_000))
    try scene.answer(.go)
    #expect(scene.begun.map(\.message) == [.numbered(1), .numbered(2)])
  }

  @Test func aLeaseThatLapsedGoesOnWhenTheServerIsBack() throws {
    var scene = try Scene.atWork()
    scene.isConnected = false
    try scene.pass(milliseconds: 120_000)
    try scene.connect()
    #expect(scene.asked.map(\.request) == [OutageTests.renewal])
    try scene.answer(.leased(token: 7, milliseconds: 30_000))
    try scene.pass(milliseconds: LeaseTimes.workingRenewalMilliseconds)
    #expect(scene.asked.map(\.request) == [OutageTests.renewal])
    #expect(scene.stopped == [])
  }

  /// Any answer of the authority except that another device has the session.
  @Test(arguments: [
    AuthorityAnswer.otherHost(DeviceID(high: 0xD, low: 2)), .otherHost(nil), .noSession,
    .unavailable, .unknown(status: 99),
  ])
  func noOtherAnswerEndsATurn(_ answer: AuthorityAnswer) throws {
    var scene = try Scene.atWork()
    for _ in 0..<20 {
      try scene.pass(milliseconds: 12_000)
      if !scene.asked.isEmpty { try scene.answer(answer) }
    }
    #expect(scene.stopped == [])
  }

  @Test func aSessionMayHaveItsAgentStoppedWithoutAServer() throws {
    var scene = try Scene.atWork(.retry)
    try scene.host.perform(.setOnLostServer(Scene.session, .stop))
    try scene.changed()
    scene.isConnected = false
    try scene.pass(milliseconds: LeaseTimes.selfStopMilliseconds - 1_000)
    #expect(scene.stopped == [])
    try scene.pass(milliseconds: 1_000)
    #expect(scene.stopped == [1])
    try scene.end(with: .died("signal 15"))
    #expect(scene.done.last == .retry(.numbered(1)))
  }

  /// The host that took it over decides, whatever this device would do.
  @Test(arguments: [0, 60_000] as [Int64])
  func aFencedHostStopsAndLeavesTheDecision(outage: Int64) throws {
    var scene = try Scene.atWork(.retry)
    scene.isConnected = false
    try scene.pass(milliseconds: outage)
    try scene.connect()
    try scene.pass(milliseconds: LeaseTimes.workingRenewalMilliseconds)
    try scene.answer(.fenced)
    #expect(scene.stopped == [1])
    try scene.end(with: .died("signal 15"))
    #expect(scene.host.workspace.status(1) == .interrupted)
  }

  // M2.
  @Test func aStopFromElsewhereComesWithTheLease() throws {
    var scene = try Scene.atWork()
    try scene.pass(milliseconds: LeaseTimes.workingRenewalMilliseconds)
    let other = AttemptName(message: .numbered(1), number: 2)
    try scene.answer(.leased(token: 7, milliseconds: 30_000, stops: other))
    #expect(scene.stopped == [])
    try scene.pass(milliseconds: LeaseTimes.workingRenewalMilliseconds)
    let own = AttemptName(message: .numbered(1), number: 1)
    try scene.answer(.leased(token: 7, milliseconds: 30_000, stops: own))
    #expect(scene.stopped == [1])
    try scene.end(with: .died("signal 15"))
    #expect(scene.host.workspace.status(1) == .cancelled)
  }

  // I-107: the start was granted to this device, and the answer never arrived.
  @Test func messagesStoppedBeforeTheirBeginningNeverBegin() throws {
    var scene = try Scene()
    try scene.changed()
    try scene.answer(.leased(token: 7, milliseconds: 30_000))
    try scene.answer(.cancelled)
    try scene.pass(milliseconds: LeaseTimes.renewalMilliseconds)
    let attempt = AttemptName(message: .numbered(1), number: 1)
    while let last = scene.asked.last, last.request != OutageTests.renewal {
      try scene.answer(.cancelled)
      try scene.pass(milliseconds: 1_000)
    }
    try scene.answer(.leased(token: 7, milliseconds: 30_000, stops: attempt))
    try scene.changed()
    #expect(scene.host.workspace.status(1) == .cancelled && scene.begun == [])
    guard case .dispatch(let next)? = scene.asked.last?.request else {
      Issue.record("\(scene.asked) in place of the next message")
      return
    }
    #expect(next.message == .numbered(2))
  }

  /// It slept until its lease ended; meanwhile a user cancelled what was granted to it, and chose
  /// another host.
  @Test(arguments: [true, false])
  func aFormerHostReturnsALapsedLease(isCancelledFirst: Bool) throws {
    var scene = try Scene()
    try scene.changed()
    try scene.answer(.leased(token: 7, milliseconds: 30_000))
    scene.isConnected = false
    if !isCancelledFirst { try scene.pass(milliseconds: 60_000) }
    try scene.host.perform(.cancel([.numbered(1), .numbered(2)]))
    try scene.changed()
    if isCancelledFirst { try scene.pass(milliseconds: 60_000) }
    try scene.connect()
    try scene.host.perform(.setHost(Scene.session, DeviceID(high: 0xD, low: 2)))
    try scene.changed()
    if !isCancelledFirst { try scene.answer(.leased(token: 7, milliseconds: 30_000)) }
    #expect(scene.asked.last?.request == .release(session: Scene.session, token: 7))
  }

  /// The next host reports an unknown outcome under its own lease, and waits for a user whatever
  /// its settings are.
  @Test(arguments: [true, false])
  func takenOverMessagesWaitForAUser(runIsKnown: Bool) throws {
    var scene = try Scene(.retry)
    if runIsKnown {
      try scene.host.perform(
        .reportRun(
          .numbered(1), Run(token: 7, attempt: 1, phase: .running, milliseconds: 1, note: "")))
    }
    try scene.changed()
    let away = AttemptAtWork(
      attempt: AttemptName(message: .numbered(1), number: 1), awaySince: 5)
    try scene.answer(.held(by: DeviceID(high: 0xD, low: 2), milliseconds: 10_000, away))
    #expect(scene.executor.runsElsewhere[Scene.session]?.atWork == away)
    try scene.pass(milliseconds: 12_000)
    if runIsKnown { try scene.answer(.takenOver(attempt: 1)) }
    #expect(scene.asked.last?.request == .lease(session: Scene.session, token: 0))
    try scene.answer(.leased(token: 9, milliseconds: 30_000))
    if !runIsKnown { try scene.answer(.takenOver(attempt: 1)) }
    #expect(scene.executor.runsElsewhere.isEmpty)
    let run = try #require(try scene.host.workspace.message(.numbered(1)).run)
    #expect(run.phase == .unknown && run.token == 9 && run.attempt == 1)
    try scene.pass(milliseconds: 60_000)
    #expect(scene.host.workspace.status(1) == .unknown && scene.begun == [])
  }

  /// A new host does not let its growing pause pass if the lease of the former host ends earlier.
  @Test func aHostAsksAgainAsAnotherLeaseEnds() throws {
    var scene = try Scene()
    try scene.changed()
    let other = DeviceID(high: 0xD, low: 2)
    for _ in 0..<6 {
      try scene.answer(.held(by: other, milliseconds: 60_000))
      try scene.pass(milliseconds: 60_000)
    }
    try scene.answer(.held(by: other, milliseconds: 1_500))
    let asked = scene.asked.count
    try scene.pass(milliseconds: 1_000)
    #expect(scene.asked.count == asked)
    try scene.pass(milliseconds: 500)
    #expect(scene.asked.count == asked + 1)
  }

  /// It was moved here from a session of another device, to which it had been granted.
  @Test func whatWasMovedHereSaysWhereItMayRun() throws {
    var scene = try Scene()
    try scene.host.perform(.send("text 3", as: 3, in: "t"))
    try scene.changed()
    try scene.answer(.leased(token: 7, milliseconds: 30_000))
    func held(_ number: UInt64) -> AuthorityAnswer {
      let attempt = AttemptName(message: .numbered(number), number: 1)
      return .held(
        by: DeviceID(high: 0xD, low: 2), milliseconds: 10_000,
        AttemptAtWork(attempt: attempt, awaySince: 5))
    }
    try scene.answer(held(1))
    #expect(scene.executor.runsElsewhere[Scene.session]?.atWork.awaySince == 5)
    try scene.pass(milliseconds: 12_000)
    try scene.answer(.go)
    #expect(scene.executor.runsElsewhere.isEmpty && scene.begun.map(\.message) == [.numbered(1)])
    // A session says so only of its own messages.
    try scene.end(with: .succeeded(summary: ""))
    try scene.answer(.leased(token: 7, milliseconds: 30_000))
    try scene.answer(held(2))
    #expect(!scene.executor.runsElsewhere.isEmpty)
    try scene.host.perform(.move([.numbered(2)], to: .after(.numbered(3))))
    try scene.changed()
    #expect(scene.executor.runsElsewhere.isEmpty)
  }
}
