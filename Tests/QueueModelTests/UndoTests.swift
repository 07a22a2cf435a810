import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Undo and redo revert a device's own changes; later changes by others stay.
struct UndoTests {
  /// Two devices that know the same three messages.
  private func pair() throws -> (TestDevice, TestDevice) {
    var one = TestDevice(1)
    for number in 1...3 as ClosedRange<UInt64> {
      try one.perform(.send("text \(number)", as: number, in: "s"))
    }
    var two = TestDevice(2, now: one.now + 10)
    try meet(&one, &two)
    return (one, two)
  }

  private func meet(_ one: inout TestDevice, _ two: inout TestDevice) throws {
    try one.merge(two.made)
    try two.merge(one.made)
    #expect(one.workspace.image() == two.workspace.image())
  }

  @Test func nothingToUndoIsReported() throws {
    var device = TestDevice(1)
    #expect(throws: QueueError.nothingToUndo) { try device.perform(.undo) }
    #expect(throws: QueueError.nothingToRedo) { try device.perform(.redo) }
    try device.perform(.send("text", as: 1, in: "s"))
    #expect(throws: QueueError.nothingToRedo) { try device.perform(.redo) }
  }

  @Test func aSendIsCancelledAndComesBack() throws {
    var device = TestDevice(1)
    try device.perform(.send("text", as: 1, in: "s"))
    let outcome = try device.perform(.undo)
    let label = UndoLabel(
      kind: .sent, session: .named("s"), message: .numbered(1), text: "text")
    #expect(outcome.notice == .undone(UndoResult(label: label)))
    #expect(label.description == "sending \"text\" to s")
    #expect(device.workspace.status(1) == .cancelled)
    #expect(device.workspace.sessions() == [])
    #expect(device.workspace.threadNames == [])
    try device.perform(.redo)
    #expect(device.workspace.contents("s") == ["text"])
    #expect(device.workspace.threadNames == ["s"])
    #expect(throws: QueueError.nothingToRedo) { try device.perform(.redo) }
  }

  /// Two devices made a message with the same id, in different sessions: it does not belong to one
  /// of only one of them.
  @Test func aMessageThatTwoMadeIsNotTakenBackByOne() throws {
    var one = TestDevice(1)
    var two = TestDevice(2, now: one.now + 10)
    try one.perform(.send("from one", as: 1, in: "s"))
    try two.perform(.send("from two", as: 1, in: "t"))
    try meet(&one, &two)
    #expect(two.workspace.numbers("t") == [1])
    expectOvertaken { try two.perform(.undo) }
    #expect(two.workspace.numbers("t") == [1])
  }

  @Test func undoGoesBackStepByStepAndAFreshChangeEndsRedo() throws {
    var device = try pair().0
    try device.perform(.move([.numbered(3)], to: .position(1)))
    try device.perform(.setPriority(.numbered(2), .urgent))
    try device.perform(.clear(.named("s")))
    #expect(device.workspace.numbers("s") == [])
    for order in [[2, 3, 1], [3, 1, 2], [1, 2, 3]] as [[UInt64]] {
      try device.perform(.undo)
      #expect(device.workspace.numbers("s") == order)
    }
    try device.perform(.redo)
    #expect(device.workspace.numbers("s") == [3, 1, 2])
    try device.perform(.pause(.named("s"), reason: "lunch"))
    #expect(device.history.redoLabel == nil)
    #expect(throws: QueueError.nothingToRedo) { try device.perform(.redo) }
    try device.perform(.undo)
    #expect(try !device.workspace.messageQueue(.named("s")).paused)
  }

