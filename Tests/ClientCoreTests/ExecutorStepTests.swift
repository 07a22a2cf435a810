import ClientCore
import DispatchAuthority
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// How an executor treats queues that others change while it runs them.
struct ExecutorStepTests {
  /// An executor whose authority grants everything.
  private struct Scene {
    var executor = Executor(device: Scene.device, firstRequest: 1)
    var host = TestDevice(1)
    var leases: UInt64 = 0
    var ended: [Command] = []
    var begun: [StartOrder] = []
    /// Sessions for which consent was requested, and for which it is no longer requested.
    var asked: [SessionID] = []
    /// Whether answers to dispatches wait for `answerHeld`.
    var holdsDispatches = false
    var held: UInt64?
    var settled: [SessionID] = []
    static let device = DeviceID(high: 0xD, low: 1)

    private var context: EventContext {
      EventContext(now: 1_000, wall: TestDevice.startOfTime + 1_000, random: 7)
    }

    /// Examines all queues, and gives every requested answer.
    mutating func run() throws {
      let sessions = Set(host.workspace.sessions().map(\.id))
      try follow(executor.queuesChanged(sessions, in: host.workspace, at: context))
    }

    var wall: Int64 { context.wall }

    /// The session's agent, with which a user works, waits for a prompt.
    mutating func open(_ session: String) throws {
      try follow(
        executor.gateChanged(.named(session), isOpen: true, in: host.workspace, at: context))
    }

    /// A user works at the agent's own prompt, or has finished.
    mutating func busy(_ session: String, _ isBusy: Bool) throws {
      try follow(
        executor.busyChanged(.named(session), isBusy, in: host.workspace, at: context))
    }

    /// A host reports what the agent of "s" does.
    mutating func report(_ status: TaskStatus) throws {
      try host.perform(
        .reportTask(TaskReport(session: .named("s"), status: status, milliseconds: 1)))
    }

    func obstacle(_ session: String) -> StartObstacle? {
      executor.obstacle(of: .named(session), in: host.workspace, at: context)
    }

    /// The agent's turn ends.
    mutating func end(_ session: String, with result: TurnResult) throws {
      try follow(
        executor.ended(
          .named(session), attempt: 1, with: result, in: host.workspace, at: context))
    }

    /// The authority grants what was requested.
    mutating func answerHeld() throws {
      guard let id = held else { return }
      (held, holdsDispatches) = (nil, false)
      try follow(executor.answered(id, .go, in: host.workspace, at: context))
    }

    private mutating func follow(_ actions: [Executor.Action]) throws {
      for action in actions {
        switch action {
        case .ask(.dispatch, let id) where holdsDispatches: held = id
        case .ask(let request, let id):
          leases += 1
          let answer: AuthorityAnswer =
            switch request {
            case .lease: .leased(token: leases, milliseconds: 30_000)
            case .release: .released
            case .whereabouts: .runsNowhereElse
            case .dispatch, .outcome, .answer, .verdict, .next, .withdraw, .stop, .takeOver: .go
            }
          try follow(executor.answered(id, answer, in: host.workspace, at: context))
        case .tell(.start(let order)):
          begun.append(order)
          let run = order.run(.running, milliseconds: 1, note: "")
          try host.perform(.reportRun(order.message, run))
        case .end(let command, let following, _), .perform(let command, let following):
          for command in [command] + following {
            ended.append(command)
            try host.perform(command)
          }
        case .tell(.askConsent(let session)): asked.append(session)
        case .tell(.consentSettled(let session)): settled.append(session)
        case .tell: break
        }
      }
    }
  }

  /// A host whose clock is behind computes times that have passed for the authority.
  @Test(
    arguments: [
      (-3_600_000, 10_000), (9_999, 10_000), (60_000, 60_000), (Int64.max - 5, 691_200_000),
      (Int64.min, 10_000),
    ] as [(Int64, Int64)])
  func delayedAttemptsWaitAndEnd(named: Int64, reckoned: Int64) throws {
    var scene = Scene()
    try scene.host.perform(.send("text", as: 1, in: "s"))
    try scene.host.perform(.setHost(.named("s"), Scene.device))
    try scene.run()
    let time = named == .min ? named : scene.wall.addingReportingOverflow(named).partialValue
    try scene.end("s", with: .tryLater(named > 0 && time < 0 ? .max : time, reason: "limit"))
    #expect(scene.ended.contains(.setNotBefore(.numbered(1), scene.wall + reckoned)))
    #expect(scene.begun.count == 1)
  }

  @Test(arguments: [(60_000, 60_000), (-5, 0), (Int64.max, 691_200_000)] as [(Int64, Int64)])
  func aWaitIsReckonedByTheBestKnownTime(wait: Int64, reckoned: Int64) throws {
    var scene = Scene()
    try scene.host.perform(.send("text", as: 1, in: "s"))
    try scene.host.perform(.setHost(.named("s"), Scene.device))
    try scene.run()
    try scene.end("s", with: .tryAfter(wait, reason: "limit"))
    #expect(scene.ended.contains(.setNotBefore(.numbered(1), scene.wall + reckoned)))
  }

