import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Undo of messages that agents have, have had or could get: nothing starts, stops or disappears by
/// it.
struct UndoAgentTests {
  private static let host = DeviceID(high: 0xD, low: 1)

  /// A device with messages in a session that it hosts.
  private func device(messages: UInt64 = 1) throws -> TestDevice {
    var device = TestDevice(1)
    try device.perform(.addSession(.named("s"), name: nil, project: nil))
    try device.perform(.setHost(.named("s"), Self.host))
    for number in 1...messages {
      try device.perform(.send("text \(number)", as: number, in: "s"))
    }
    return device
  }

  private func report(
    _ phase: RunPhase, of number: UInt64, on device: inout TestDevice
  ) throws {
    try device.perform(
      .reportRun(
        .numbered(number),
        Run(token: 1, attempt: 1, phase: phase, milliseconds: device.now)))
  }

  private func startable(_ device: TestDevice) -> MessageID? {
    device.workspace.startable(in: .named("s"))?.message
  }

  private func isPaused(_ device: TestDevice) -> Bool {
    device.workspace.session(.named("s"))?.paused == true
  }

  private func reasons(_ device: TestDevice) throws -> [String] {
    try device.workspace.messageQueue(.named("s")).pauseReasons
  }

  @Test(arguments: [RunPhase.dispatched, .running])
  func startedMessagesStayAndAreNamed(phase: RunPhase) throws {
    var device = try device()
    try report(phase, of: 1, on: &device)
    let before = device.workspace.image()
    let label = UndoLabel(
      kind: .sent, session: .named("s"), message: .numbered(1), text: "text 1")
    let obstacle = UndoObstacle.started(.numbered(1), "text 1", .named("s"))
    #expect(obstacle.command == "cospool queue stop -s s")
    #expect(throws: QueueError.notUndoable(label, obstacle)) { try device.perform(.undo) }
    #expect(device.workspace.image() == before)
    #expect(device.workspace.next(of: device.history, isUndone: false)?.obstacle == obstacle)
    // It stays the next change to undo until the agent has ended, or the user skips it.
    #expect(throws: QueueError.notUndoable(label, obstacle)) { try device.perform(.undo) }
    #expect(try device.perform(.undo(change: nil, skip: true)).notice == .skipped(label))
    #expect(device.history.undoLabel?.kind == .hosted)
  }

  @Test(arguments: [RunPhase.succeeded, .failed, .unknown, .interrupted, .cancelled])
  func finishedChangesStayFirstUntilSkipped(phase: RunPhase) throws {
    var device = try device(messages: 2)
    try report(.running, of: 2, on: &device)
    try report(phase, of: 2, on: &device)
    for _ in 0..<2 {
      #expect(try obstacle(to: .undo, on: &device).code == "ended")
      #expect(device.workspace.status(1) == .queued)
    }
    // The change that is shown, the one that undo takes back and the one that is skipped are the
    // same.
    let next = try #require(device.workspace.next(of: device.history, isUndone: false))
    #expect(next.label.message == .numbered(2) && next.obstacle?.code == "ended")
    #expect(try device.perform(.undo(change: nil, skip: true)).notice == .skipped(next.label))
    #expect(try device.perform(.undo).notice.undoResult?.label.message == .numbered(1))
    #expect(device.workspace.session(.named("s")) != nil)
  }

  /// Why an undo or a redo is refused.
  private func obstacle(
    to command: Command, on device: inout TestDevice
  ) throws -> UndoObstacle {
    do {
      let done = try device.perform(command)
      Issue.record("it was done: \(done.notice)")
    } catch QueueError.notUndoable(_, let obstacle) {
      return obstacle
    }
    return .overtaken(remedy: nil)
  }