  @Test func laterTextsStay() throws {
    var (one, two) = try pair()
    try one.perform(.setPriority(.numbered(3), .urgent))
    try one.perform(.renameSession(.named("s"), name: "mine"))
    try meet(&one, &two)
    two.now = one.now + 100
    try two.perform(.setPriority(.numbered(3), .normal))
    try two.perform(.renameSession(.named("s"), name: "yours"))
    try meet(&one, &two)
    // Each is named, and stays the next one until it is skipped.
    for kind in [UndoLabel.Kind.renamedSession, .prioritized] {
      let next = try #require(one.workspace.next(of: one.history, isUndone: false))
      #expect(next.label.kind == kind && next.isShared)
      #expect(next.obstacle?.code == "overtaken")
      // The session had no name, and the present priority is what the undo would write.
      #expect(next.obstacle?.command == nil)
      for _ in 0..<2 { expectOvertaken { try one.perform(.undo) } }
      #expect(try one.perform(.undo(change: nil, skip: true)).notice == .skipped(next.label))
    }
    #expect(one.workspace.session(.named("s"))?.name == "yours")
    #expect(one.workspace.numbers("s") == [1, 2, 3])
    try one.perform(.undo)
    #expect(one.workspace.numbers("s") == [1, 2])
  }

  @Test func aMoveThatSomebodyRepeatedStaysTheirs() throws {
    var (one, two) = try pair()
    try one.perform(.move([.numbered(1)], to: .position(3)))
    try meet(&one, &two)
    two.now = one.now + 100
    try two.perform(.move([.numbered(1)], to: .position(2)))
    try meet(&one, &two)
    let change = try #require(one.history.undoable.last?.number)
    expectOvertaken { try one.perform(.undo(change: change, skip: false)) }
    #expect(one.workspace.numbers("s") == [2, 1, 3])
  }

  /// The change is refused because another change wrote the same field since.
  private func expectOvertaken(
    _ location: SourceLocation = #_sourceLocation, _ body: () throws -> CommandOutcome
  ) {
    do {
      _ = try body()
      Issue.record("it was done", sourceLocation: location)
    } catch QueueError.notUndoable(_, let obstacle) {
      #expect(obstacle.code == "overtaken", sourceLocation: location)
    } catch {
      Issue.record("\(error)", sourceLocation: location)
    }
  }

  private func latest(_ device: TestDevice) -> Command {
    .undo(change: device.history.undoable.last?.number, skip: false)
  }

  @Test func aMoveGoesBackNextToItsNeighboursWhereverTheyAre() throws {
    var (one, two) = try pair()
    try one.perform(.move([.numbered(2)], to: .position(3)))
    try meet(&one, &two)
    two.now = one.now + 100
    try two.perform(.send("first", as: 4, in: "s"))
    try two.perform(.move([.numbered(4)], to: .position(1)))
    try meet(&one, &two)
    try one.perform(.undo)
    #expect(one.workspace.numbers("s") == [4, 1, 2, 3])
    try meet(&one, &two)
  }

  @Test func aMoveIntoAnotherQueueGoesBackUnlessThatIsDeleted() throws {
    var (one, two) = try pair()
    try one.perform(.send("other", as: 4, in: "t"))
    try one.perform(.move([.numbered(2)], to: .after(.numbered(4))))
    #expect(one.workspace.numbers("t") == [4, 2])
    var gone = one
    try one.perform(.undo)
    #expect(one.workspace.numbers("s") == [1, 2, 3])
    #expect(one.workspace.numbers("t") == [4])
    try two.merge(gone.made)
    two.now = gone.now + 100
    try two.perform(.deleteSession(.named("s")))
    try gone.merge(two.made)
    expectOvertaken { try gone.perform(latest(gone)) }
    #expect(gone.workspace.numbers("t") == [4, 2])
  }

  @Test func aCancelComesBackUnlessSomebodyCancelledAgain() throws {
    var (one, two) = try pair()
    try one.perform(.cancel([.numbered(2)]))
    try meet(&one, &two)
    two.now = one.now + 100
    try two.perform(.restore(.numbered(2)))
    var early = one
    try early.merge(two.made)
    expectOvertaken { try early.perform(latest(early)) }
    #expect(early.workspace.numbers("s") == [1, 2, 3])
    try two.perform(.cancel([.numbered(2)]))
    try one.merge(two.made)
    expectOvertaken { try one.perform(latest(one)) }
    #expect(one.workspace.numbers("s") == [1, 3])
  }

  @Test func aCancelOfBothAtOnceComesBack() throws {
    var (one, two) = try pair()
    try one.perform(.cancel([.numbered(2)]))
    try two.perform(.cancel([.numbered(2)]))
    try meet(&one, &two)
    try one.perform(.undo)
    #expect(one.workspace.numbers("s") == [1, 2, 3])
    try meet(&one, &two)
  }

