import QueueModel
import SequenceCRDT
import ServerCore
import Testing
import WireProtocol

@Suite struct CompactionTests {
  private static let day: Int64 = 86_400_000

  /// A scene in which a device wrote prompts and moved one about, and all of it is stored.
  private func scene(
    moves: Int = 20, _ adjust: (inout ServerConfiguration) -> Void = { _ in }
  ) throws -> (ServerScene, ScriptedDevice, ConnectionID) {
    var scene = ServerScene(adjust)
    var author = scene.device(1)
    let id = try scene.join(&author)
    for index in 0..<3 { try author.write("prompt \(index)") }
    try author.churn(moves)
    scene.send(author.changes(), on: id)
    acknowledge(&scene, id)
    _ = scene.take(id)
    return (scene, author, id)
  }

  private func acknowledge(_ scene: inout ServerScene, _ id: ConnectionID) {
    let head = scene.storage.withState {
      $0.workspaces[ServerScene.workspace]?.log.last?.position ?? 0
    }
    scene.send(.ack(Ack(batch: 0, logPosition: head)), on: id)
  }

  private func tables(_ scene: ServerScene) throws -> MemoryStorage.Tables {
    try #require(scene.storage.withState { $0.workspaces[ServerScene.workspace] })
  }

  @Test func requestDropsTheLogAndTellsWhoIsThere() throws {
    var (scene, author, id) = try scene()
    let before = author.workspace.dump()
    scene.compact()
    let frames = scene.take(id)
    let start = try #require(frames.compactions.first)
    #expect(EpochName.count(start.epoch) == 1)
    #expect(start.logPosition == 1)
    let tables = try tables(scene)
    #expect(tables.log.isEmpty && tables.rows.isEmpty)
    #expect(tables.base?.position == 1)
    #expect(tables.epoch == start.epoch)
    try author.take(frames)
    #expect(author.epoch == start.epoch)
    #expect(author.workspace.deadWeight.dead == 0)
    #expect(author.workspace.dump() == before)
  }

  @Test func batchOfTheOldEpochIsRefusedUntilTheDeviceSaysItIsInTheNewOne() throws {
    var (scene, author, id) = try scene()
    let cut = author.workspace
    scene.compact()
    let compaction = scene.take(id)
    try author.write("late")
    let late = author.outgoing
    scene.send(author.changes(), on: id)
    let refusal = try #require(scene.take(id).refusals.first)
    #expect(refusal.code == .otherEpoch)
    #expect(refusal.batch == author.batch)
    #expect(scene.closed.isEmpty)
    let epoch = try #require(compaction.compactions.first).epoch
    author.outgoing = author.workspace.reanchored(late, onto: cut.compacted())
    author.workspace = cut.compacted()
    _ = try author.workspace.merge(author.outgoing)
    scene.send(.epoch(epoch), on: id)
    scene.send(author.changes(), on: id)
    #expect(scene.take(id).acks.map(\.logPosition) == [2])
    // A number of another epoch changes nothing.
    scene.send(.epoch(7), on: id)
    try author.write("later")
    scene.send(author.changes(), on: id)
    #expect(scene.take(id).acks.map(\.logPosition) == [3])
  }

  @Test func epochWaitsForDevicesThatAreBehind() throws {
    var (scene, _, id) = try scene()
    var reader = scene.device(2)
    let other = try scene.join(&reader)
    scene.compact(.whenSeen)
    #expect(scene.take(id).compactions.isEmpty)
    acknowledge(&scene, other)
    #expect(scene.take(id).compactions.count == 1)
    #expect(scene.take(other).compactions.count == 1)
  }

  @Test func deviceThatWasAwayForLongIsNotWaitedFor() throws {
    var (scene, _, id) = try scene()
    var reader = scene.device(2)
    scene.drop(try scene.join(&reader))
    scene.pass(1_000)
    scene.pass(29 * Self.day)
    scene.compact(.whenSeen)
    #expect(scene.take(id).compactions.isEmpty)
    scene.pass(2 * Self.day)
    #expect(scene.take(id).compactions.count == 1)
    // It gets a snapshot, since it has not all of the base.
    let again = scene.connect(reader)
    let frames = scene.take(again)
    #expect(frames.snapshots.count == 1)
    #expect(frames.compactions.isEmpty)
  }

  @Test func revokedDeviceIsNotWaitedFor() throws {
    var (scene, _, id) = try scene()
    var reader = scene.device(2)
    scene.drop(try scene.join(&reader))
    scene.pass(1_000)
    scene.compact(.whenSeen)
    scene.storage.revoke(reader.id, in: ServerScene.workspace)
    scene.pass(scene.core.configuration.compactionCheckMilliseconds)
    #expect(scene.take(id).compactions.count == 1)
  }

  @Test func deadWeightAloneStartsAnEpoch() throws {
    var (scene, author, id) = try scene(moves: 0) { $0.compactionDeadMin = 40 }
    try author.churn(30)
    scene.send(author.changes(), on: id)
    acknowledge(&scene, id)
    #expect(scene.take(id).compactions.isEmpty)
    try author.churn(20)
    scene.send(author.changes(), on: id)
    acknowledge(&scene, id)
    #expect(scene.take(id).compactions.count == 1)
    #expect(author.workspace.deadWeight.dead >= 40)
  }

  @Test func longLogAloneStartsAnEpoch() throws {
    var (scene, author, id) = try scene(moves: 0) { $0.compactionOperationsMax = 200 }
    for index in 0..<9 { try author.write("a text of thirty-three scalars \(index)") }
    scene.send(author.changes(), on: id)
    acknowledge(&scene, id)
    #expect(scene.take(id).compactions.count == 1)
  }

