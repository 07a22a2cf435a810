import ClientCore
import DispatchAuthority
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// The core reports what its agents do, asks on their behalf, and keeps users' answers.
struct TaskMachineTests {
  /// One device, without a server or with an unreachable one.
  private struct Scene {
    var core: ClientCore
    let store: MemoryStore
    var actions: [ClientCore.Action] = []
    var now: Int64 = 1_000
    var random: UInt64 = 77
    static let device = DeviceID(high: 0xD, low: 1)
    let session = SessionID.named("s")

    init(store: MemoryStore = MemoryStore(), isPaired: Bool = false, now: Int64 = 1_000) throws {
      self.store = store
      self.now = now
      let context = EventContext(now: now, wall: TestDevice.startOfTime + now, random: 5)
      let loaded = store.loaded
      let replica = try Replica(
        Replica.Opening(
          loaded: loaded, device: Scene.device, deviceName: "a"),
        at: context, store: store)
      core = ClientCore(
        replica: replica, credentials: isPaired ? Fleet.credentials() : nil, queueSizeMax: 100)
      core.answersLoaded(loaded.answers, at: context)
    }

    mutating func tell(
      after milliseconds: Int64 = 10,
      _ event: (inout ClientCore, EventContext, MemoryStore) throws -> [ClientCore.Action]
    ) rethrows {
      now += milliseconds
      random += 1
      let context = EventContext(now: now, wall: TestDevice.startOfTime + now, random: random)
      let first = try event(&core, context, store)
      actions += first + core.executionFollowing(first, at: context, store: store)
    }

    mutating func pass(_ milliseconds: Int64) {
      tell(after: milliseconds) { $0.timePassed(at: $1, store: $2) }
    }

    mutating func perform(_ command: Command) throws {
      try tell { try $0.commandGiven(command, at: $1, store: $2).actions }
    }

    mutating func begin() {
      let loaded = store.loaded.execution
      tell {
        $0.executionStarted(
          ExecutionSettings(), loaded: loaded, deadAgents: [], at: $1, store: $2)
      }
    }

    mutating func hear(_ news: TaskEvent, after milliseconds: Int64 = 10) {
      tell(after: milliseconds) { $0.taskHeard(news, in: .named("s"), at: $1, store: $2) }
    }

    mutating func raise(
      _ number: UInt64, _ matter: AgentAsk = .approval(toolName: "Bash", summary: "make"),
      patience: Int64? = 60_000
    ) throws {
      let ask = Ask(
        session: session, id: RequestID(high: 1, low: number), matter: matter,
        patienceMilliseconds: patience)
      try tell { try $0.askRaised(ask, at: $1, store: $2) }
    }

    mutating func answer(_ number: UInt64, _ verdict: Verdict) throws -> AnswerEnding? {
      var ending: AnswerEnding?
      let request = AnswerRequest(
        session: session, request: RequestID(high: 1, low: number), verdict: verdict, text: "")
      try tell { core, context, store in
        let result = try core.answerGiven(request, at: context, store: store)
        ending = result.ending
        return result.actions
      }
      return ending
    }

    var task: TaskState? { core.replica.workspace.task(of: session) }

    /// The decisions that agents received, in order.
    var decisions: [AskOutcome.Ending] {
      actions.compactMap { if case .decided(_, let decision) = $0 { decision.ending } else { nil } }
    }

    var endings: [AnswerEnding] {
      actions.compactMap { if case .answerEnded(_, let ending) = $0 { ending } else { nil } }
    }
  }

  private func scene() throws -> Scene {
    var scene = try Scene()
    scene.begin()
    try scene.perform(.addSession(scene.session, name: nil, project: nil))
    return scene
  }

  // S4-32, S4-33
  @Test func aDeviceWithoutAServerAnswersItsOwnAgents() throws {
    var scene = try scene()
    try scene.raise(1)
    #expect(scene.task?.status.kind == .awaitingApproval)
    #expect(try scene.answer(1, .allowed) == nil)
    #expect(scene.endings == [.taken] && scene.decisions == [.allowed])
    #expect(scene.task?.status == .processing(operation: nil))
    #expect(scene.task?.outcome?.device == Scene.device)
    #expect(try scene.answer(1, .denied) == .answeredAlready(.allowed, by: Scene.device))
    #expect(scene.store.authority.verdicts.count == 1 && scene.store.answers.isEmpty)
  }

