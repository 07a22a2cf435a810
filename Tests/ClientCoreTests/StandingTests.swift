import ClientCore
import DispatchAuthority
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// A host that waits for the authority to grant the next message by itself.
struct StandingTests {
  /// A host with a lease and an empty queue; the test is the authority.
  struct Scene {
    static let device = DeviceID(high: 0xD, low: 1)
    static let session = SessionID.named("s")
    var executor = Executor(device: Scene.device, firstRequest: 1)
    var host = TestDevice(1)
    var now: Int64 = 1_000
    /// The questions that are not answered yet.
    var asked: [(request: AuthorityRequest, id: UInt64)] = []
    var begun: [StartOrder] = []

    init(stands: Bool = true) throws {
      executor.authorityStands = stands
      try host.perform(.addSession(Scene.session, name: nil, project: nil))
      try host.perform(.setHost(Scene.session, Scene.device))
      try host.perform(.send("first", as: 1, in: "s"))
      try changed()
      try answer(.leased(token: 7, milliseconds: 30_000))
      try answer(.go)
      try follow(
        executor.ended(
          Scene.session, attempt: 1, with: .succeeded(summary: ""), in: host.workspace,
          at: context))
      begun = []
    }

    var context: EventContext {
      EventContext(now: now, wall: TestDevice.startOfTime + now, random: 7)
    }

    var requests: [AuthorityRequest] { asked.map(\.request) }

    mutating func changed(_ session: SessionID = Scene.session) throws {
      try follow(executor.queuesChanged([session], in: host.workspace, at: context))
    }

    mutating func pass(_ milliseconds: Int64) throws {
      now += milliseconds
      try follow(executor.timePassed(in: host.workspace, at: context))
    }

    /// Answers the last question.
    mutating func answer(_ answer: AuthorityAnswer) throws {
      let question = asked.popLast()
      let last = try #require(question)
      try follow(executor.answered(last.id, answer, in: host.workspace, at: context))
    }

    /// The agent is done.
    mutating func end(attempt: UInt16) throws {
      asked = []
      try follow(
        executor.ended(
          Scene.session, attempt: attempt, with: .succeeded(summary: ""), in: host.workspace,
          at: context))
      try changed()
    }

    mutating func gate(isOpen: Bool) throws {
      try follow(
        executor.gateChanged(Scene.session, isOpen: isOpen, in: host.workspace, at: context))
    }

    mutating func connect() throws {
      asked = []
      try follow(executor.connected(in: host.workspace, at: context))
    }

    func granted(_ number: UInt64, _ text: String, attempt: UInt16 = 1) -> AuthorityAnswer {
      .granted(
        message: .numbered(number), attempt: attempt,
        content: DispatchRequest.contentDigest(text))
    }

    private mutating func follow(_ actions: [Executor.Action]) throws {
      for action in actions {
        switch action {
        case .ask(let request, let id): asked.append((request, id))
        case .tell(.start(let order)):
          begun.append(order)
          try host.perform(
            .reportRun(order.message, order.run(.running, milliseconds: 1, note: "")))
        case .end(let command, let following, _), .perform(let command, let following):
          for command in [command] + following { try host.perform(command) }
        case .tell: break
        }
      }
    }
  }

  let standing = AuthorityRequest.next(session: Scene.session, token: 7)