  @Test func workspaceThatNobodyUsesIsCompactedByTheClock() throws {
    // While the device was there, the log was short of what makes an epoch worthwhile.
    var (scene, _, id) = try scene(moves: 60)
    scene.drop(id)
    scene.pass(scene.core.configuration.idleMilliseconds)
    scene.pass(scene.core.configuration.idleMilliseconds)
    #expect(scene.core.residentWorkspaces == 0)
    var careful = ServerConfiguration()
    careful.compactionDeadMin = 40
    scene.restart(careful)
    scene.pass(scene.core.configuration.compactionCheckMilliseconds)
    scene.pass(scene.core.configuration.compactionCheckMilliseconds)
    #expect(EpochName.count(try tables(scene).epoch) == 1)
    scene.pass(scene.core.configuration.compactionCheckMilliseconds)
    #expect(EpochName.count(try tables(scene).epoch) == 1)
  }

  @Test func requestOfAnotherProcessIsFound() throws {
    var (scene, _, id) = try scene()
    scene.storage.withState { $0.workspaces[ServerScene.workspace]?.request = .now }
    scene.pass(1_000)
    #expect(scene.take(id).compactions.count == 1)
    #expect(try tables(scene).request == nil)
  }

  @Test func returningDeviceThatHasAllOfTheBaseGetsNoSnapshot() throws {
    var (scene, author, id) = try scene()
    var reader = scene.device(2)
    scene.drop(try scene.join(&reader))
    scene.compact()
    try author.take(scene.take(id))
    // The step from no epoch at all is a snapshot; from one epoch to the next it is not.
    let again = try scene.join(&reader)
    #expect(reader.epoch == author.epoch)
    scene.drop(again)
    scene.send(.epoch(author.epoch), on: id)
    try author.churn(9)
    scene.send(author.changes(), on: id)
    let last = try scene.join(&reader)
    scene.drop(last)
    scene.compact()
    try author.write("after the cut")
    try author.take(scene.take(id).filter { if case .compact = $0 { false } else { true } })
    let frames = scene.take(scene.connect(reader))
    #expect(frames.snapshots.isEmpty)
    #expect(frames.compactions.count == 1)
    try reader.take(frames)
    #expect(EpochName.count(reader.epoch) == 2)
    #expect(reader.workspace.deadWeight.dead == 0)
  }

  @Test func deviceOfTheSameEpochThatLacksSomeOfTheBaseGetsASnapshot() throws {
    var (scene, author, id) = try scene()
    scene.compact()
    try author.take(scene.take(id))
    var copy = scene.device(2)
    copy.epoch = author.epoch
    let frames = scene.take(scene.connect(copy))
    #expect(frames.snapshots.count == 1)
  }

  @Test func joinDuringTheStartWaitsForIt() throws {
    var (scene, _, _) = try scene()
    let reader = scene.device(2)
    scene.holdsTasks = true
    scene.compact()
    let id = scene.connect(reader)
    scene.finishLastTask()
    #expect(scene.take(id).isEmpty)
    scene.finishTasks()
    let frames = scene.take(id)
    #expect(EpochName.count(try #require(frames.welcomes.first).epoch) == 1)
    #expect(frames.snapshots.count == 1)
  }

  @Test func batchDuringTheStartIsRefusedAfterIt() throws {
    var (scene, author, id) = try scene()
    scene.holdsTasks = true
    scene.compact()
    try author.write("meanwhile")
    scene.send(author.changes(), on: id)
    scene.finishTasks()
    let frames = scene.take(id)
    #expect(frames.compactions.count == 1)
    #expect(frames.refusals.map(\.code) == [.otherEpoch])
    guard case .compact = frames.first else {
      Issue.record("the epoch is told before its refusals")
      return
    }
  }

  @Test func failureToStartLeavesTheEpoch() throws {
    var (scene, author, id) = try scene()
    scene.storage.withState {
      $0.writeFault = StorageFault(code: .full, message: "no space")
    }
    scene.compact()
    #expect(scene.take(id).compactions.isEmpty)
    scene.storage.withState { $0.writeFault = nil }
    scene.pass(2_000)
    try author.write("goes on")
    scene.send(author.changes(), on: id)
    #expect(scene.take(id).acks.count == 1)
    #expect(try tables(scene).epoch == 0)
    #expect(try tables(scene).log.count == 2)
  }

  @Test func startThatIsReportedAsFailedButDoneSendsTheMembersToReconnect() throws {
    var (scene, author, id) = try scene()
    scene.holdsTasks = true
    scene.compact()
    scene.failTaskAfterDoingIt()
    scene.finishTasks()
    #expect(scene.closed[id] == .serviceRestart)
    scene.holdsTasks = false
    _ = try scene.join(&author)
    #expect(EpochName.count(author.epoch) == 1)
  }

  @Test func workspaceIsReadFromItsBaseAndTheLogBehindIt() throws {
    var (scene, author, id) = try scene()
    scene.compact()
    try author.take(scene.take(id))
    scene.send(.epoch(author.epoch), on: id)
    try author.write("behind the base")
    scene.send(author.changes(), on: id)
    scene.drop(id)
    scene.pass(scene.core.configuration.idleMilliseconds)
    scene.pass(scene.core.configuration.idleMilliseconds)
    #expect(scene.core.residentWorkspaces == 0)
    var reader = scene.device(2)
    _ = try scene.join(&reader)
    #expect(reader.workspace.image() == author.workspace.image())
  }
}
