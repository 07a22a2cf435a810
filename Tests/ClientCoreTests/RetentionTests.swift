import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// Devices that forget messages that ended more than a day ago.
@Suite struct RetentionTests {
  private static let day: Int64 = 86_400_000

  private func fleet(devices: Int, retaining: Range<Int>) throws -> Fleet {
    var fleet = try Fleet(devices: devices)
    for index in retaining {
      fleet.note(index) { core, context, _ in
        core.retentionChanged(toDays: 1, at: context)
        return []
      }
    }
    try fleet.start()
    return fleet
  }

  private func text(_ number: UInt64, _ fleet: Fleet, on index: Int = 0) -> String? {
    fleet.devices[index].core.replica.workspace.text(of: .numbered(number))
  }

  @Test func finishedMessagesAreForgottenEverywhereAndWaitingOnesStay() throws {
    var fleet = try fleet(devices: 3, retaining: 0..<2)
    for number in 1...60 as ClosedRange<UInt64> {
      try fleet.perform(.send("text \(number)", as: number, in: "s"), on: Int(number % 3))
      try fleet.settle()
    }
    try fleet.perform(.cancel((1...50).map { .numbered($0) }), on: 2)
    try fleet.settle()
    fleet.now += 3 * Self.day
    try fleet.perform(.send("later", as: 61, in: "s"), on: 0)
    try fleet.perform(.cancel([.numbered(51)]), on: 0)
    try fleet.pass(1_000)
    fleet.now += 2 * Self.day
    try fleet.pass(7_200_000)
    for number in 1...50 as ClosedRange<UInt64> { #expect(text(number, fleet) == "") }
    // Nothing shows that it was cancelled long ago.
    #expect(text(51, fleet) == "text 51")
    for number in 52...60 as ClosedRange<UInt64> {
      #expect(text(number, fleet) == "text \(number)")
    }
    try fleet.expectConvergence()
    // The log begins within the day, and the stored state is the one that is shown.
    let page = try fleet.devices[0].core.replica.history(
      of: .workspace, before: nil, limit: 1_000, store: fleet.devices[0].store)
    #expect(!page.entries.contains { $0.message == .numbered(1) && $0.action == .cancelled })
    try fleet.restart(0)
    try fleet.pass(1_000)
    try fleet.expectConvergence()
  }

  /// A cancellation carries no time: one that follows only old operations does not count as old.
  @Test func recentlyCancelledMessagesAreNotForgotten() throws {
    var fleet = try fleet(devices: 2, retaining: 0..<2)
    try fleet.perform(.send("old", as: 1, in: "s"), on: 0)
    try fleet.pass(1_000)
    fleet.now += 2 * Self.day
    try fleet.perform(.cancel([.numbered(1)]), on: 1)
    try fleet.pass(7_200_000)
    #expect(text(1, fleet) == "old")
    try fleet.perform(.undo, on: 1)
    try fleet.pass(1_000)
    #expect(fleet.server.workspace.contents("s") == ["old"])
    try fleet.expectConvergence()
  }

  /// A device that may not change anything leaves it to the others.
  @Test func aViewerForgetsNothingByItself() throws {
    var fleet = try fleet(devices: 2, retaining: 0..<1)
    try fleet.perform(.send("old", as: 1, in: "s"), on: 1)
    try fleet.perform(.cancel([.numbered(1)]), on: 1)
    try fleet.pass(1_000)
    fleet.deliver(.access(AccessNotice(role: .viewer, expiresAt: nil)), to: 0)
    let version = fleet.devices[0].core.replica.workspace.vector
    fleet.now += 2 * Self.day
    try fleet.pass(7_200_000)
    #expect(text(1, fleet) == "old")
    #expect(fleet.devices[0].core.replica.workspace.vector == version)
    try fleet.expectConvergence()
  }

  /// I-71: it was cancelled long ago in the state of a device that has not caught up, and waits in
  /// truth.
  @Test func aDeviceForgetsNothingBeforeItHasCaughtUp() throws {
    var fleet = try fleet(devices: 2, retaining: 0..<1)
    try fleet.perform(.send("an hour of typing", as: 1, in: "s"), on: 1)
    try fleet.perform(.cancel([.numbered(1)]), on: 1)
    try fleet.perform(.send("another", as: 2, in: "s"), on: 1)
    try fleet.pass(1_000)
    fleet.isServerDown = true
    for index in 0..<2 { fleet.cut(index) }
    try fleet.perform(.restore(.numbered(1)), on: 1)
    fleet.now += 2 * Self.day
    try fleet.pass(7_200_000)
    #expect(text(1, fleet) == "an hour of typing")
    fleet.isServerDown = false
    try fleet.pass(7_200_000)
    try fleet.expectConvergence()
    #expect(text(1, fleet) == "an hour of typing")
    #expect(fleet.server.workspace.contents("s") == ["an hour of typing", "another"])
  }

  /// Undo changes to forgotten messages are forgotten, too.
  @Test func undoBringsNothingEmptyBack() throws {
    var fleet = try fleet(devices: 1, retaining: 0..<1)
    try fleet.perform(.send("old", as: 1, in: "s"), on: 0)
    try fleet.perform(.cancel([.numbered(1)]), on: 0)
    try fleet.perform(.renameSession(.named("s"), name: "S"), on: 0)
    try fleet.pass(1_000)
    fleet.now += 2 * Self.day
    try fleet.pass(7_200_000)
    #expect(text(1, fleet) == "")
    #expect(throws: Replica.Fault.queue(.nothingToUndo)) {
      try fleet.perform(.undo, on: 0)
    }
    try fleet.expectConvergence()
  }
}