  @Test func aDeletedSessionComesBackWithEverything() throws {
    var device = try pair().0
    try device.perform(.pause(.named("s"), reason: "lunch"))
    try device.perform(.cancel([.numbered(3)]))
    let before = device.workspace
    try device.perform(.deleteSession(.named("s")))
    #expect(device.workspace.sessions() == [])
    try device.perform(.undo)
    #expect(device.workspace.sessions() == before.sessions())
    #expect(device.workspace.threadNames == before.threadNames)
    let queue = try device.workspace.messageQueue(.named("s"))
    #expect(try queue == before.messageQueue(.named("s")))
    #expect(device.workspace.status(3) == .cancelled)
  }

  @Test func aPauseReasonComesBack() throws {
    var device = try pair().0
    try device.perform(.pause(.named("s"), reason: "lunch"))
    try device.perform(.pause(.named("s"), reason: "meeting"))
    try device.perform(.undo)
    #expect(try device.workspace.messageQueue(.named("s")).pauseReasons == ["lunch"])
    try device.perform(.undo)
    #expect(try !device.workspace.messageQueue(.named("s")).paused)
    try device.perform(.redo)
    try device.perform(.redo)
    #expect(try device.workspace.messageQueue(.named("s")).pauseReasons == ["meeting"])
  }

  /// The time at which it was queued does not.
  @Test func thePlaceOfAThreadComesBack() throws {
    var device = TestDevice(1)
    try device.perform(.send("a", as: 1, in: "a"))
    try device.perform(.unlockThread(.named("a")))
    try device.perform(.send("b", as: 2, in: "b"))
    let before = device.workspace.threadQueue()
    device.now += 60_000
    try device.perform(.send("again", as: 3, in: "a"))
    let after = device.workspace.threadQueue()
    #expect(after.threads.map(\.session.rawValue) == ["b", "a"])
    try device.perform(.undo)
    func places(_ queue: ThreadQueueView) -> [String] {
      queue.threads.map { "\($0.session) \($0.position) \($0.locked)" }
    }
    #expect(places(device.workspace.threadQueue()) == places(before))
    try device.perform(.redo)
    #expect(places(device.workspace.threadQueue()) == places(after))
  }
}

/// Undo of typing, among others who type.
struct UndoTextTests {
  private func pair(_ text: String) throws -> (TestDevice, TestDevice) {
    var one = TestDevice(1)
    try one.perform(.send(text, as: 1, in: "s"))
    var two = TestDevice(2, now: one.now + 10)
    try two.merge(one.made)
    return (one, two)
  }

  private func text(_ device: TestDevice) throws -> String {
    try device.workspace.message(.numbered(1)).content
  }

  @Test func remainsOfAnInsertionAreDeleted() throws {
    var (one, two) = try pair("fix it")
    try one.perform(.insertText(.numbered(1), at: 3, text: " the big red bug in"))
    try two.merge(one.made)
    try two.perform(.deleteText(.numbered(1), 7..<11))
    try two.perform(.insertText(.numbered(1), at: 8, text: "ugly "))
    try one.merge(two.made)
    #expect(try text(one) == "fix the ugly red bug in it")
    try one.perform(.undo)
    #expect(try text(one) == "fixugly  it")
    try one.perform(.redo)
    #expect(try text(one) == "fix the ugly red bug in it")
  }

