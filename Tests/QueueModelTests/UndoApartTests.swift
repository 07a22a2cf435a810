import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Undo and redo on an offline device: whatever its own copy says about hosts, pauses and messages,
/// they start nothing when the devices synchronize again.
struct UndoApartTests {
  private static let there = DeviceID(high: 0xD, low: 2)

  /// Two devices that know a session; the second one may be its host.
  private func pair(isHosted: Bool = true) throws -> (here: TestDevice, there: TestDevice) {
    var here = TestDevice(1)
    try here.perform(.addSession(.named("s"), name: nil, project: nil))
    if isHosted { try here.perform(.setHost(.named("s"), Self.there)) }
    var there = TestDevice(2, now: here.now + 10)
    try meet(&here, &there)
    return (here, there)
  }

  private func meet(_ here: inout TestDevice, _ there: inout TestDevice) throws {
    try here.merge(there.made)
    try there.merge(here.made)
    #expect(here.workspace.image() == there.workspace.image())
  }

  private func startable(_ device: TestDevice) -> MessageID? {
    device.workspace.startable(in: .named("s"))?.message
  }

  /// The command that is named instead of an undo or a redo.
  private func command(insteadOf turn: Command, on device: inout TestDevice) throws -> String? {
    do {
      let done = try device.perform(turn)
      Issue.record("it was done: \(done.notice)")
    } catch QueueError.notUndoable(_, let obstacle) {
      return obstacle.command
    }
    return nil
  }