  /// A user begins to work at the agent's own prompt while the request to the authority is pending.
  @Test func grantsThatMayNoLongerStartAreReturned() throws {
    var scene = Scene()
    scene.holdsDispatches = true
    try scene.host.perform(.send("text", as: 1, in: "s"))
    try scene.host.perform(.setHost(.named("s"), Scene.device))
    try scene.run()
    #expect(scene.held != nil)
    try scene.busy("s", true)
    try scene.answerHeld()
    #expect(scene.begun == [])
    #expect(scene.host.workspace.status(1) == .queued)
    try scene.busy("s", false)
    #expect(scene.begun.map(\.attempt) == [2])
  }

  /// Another device moves the message before it knows that it runs.
  @Test func aMessageRunningHereIsNotUnknownInItsNewQueue() throws {
    var scene = Scene()
    for (number, session) in [(1, "s"), (2, "t")] as [(UInt64, String)] {
      try scene.host.perform(.send("text", as: number, in: session))
      try scene.host.perform(.setHost(.named(session), Scene.device))
    }
    try scene.host.perform(.pause(.named("t"), reason: nil))
    var other = TestDevice(2)
    try other.merge(scene.host.made)
    try other.perform(.move([.numbered(1)], to: .before(.numbered(2))))
    try scene.run()
    #expect(scene.begun.map(\.message) == [.numbered(1)])
    try scene.host.merge(other.made)
    try scene.run()
    let queue = try scene.host.workspace.messageQueue(.named("t")).messages
    #expect(queue.map(\.id) == [.numbered(1), .numbered(2)])
    #expect(scene.host.workspace.status(1) == .running)
    #expect(scene.ended == [])
  }

  /// S-6: a machine runs what a user at it allowed, and asks once for the rest.
  @Test func withoutConsentNothingIsClaimed() throws {
    var scene = Scene()
    scene.executor.choices.consented = [.named("t")]
    scene.executor.settings.needsConsent = true
    scene.executor.settings.asksForConsent = true
    for (number, session) in [(1, "s"), (2, "t")] as [(UInt64, String)] {
      try scene.host.perform(.send("text", as: number, in: session))
      try scene.host.perform(.setHost(.named(session), Scene.device))
    }
    for _ in 1...2 { try scene.run() }
    #expect(scene.begun.map(\.message) == [.numbered(2)])
    #expect(scene.executor.counters.claims == 1)
    #expect(scene.asked == [.named("s")])
    scene.executor.choices.consented = [.named("s"), .named("t")]
    try scene.run()
    #expect(scene.begun.map(\.message) == [.numbered(2), .numbered(1)])
    #expect(scene.asked == [.named("s")] && scene.settled == [.named("s")])
  }

  /// Messages that run elsewhere need no consent here.
  @Test func consentIsAskedForAsLongAsTheSessionIsToRunHere() throws {
    var scene = Scene()
    scene.executor.settings.needsConsent = true
    scene.executor.settings.asksForConsent = true
    try scene.host.perform(.send("text", as: 1, in: "s"))
    for (host, asked, settled) in [(Scene.device, 1, 0), (nil, 1, 1), (Scene.device, 2, 1)] {
      try scene.host.perform(.setHost(.named("s"), host))
      for _ in 1...2 { try scene.run() }
      #expect(scene.asked.count == asked && scene.settled.count == settled)
    }
    #expect(scene.begun == [])
  }

  /// If a user's own agent asks for each prompt, that counts as the consent.
  @Test func promptsRequestedByAUsersAgentNeedNoConsent() throws {
    var scene = Scene()
    scene.executor.settings = ExecutionSettings(
      isGated: true, needsConsent: true, asksForConsent: true)
    try scene.host.perform(.send("text", as: 1, in: "s"))
    try scene.host.perform(.setHost(.named("s"), Scene.device))
    try scene.open("s")
    #expect(scene.begun.count == 1)
    #expect(scene.asked == [])
  }

  /// A laptop slept while its agent worked. Meanwhile another host took over the message, and it
  /// was moved to another queue of the laptop.
  @Test func aMovedMessageBeginsAfterTheEndOfItsEarlierAttempt() throws {
    var scene = Scene()
    for (number, session) in [(1, "s"), (2, "t")] as [(UInt64, String)] {
      try scene.host.perform(.send("text", as: number, in: session))
      try scene.host.perform(.setHost(.named(session), Scene.device))
    }
    try scene.host.perform(.pause(.named("t"), reason: nil))
    try scene.run()
    #expect(scene.begun.map(\.message) == [.numbered(1)])
    var other = TestDevice(2)
    try other.merge(scene.host.made)
    let run = Run(token: 99, attempt: 1, phase: .failed, milliseconds: 1, note: "no")
    for command: Command in [
      .reportRun(.numbered(1), run), .retry(.numbered(1)),
      .move([.numbered(1)], to: .before(.numbered(2))), .resume(.named("t")),
    ] { try other.perform(command) }
    try scene.host.merge(other.made)
    try scene.run()
    #expect(scene.begun.count == 1)
    #expect(scene.obstacle("t") == .movedWhileRunning(.named("s")))
    try scene.end("s", with: .succeeded(summary: ""))
    #expect(scene.begun.map(\.message) == [.numbered(1), .numbered(1)])
    #expect(scene.begun.last?.session == .named("t") && scene.begun.last?.attempt == 2)
  }