  @Test func deletedTextComesBackAroundWhatOthersTyped() throws {
    var (one, two) = try pair("keep abcdef here")
    try one.perform(.deleteText(.numbered(1), 5..<11))
    // Without knowing of it, the other user types in the middle of the deleted text.
    try two.perform(.insertText(.numbered(1), at: 8, text: "-XY-"))
    try two.perform(.insertText(.numbered(1), at: 0, text: "Please "))
    try one.merge(two.made)
    #expect(try text(one) == "Please keep -XY- here")
    try one.perform(.undo)
    // It is new text, beside the other's typing.
    #expect(
      try ["abcdef-XY-", "-XY-abcdef"].contains { try text(one) == "Please keep \($0) here" })
    try two.merge(one.made)
    #expect(try text(two) == text(one))
    try one.perform(.redo)
    #expect(try text(one) == "Please keep -XY- here")
  }

  @Test func aMessageRestoredByUndoBelongsToItsFirstAuthor() throws {
    var (device, _) = try pair("x")
    try device.perform(.insertText(.numbered(1), at: 1, text: "abc"))
    device.now += 5_000
    try device.perform(.deleteText(.numbered(1), 2..<3))
    try device.perform(.undo)
    #expect(try text(device) == "xabc")
    try device.perform(.undo)
    #expect(try text(device) == "x")
    try device.perform(.redo)
    try device.perform(.redo)
    #expect(try text(device) == "xac")
    #expect(device.workspace.status(1) == .queued)
  }

  @Test func typingWithoutAPauseIsOneGroup() throws {
    var (device, _) = try pair("go")
    for (offset, letter) in " now!".enumerated() {
      try device.perform(.insertText(.numbered(1), at: 2 + offset, text: String(letter)))
    }
    try device.perform(.deleteText(.numbered(1), 6..<7))
    try device.perform(.deleteText(.numbered(1), 1..<2))
    #expect(try text(device) == "g now")
    device.now += Limits.typingPauseMillisecondsMax + 1
    try device.perform(.insertText(.numbered(1), at: 5, text: "?"))
    try device.perform(.undo)
    #expect(try text(device) == "g now")
    try device.perform(.undo)
    #expect(try text(device) == "go")
    try device.perform(.redo)
    #expect(try text(device) == "g now")
    try device.perform(.redo)
    #expect(try text(device) == "g now?")
    try device.perform(.undo)
    try device.perform(.undo)
    try device.perform(.undo)
    #expect(device.workspace.status(1) == .cancelled)
  }

  @Test func typingInTwoMessagesOrBehindAnUndoIsNotJoined() throws {
    var (device, _) = try pair("one")
    try device.perform(.send("two", as: 2, in: "s"))
    try device.perform(.insertText(.numbered(1), at: 3, text: "!"))
    try device.perform(.insertText(.numbered(2), at: 3, text: "!"))
    try device.perform(.insertText(.numbered(1), at: 4, text: "!"))
    try device.perform(.undo)
    #expect(try text(device) == "one!")
    try device.perform(.insertText(.numbered(1), at: 4, text: "?"))
    try device.perform(.undo)
    #expect(try text(device) == "one!")
    #expect(device.workspace.contents("s") == ["one!", "two!"])
  }

  @Test func aStretchOfTypingHasALimit() throws {
    var (device, _) = try pair("x")
    for _ in 0..<6 {
      try device.perform(
        .insertText(.numbered(1), at: 1, text: String(repeating: "y", count: 200)))
    }
    try device.perform(.undo)
    #expect(try text(device).count == 1 + 4 * 200)
  }

  /// A change that no user requested counts as another's: it stays when an earlier own change is
  /// undone, and does not clear what can be redone.
  @Test func unrecordedChangesCountAsAnotherUsers() throws {
    var (one, _) = try pair("abc")
    let session = try #require(one.workspace.sessions().first?.id)
    try one.perform(.pause(session, reason: nil))
    try one.perform(.resume(session))
    try one.perform(.deleteText(.numbered(1), 0..<1))
    try one.perform(.undo)
    var history = one.history
    #expect(history.redoCount == 1)
    func context(recordsUndo: Bool) -> CommandContext {
      CommandContext(
        replica: one.replica, stamp: Stamp(rawValue: one.workspace.latestStamp.rawValue + 1),
        recordsUndo: recordsUndo)
    }
    for command in [Command.pause(session, reason: "failed"), .resume(session)] {
      let unrecorded = context(recordsUndo: false)
      _ = try one.workspace.perform(command, in: unrecorded, history: &history)
    }
    #expect(history.redoCount == 1)
    #expect(history.undoLabel?.kind == .resumed)
    // The pause that the user removed was removed again since.
    let undoing = context(recordsUndo: true)
    #expect(throws: QueueError.self) {
      try one.workspace.perform(.undo, in: undoing, history: &history)
    }
    #expect(one.workspace.session(session)?.paused == false)
  }
}