  @Test func grantedMessagesBeginWithoutAQuestion() throws {
    var scene = try Scene()
    #expect(scene.requests == [standing])
    try scene.host.perform(.send("second", as: 2, in: "s"))
    try scene.changed()
    #expect(scene.requests == [standing])
    try scene.answer(scene.granted(2, "second"))
    #expect(
      scene.begun == [
        StartOrder(
          session: Scene.session, message: .numbered(2), attempt: 1, token: 7, text: "second")
      ])
    #expect(scene.requests == [])
  }

  @Test func messagesWithoutAStandingGrantAreRequested() throws {
    var scene = try Scene()
    try scene.host.perform(.send("second", as: 2, in: "s"))
    try scene.changed()
    let due = scene.executor.deadline(wall: scene.context.wall, now: scene.now)
    #expect(due == scene.now + 1_000)
    try scene.pass(999)
    #expect(scene.requests == [standing])
    try scene.pass(1)
    #expect(scene.requests.count == 2)
    guard case .dispatch(let request)? = scene.requests.last else {
      Issue.record("\(scene.requests)")
      return
    }
    #expect(request.message == .numbered(2))
    // The grant that was on its way meanwhile is dropped; the answer to the question counts.
    let late = scene.asked.removeFirst()
    _ = scene.executor.answered(
      late.id, scene.granted(2, "second"), in: scene.host.workspace, at: scene.context)
    #expect(scene.begun == [])
    try scene.answer(.go)
    #expect(scene.begun.map(\.message) == [.numbered(2)])
  }

  @Test func delayedMessagesAreRequestedAtTheirTime() throws {
    var scene = try Scene()
    try scene.host.perform(.pause(Scene.session, reason: nil))
    try scene.host.perform(.send("second", as: 2, in: "s"))
    try scene.host.perform(
      .setNotBefore(.numbered(2), TestDevice.startOfTime + scene.now + 3_000))
    try scene.host.perform(.resume(Scene.session))
    try scene.changed()
    #expect(scene.requests == [standing])
    try scene.pass(3_000)
    guard case .dispatch? = scene.requests.last else {
      Issue.record("\(scene.requests)")
      return
    }
  }

  // MARK: - Later

  func named(_ scene: Scene) -> MessageID? {
    guard case .dispatch(let request)? = scene.requests.last else { return nil }
    return request.message
  }

  /// The messages behind one for later start, and that message starts at its time.
  @Test func aMessageForLaterIsPassedOver() throws {
    var scene = try Scene()
    let time = scene.context.wall + 5_000
    var send = Command.Send(session: Scene.session, id: .numbered(2), text: "second")
    send.later = time
    try scene.host.perform(.send(send))
    try scene.changed()
    // Nothing is granted without a request any longer: the two clocks may differ.
    #expect(scene.requests == [standing, .withdraw(Scene.session)])
    try scene.answer(.withdrawn)
    scene.asked = []
    try scene.host.perform(.send("third", as: 3, in: "s"))
    try scene.changed()
    #expect(named(scene) == .numbered(3))
    try scene.answer(.go)
    #expect(scene.begun.map(\.message) == [.numbered(3)])
    try scene.end(attempt: 1)
    #expect(scene.requests == [standing, .withdraw(Scene.session)])
    try scene.answer(.withdrawn)
    scene.asked = []
    #expect(
      scene.executor.obstacle(of: Scene.session, in: scene.host.workspace, at: scene.context)
        == .notBefore(time))
    let wake = try #require(scene.executor.deadline(wall: scene.context.wall, now: scene.now))
    #expect(wake <= scene.now + time - scene.context.wall)
    try scene.pass(time - scene.context.wall - 1)
    #expect(named(scene) == nil)
    try scene.pass(1)
    #expect(named(scene) == .numbered(2))
    try scene.answer(.go)
    #expect(scene.begun.map(\.message) == [.numbered(3), .numbered(2)])
  }

  /// The host has returned its lease long ago, and only the time wakes it.
  @Test func aHostWakesForAMessageForLater() throws {
    var scene = try Scene()
    try scene.host.perform(.setHost(Scene.session, Scene.device))
    var send = Command.Send(session: Scene.session, id: .numbered(2), text: "tonight")
    send.later = scene.context.wall + 3_600_000
    try scene.host.perform(.send(send))
    try scene.changed()
    var released = false
    while scene.context.wall < TestDevice.startOfTime + 3_601_000 {
      let wake = try #require(scene.executor.deadline(wall: scene.context.wall, now: scene.now))
      try scene.pass(max(1, wake - scene.now))
      while let last = scene.requests.last {
        switch last {
        case .lease: try scene.answer(.leased(token: released ? 9 : 7, milliseconds: 30_000))
        case .release:
          released = true
          try scene.answer(.released)
        case .withdraw: try scene.answer(.withdrawn)
        case .dispatch: try scene.answer(.go)
        default: scene.asked.removeLast()
        }
      }
    }
    #expect(released && scene.begun.map(\.message) == [.numbered(2)])
    #expect(scene.begun.first?.token == 9)
  }

  /// The host's clock is ahead of the authority's.
  @Test func messagesThatTheAuthorityDelaysAreSkipped() throws {
    var scene = try Scene()
    let time = scene.context.wall + 1_000
    try scene.host.perform(.pause(Scene.session, reason: nil))
    try scene.host.perform(.send("second", as: 2, in: "s"))
    try scene.host.perform(.send("third", as: 3, in: "s"))
    try scene.host.perform(.setLater(.numbered(2), time))
    try scene.pass(2_000)
    try scene.host.perform(.resume(Scene.session))
    try scene.changed()
    scene.asked.removeAll { if case .dispatch = $0.request { false } else { true } }
    #expect(named(scene) == .numbered(2))
    try scene.answer(.notYet(time))
    #expect(named(scene) == .numbered(3))
    try scene.answer(.go)
    // After a change to the queues, it is requested again.
    try scene.end(attempt: 1)
    #expect(named(scene) == .numbered(2))
    try scene.answer(.notYet(time))
    #expect(named(scene) == nil)
    try scene.pass(1_000)
    #expect(named(scene) == .numbered(2))
    try scene.answer(.go)
    #expect(scene.begun.map(\.message) == [.numbered(3), .numbered(2)])
  }

  /// A limit still stops the session: nothing passes it.
  @Test func aLimitStopsTheSessionAsBefore() throws {
    var scene = try Scene()
    try scene.host.perform(.pause(Scene.session, reason: nil))
    try scene.host.perform(.send("second", as: 2, in: "s"))
    try scene.host.perform(.send("third", as: 3, in: "s"))
    try scene.host.perform(.setNotBefore(.numbered(2), scene.context.wall + 5_000))
    try scene.host.perform(.resume(Scene.session))
    try scene.changed()
    #expect(named(scene) == nil)
    try scene.pass(5_000)
    while let last = scene.requests.last, named(scene) == nil {
      if case .lease = last {
        try scene.answer(.leased(token: 7, milliseconds: 30_000))
      } else {
        scene.asked.removeLast()
      }
    }
    #expect(named(scene) == .numbered(2))
  }

  /// The user at the host knows more than the authority did.
  @Test(arguments: ["edited", "cancelled", "paused", "held"])
  func grantsThatTheHostWouldNotRequestAreNotBegun(change: String) throws {
    var scene = try Scene()
    try scene.host.perform(.send("second", as: 2, in: "s"))
    let granted = scene.granted(2, "second")
    switch change {
    case "edited": try scene.host.perform(.edit(.numbered(2), content: "other", base: nil))
    case "cancelled": try scene.host.perform(.cancel([.numbered(2)]))
    case "paused": try scene.host.perform(.pause(Scene.session, reason: nil))
    default:
      try scene.host.perform(
        .hold(.numbered(2), until: TestDevice.startOfTime + scene.now + 60_000))
    }
    try scene.changed()
    try scene.answer(granted)
    #expect(scene.begun == [])
    // It is returned, so that it does not count as begun, and waits in its current state.
    let message = try scene.host.workspace.message(.numbered(2))
    guard change != "cancelled" else {
      #expect(message.run == nil && message.status == .cancelled)
      return
    }
    #expect(message.run?.phase == .interrupted && message.run?.attempt == 1)
    #expect(message.status == .queued)
  }

  /// The deadline of an overdue message ends when it is due.
  @Test func aMessageThatHasToWaitAfterAllWakesNothing() throws {
    var scene = try Scene()
    try scene.host.perform(.send("second", as: 2, in: "s"))
    try scene.changed()
    try scene.host.perform(
      .setNotBefore(.numbered(2), TestDevice.startOfTime + scene.now + 3_600_000))
    try scene.changed()
    try scene.pass(1_500)
    let due = scene.executor.deadline(wall: scene.context.wall, now: scene.now)
    #expect(try #require(due) > scene.now)
  }

  /// The release was on its way when a message was granted.
  @Test func grantsDuringTheReleaseAreReturned() throws {
    var scene = try Scene()
    let standing = try #require(scene.asked.last)
    scene.asked = []
    for _ in 0..<6 {
      try scene.pass(10_000)
      while let last = scene.requests.last, case .lease = last {
        try scene.answer(.leased(token: 7, milliseconds: 30_000))
      }
    }
    #expect(scene.requests.last == .release(session: Scene.session, token: 7))
    try scene.host.perform(.send("second", as: 2, in: "s"))
    let release = scene.asked
    scene.asked = [standing]
    try scene.answer(scene.granted(2, "second"))
    #expect(scene.begun == [])
    #expect(try scene.host.workspace.message(.numbered(2)).run?.phase == .interrupted)
    scene.asked = release
    try scene.answer(.released)
    try scene.changed()
    #expect(scene.requests.last == .lease(session: Scene.session, token: 0))
  }

  /// A lease that the authority cannot renew now is not requested again and again.
  @Test func aRenewalThatCannotBeAnsweredWaits() throws {
    var scene = try Scene(stands: false)
    try scene.pass(LeaseTimes.renewalMilliseconds)
    #expect(scene.requests == [.lease(session: Scene.session, token: 7)])
    try scene.answer(.unavailable)
    #expect(scene.requests == [])
    try scene.pass(10)
    #expect(scene.requests == [])
    let due = scene.executor.deadline(wall: scene.context.wall, now: scene.now)
    #expect(try #require(due) > scene.now)
    try scene.pass(1_000)
    #expect(scene.requests == [.lease(session: Scene.session, token: 7)])
  }

  @Test func aSessionThatMayNotStartTakesItBack() throws {
    var scene = try Scene()
    scene.executor.settings.isGated = true
    try scene.gate(isOpen: true)
    #expect(scene.requests == [standing])
    let asked = try #require(scene.asked.last)
    try scene.gate(isOpen: false)
    #expect(scene.requests.last == .withdraw(Scene.session))
    try scene.host.perform(.send("second", as: 2, in: "s"))
    let withdrawal = scene.asked
    scene.asked = [asked]
    try scene.answer(scene.granted(2, "second"))
    // It was on its way already: it is returned.
    #expect(scene.begun == [])
    #expect(try scene.host.workspace.message(.numbered(2)).run?.phase == .interrupted)
    scene.asked = withdrawal
    try scene.answer(.withdrawn)
    scene.asked = []
    try scene.pass(10_000)
    try scene.answer(.leased(token: 7, milliseconds: 30_000))
    try scene.gate(isOpen: true)
    guard case .dispatch(let request)? = scene.requests.last else {
      Issue.record("\(scene.requests)")
      return
    }
    #expect(request.attempt == 2)
  }

  @Test func onANewConnectionItIsAskedAgain() throws {
    var scene = try Scene()
    let first = try #require(scene.asked.last?.id)
    try scene.connect()
    #expect(scene.requests == [standing])
    #expect(scene.asked.last?.id != first)
    try scene.host.perform(.send("second", as: 2, in: "s"))
    try scene.connect()
    guard case .dispatch? = scene.requests.last else {
      Issue.record("\(scene.requests)")
      return
    }
  }

  @Test func anAuthorityThatDoesNotKnowTheRequestIsAskedForEveryStart() throws {
    var scene = try Scene()
    try scene.answer(.unknown(status: 1))
    #expect(scene.requests == [])
    try scene.host.perform(.send("second", as: 2, in: "s"))
    try scene.changed()
    guard case .dispatch? = scene.requests.last else {
      Issue.record("\(scene.requests)")
      return
    }
  }

  @Test func aLeaseThatIsFencedIsGone() throws {
    var scene = try Scene()
    try scene.host.perform(.send("second", as: 2, in: "s"))
    try scene.answer(.fenced)
    #expect(scene.begun == [])
    #expect(scene.executor.counters.fenced == 1)
    try scene.pass(2_000)
    #expect(scene.requests == [.lease(session: Scene.session, token: 0)])
  }

  /// It is moved between two sessions of one host while the first session's question is on its way.
  @Test func aMessageThatBeginsInOneSessionIsNotUnknownInTheOther() throws {
    var scene = try Scene(stands: false)
    try scene.host.perform(.addSession(.named("t"), name: nil, project: nil))
    try scene.host.perform(.setHost(.named("t"), Scene.device))
    try scene.host.perform(.send("second", as: 2, in: "s"))
    try scene.changed()
    let first = try #require(scene.asked.last)
    try scene.host.perform(.send("third", as: 3, in: "t"))
    try scene.host.perform(.pause(.named("t"), reason: nil))
    try scene.host.perform(.move([.numbered(2)], to: .before(.numbered(3))))
    try scene.host.perform(.resume(.named("t")))
    try scene.changed(.named("t"))
    try scene.answer(.leased(token: 8, milliseconds: 30_000))
    guard case .dispatch(let again)? = scene.requests.last, again.message == .numbered(2) else {
      Issue.record("\(scene.requests)")
      return
    }
    let second = try #require(scene.asked.last)
    scene.asked = [first]
    try scene.answer(.go)
    #expect(scene.begun.map(\.session) == [Scene.session])
    scene.asked = [second]
    try scene.answer(.duplicate(attempt: 1, token: 7))
    #expect(scene.host.workspace.status(2) == .running)
    #expect(scene.executor.counters.unknown == 0)
  }

  /// The machine slept with the answer in its socket: by now another device may have the lease.
  @Test(arguments: [true, false])
  func oldGrantsAreNotBegun(stands: Bool) throws {
    var scene = try Scene(stands: stands)
    try scene.host.perform(.send("second", as: 2, in: "s"))
    if !stands { try scene.changed() }
    scene.now += LeaseTimes.selfStopMilliseconds
    try scene.answer(stands ? scene.granted(2, "second") : .go)
    #expect(scene.begun == [])
    try scene.pass(20_000)
    // If no other device got a lease, it continues, and what was granted under the lease may be
    // requested.
    #expect(scene.requests.contains(.lease(session: Scene.session, token: 7)))
  }

  /// It wakes before it receives the grant of the message.
  @Test func aLeaseThatLapsedDuringSleepContinuesIfNoOtherWasGranted() throws {
    var scene = try Scene()
    try scene.pass(LeaseTimes.leaseMilliseconds)
    scene.asked = []
    try scene.host.perform(.send("second", as: 2, in: "s"))
    try scene.changed()
    #expect(scene.requests == [.lease(session: Scene.session, token: 7)])
    try scene.answer(.leased(token: 7, milliseconds: 30_000))
    guard case .dispatch(let request)? = scene.requests.last else {
      Issue.record("\(scene.requests)")
      return
    }
    #expect(request.token == 7)
    try scene.answer(.go)
    #expect(scene.begun.map(\.message) == [.numbered(2)])
  }

  @Test func aLeaseThatLapsedIsLeftWhereSomebodyElseGotOne() throws {
    var scene = try Scene()
    try scene.pass(LeaseTimes.leaseMilliseconds)
    scene.asked = []
    try scene.host.perform(.send("second", as: 2, in: "s"))
    try scene.changed()
    try scene.answer(.fenced)
    #expect(scene.requests == [.lease(session: Scene.session, token: 0)])
  }
}
