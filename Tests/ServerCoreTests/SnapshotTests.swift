import QueueModel
import ServerCore
import Testing
import WireProtocol

/// Snapshots, the part of the log that is dropped with them, and reading a workspace back.
@Suite struct SnapshotTests {
  private static let day: Int64 = 86_400_000

  private static func often(_ configuration: inout ServerConfiguration) {
    configuration.log.snapshotEntries = 10
    configuration.log.snapshotEntriesMax = 10
  }

  /// A scene in which snapshots come every ten entries, with a device that writes.
  private func scene() throws -> (ServerScene, ScriptedDevice, ConnectionID) {
    var scene = ServerScene(Self.often)
    var author = scene.device(1)
    let id = try scene.join(&author)
    return (scene, author, id)
  }

  private func write(
    _ count: Int, by author: inout ScriptedDevice, on id: ConnectionID, _ scene: inout ServerScene
  ) throws {
    for _ in 0..<count {
      try author.write("message", in: "session \(author.batch % 5)")
      scene.send(author.changes(), on: id)
    }
    try author.take(scene.take(id))
  }

  private func positions(_ scene: ServerScene) throws -> [UInt64] {
    try scene.tables.log.map(\.prefix.position)
  }

  @Test func twoSnapshotsAreKeptAndTheLogFromTheOlderOneOn() throws {
    var (scene, author, id) = try scene()
    try write(10, by: &author, on: id, &scene)
    #expect(try positions(scene) == Array(1...10))
    try write(35, by: &author, on: id, &scene)
    #expect(try scene.tables.snapshots.map(\.prefix.position) == [30, 40])
    #expect(try positions(scene) == Array(30...45))
    let expected = author.workspace.image()
    scene.drop(id)
    scene.unload()
    var reader = scene.device(2)
    _ = try scene.join(&reader)
    #expect(reader.workspace.image() == expected)
  }

  /// The slowest device gets entries: the server still knows that its prefix belongs to this log.
  @Test func theLogWaitsForDevicesThatWereSeenWithinThirtyDays() throws {
    var (scene, author, id) = try scene()
    try write(13, by: &author, on: id, &scene)
    var reader = scene.device(2)
    scene.drop(try scene.join(&reader))
    #expect(reader.prefix.position == 13)
    scene.pass(1_000)
    // It received 13 entries, and reported that it stored them.
    let again = try scene.join(&reader)
    scene.send(.ack(Ack(batch: 0, prefix: reader.prefix)), on: again)
    scene.drop(again)
    scene.pass(1_000)
    scene.pass(29 * Self.day)
    try write(40, by: &author, on: id, &scene)
    #expect(try positions(scene).first == 13)
    let frames = scene.take(scene.connect(reader))
    #expect(frames.snapshots.isEmpty)
    try reader.take(frames)
    #expect(reader.workspace.image() == author.workspace.image())
  }

  @Test func theLogDoesNotWaitForADeviceThatWasAwayForLonger() throws {
    var (scene, author, id) = try scene()
    try write(3, by: &author, on: id, &scene)
    var reader = scene.device(2)
    scene.drop(try scene.join(&reader))
    scene.pass(1_000)
    scene.pass(31 * Self.day)
    try write(40, by: &author, on: id, &scene)
    #expect(try positions(scene).first == 30)
    let frames = scene.take(scene.connect(reader))
    #expect(frames.snapshots.map(\.prefix) == [try scene.prefix(43)])
    try reader.take(frames)
    #expect(!reader.hasDiverged)
    #expect(reader.workspace.image() == author.workspace.image())
  }

  @Test func theLogWaitsForADeviceThatIsThereAndSaysNothing() throws {
    var (scene, author, id) = try scene()
    var reader = scene.device(2)
    let silent = try scene.join(&reader)
    scene.pass(31 * Self.day)
    try write(30, by: &author, on: id, &scene)
    #expect(try positions(scene).first == 1)
    scene.send(.ack(Ack(batch: 0, prefix: try scene.prefix(25))), on: silent)
    try write(20, by: &author, on: id, &scene)
    #expect(try positions(scene).first == 25)
  }

