import DeltaCodec
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Attempts to run messages: what hosts report, what users decide, and the effects on the queue.
struct RunTests {
  private func device(sending count: UInt64) throws -> TestDevice {
    var device = TestDevice(1)
    for number in 1...count { try device.perform(.send("text \(number)", as: number, in: "s")) }
    return device
  }

  private func run(
    _ phase: RunPhase, token: UInt64 = 1, attempt: UInt16 = 1, note: String = ""
  ) -> Run {
    Run(token: token, attempt: attempt, phase: phase, milliseconds: 1_700_000_000_000, note: note)
  }

  @Test func aRunningMessageIsFirstAndLeavesTheQueueOnSuccess() throws {
    var device = try device(sending: 3)
    try device.perform(.setPriority(.numbered(3), .urgent))
    try device.perform(.unlockThread(.named("s")))
    try device.perform(.reportRun(.numbered(2), run(.dispatched)))
    #expect(device.workspace.numbers("s") == [2, 3, 1])
    #expect(device.workspace.status(2) == .running)
    let queue = try device.workspace.messageQueue(.named("s"))
    #expect(queue.isExecuting)
    #expect(device.workspace.threadQueue().ready.isEmpty)
    try device.perform(.reportRun(.numbered(2), run(.succeeded, note: "three files changed")))
    #expect(device.workspace.numbers("s") == [3, 1])
    #expect(device.workspace.status(2) == .succeeded)
    #expect(device.workspace.threadQueue().ready.map(\.session) == [.named("s")])
    #expect(try device.workspace.message(.numbered(2)).run?.note == "three files changed")
    try device.workspace.checkInvariants()
  }

  // S0-62, S0-64, S0-65, S0-66
  @Test func aFailedMessageStaysInFrontWithItsErrorUntilSomebodyDecides() throws {
    var device = try device(sending: 2)
    try device.perform(.reportRun(.numbered(1), run(.running)))
    try device.perform(.reportRun(.numbered(1), run(.failed, note: "exit code 3")))
    #expect(device.workspace.numbers("s") == [1, 2])
    let queue = try device.workspace.messageQueue(.named("s"))
    #expect(queue.currentError == "exit code 3")
    #expect(!queue.isExecuting)
    let message = try device.workspace.message(.numbered(1))
    #expect(message.status == .failed && message.attempts == 1)
    #expect(message.lastError == "exit code 3")
  }

  /// Its slot stays in its place, whatever is in front of it.
  @Test(arguments: [MoveTarget.position(2), .after(.numbered(4)), .before(.numbered(1))])
  func aMessageIsMovedBehindTheFirstOne(target: MoveTarget) throws {
    var device = try device(sending: 4)
    try device.perform(.reportRun(.numbered(4), run(.failed)))
    try device.perform(.retry(.numbered(4)))
    let outcome = try device.perform(.move([.numbered(3)], to: target))
    #expect(device.workspace.numbers("s") == [4, 3, 1, 2])
    #expect(outcome.notice == .moved(position: 2))
  }

  /// A message that was tried is in front whatever its priority, and is moved among others that
  /// were tried.
  @Test func messagesThatWereTriedAreMovedAmongEachOther() throws {
    var device = try device(sending: 3)
    for number in UInt64(1)...2 {
      try device.perform(.reportRun(.numbered(number), run(.failed)))
      try device.perform(.retry(.numbered(number)))
    }
    try device.perform(.setPriority(.numbered(1), .urgent))
    try device.perform(.move([.numbered(2)], to: .position(1)))
    #expect(device.workspace.numbers("s") == [2, 1, 3])
  }

