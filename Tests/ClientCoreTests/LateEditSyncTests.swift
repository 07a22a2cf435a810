import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// A device that was away edits what an agent of another one has got.
@Suite struct LateEditSyncTests {
  private static let id = MessageID.numbered(1)

  private static func report(
    _ phase: RunPhase, _ fleet: inout Fleet
  ) throws {
    try fleet.perform(
      .reportRun(id, Run(token: 1, attempt: 1, phase: phase, milliseconds: fleet.wall)), on: 0)
  }

  /// The host hears of it by the log, or comes back to a snapshot.
  @Test(arguments: [RunPhase.running, .succeeded])
  func whatRanStaysAsItRan(phase: RunPhase) throws {
    var fleet = try Fleet(devices: 3)
    try fleet.start()
    try fleet.perform(.send("Deploy it", as: 1, in: "a"), on: 0)
    try fleet.settle()
    fleet.cut(1)
    try Self.report(.dispatched, &fleet)
    try Self.report(phase, &fleet)
    try fleet.perform(.edit(Self.id, content: "Do not deploy", base: nil), on: 1)
    try fleet.pass(60_000)
    for device in fleet.devices {
      let message = try device.core.replica.workspace.message(Self.id)
      #expect(message.content == "Deploy it" && !message.isMerged)
      #expect(message.lateVersions.map(\.text) == ["Do not deploy"])
      #expect(message.lateVersions.map(\.device) == ["device 2"])
    }
    try fleet.expectConvergence()
    let made = fleet.server.workspace.vector
    try fleet.restart(0)
    try fleet.pass(60_000)
    #expect(fleet.server.workspace.vector == made)
  }

  /// The state after a late edit does not say what ran, so it is stored before the edit is.
  @Test(arguments: 0..<4)
  func aHostThatEndsInBetweenKeepsWhatRan(commits: Int) throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("Deploy it", as: 1, in: "a"), on: 0)
    try fleet.settle()
    fleet.cut(1)
    try Self.report(.dispatched, &fleet)
    try Self.report(.succeeded, &fleet)
    try fleet.settle()
    try fleet.perform(.edit(Self.id, content: "Do not deploy", base: nil), on: 1)
    fleet.devices[0].store.commitsLeft = commits
    try fleet.pass(60_000)
    fleet.devices[0].store.commitsLeft = nil
    try fleet.restart(0)
    try fleet.pass(60_000)
    for device in fleet.devices {
      let message = try device.core.replica.workspace.message(Self.id)
      #expect(message.content == "Deploy it" && message.lateVersions.map(\.text) == ["Do not deploy"])
    }
    try fleet.expectConvergence()
  }

  /// A pause ends what was typed, and the log can tell when.
  @Test func anEditionThatAPauseMadeHasATime() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    try fleet.perform(.send("Deploy", as: 1, in: "a"), on: 0)
    try fleet.pass(600_000)
    try fleet.perform(.insertText(Self.id, at: 6, text: " now"), on: 0)
    // The machine stood still for a while.
    fleet.now += 30_000
    try fleet.pass(3_000)
    let operations = fleet.devices[0].store.operations
    let edition = try #require(
      operations.lastIndex {
        if case .addTag(_, .edition, _, _) = $0.body { true } else { false }
      })
    let isSettled = operations[edition...].contains {
      if case .setRegister(_, .changedAt, _, _) = $0.body { true } else { false }
    }
    #expect(isSettled)
  }
}