  // S4-41, S4-42, S4-44: the agent works again after an answer, and the task ends when the agent
  // stops.
  @Test func anAgentGoesOnAfterEveryAnswer() throws {
    var scene = try scene()
    scene.hear(.began)
    try scene.raise(1)
    #expect(scene.task?.status.kind == .awaitingApproval)
    #expect(try scene.answer(1, .denied) == nil)
    #expect(scene.task?.status == .processing(operation: nil) && scene.decisions == [.denied])
    try scene.raise(2, .question("Which branch?", options: ["main"]))
    #expect(scene.task?.status.kind == .awaitingAnswer)
    #expect(try scene.answer(2, .answered) == nil)
    #expect(scene.task?.status == .processing(operation: nil))
    #expect(scene.decisions == [.denied, .answered])
    try scene.raise(3)
    #expect(try scene.answer(3, .denied) == nil)
    scene.hear(.ended(.failure(error: "denied")))
    #expect(scene.task?.status == .completed(.failure(error: "denied")))
    #expect(scene.core.illegalTaskMoves == 0)
  }

  /// An agent waits for each write to the disk, and its decision needs one.
  @Test func anAgentGetsItsAnswerAfterOneWaitForTheDisk() throws {
    var scene = try scene()
    try scene.raise(1)
    let before = scene.store.waits
    #expect(try scene.answer(1, .allowed) == nil)
    #expect(scene.decisions == [.allowed])
    #expect(scene.store.waits - before == 1)
  }

  @Test func requestsOfOneSessionAreAnsweredInAnyOrder() throws {
    var scene = try scene()
    for number in 1...UInt64(Limits.taskRequestsMax + 1) { try scene.raise(number) }
    #expect(scene.task?.requests.count == Limits.taskRequestsMax && scene.task?.moreRequests == 1)
    #expect(try scene.answer(3, .denied) == nil)
    #expect(scene.decisions == [.denied] && scene.task?.outcome?.ending == .denied)
    #expect(scene.task?.moreRequests == 0)
    #expect(scene.task?.requests.last?.id == RequestID(high: 1, low: 9))
    #expect(try scene.answer(1, .allowed) == nil)
    #expect(scene.task?.status.request?.id == RequestID(high: 1, low: 2))
    for number in [2, 4, 5, 6, 7, 8, 9] as [UInt64] {
      #expect(scene.task?.status.kind == .awaitingApproval)
      #expect(try scene.answer(number, .allowed) == nil)
    }
    #expect(scene.decisions.count == 9 && scene.task?.status.kind == .processing)
    #expect(scene.core.illegalTaskMoves == 0)
  }

  @Test func requestsOverwrittenByAnotherHostAreShownAgainOneByOne() throws {
    var scene = try scene()
    for number in 1...UInt64(3) { try scene.raise(number) }
    try scene.perform(
      .reportTask(
        TaskReport(
          session: scene.session, status: .completed(.cancelled), milliseconds: scene.now)))
    #expect(scene.task?.requests.map(\.id.low) == [1, 2, 3])
    #expect(scene.decisions.isEmpty && scene.core.illegalTaskMoves == 0)
    #expect(try scene.answer(2, .allowed) == nil)
    #expect(scene.decisions == [.allowed] && scene.task?.requests.map(\.id.low) == [1, 3])
  }