  // S0-15
  @Test func aRetriedMessageKeepsItsPlaceInFront() throws {
    var device = try device(sending: 2)
    try device.perform(.reportRun(.numbered(2), run(.failed)))
    try device.perform(.retry(.numbered(2)))
    #expect(device.workspace.numbers("s") == [2, 1])
    #expect(device.workspace.status(2) == .queued)
    #expect(try device.workspace.messageQueue(.named("s")).currentError == nil)
    #expect(throws: QueueError.messageNotFailed(id: MessageID.numbered(2).description)) {
      try device.perform(.retry(.numbered(2)))
    }
    // The decision was about the first attempt; the second one fails, too.
    try device.perform(.reportRun(.numbered(2), run(.failed, attempt: 2)))
    #expect(device.workspace.status(2) == .failed)
  }

  // S0-16
  @Test func aSkippedMessageLeavesTheQueueAndCanBeRestored() throws {
    var device = try device(sending: 2)
    try device.perform(.reportRun(.numbered(1), run(.unknown)))
    #expect(device.workspace.status(1) == .unknown)
    try device.perform(.skip(.numbered(1)))
    #expect(device.workspace.numbers("s") == [2])
    #expect(device.workspace.status(1) == .skipped)
    try device.perform(.restore(.numbered(1)))
    #expect(device.workspace.numbers("s") == [1, 2])
    #expect(device.workspace.status(1) == .queued)
  }

  // C-14
  @Test func editingAFailedMessageHasItTriedAgain() throws {
    var device = try device(sending: 1)
    try device.perform(.reportRun(.numbered(1), run(.failed)))
    try device.perform(.edit(.numbered(1), content: "better", base: nil))
    #expect(device.workspace.status(1) == .queued)
    #expect(device.workspace.contents("s") == ["better"])
  }

  // C-15
  @Test func runningMessagesCannotBeChanged() throws {
    var device = try device(sending: 2)
    try device.perform(.reportRun(.numbered(1), run(.running)))
    let refusal = QueueError.alreadyStarted(id: MessageID.numbered(1).description)
    let commands: [Command] = [
      .cancel([.numbered(2), .numbered(1)]), .edit(.numbered(1), content: "x", base: nil),
      .insertText(.numbered(1), at: 0, text: "x"), .setPriority(.numbered(1), .urgent),
      .hold(.numbered(1), until: 5),
    ]
    for command in commands {
      #expect(throws: refusal) { try device.perform(command) }
    }
    #expect(device.workspace.numbers("s") == [1, 2])
    try device.perform(.clear(.named("s")))
    #expect(device.workspace.numbers("s") == [1])
  }

  @Test func finishedMessagesDoNotRunAgain() throws {
    var device = try device(sending: 1)
    try device.perform(.reportRun(.numbered(1), run(.succeeded)))
    #expect(throws: QueueError.messageFinished(id: MessageID.numbered(1).description)) {
      try device.perform(.restore(.numbered(1)))
    }
    #expect(
      try device.perform(.send("text 1", as: 1, in: "s")).notice == .unchanged)
    #expect(device.workspace.numbers("s").isEmpty)
  }

  @Test func aStoppedMessageIsCancelledAndCanBeRestored() throws {
    var device = try device(sending: 1)
    try device.perform(.reportRun(.numbered(1), run(.running)))
    try device.perform(.reportRun(.numbered(1), run(.cancelled)))
    #expect(device.workspace.status(1) == .cancelled)
    try device.perform(.restore(.numbered(1)))
    #expect(device.workspace.status(1) == .queued)
  }

  @Test func fencesAreNotTimes() throws {
    var device = try device(sending: 1)
    let latest = device.workspace.latestStamp
    try device.perform(
      .reportRun(.numbered(1), run(.running, token: Fence.tokenMax, attempt: .max)))
    #expect(device.workspace.latestStamp.milliseconds < latest.milliseconds + 10)
    var opened = device
    try opened.restoreFromSnapshot()
    #expect(opened.workspace.latestStamp.milliseconds < latest.milliseconds + 10)
    #expect(opened.workspace.status(1) == .running)
    try device.restoreFromImage()
    #expect(device.workspace.latestStamp == opened.workspace.latestStamp)
    #expect(opened.workspace.session(.named("s"))?.waiting == 1)
  }

  @Test func loweringTheStampsOfOperationsLeavesFences() throws {
    var device = try device(sending: 1)
    try device.perform(.reportRun(.numbered(1), run(.running, token: 7, attempt: 3)))
    var lowered = Workspace()
    _ = try lowered.merge(#require(device.made.lowered(to: 1_000, behind: .zero)))
    #expect(lowered.latestStamp.milliseconds <= 1_001)
    let shown = try #require(try lowered.message(.numbered(1)).run)
    #expect(shown.token == 7 && shown.attempt == 3 && shown.phase == .running)
  }

  @Test(arguments: ["", "a", "two words ", String(repeating: "é", count: 700)])
  func notesComeBack(note: String) throws {
    var device = try device(sending: 1)
    try device.perform(.reportRun(.numbered(1), run(.failed, note: note)))
    let shown = try #require(try device.workspace.message(.numbered(1)).run)
    #expect(note.hasPrefix(shown.note) && shown.note.utf8.count <= Run.noteBytesMax)
    #expect(shown.milliseconds == 1_700_000_000_000)
    if note.utf8.count <= Run.noteBytesMax { #expect(shown.note == note) }
  }

  @Test func waitingTimesAreSetAndTakenAway() throws {
    var device = try device(sending: 1)
    try device.perform(.setNotBefore(.numbered(1), 1_800_000_000_000))
    try device.perform(.hold(.numbered(1), until: 60_000))
    var shown = try device.workspace.message(.numbered(1))
    #expect(shown.notBefore == 1_800_000_000_000 && shown.heldUntil == 60_000)
    try device.perform(.setNotBefore(.numbered(1), nil))
    try device.perform(.hold(.numbered(1), until: nil))
    shown = try device.workspace.message(.numbered(1))
    #expect(shown.notBefore == nil && shown.heldUntil == nil)
    #expect(try device.perform(.hold(.numbered(1), until: nil)).notice == .unchanged)
  }

  @Test func aSessionHasOneHost() throws {
    var device = try device(sending: 1)
    let host = DeviceID(high: 0xD, low: 7)
    try device.perform(.setHost(.named("s"), host))
    #expect(device.workspace.session(.named("s"))?.host == host)
    #expect(try device.workspace.messageQueue(.named("s")).host == host)
    try device.perform(.setHost(.named("s"), nil))
    #expect(device.workspace.session(.named("s"))?.host == nil)
  }
}

/// The stored form of decisions about attempts.
struct ResolutionTests {
  private func device() throws -> TestDevice {
    var device = TestDevice(1)
    try device.perform(.send("text", as: 1, in: "s"))
    try fail(&device, attempt: 1)
    return device
  }

  private func fail(_ device: inout TestDevice, attempt: UInt16) throws {
    let run = Run(token: 1, attempt: attempt, phase: .failed, milliseconds: 1)
    try device.perform(.reportRun(.numbered(1), run))
  }

  /// A register write by another device.
  private func write(
    _ field: RegisterField, _ value: UInt64, _ stamp: Stamp, to device: inout TestDevice
  ) throws {
    let element = try #require(device.workspace.origin(of: .numbered(1)))
    try device.merge([
      Operation(
        id: OperationID(replica: ReplicaID(rawValue: 9), seq: 1),
        body: .setRegister(element: element, field: field, value: .number(value), stamp: stamp))
    ])
  }

  @Test func decisionsOfTheEarlierRegisterCount() throws {
    var device = try device()
    let stamp = Stamp(milliseconds: TestDevice.startOfTime, counter: 0)
    try write(.resolution, 3, stamp, to: &device)
    #expect(device.workspace.status(1) == .skipped)
    try device.restoreFromSnapshot()
    #expect(device.workspace.status(1) == .skipped)
    // A later decision counts before it.
    try device.perform(.restore(.numbered(1)))
    #expect(device.workspace.status(1) == .queued)
    // An agent has had it, so it cannot be undone.
    #expect(throws: QueueError.self) { try device.perform(.undo) }
    #expect(device.workspace.status(1) == .queued)
  }

  @Test func aDecisionCountsBehindWhateverWasSeen() throws {
    var device = try device()
    try write(.decision, 2 * 9_999, Stamp(rawValue: .max - 1), to: &device)
    #expect(device.workspace.status(1) == .failed)
    try device.perform(.retry(.numbered(1)))
    #expect(device.workspace.status(1) == .queued)
  }

  @Test func anEditOfWhatFailedIsNotTakenBack() throws {
    var device = try device()
    try device.perform(.retry(.numbered(1)))
    try fail(&device, attempt: 2)
    try device.perform(.edit(.numbered(1), content: "better", base: nil))
    #expect(device.workspace.status(1) == .queued)
    let change = device.history.undoable.last?.number
    #expect(throws: QueueError.self) { try device.perform(.undo(change: change, skip: false)) }
    #expect(device.workspace.status(1) == .queued)
    #expect(device.workspace.contents("s").first == "better")
  }
}

/// The rows of the conflict table about running messages; each row in all orders.
struct RunConflictTests {
  private func running(_ phases: [RunPhase]) -> ConflictScenario.Action {
    { device in
      for number in 1...2 {
        try device.perform(.send("text \(number)", as: UInt64(number), in: "s"))
      }
      for phase in phases {
        try device.perform(RunConflictTests.report(phase))
      }
    }
  }

  private static func report(
    _ phase: RunPhase, token: UInt64 = 1, attempt: UInt16 = 1, of number: UInt64 = 1
  ) -> Command {
    .reportRun(
      .numbered(number),
      Run(token: token, attempt: attempt, phase: phase, milliseconds: 1))
  }

  @Test func aCancelThatCameTooLateLetsTheMessageEnd() throws {
    try ConflictScenario.verify(
      setup: running([]),
      authors: [
        { try $0.perform(RunConflictTests.report(.dispatched)) },
        { try $0.perform(.cancel([.numbered(1)])) },
      ]
    ) { device in
      #expect(device.workspace.status(1) == .running)
      #expect(device.workspace.numbers("s") == [1, 2])
      try device.perform(RunConflictTests.report(.failed))
      #expect(device.workspace.status(1) == .cancelled)
      #expect(device.workspace.numbers("s") == [2])
    }
  }

  @Test func theHostWithTheLaterLeaseCounts() throws {
    try ConflictScenario.verify(
      setup: running([.dispatched]),
      authors: [
        { try $0.perform(RunConflictTests.report(.unknown, token: 2)) },
        { try $0.perform(RunConflictTests.report(.succeeded, token: 1)) },
      ]
    ) { #expect($0.workspace.status(1) == .unknown) }
  }

  @Test func theLaterOfRetryAndSkipCounts() throws {
    try ConflictScenario.verify(
      setup: running([.failed]),
      authors: [
        { try $0.perform(.retry(.numbered(1))) }, { try $0.perform(.skip(.numbered(1))) },
      ]
    ) { #expect($0.workspace.status(1) == .skipped) }
  }

  /// A decision made without knowing of the latest attempt does not affect it, no matter how late
  /// it was made.
  @Test func theDecisionAboutTheLatestAttemptCounts() throws {
    try ConflictScenario.verify(
      setup: running([.failed]),
      authors: [
        { device in
          try device.perform(.retry(.numbered(1)))
          try device.perform(RunConflictTests.report(.failed, attempt: 2))
          try device.perform(.skip(.numbered(1)))
        },
        { try $0.perform(.retry(.numbered(1))) },
      ]
    ) { #expect($0.workspace.status(1) == .skipped) }
  }

  @Test func aRestoreDoesNotBringBackWhatWasDone() throws {
    try ConflictScenario.verify(
      setup: { device in
        try self.running([.running])(&device)
      },
      authors: [
        { try $0.perform(RunConflictTests.report(.succeeded)) },
        { device in
          try device.perform(.deleteSession(.named("s")))
          try device.perform(.restore(.numbered(1)))
        },
      ]
    ) { device in
      #expect(device.workspace.status(1) == .succeeded)
      #expect(device.workspace.numbers("s").isEmpty)
    }
  }

  @Test func aRetryDoesNotBringBackWhatWasCancelled() throws {
    try ConflictScenario.verify(
      setup: running([.failed]),
      authors: [
        { try $0.perform(.retry(.numbered(1))) }, { try $0.perform(.cancel([.numbered(1)])) },
      ]
    ) { #expect($0.workspace.status(1) == .cancelled) }
  }

  @Test func theLaterOfTwoNamedHostsCounts() throws {
    let second = DeviceID(high: 0xD, low: 2)
    try ConflictScenario.verify(
      setup: running([]),
      authors: [
        { try $0.perform(.setHost(.named("s"), DeviceID(high: 0xD, low: 1))) },
        { try $0.perform(.setHost(.named("s"), second)) },
      ]
    ) { #expect($0.workspace.session(.named("s"))?.host == second) }
  }
}
