import QueueModel
import SequenceCRDT
import ServerCore
import Testing
import WireProtocol

/// The role of a device decides what a state that it offers may contain.
extension JoinTests {
  private static func give(_ role: DeviceRole, to device: DeviceID, in scene: ServerScene) {
    scene.storage.withState {
      $0.workspaces[ServerScene.workspace]?.devices[device]?.record.role = role
    }
  }

  private static func report(_ phase: RunPhase, token: UInt64 = 1) -> Command {
    .reportRun(
      MessageID(high: 1, low: 1), Run(token: token, attempt: 1, phase: phase, milliseconds: 1))
  }

  /// The same as in its batches: otherwise, prompts that never ran would count as done on every
  /// device.
  @Test(arguments: [true, false])
  func anAuthorsStateSaysNothingOfRuns(asTask: Bool) throws {
    var world = try DivergedWorld()
    Self.give(.author, to: world.author.id, in: world.scene)
    var forger = world.author
    let claim: Command =
      asTask
      ? .reportTask(
        TaskReport(
          session: try SessionID("main"), status: .processing(operation: "made up"),
          milliseconds: 1))
      : Self.report(.succeeded)
    try forger.perform(claim)
    let id = world.scene.connect(forger)
    _ = world.scene.take(id)
    send(forger, on: id, &world.scene)
    let refusal = try #require(world.scene.take(id).refusals.first)
    #expect(refusal.code == .notAllowed && refusal.retryAfterMilliseconds != nil)
    #expect(refusal.message.contains("paired to queue messages"))
    #expect(try kinds(world.scene) == [false])
    // Permitted changes are accepted.
    let honest = world.scene.connect(world.author)
    send(world.author, on: honest, &world.scene)
    #expect(world.scene.closed[honest] == .serviceRestart)
    #expect(try kinds(world.scene) == [false, true])
  }

  /// A host restores the runs that the server lost; from then on, an author's state repeats them.
  @Test func anAuthorGivesBackItsPromptsBesideTheRunsThatTheLogHas() throws {
    var world = try DivergedWorld()
    let host = try world.scene.join(&world.other)
    try world.other.perform(Self.report(.running))
    world.scene.send(world.other.changes(), on: host)
    _ = try world.author.workspace.merge(
      PackedDelta.unpack(try #require(try world.scene.tables.log.last).content.bytes))
    try world.other.perform(Self.report(.succeeded))
    world.scene.send(world.other.changes(), on: host)
    #expect(world.scene.take(host).refusals.isEmpty)
    // It has an earlier report than the log.
    Self.give(.author, to: world.author.id, in: world.scene)
    world.author.prefix = LogPrefix(position: 9, chain: 9)
    let id = world.scene.connect(world.author)
    send(world.author, on: id, &world.scene)
    #expect(world.scene.closed[id] == .serviceRestart)
    #expect(try kinds(world.scene) == [false, false, false, true])
    _ = try world.scene.join(&world.author)
    #expect(try world.author.texts() == DivergedWorld.lost.subtracting(["before the backup"]))
    let state = world.author.workspace.dispatchState(of: MessageID(high: 1, low: 1))
    #expect(state?.runState.run?.phase == .succeeded)
  }
}