  @Test func aDeletedSessionWithdrawsAllThatItAsks() throws {
    var scene = try scene()
    for number in 1...UInt64(3) { try scene.raise(number) }
    try scene.perform(.deleteSession(scene.session))
    #expect(scene.decisions == [.withdrawn, .withdrawn, .withdrawn])
    #expect(
      scene.core.replica.workspace.keptTask(of: scene.session)?.state.requests.isEmpty == true)
    #expect(scene.core.illegalTaskMoves == 0)
  }

  @Test func unansweredRequestsExpire() throws {
    var scene = try scene()
    try scene.raise(1)
    scene.pass(60_000)
    #expect(scene.decisions == [.expired] && scene.task?.outcome?.ending == .expired)
    #expect(try scene.answer(1, .allowed) == .notAwaited)
    #expect(scene.decisions == [.expired])
  }

  @Test func anAgentAtItsOwnPromptShowsThatItWaits() throws {
    var scene = try scene()
    scene.hear(.began)
    let first = RequestID(high: 2, low: 1)
    let matter = AgentAsk.approval(toolName: "Bash", summary: "make", details: nil)
    scene.hear(.prompted(matter, first))
    let task = try #require(scene.task)
    #expect(task.status.request?.id == first)
    // It ended as it began: no user can answer it, and every device shows that.
    #expect(task.status.request?.expiresAt == task.lastUpdateTime)
    #expect(try scene.answer(1, .allowed) == .notAwaited)
    let answer = AnswerRequest(session: scene.session, request: first, verdict: .allowed)
    try scene.tell { try $0.answerGiven(answer, at: $1, store: $2).actions }
    #expect(scene.endings == [.notAwaited])
    // Reported twice, by two hooks of one prompt, it is one.
    scene.hear(.prompted(.question("?", options: []), RequestID(high: 2, low: 2)))
    #expect(scene.task == task)
    scene.hear(.operation("Bash"))
    #expect(scene.task?.status == task.status, "a tool's name tells nothing of the prompt")
    scene.hear(.resumed)
    #expect(scene.task?.status.kind == .processing)
    #expect(scene.task?.outcome?.ending == .withdrawn)
    scene.hear(.prompted(.question("Which?", options: []), RequestID(high: 2, low: 3)))
    #expect(scene.task?.status.kind == .awaitingAnswer)
    scene.hear(.ended(.success(summary: nil)))
    #expect(scene.task?.status == .completed(.success(summary: nil)))
    #expect(scene.decisions.isEmpty && scene.core.illegalTaskMoves == 0)
  }

  @Test func anExpiredRequestOfAnAgentAtItsPromptStaysUntilItGoesOn() throws {
    var scene = try scene()
    let ask = Ask(
      session: scene.session, id: RequestID(high: 1, low: 1),
      matter: .approval(toolName: "Bash", summary: "make", details: nil),
      patienceMilliseconds: 60_000, promptsItself: true)
    try scene.tell { try $0.askRaised(ask, at: $1, store: $2) }
    scene.pass(60_000)
    #expect(scene.decisions == [.expired])
    #expect(scene.task?.status.kind == .awaitingApproval && scene.task?.outcome == nil)
    #expect(try scene.answer(1, .allowed) == nil)
    #expect(scene.endings == [.notAwaited], "the authority says so")
    scene.hear(.prompted(ask.matter, RequestID(high: 2, low: 1)))
    #expect(scene.task?.status.request?.id == ask.id)
    scene.hear(.began)
    #expect(scene.task?.status.kind == .processing)
    #expect(scene.task?.outcome?.ending == .expired && scene.decisions == [.expired])
  }

  @Test func theEndOfTheTurnWithdrawsAndEndsTheTask() throws {
    var scene = try scene()
    scene.hear(.began)
    try scene.raise(1)
    scene.hear(.ended(.success(summary: "done")))
    #expect(scene.decisions == [.withdrawn])
    #expect(scene.task?.status == .completed(.success(summary: "done")))
    // A second report of its end makes no second task.
    let before = scene.task
    scene.hear(.ended(.success(summary: nil)))
    #expect(scene.task == before && scene.core.illegalTaskMoves == 0)
  }

  // N-8
  @Test func mereProgressIsWrittenEveryFifteenSeconds() throws {
    var scene = try scene()
    scene.hear(.began)
    let start = scene.store.operations.count
    for number in 0..<100 {
      scene.hear(.operation("tool \(number)"), after: 100)
      scene.hear(.progress(TodoProgress(completed: number, total: 100)), after: 100)
    }
    // In 20 seconds: the first at once, the next after 15.
    #expect(scene.store.operations.count == start + 2)
    #expect((scene.task?.todoProgress?.completed ?? 0) < 99)
    scene.pass(15_000)
    #expect(scene.task?.todoProgress?.completed == 99)
    #expect(scene.task?.status == .processing(operation: "tool 99"))
    scene.hear(.operation("last"))
    scene.hear(.ended(.failure(error: "no")))
    #expect(scene.task?.status == .completed(.failure(error: "no")))
    #expect(scene.task?.todoProgress?.completed == 99)
  }

  // N-8
  @Test func progressOfATaskThatWaitsForItsPersonIsNotDueBeforeItGoesOn() throws {
    var scene = try scene()
    scene.hear(.began)
    scene.hear(.operation("Read"))
    scene.hear(.operation("Bash"), after: 1_000)
    try scene.raise(1, patience: nil)
    for _ in 0..<3 {
      scene.pass(20_000)
      #expect(scene.core.deadline.map { $0 > scene.now } ?? true)
    }
    scene.hear(.resumed)
    _ = try scene.answer(1, .allowed)
    scene.pass(1)
    #expect(scene.task?.status == .processing(operation: "Bash"))
  }

  // N-11
  @Test(arguments: [false, true]) func aCrashLeavesNoTaskAtWorkForEver(_ awaits: Bool) throws {
    var scene = try scene()
    scene.hear(.began)
    if awaits { try scene.raise(1) }
    var next = try Scene(store: scene.store)
    next.begin()
    #expect(next.task?.status.kind == .error)
    #expect(next.task?.outcome?.ending == (awaits ? .withdrawn : nil))
    #expect(next.core.illegalTaskMoves == 0)
    next.hear(.began)
    #expect(next.task?.status.kind == .processing)
  }

  @Test func theTaskOfAnotherHostIsNotWritten() throws {
    var scene = try scene()
    try scene.perform(.setHost(scene.session, DeviceID(high: 0xD, low: 9)))
    scene.hear(.began)
    try scene.raise(1)
    #expect(scene.task == nil && scene.decisions == [.withdrawn])
  }

  /// The session's host was changed while its agent waited here.
  @Test func anAgentWhoseSessionMovedIsInformedAsWell() throws {
    var scene = try scene()
    scene.hear(.began)
    try scene.raise(1, patience: nil)
    try scene.perform(.setHost(scene.session, DeviceID(high: 0xD, low: 9)))
    #expect(scene.decisions.isEmpty, "it can still be answered")
    scene.hear(.ended(.success(summary: "done")))
    #expect(scene.decisions == [.withdrawn])
    #expect(scene.task?.status == .completed(.success(summary: "done")))
    scene.hear(.ended(.failure(error: "again")))
    #expect(scene.task?.status == .completed(.success(summary: "done")))
  }

  @Test func theEndOfARequestIsWrittenIfItsSessionWasDeleted() throws {
    var scene = try scene()
    scene.hear(.began)
    try scene.raise(1)
    try scene.raise(2)
    try scene.perform(.deleteSession(scene.session))
    #expect(scene.decisions == [.withdrawn, .withdrawn])
    #expect(scene.task == nil)
    #expect(try scene.answer(1, .allowed) == .notAwaited)
    // The end of its turn does not bring it back, either.
    scene.hear(.ended(.cancelled))
    #expect(scene.core.replica.workspace.session(scene.session) == nil)
    try scene.perform(.addSession(scene.session, name: nil, project: nil))
    #expect(scene.task?.status == .completed(.cancelled))
    let request = RequestID(high: 1, low: 2)
    #expect(scene.task?.outcome == AskOutcome(request: request, ending: .withdrawn))
    #expect(scene.core.replica.workspace.session(scene.session)?.locked == false)
  }

  @Test func nothingBeginsInADeletedSession() throws {
    var scene = try scene()
    try scene.perform(.deleteSession(scene.session))
    scene.hear(.began)
    #expect(throws: Replica.Fault.self) { try scene.raise(1) }
    try scene.perform(.addSession(scene.session, name: nil, project: nil))
    #expect(scene.task == nil)
  }

  @Test func aRestartedHostEndsTheTurnOfADeletedSession() throws {
    var scene = try scene()
    scene.hear(.began)
    try scene.perform(.deleteSession(scene.session))
    var next = try Scene(store: MemoryStore(copying: scene.store))
    next.begin()
    try next.perform(.addSession(next.session, name: nil, project: nil))
    #expect(next.task?.status.kind == .error)
  }

  // N-4
  @Test func anAnswerWithoutAConnectionIsKeptAndDroppedAfterTwoMinutes() throws {
    var scene = try Scene(isPaired: true)
    scene.begin()
    try scene.perform(.addSession(scene.session, name: nil, project: nil))
    try scene.raise(1, patience: nil)
    #expect(try scene.answer(1, .allowed) == nil)
    #expect(try scene.answer(1, .allowed) == nil, "tapped twice")
    #expect(scene.store.answers.count == 1 && scene.endings.isEmpty)
    // After a restart, it still exists.
    var next = try Scene(store: scene.store, isPaired: true, now: scene.now)
    next.begin()
    #expect(next.core.pendingAnswers.count == 1)
    next.pass(115_000)
    #expect(next.endings.isEmpty)
    next.pass(10_000)
    #expect(next.endings == [.tooLate])
    #expect(next.store.answers.isEmpty)
  }

  /// The agent gets it at once; the devices get it as soon as the disk has stored it.
  @Test(arguments: [false, true])
  func anAnswerThatAFullDiskRefusedIsWrittenLater(_ turnEnds: Bool) throws {
    var scene = try scene()
    scene.hear(.began)
    try scene.raise(1)
    scene.store.failure = StoreError(code: .full, message: "no space")
    scene.pass(60_000)
    scene.pass(10_000)
    #expect(scene.decisions == [.expired])
    if turnEnds { scene.hear(.ended(.success(summary: "done"))) }
    #expect(scene.task?.status.kind == .awaitingApproval)
    scene.store.failure = nil
    scene.pass(3_000)
    #expect(scene.task?.outcome?.ending == .expired)
    #expect(scene.task?.status.kind == (turnEnds ? .completed : .processing))
    #expect(scene.core.illegalTaskMoves == 0)
    let written = scene.store.operations.count
    scene.pass(10_000)
    #expect(scene.store.operations.count == written, "once is enough")
  }

  /// Another device takes over the session before the disk works again. It does not report the
  /// request's end until it runs something, so the request would stay visible.
  @Test(arguments: [false, true])
  func anEndThatAFullDiskRefusedIsWrittenEvenAfterAMove(_ turnEnds: Bool) throws {
    var scene = try scene()
    scene.hear(.began)
    try scene.raise(1)
    scene.store.failure = StoreError(code: .full, message: "no space")
    scene.pass(60_000)
    scene.pass(10_000)
    #expect(scene.decisions == [.expired])
    if turnEnds { scene.hear(.ended(.success(summary: "done"))) }
    scene.store.failure = nil
    try scene.perform(.setHost(scene.session, DeviceID(high: 0xD, low: 2)))
    #expect(scene.task?.status.kind == .awaitingApproval)
    scene.pass(3_000)
    #expect(scene.task?.outcome?.ending == .expired)
    #expect(scene.task?.status.kind == (turnEnds ? .completed : .processing))
  }

  /// An agent that was sent to its own prompt waits for no user.
  @Test func aRequestThatAFullDiskPreventedIsNotRaisedLater() throws {
    var scene = try scene()
    scene.hear(.began)
    scene.store.failure = StoreError(code: .full, message: "no space")
    try scene.raise(1)
    #expect(scene.decisions == [.withdrawn])
    scene.store.failure = nil
    scene.pass(10_000)
    #expect(scene.task?.status.kind == .processing)
  }
}