  /// A session shows one question: consent is requested again after something else took its place.
  @Test func consentIsAskedForAgainBehindAnotherQuestion() throws {
    var scene = Scene()
    scene.executor.settings.needsConsent = true
    scene.executor.settings.asksForConsent = true
    try scene.host.perform(.send("text", as: 1, in: "s"))
    try scene.host.perform(.setHost(.named("s"), Scene.device))
    try scene.run()
    #expect(scene.asked.count == 1)
    let question = UserQuestion(id: RequestID(high: 1, low: 1), question: "which?")
    for (status, asked) in [
      (.processing(operation: nil), 1), (.awaitingAnswer(question), 1),
      (.processing(operation: nil), 1), (.completed(.success(summary: nil)), 2),
      (.idle, 2),
    ] as [(TaskStatus, Int)] {
      try scene.report(status)
      try scene.run()
      #expect(scene.asked.count == asked, "\(status)")
    }
    #expect(scene.begun == [] && scene.obstacle("s") == .consentMissing)
  }

  /// The device that made a change is lost in the middle of it: the queue reports that, and a user
  /// continues.
  @Test func aChangeThatStaysIncompleteIsReported() throws {
    var scene = Scene()
    var author = TestDevice(2)
    try author.perform(.send(String(repeating: "long", count: 5_000), as: 1, in: "s"))
    let end = author.made.firstIndex {
      if case .clearTags(_, .incomplete, _) = $0.body { true } else { false }
    }
    try scene.host.merge(Array(author.made.prefix(upTo: try #require(end))))
    try scene.host.perform(.setHost(.named("s"), Scene.device))
    try scene.run()
    #expect(scene.begun == [] && scene.obstacle("s") == .changeIncomplete)
    try scene.host.perform(.cancel([.numbered(1)]))
    try scene.host.perform(.restore(.numbered(1)))
    try scene.run()
    #expect(scene.begun.map(\.message) == [.numbered(1)])
  }

  /// Texts that were saved independently: the host reports that a user has to check them. If the
  /// session runs merged texts, the host starts the message.
  @Test(arguments: [true, false])
  func mergedMessagesAreReportedOrRun(byALook: Bool) throws {
    var scene = Scene()
    try scene.host.perform(.send("Use a file", as: 1, in: "s"))
    var other = TestDevice(2, now: scene.host.now)
    try other.merge(scene.host.made)
    try scene.host.perform(.edit(.numbered(1), content: "Use SQLite", base: nil))
    try other.perform(.edit(.numbered(1), content: "Use MySQL", base: nil))
    try scene.host.merge(other.made)
    try scene.host.perform(.setHost(.named("s"), Scene.device))
    try scene.run()
    #expect(scene.begun == [] && scene.obstacle("s") == .merged)
    if byALook {
      try scene.host.perform(.edit(.numbered(1), content: "Use SQLite", base: nil))
    } else {
      try scene.host.perform(.setOnMerge(.named("s"), .run))
    }
    try scene.run()
    #expect(scene.begun.map(\.message) == [.numbered(1)])
    #expect(byALook == (scene.begun.first?.text == "Use SQLite"))
  }

  /// A session's host reports why it starts nothing.
  @Test func aHostSaysWhyASessionWaits() throws {
    var scene = Scene()
    try scene.host.perform(.send("text", as: 1, in: "s"))
    #expect(scene.obstacle("s") == nil)
    try scene.host.perform(.setHost(.named("s"), Scene.device))
    scene.executor.settings.isEnabled = false
    #expect(scene.obstacle("s") == .noAgent)
    scene.executor.settings.isEnabled = true
    scene.executor.settings.isGated = true
    #expect(scene.obstacle("s") == .agentNotAsking)
    scene.executor.settings.isGated = false
    try scene.busy("s", true)
    #expect(scene.obstacle("s") == .agentBusy)
    let time = scene.wall + 60_000
    try scene.host.perform(.hold(.numbered(1), until: time))
    try scene.busy("s", false)
    #expect(scene.obstacle("s") == .notBefore(time))
    try scene.host.perform(.pause(.named("s"), reason: nil))
    #expect(scene.obstacle("s") == nil)
    try scene.host.perform(.resume(.named("s")))
    try scene.host.perform(.hold(.numbered(1), until: nil))
    try scene.run()
    #expect(scene.obstacle("s") == nil && scene.begun.count == 1)
    try scene.end("s", with: .notStarted("no such command"))
    guard case .triesAgain = scene.obstacle("s") else {
      Issue.record("\(String(describing: scene.obstacle("s")))")
      return
    }
  }
}
