import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Hosts' reports about their agents, and their effects on the session's thread.
struct TaskTests {
  private let request = ApprovalRequest(
    id: RequestID(high: 1, low: 2), toolName: "Bash", summary: "make test",
    details: "make test -j2",
    expiresAt: 60_000)
  private let question = UserQuestion(
    id: RequestID(high: 1, low: 3), question: "Which one?", options: ["this", "that"])
  private let phone = DeviceID(high: 0xD, low: 2)

  private func device() throws -> TestDevice {
    var device = TestDevice(1)
    try device.perform(.addSession(.named("s"), name: nil, project: "/src/api"))
    return device
  }

  private func report(
    _ status: TaskStatus, at time: Int64 = 1_000, todo: TodoProgress? = nil,
    outcome: AskOutcome? = nil, token: UInt64? = nil
  ) -> Command {
    .reportTask(
      TaskReport(
        session: .named("s"), status: status, milliseconds: time, todoProgress: todo,
        outcome: outcome, token: token))
  }

  private func status(_ kind: TaskStatus.Kind) -> TaskStatus {
    switch kind {
    case .idle: .idle
    case .processing: .processing(operation: "fresh")
    case .awaitingApproval: .awaitingApproval(request)
    case .awaitingAnswer: .awaitingAnswer(question)
    case .completed: .completed(.success(summary: "done"))
    case .error: .error(message: "lost")
    }
  }

  /// A device whose task reached a state by allowed steps.
  private func device(in kind: TaskStatus.Kind) throws -> TestDevice {
    var device = try device()
    if kind != .idle { try device.perform(report(.processing(operation: nil))) }
    if kind != .idle, kind != .processing { try device.perform(report(status(kind))) }
    return device
  }