  @Test func theLogDoesNotWaitForARevokedDevice() throws {
    var (scene, author, id) = try scene()
    var reader = scene.device(2)
    scene.drop(try scene.join(&reader))
    scene.pass(1_000)
    scene.storage.revoke(reader.id, in: ServerScene.workspace)
    scene.pass(1_000)
    scene.pass(1_000)
    try write(30, by: &author, on: id, &scene)
    #expect(try positions(scene).first == 20)
  }

  @Test func aSnapshotThatCannotBeStoredIsTriedAgain() throws {
    var (scene, author, id) = try scene()
    try write(9, by: &author, on: id, &scene)
    scene.holdsTasks = true
    try author.write("tenth")
    scene.send(author.changes(), on: id)
    scene.finishOneTask()
    scene.storage.withState { $0.writeFault = StorageFault(code: .full, message: "") }
    scene.finishTasks()
    scene.holdsTasks = false
    #expect(try scene.tables.snapshots.isEmpty)
    scene.storage.withState { $0.writeFault = nil }
    scene.pass(2_000)
    try write(1, by: &author, on: id, &scene)
    #expect(try scene.tables.snapshots.map(\.prefix.position) == [11])
  }

  // MARK: - Damage

  /// An unloaded workspace with snapshots at 30 and 40, and its contents.
  private func stored() throws -> (ServerScene, WorkspaceImage) {
    var (scene, author, id) = try scene()
    try write(45, by: &author, on: id, &scene)
    scene.drop(id)
    scene.unload()
    return (scene, author.workspace.image())
  }

  @Test func theOlderSnapshotReplacesADamagedNewerOne() throws {
    var (scene, expected) = try stored()
    scene.storage.withState {
      $0.workspaces[ServerScene.workspace]?.snapshots[1].bytes = [1, 2, 3]
    }
    var reader = scene.device(2)
    _ = try scene.join(&reader)
    #expect(reader.workspace.image() == expected)
  }

  @Test func theWholeLogReplacesADamagedOnlySnapshot() throws {
    var (scene, author, id) = try scene()
    try write(12, by: &author, on: id, &scene)
    scene.drop(id)
    scene.unload()
    scene.storage.withState {
      $0.workspaces[ServerScene.workspace]?.snapshots[0].bytes.removeLast(9)
    }
    var reader = scene.device(2)
    _ = try scene.join(&reader)
    #expect(reader.workspace.image() == author.workspace.image())
  }

  private enum Damage: CaseIterable {
    case bothSnapshots, entry, chain, missingEntry, headEntry, snapshotChains
  }

  @Test(arguments: Damage.allCases)
  private func damageIsFoundAndOtherWorkspacesGoOn(damage: Damage) throws {
    var (scene, _) = try stored()
    scene.storage.withState { state in
      guard var tables = state.workspaces[ServerScene.workspace] else { return }
      switch damage {
      case .bothSnapshots:
        for index in 0..<2 { tables.snapshots[index].bytes = [1] }
      // A valid entry, but not the one that was stored.
      case .entry: tables.log[12].content = tables.log[2].content
      case .chain: tables.log[12].prefix.chain ^= 1
      case .missingEntry: tables.log.remove(at: 12)
      case .headEntry: tables.log[15].content = .delta([9, 9, 9])
      case .snapshotChains: for index in 0..<2 { tables.snapshots[index].prefix.chain ^= 1 }
      }
      state.workspaces[ServerScene.workspace] = tables
    }
    let id = scene.connect(scene.device(2))
    #expect(scene.take(id).refusals.map(\.code) == [.storageFailed])
    let faults = scene.reports.compactMap { report in
      if case .storageFailed(let fault) = report { fault } else { nil }
    }
    #expect(faults.map(\.code) == [.corrupt])
    let other = scene.device(7, workspace: ServerScene.otherWorkspace)
    #expect(scene.take(scene.connect(other)).welcomes.count == 1)
  }
}