  /// 1 a: a pause of a session that is empty here.
  @Test func aPauseIsTakenBackByAPlainCommandAlone() throws {
    var (here, there) = try pair()
    try here.perform(.pause(.named("s"), reason: "do not run"))
    try meet(&here, &there)
    here.apart = Apartness()
    try there.perform(.send("danger", as: 1, in: "s"))
    for _ in 0..<2 {
      #expect(try command(insteadOf: .undo, on: &here) == "cospool queue resume -s s")
    }
    #expect(
      here.workspace.next(of: here.history, isUndone: false, apart: here.apart)?.obstacle
        == .apart("cospool queue resume -s s"))
    try meet(&here, &there)
    #expect(startable(there) == nil)
    // While it is connected, undo works as usual.
    here.apart = nil
    #expect(try here.perform(.undo).notice.undoResult?.paused == [.named("s")])
  }

  /// A resume that is redone.
  @Test func aResumeIsNotDoneAgain() throws {
    var (here, there) = try pair()
    try here.perform(.pause(.named("s"), reason: nil))
    try here.perform(.resume(.named("s")))
    try here.perform(.undo)
    try meet(&here, &there)
    here.apart = Apartness()
    #expect(try command(insteadOf: .redo, on: &here) == "cospool queue resume -s s")
    #expect(there.workspace.session(.named("s"))?.paused == true)
  }

  /// 1 b: a cancellation in a session that gets a host elsewhere, or is resumed there.
  @Test(arguments: [true, false]) func restoredMessagesWait(isPausedHere: Bool) throws {
    var (here, there) = try pair(isHosted: isPausedHere)
    try here.perform(.send("text", as: 1, in: "s"))
    if isPausedHere { try here.perform(.pause(.named("s"), reason: "lunch")) }
    try here.perform(.cancel([.numbered(1)]))
    try meet(&here, &there)
    here.apart = Apartness()
    there.now += 1_000
    if isPausedHere {
      try there.perform(.resume(.named("s")))
    } else {
      try there.perform(.setHost(.named("s"), Self.there))
    }
    #expect(try here.perform(.undo).notice.undoResult?.paused == [.named("s")])
    #expect(
      try here.workspace.messageQueue(.named("s")).pauseReasons.contains("lunch") == isPausedHere)
    try meet(&here, &there)
    #expect(there.workspace.status(1) == .queued)
    #expect(startable(there) == nil)
    // The host may receive the operations one by one.
    try there.perform(.resume(.named("s")))
    #expect(startable(there) == .numbered(1))
  }

  /// 1 c: a send that is redone, in a session that was also added elsewhere.
  @Test func aSendThatIsDoneAgainWaits() throws {
    var here = TestDevice(1)
    try here.perform(.send("text", as: 1, in: "s"))
    try here.perform(.undo)
    var there = TestDevice(2, now: here.now + 10)
    try meet(&here, &there)
    here.apart = Apartness()
    try there.perform(.addSession(.named("s"), name: nil, project: nil))
    try there.perform(.setHost(.named("s"), Self.there))
    #expect(try here.perform(.redo).notice.undoResult?.paused == [.named("s")])
    try meet(&here, &there)
    #expect(startable(there) == nil)
  }

  /// 1 d: a redo keeps the pause that its undo set.
  @Test func aRedoKeepsThePause() throws {
    var (here, there) = try pair()
    try here.perform(.send("text", as: 1, in: "s"))
    try here.perform(.cancel([.numbered(1)]))
    try here.perform(.undo)
    try meet(&here, &there)
    here.apart = Apartness()
    try there.perform(.send("theirs", as: 2, in: "s"))
    #expect(try here.perform(.redo).notice.undoResult?.paused == [.named("s")])
    try meet(&here, &there)
    #expect(there.workspace.status(1) == .cancelled)
    #expect(startable(there) == nil)
  }

  /// 1 e: a message that failed elsewhere blocks the next one.
  @Test func aPossiblyFailedMessageIsNotRemoved() throws {
    var (here, there) = try pair()
    try here.perform(.send("fails", as: 1, in: "s"))
    try meet(&here, &there)
    here.apart = Apartness()
    for phase in [RunPhase.running, .failed] {
      try there.perform(
        .reportRun(
          .numbered(1), Run(token: 1, attempt: 1, phase: phase, milliseconds: there.now)))
    }
    try there.perform(.send("next", as: 2, in: "s"))
    #expect(try here.perform(.undo).notice.undoResult?.paused == [.named("s")])
    try meet(&here, &there)
    #expect(startable(there) == nil)
  }

  /// A message that never left the device blocks nothing, and is undone without a pause.
  @Test func unsentMessagesAreUndoneAsUsual() throws {
    var (here, there) = try pair()
    let sent = try here.perform(.send("mine", as: 1, in: "s"))
    here.apart = Apartness(
      unsent: sent.operations.map {
        OperationRange(replica: $0.id.replica, first: $0.id.seq, last: $0.id.seq)
      })
    #expect(try here.perform(.undo).notice.undoResult?.paused == [])
    // Once it is restored, it could start.
    #expect(try here.perform(.redo).notice.undoResult?.paused == [.named("s")])
    try meet(&here, &there)
    #expect(startable(there) == nil)
  }

  /// Only a direct command removes a session that others may use by now.
  @Test func aSessionIsNotTakenAway() throws {
    var (here, there) = try pair(isHosted: false)
    here.apart = Apartness()
    try there.perform(.renameSession(.named("s"), name: "theirs"))
    #expect(try command(insteadOf: .undo, on: &here) == "cospool session delete s")
    try meet(&here, &there)
    #expect(there.workspace.session(.named("s"))?.name == "theirs")
  }

  /// Moves, priorities and times change what starts next.
  @Test func changesOfTheOrderWait() throws {
    for command in [
      Command.move([.numbered(2)], to: .position(1)), .setPriority(.numbered(2), .urgent),
      .setNotBefore(.numbered(1), TestDevice.startOfTime + 90_000_000),
      .hold(.numbered(1), until: TestDevice.startOfTime + 90_000_000),
    ] {
      var (here, there) = try pair(isHosted: false)
      for number in 1...2 as ClosedRange<UInt64> {
        try here.perform(.send("text", as: number, in: "s"))
      }
      try here.perform(command)
      try meet(&here, &there)
      here.apart = Apartness()
      try there.perform(.setHost(.named("s"), Self.there))
      #expect(try here.perform(.undo).notice.undoResult?.paused == [.named("s")], "\(command)")
      try meet(&here, &there)
      #expect(startable(there) == nil, "\(command)")
    }
  }

  /// A text that two users wrote waits for a check, whichever of them undoes an edit.
  @Test func messagesMergedElsewhereKeepWaiting() throws {
    var (here, there) = try pair()
    try here.perform(.send("bump to 1.3", as: 1, in: "s"))
    try meet(&here, &there)
    here.now += 5_000
    there.now = here.now + 10
    try here.perform(.edit(.numbered(1), content: "bump to 2.0", base: nil))
    try there.perform(.edit(.numbered(1), content: "bump to 3.0", base: nil))
    try there.merge(here.made)
    #expect(try there.workspace.message(.numbered(1)).isMerged)
    here.apart = Apartness()
    here.now += 10_000
    _ = try? here.perform(.undo)
    try meet(&here, &there)
    #expect(startable(there) == nil)
  }

  /// An edit starts nothing, and its undo pauses nothing.
  @Test func anEditPausesNothing() throws {
    var (here, there) = try pair()
    try here.perform(.send("text", as: 1, in: "s"))
    here.now += 5_000
    try here.perform(.edit(.numbered(1), content: "other", base: nil))
    try meet(&here, &there)
    here.apart = Apartness()
    #expect(try here.perform(.undo).notice.undoResult?.paused == [])
    #expect(here.workspace.contents("s") == ["text"])
  }

  /// Names that look like options are treated as names.
  @Test func namesMayBeginWithAHyphen() throws {
    var device = TestDevice(1)
    try device.perform(.send("text", as: 1, in: "-rf"))
    try device.perform(.setHost(.named("-rf"), Self.there))
    func named() -> String? {
      device.workspace.next(of: device.history, isUndone: false, apart: device.apart)?.obstacle?
        .command
    }
    #expect(named() == "cospool session host --none -- -rf")
    try device.perform(.pause(.named("-rf"), reason: nil))
    device.apart = Apartness()
    #expect(named() == "cospool queue resume --session=-rf")
    device.apart = nil
    try device.perform(.addSession(.named("=ls"), name: nil, project: nil))
    try device.perform(.setHost(.named("=ls"), Self.there))
    // Some shells treat a word that begins like this as a program's path.
    #expect(named() == "cospool session host --none '=ls'")
  }
}