  /// A command restores a cancelled message that had failed; earlier results stay.
  @Test func aCancelOfWhatFailedNamesItsRestore() throws {
    var device = try device(messages: 2)
    try report(.running, of: 1, on: &device)
    try report(.failed, of: 1, on: &device)
    try device.perform(.cancel([.numbered(1)]))
    let obstacle = try obstacle(to: .undo, on: &device)
    #expect(obstacle.code == "ended")
    #expect(obstacle.command == "cospool queue restore \(MessageID.numbered(1))")
    #expect(device.workspace.numbers("s") == [2])
    try device.perform(.restore(.numbered(1)))
  }

  /// If nothing else is left, the latest is named.
  @Test func aSessionWithHistoryStays() throws {
    var device = TestDevice(1)
    try device.perform(.send("text", as: 1, in: "s"))
    try report(.running, of: 1, on: &device)
    try report(.succeeded, of: 1, on: &device)
    let label = UndoLabel(kind: .sent, session: .named("s"), message: .numbered(1), text: "text")
    for _ in 0..<3 {
      #expect(throws: QueueError.notUndoable(label, .ended(.numbered(1), "text", remedy: nil))) {
        try device.perform(.undo)
      }
    }
    #expect(device.workspace.session(.named("s")) != nil)
    #expect(device.workspace.status(1) == .succeeded)
  }

  @Test func anUndoneCancelWaitsInAPausedQueue() throws {
    var device = try device()
    try device.perform(.cancel([.numbered(1)]))
    let outcome = try device.perform(.undo)
    #expect(outcome.notice.undoResult?.paused == [.named("s")])
    #expect(device.workspace.status(1) == .queued)
    #expect(startable(device) == nil)
    #expect(try reasons(device).first?.contains("cospool queue resume -s s") == true)
    // Another device may see the operations one by one.
    var peer = TestDevice(2)
    let made = device.made
    for end in made.indices {
      try peer.merge([made[end]])
      guard outcome.operations.contains(made[end]) else { continue }
      #expect(peer.workspace.startable(in: .named("s")) == nil)
    }
    // A redo cancels it again and removes the pause.
    let redone = try #require(try device.perform(.redo).notice.undoResult)
    #expect(redone.paused == [] && !isPaused(device))
    #expect(device.workspace.status(1) == .cancelled)
  }

  @Test func nothingIsPausedThatIsPausedOrHasNoHost() throws {
    var idle = TestDevice(1)
    try idle.perform(.send("text", as: 1, in: "s"))
    try idle.perform(.cancel([.numbered(1)]))
    #expect(try idle.perform(.undo).notice.undoResult?.paused == [])
    #expect(!isPaused(idle))

    var paused = try device()
    try paused.perform(.pause(.named("s"), reason: "lunch"))
    try paused.perform(.cancel([.numbered(1)]))
    #expect(try paused.perform(.undo).notice.undoResult?.paused == [])
    #expect(try reasons(paused) == ["lunch"])
  }

  /// While something runs, too: what came back would start when that has ended.
  @Test func aRunningMessageIsNotFollowedByRestoredOnes() throws {
    var busy = try device(messages: 2)
    try report(.running, of: 1, on: &busy)
    var resumed = busy
    try busy.perform(.cancel([.numbered(2)]))
    #expect(try busy.perform(.undo).notice.undoResult?.paused == [.named("s")])
    #expect(isPaused(busy))
    try report(.succeeded, of: 1, on: &busy)
    #expect(startable(busy) == nil)

    try resumed.perform(.pause(.named("s"), reason: nil))
    #expect(try resumed.perform(.undo).notice.undoResult?.paused == [.named("s")])
    try report(.succeeded, of: 1, on: &resumed)
    #expect(startable(resumed) == nil)
  }

  /// A message that is restored behind others would start in its turn.
  @Test func aMessageRestoredBehindOthersWaits() throws {
    var device = try device(messages: 3)
    try device.perform(.cancel([.numbered(3)]))
    #expect(try device.perform(.undo).notice.undoResult?.paused == [.named("s")])
  }

  @Test func anUndonePauseGivesWayToAnother() throws {
    var device = try device()
    try device.perform(.pause(.named("s"), reason: "lunch"))
    #expect(try device.perform(.undo).notice.undoResult?.paused == [.named("s")])
    #expect(startable(device) == nil)
    #expect(try reasons(device) != ["lunch"])
    try device.perform(.redo)
    #expect(try reasons(device) == ["lunch"])
  }

  @Test func anUndoneDeletionComesBackPausedAndWithoutWhatRan() throws {
    var device = try device(messages: 3)
    try report(.running, of: 1, on: &device)
    try device.perform(.deleteSession(.named("s")))
    try report(.cancelled, of: 1, on: &device)
    let result = try #require(try device.perform(.undo).notice.undoResult)
    #expect(result.paused == [.named("s")])
    #expect(result.left.map(\.code) == ["ended"])
    #expect(device.workspace.status(1) == .cancelled)
    #expect(device.workspace.numbers("s") == [2, 3])
    #expect(startable(device) == nil)
    // A session with history is not removed again.
    _ = try? device.perform(.redo)
    #expect(device.workspace.session(.named("s")) != nil)
  }

  @Test func anUndoneMoveToTheFrontWaits() throws {
    var device = try device(messages: 2)
    try device.perform(.move([.numbered(1)], to: .position(2)))
    #expect(startable(device) == .numbered(2))
    #expect(try device.perform(.undo).notice.undoResult?.paused == [.named("s")])
    #expect(startable(device) == nil)
  }

  @Test func aRedoneSendWaits() throws {
    var device = try device()
    #expect(try device.perform(.undo).notice.undoResult?.paused == [])
    #expect(try device.perform(.redo).notice.undoResult?.paused == [.named("s")])
    #expect(device.workspace.status(1) == .queued)
    #expect(startable(device) == nil)
  }

  @Test func anUndoneTimeToStartWaits() throws {
    var device = try device()
    try device.perform(.setNotBefore(.numbered(1), device.now + 60_000))
    #expect(try device.perform(.undo).notice.undoResult?.paused == [.named("s")])
    #expect(try device.workspace.message(.numbered(1)).notBefore == nil)
    #expect(startable(device) == nil)
  }

  /// The next message in the queue starts in its turn.
  @Test func anUndoneSendLetsTheNextGoOn() throws {
    var device = try device()
    var other = TestDevice(2, now: device.now)
    try other.merge(device.made)
    try other.perform(.send("theirs", as: 2, in: "s"))
    try device.merge(other.made)
    #expect(try device.perform(.undo).notice.undoResult?.paused == [])
    #expect(startable(device) == .numbered(2))
  }

  @Test func changesWithoutAnInverseAreNamedAndStayFirst() throws {
    var device = try device()
    try device.perform(.setHost(.named("s"), nil))
    let label = UndoLabel(kind: .hosted, session: .named("s"))
    // Uses the id, which never changes and belongs to no other device.
    let obstacle = UndoObstacle.needsCommand("cospool session host s \(Self.host)")
    for _ in 0..<2 {
      #expect(throws: QueueError.notUndoable(label, obstacle)) { try device.perform(.undo) }
    }
    #expect(try device.perform(.undo(change: nil, skip: true)).notice == .skipped(label))
    try device.perform(.undo)
    #expect(device.workspace.status(1) == .cancelled)
    try device.perform(.setOnLostServer(.named("s"), .stop))
    #expect(
      device.workspace.next(of: device.history, isUndone: false)?.obstacle
        == .needsCommand("cospool session on-lost-server s finish"))
    try device.perform(.setOnMerge(.named("s"), .run))
    #expect(
      device.workspace.next(of: device.history, isUndone: false)?.obstacle
        == .needsCommand("cospool session on-merge s wait"))
  }

  @Test func aRetryIsNamed() throws {
    var device = try device()
    try report(.failed, of: 1, on: &device)
    try device.perform(.retry(.numbered(1)))
    let next = try #require(device.workspace.next(of: device.history, isUndone: false))
    #expect(next.label.description == "retrying \"text 1\" in s")
    let id = MessageID.numbered(1)
    #expect(next.obstacle == .needsCommand("cospool queue cancel 00000000"))
    func now(_ device: TestDevice) -> UndoObstacle? {
      device.workspace.next(of: device.history, isUndone: false)?.obstacle
    }
    // The command that reverses it depends on what has happened to it.
    func run(_ phase: RunPhase) throws {
      try device.perform(
        .reportRun(id, Run(token: 1, attempt: 2, phase: phase, milliseconds: device.now)))
    }
    try run(.running)
    #expect(now(device)?.command == "cospool queue stop -s s")
    try run(.failed)
    #expect(now(device)?.code == "ended" && now(device)?.command == nil)
    try device.perform(.skip(id))
    #expect(now(device) == .final(remedy: "cospool queue restore 00000000"))
    try device.perform(.restore(id))
    try device.perform(.undo(change: nil, skip: true))
    #expect(now(device) == .final(remedy: nil))
  }

  /// If another user has chosen a host since, the host before that is not named.
  @Test func aHostThatAnotherChoseStays() throws {
    var one = try device()
    var two = TestDevice(2, now: one.now + 10)
    try two.merge(one.made)
    try two.perform(.setHost(.named("s"), DeviceID(high: 0xD, low: 2)))
    try one.merge(two.made)
    try one.perform(.undo(change: nil, skip: true))
    let next = try #require(one.workspace.next(of: one.history, isUndone: false))
    #expect(next.label.kind == .hosted && next.obstacle == .overtaken(remedy: nil))
  }

  /// A text that another user wrote is not cancelled as a side effect, even after a yes to an
  /// earlier question.
  @Test func aTextThatAnotherWroteStaysInTheQueue() throws {
    var one = try device()
    var two = TestDevice(2, now: one.now + 10)
    try two.merge(one.made)
    try two.perform(.edit(.numbered(1), content: "theirs", base: nil))
    try one.merge(two.made)
    let obstacle = try obstacle(to: .undo, on: &one)
    #expect(obstacle == .rewritten(command: "cospool queue cancel 00000000"))
    #expect(one.workspace.contents("s") == ["theirs"])
    let next = try #require(one.workspace.next(of: one.history, isUndone: false))
    #expect(next.obstacle == obstacle)
    #expect(throws: QueueError.notUndoable(next.label, obstacle)) {
      try one.perform(.undo(change: next.change, skip: false))
    }
    try one.perform(.cancel([.numbered(1)]))
    #expect(one.workspace.status(1) == .cancelled)
  }

  /// An undo that was written reports that, though the agent continues.
  @Test func anUndoThatCameTooLateSaysSo() {
    let late = UndoObstacle.late(.numbered(1), "text 1", .named("s"))
    let text = QueueError.notUndoable(UndoLabel(kind: .sent, text: "text 1"), late).description
    #expect(text.contains("came too late") && !text.contains("left as it is"))
    #expect(late.command == "cospool queue stop -s s" && text.contains("cospool queue stop -s s"))
  }

  /// The preview shows what the undo does.
  @Test func thePreviewShowsPausesAndObstacles() throws {
    var device = try device()
    try device.perform(.cancel([.numbered(1)]))
    let next = try #require(device.workspace.next(of: device.history, isUndone: false))
    #expect(next.pausing == [.named("s")] && next.leaving.isEmpty && next.obstacle == nil)
    let undone = try #require(try device.perform(.undo).notice.undoResult)
    #expect(undone.paused == next.pausing && undone.left == next.leaving)
  }

  @Test func namesAreWordsOfAShell() throws {
    var device = TestDevice(1)
    try device.perform(.addSession(.named("it's a b"), name: nil, project: nil))
    try device.perform(.setHost(.named("it's a b"), Self.host))
    #expect(
      device.workspace.next(of: device.history, isUndone: false)?.obstacle?.command
        == "cospool session host --none 'it'\\''s a b'")
  }

  /// A device that does not know of the host removes nothing.
  @Test func aSessionThatGetsAHostElsewhereStays() throws {
    var one = TestDevice(1)
    try one.perform(.send("text", as: 1, in: "s"))
    var two = TestDevice(2, now: one.now + 10)
    try two.merge(one.made)
    try two.perform(.setHost(.named("s"), DeviceID(high: 0xD, low: 2)))
    try report(.running, of: 1, on: &two)
    try one.perform(.undo)
    #expect(one.workspace.sessions() == [])
    try two.merge(one.made)
    try one.merge(two.made)
    #expect(two.workspace.status(1) == .running)
    #expect(one.workspace.session(.named("s")) != nil)
    #expect(one.workspace.image() == two.workspace.image())
  }

  @Test func aChangeOfANumberIsTakenBackAlone() throws {
    var device = try device()
    let first = try #require(try device.perform(.renameSession(.named("s"), name: "A")).change)
    let second = try #require(try device.perform(.setPriority(.numbered(1), .urgent)).change)
    let third = try #require(try device.perform(.setPriority(.numbered(1), .normal)).change)
    let undone = try device.perform(.undo(change: first, skip: false))
    #expect(device.workspace.session(.named("s"))?.name == "s")
    // A later change by the device itself is an obstacle.
    let label = UndoLabel(
      kind: .prioritized, session: .named("s"), message: .numbered(1), text: "text 1")
    do {
      try device.perform(.undo(change: second, skip: false))
      Issue.record("it was done")
    } catch QueueError.notUndoable(let refused, let obstacle) {
      #expect(refused == label && obstacle.code == "overtaken")
    }
    #expect(throws: QueueError.changeUnknown(first)) {
      try device.perform(.undo(change: first, skip: false))
    }
    try device.perform(.redo(change: undone.change))
    #expect(device.workspace.session(.named("s"))?.name == "A")
    try device.perform(.undo(change: third, skip: false))
    try device.perform(.undo(change: second, skip: false))
    #expect(try device.workspace.message(.numbered(1)).priority == .normal)
    #expect(throws: QueueError.changeUnknown(99)) { try device.perform(.redo(change: 99)) }
  }

  @Test func skippedChangesAreNotRevertedByOlderOnes() throws {
    var device = try device()
    try device.perform(.renameSession(.named("s"), name: "A"))
    try device.perform(.renameSession(.named("s"), name: "B"))
    try device.perform(.undo(change: nil, skip: true))
    #expect(try obstacle(to: .undo, on: &device).code == "overtaken")
    #expect(device.workspace.session(.named("s"))?.name == "B")
  }

  @Test func partsOfAnImportAreOneChange() throws {
    var source = TestDevice(2, queueSizeMax: 1_000)
    for number in 1...150 as ClosedRange<UInt64> {
      try source.perform(.send("text \(number)", as: number, in: "s"))
    }
    var device = TestDevice(1)
    let parts = source.workspace.document().parts
    #expect(parts.count > 2)
    for part in parts { try device.perform(.importDocument(part)) }
    #expect(device.history.undoCount == 1)
    #expect(device.history.undoLabel?.count == 150)
    try device.perform(.undo)
    #expect(device.workspace.numbers("s") == [])
    try device.perform(.redo)
    #expect(device.workspace.numbers("s").count == 150)
  }

  /// However fast they follow each other; of each, only what was not there before counts.
  @Test func twoImportsAreTwoChanges() throws {
    var source = TestDevice(2, queueSizeMax: 1_000)
    var device = TestDevice(1)
    for last in [1, 3] as [UInt64] {
      for number in (last == 1 ? 1 : 2)...last {
        try source.perform(.send("text \(number)", as: number, in: "s"))
      }
      for part in source.workspace.document().parts { try device.perform(.importDocument(part)) }
    }
    #expect(device.history.undoCount == 2)
    #expect(device.history.undoLabel?.count == 2)
    try device.perform(.undo)
    #expect(device.workspace.numbers("s") == [1])
    #expect(device.history.undoLabel?.count == 1)
  }
}