  // S4-39 S4-40 S4-41 S4-42 S4-43 S4-44 S4-45 S4-46 S4-47 S4-53
  @Test(arguments: TaskStatus.Kind.allCases, TaskStatus.Kind.allCases)
  func onlyLegalMovesAreMade(_ from: TaskStatus.Kind, _ to: TaskStatus.Kind) throws {
    let legal: [TaskStatus.Kind: [TaskStatus.Kind]] = [
      .idle: [.processing],
      .processing: [.processing, .awaitingApproval, .awaitingAnswer, .completed, .error],
      .awaitingApproval: [.awaitingApproval, .awaitingAnswer, .processing, .completed],
      .awaitingAnswer: [.awaitingApproval, .awaitingAnswer, .processing, .completed],
      .completed: [.processing, .idle], .error: [.processing, .idle],
    ]
    var device = try device(in: from)
    // Repeating the same status is not a move; a different status of the same kind is.
    var next = status(to)
    if from == to, case .completed = next { next = .completed(.cancelled) }
    if from == to, case .error = next { next = .error(message: "again") }
    if from == to, case .awaitingApproval = next {
      next = .awaitingApproval(ApprovalRequest(id: question.id, toolName: "Edit", summary: ""))
    }
    if from == to, case .awaitingAnswer = next {
      next = .awaitingAnswer(UserQuestion(id: request.id, question: "?"))
    }
    let before = device.workspace.task(of: .named("s"))
    if legal[from]?.contains(to) == true {
      #expect(try device.perform(report(next)).notice == .done)
      #expect(device.workspace.task(of: .named("s"))?.status == next)
    } else if from == .idle, to == .idle {
      #expect(try device.perform(report(next)).notice == .unchanged)
    } else {
      #expect(
        throws: QueueError.illegalTaskMove(
          session: "s", move: TaskMoveError(from: from, to: to))
      ) { try device.perform(report(next)) }
      #expect(device.workspace.task(of: .named("s")) == before)
    }
    try device.workspace.checkInvariants()
  }

  // S4-20 S4-21 S4-22 S4-23 S4-24 S4-25 S4-26 S4-27
  @Test func aTaskTellsSinceWhenAndHowFarItIs() throws {
    var device = try device()
    #expect(device.workspace.session(.named("s"))?.task == nil)
    try device.perform(report(.processing(operation: nil), at: 5))
    try device.perform(
      report(
        .processing(operation: "Bash"), at: 7,
        todo: TodoProgress(completed: 1, total: 3, currentTask: "write tests")))
    try device.perform(report(.processing(operation: "Edit"), at: 9))
    let task = try #require(device.workspace.session(.named("s"))?.task)
    #expect(task.projectPath == "/src/api" && task.startTime == 5 && task.lastUpdateTime == 9)
    #expect(task.todoProgress?.currentTask == "write tests")
    #expect(task.lastUpdateTime - task.startTime == 4, "the time it took is derived")
    try device.perform(report(.completed(.failure(error: "exit code 3")), at: 11))
    try device.perform(report(.processing(operation: nil), at: 20))
    let next = try #require(device.workspace.session(.named("s"))?.task)
    #expect(next.startTime == 20 && next.todoProgress == nil)
  }

  @Test func anExpiredLeaseLosesAndTheOutcomeStaysUntilTheNextRequest() throws {
    var device = try device()
    try device.perform(report(.processing(operation: nil), token: 7))
    #expect(try device.perform(report(.completed(.cancelled), token: 6)).notice == .unchanged)
    try device.perform(report(.awaitingApproval(request), token: 7))
    let outcome = AskOutcome(request: request.id, ending: .denied, device: phone)
    try device.perform(report(.processing(operation: nil), outcome: outcome))
    try device.perform(report(.processing(operation: "x"), token: 8))
    #expect(device.workspace.task(of: .named("s"))?.outcome == outcome)
    try device.perform(report(.awaitingAnswer(question)))
    #expect(device.workspace.task(of: .named("s"))?.outcome == nil)
    #expect(device.workspace.session(awaiting: question.id) == .named("s"))
    #expect(device.workspace.session(awaiting: request.id) == nil)
    #expect(AskOutcome(request: request.id, ending: .expired, device: phone) == nil)
    #expect(AskOutcome(request: request.id, ending: .allowed) == nil)
  }

  @Test func aThreadIsHiddenWhileItsAgentWorksAndShowsWhileItWaits() throws {
    var device = try device()
    try device.perform(.addThreads([.named("s")]))
    func isReady() -> Bool { !device.workspace.threadQueue().ready.isEmpty }
    #expect(isReady())
    try device.perform(report(.processing(operation: nil)))
    #expect(!isReady())
    try device.perform(report(.awaitingApproval(request)))
    #expect(isReady())
    try device.perform(report(.processing(operation: nil)))
    #expect(!isReady())
    // After a user shows it again, progress alone does not hide it.
    try device.perform(.unlockThread(.named("s")))
    try device.perform(report(.processing(operation: "Bash")))
    #expect(isReady())
    try device.perform(report(.completed(.success(summary: nil))))
    #expect(isReady())
  }

  @Test func aLongTaskGoesOnInFurtherRegistersAndIsOneAgain() throws {
    var device = try device()
    var other = TestDevice(2)
    let long = String(repeating: "rm -rf 👩‍👩‍👧‍👦\r\n\\", count: 190)
    let wanted = ApprovalRequest(
      id: request.id, toolName: "Bash", summary: "many", details: long, expiresAt: 9)
    try device.perform(report(.processing(operation: nil)))
    let outcome = try device.perform(report(.awaitingApproval(wanted)))
    #expect(outcome.operations.count == 6)
    try other.merge(device.made)
    let shown = try #require(other.workspace.task(of: .named("s")))
    guard case .awaitingApproval(let request) = shown.status else {
      Issue.record("\(shown.status)")
      return
    }
    #expect(request.summary == "many" && request.expiresAt == 9)
    #expect((request.details?.utf8.count ?? 0) > 3_900)
    let details = try #require(request.details)
    let mark = try #require(details.firstIndex(of: "…"))
    #expect(request.isCut && long.utf8.starts(with: details[..<mark].utf8))
    // A short text leaves the further registers unchanged, but they no longer count.
    try device.perform(report(.processing(operation: "Bash")))
    try other.merge(device.made)
    #expect(other.workspace.task(of: .named("s"))?.status == .processing(operation: "Bash"))
    let opened = try Workspace(image: other.workspace.image())
    #expect(opened.task(of: .named("s")) == other.workspace.task(of: .named("s")))
  }

  @Test func historyAndDumpHaveTasksAndAnImportHasNone() throws {
    var device = try device()
    let operations = try [
      report(.processing(operation: "Bash")), report(.processing(operation: "Edit")),
      report(.processing(operation: "Write")), report(.awaitingApproval(request)),
    ].flatMap { try device.perform($0).operations }
    let history = device.workspace.history(of: operations)
    #expect(
      history.map(\.action.name) == ["task", "lockedThread", "task", "task", "unlockedThread"])
    #expect(history[2].action.description == "task: processing, Write")
    #expect(history[3].action.description == "task: awaiting approval, Bash: make test")
    #expect(device.workspace.dump().sessions.first?.task?.status == .awaitingApproval(request))
    // Where a document is imported, no agent works.
    var other = TestDevice(2)
    try other.perform(.importDocument(device.workspace.document()))
    #expect(other.workspace.task(of: .named("s")) == nil)
  }

  /// No text for people calls a failed task completed.
  @Test func theHistoryOfAFailedTaskDoesNotSayCompleted() throws {
    var device = try device()
    for (result, description) in [
      (TaskResult.failure(error: "boom"), "task: failed, boom"),
      (.cancelled, "task: cancelled"), (.success(summary: "done"), "task: completed, done"),
    ] {
      let operations = try [report(.processing(operation: nil)), report(.completed(result))]
        .flatMap { try device.perform($0).operations }
      let history = device.workspace.history(of: operations)
      #expect(history.map(\.action.description).contains(description), "\(history)")
    }
  }

  @Test func observersLearnOnlyOfTheTask() throws {
    var device = try device()
    var tracker = ChangeTracker(workspace: device.workspace)
    let first = try device.perform(report(.processing(operation: "Bash")))
    let changes = tracker.changes(in: device.workspace, touched: first.touched)
    let second = try device.perform(report(.processing(operation: "Edit")))
    let later = tracker.changes(in: device.workspace, touched: second.touched)
    #expect(changes.count == 2)
    let task = try #require(device.workspace.task(of: .named("s")))
    #expect(later == [.task(task)])
  }
}
