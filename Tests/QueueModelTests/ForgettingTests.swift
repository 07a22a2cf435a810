import SequenceCRDT
import SyncTestSupport
import Testing

@testable import QueueModel

/// Forgetting messages that ended long ago.
struct ForgettingTests {
  private func forget(_ device: inout TestDevice, asIn earlier: Workspace) throws -> [Operation] {
    let ids = device.workspace.forgettable(asIn: earlier)
    let outcome = try device.workspace.forget(
      ids,
      in: CommandContext(
        replica: device.replica, stamp: Stamp(milliseconds: 1 << 40), recordsUndo: false))
    return outcome.operations
  }

  private func text(_ number: UInt64, on device: TestDevice) -> String? {
    device.workspace.text(of: .numbered(number))
  }

  @Test func onlyWhatWasOverAndStillIsIsForgotten() throws {
    var device = TestDevice(1)
    for number in 1...4 as ClosedRange<UInt64> {
      try device.perform(.send("text \(number)", as: number, in: "s"))
    }
    try device.perform(.cancel([.numbered(1), .numbered(2)]))
    let earlier = device.workspace
    try device.perform(.restore(.numbered(2)))
    try device.perform(.cancel([.numbered(3)]))
    let operations = try forget(&device, asIn: earlier)
    #expect(text(1, on: device) == "")
    #expect(text(2, on: device) == "text 2")
    #expect(text(3, on: device) == "text 3")
    #expect(device.workspace.contents("s") == ["text 2", "text 4"])
    #expect(operations.count == 1)
    try device.workspace.checkInvariants()
    // The second time there is nothing to do.
    #expect(try forget(&device, asIn: earlier).isEmpty)
    #expect(device.workspace.document().sessions.first?.cancelled.count == 1)
  }

  @Test func textTypedMeanwhileStays() throws {
    var device = TestDevice(1)
    try device.perform(.send("old", as: 1, in: "s"))
    try device.perform(.cancel([.numbered(1)]))
    var peer = TestDevice(2)
    try peer.merge(device.made)
    try peer.perform(.restore(.numbered(1)))
    try peer.perform(.edit(.numbered(1), content: "old and new", base: nil))
    let operations = try forget(&device, asIn: device.workspace)
    try device.merge(peer.made)
    _ = try peer.workspace.merge(operations)
    #expect(text(1, on: device) == " and new")
    #expect(device.workspace.image().isExactlyEqual(to: peer.workspace.image()))
    try device.workspace.checkInvariants()
  }

  /// I-71: nothing is left of it. Its queue says so, and no agent gets an empty prompt.
  @Test func aMessageThatWasRestoredMeanwhileDoesNotStart() throws {
    var device = TestDevice(1)
    try device.perform(.send("old", as: 1, in: "s"))
    try device.perform(.cancel([.numbered(1)]))
    var peer = TestDevice(2)
    try peer.merge(device.made)
    try peer.perform(.restore(.numbered(1)))
    #expect(peer.workspace.startable(in: .named("s"), by: 0)?.message == .numbered(1))
    _ = try peer.workspace.merge(try forget(&device, asIn: device.workspace))
    let state = try #require(peer.workspace.dispatchState(of: .numbered(1)))
    #expect(state.isBlank && state.queueStands)
    #expect(peer.workspace.startable(in: .named("s"), by: 0) == nil)
    try peer.perform(.edit(.numbered(1), content: "new", base: nil))
    #expect(peer.workspace.startable(in: .named("s"), by: 0)?.message == .numbered(1))
  }

  /// Two devices forget at the same time, one of them over packed sessions.
  @Test func forgettingTwiceChangesNothing() throws {
    var device = TestDevice(1)
    try device.perform(.send("old", as: 1, in: "s"))
    try device.perform(.cancel([.numbered(1)]))
    var peer = TestDevice(2)
    try peer.merge(device.made)
    try device.merge(peer.made)
    peer.packSessions()
    let mine = try forget(&device, asIn: device.workspace)
    let theirs = try forget(&peer, asIn: peer.workspace)
    #expect(!mine.isEmpty && !theirs.isEmpty)
    _ = try device.workspace.merge(theirs)
    _ = try peer.workspace.merge(mine)
    #expect(device.workspace.image().isExactlyEqual(to: peer.workspace.image()))
    #expect(text(1, on: device) == "")
  }

  /// Nothing is left of it, so it is in no list and no device can restore it, whatever it keeps.
  @Test func forgottenMessagesAreNeitherListedNorRestored() throws {
    var device = TestDevice(1)
    try device.perform(.send("old", as: 1, in: "s"))
    try device.perform(.cancel([.numbered(1)]))
    _ = try forget(&device, asIn: device.workspace)
    #expect(device.workspace.finishedMessages(of: .named("s")).isEmpty)
    let id = MessageID.numbered(1)
    let forgotten = QueueError.messageForgotten(id: id.description)
    #expect(throws: forgotten) { try device.perform(.restore(id)) }
    #expect(throws: forgotten) {
      try device.perform(.edit(id, content: "new", base: nil))
    }
    #expect(throws: forgotten) { try device.perform(.send("old", as: 1, in: "s")) }
    device.packSessions()
    #expect(throws: forgotten) { try device.perform(.restore(id)) }
  }

  /// A device that keeps everything excludes from its undo what another device forgot.
  @Test func undoAndRedoLeaveAloneWhatAnotherDeviceForgot() throws {
    var device = TestDevice(1)
    try device.perform(.send("old", as: 1, in: "s"))
    try device.perform(.send("two", as: 2, in: "s"))
    try device.perform(.edit(.numbered(1), content: "older", base: nil))
    try device.perform(.cancel([.numbered(1), .numbered(2)]))
    try device.perform(.restore(.numbered(2)))
    var peer = TestDevice(2)
    try peer.merge(device.made)
    try device.merge(peer.made)
    try device.merge(forget(&peer, asIn: peer.workspace))
    #expect(text(1, on: device) == "")
    try device.perform(.undo)
    #expect(device.workspace.contents("s") == [])
    // The cancellation's message that still exists.
    try device.perform(.undo)
    #expect(device.workspace.contents("s") == ["two"])
    // Nothing of the edit.
    let change = device.history.undoable.last?.number
    #expect(throws: QueueError.self) { try device.perform(.undo(change: change, skip: false)) }
    #expect(text(1, on: device) == "")
    try device.perform(.redo)
    #expect(device.workspace.contents("s") == [])
    #expect(text(1, on: device) == "")
  }

  /// A redo restores a send that was undone.
  @Test func anUndoneSendIsListedNowhereAndRedone() throws {
    var device = TestDevice(1)
    try device.perform(.send("new", as: 1, in: "s"))
    try device.perform(.undo)
    #expect(device.workspace.contents("s") == [])
    try device.perform(.redo)
    #expect(device.workspace.contents("s") == ["new"])
  }
}
