import QueueModel
import SequenceCRDT
import ServerCore
import Testing
import WireProtocol

@Suite struct CatchUpTests {
  /// A scene whose first device has written, and a second one that never connected.
  private func scene(
    messages: Int, _ adjust: (inout ServerConfiguration) -> Void = { _ in }
  ) throws -> (ServerScene, ScriptedDevice, ConnectionID) {
    var scene = ServerScene(adjust)
    var author = scene.device(1)
    let from = try scene.join(&author)
    for index in 0..<messages {
      try author.write("message \(index)", in: "session \(index % 5)")
      scene.send(author.changes(), on: from)
    }
    _ = scene.take(from)
    return (scene, author, from)
  }

  @Test func newDeviceGetsTheLogAsFewDeltas() throws {
    var (scene, author, _) = try scene(messages: 50)
    var reader = scene.device(2)
    let frames = scene.take(scene.connect(reader))
    #expect(frames.changes.count == 1)
    #expect(frames.changes.last?.logPosition == 50)
    #expect(frames.snapshots.isEmpty)
    try reader.take(frames)
    #expect(reader.workspace.image() == author.workspace.image())
    guard case .presence = frames.last else {
      Issue.record("presence comes last")
      return
    }
    author.outgoing = []
  }

  @Test func largeLogComesInPartsWhosePositionsRise() throws {
    var (scene, author, _) = try scene(messages: 200) { $0.partBytesMax = 1_024 }
    var reader = scene.device(2)
    let frames = scene.take(scene.connect(reader))
    let positions = frames.changes.map(\.logPosition)
    #expect(positions.count > 3)
    #expect(positions == positions.sorted())
    #expect(positions.last == 200)
    #expect(frames.changes.allSatisfy { $0.delta.count <= 1_024 })
    try reader.take(frames)
    #expect(reader.workspace.image() == author.workspace.image())
    author.outgoing = []
  }

  @Test func deviceGetsOnlyWhatItLacks() throws {
    var (scene, author, from) = try scene(messages: 3)
    var reader = scene.device(2)
    let first = try scene.join(&reader)
    scene.drop(first)
    try author.write("later")
    let later = author.outgoing
    scene.send(author.changes(), on: from)
    let frames = scene.take(scene.connect(reader))
    let operations = try frames.changes.flatMap { try PackedDelta.unpack($0.delta) }
    #expect(operations == later)
  }

  @Test func deviceThatKnowsHalfOfAnOperationGetsTheOtherHalf() throws {
    var (scene, author, _) = try scene(messages: 1)
    var reader = scene.device(2)
    let entries = try scene.storage.entries(of: ServerScene.workspace, after: 0, limit: 9)
    var operations = try PackedDelta.unpack(try #require(entries.first).delta)
    let index = try #require(operations.firstIndex { $0.length > 1 })
    guard case .insertText(var insertion) = operations[index].body else { return }
    insertion.text = String(insertion.text.prefix(3))
    operations[index].body = .insertText(insertion)
    _ = try reader.workspace.merge(Array(operations[...index]))
    try reader.take(scene.take(scene.connect(reader)))
    #expect(reader.workspace.image() == author.workspace.image())
    author.outgoing = []
  }

  @Test func farBehindDeviceGetsASnapshot() throws {
    var (scene, author, _) = try scene(messages: 40) { $0.catchUpOperationsMax = 100 }
    var reader = scene.device(2)
    let frames = scene.take(scene.connect(reader))
    #expect(frames.changes.isEmpty)
    #expect(frames.snapshots.first?.logPosition == 40)
    try reader.take(frames)
    #expect(reader.workspace.image() == author.workspace.image())
    author.outgoing = []
  }

  @Test func deviceThatLacksExactlyTheLimitGetsADelta() throws {
    var (scene, author, _) = try scene(messages: 5)
    let lacking = Int(author.workspace.vector[author.replica])
    for (limit, wantsSnapshot) in [(lacking, false), (lacking - 1, true)] {
      var again = try self.scene(messages: 5) { $0.catchUpOperationsMax = limit }
      let reader = again.0.device(2)
      let frames = again.0.take(again.0.connect(reader))
      #expect(frames.snapshots.isEmpty == !wantsSnapshot)
      #expect(frames.changes.isEmpty == wantsSnapshot)
    }
    scene.pass(1)
    author.outgoing = []
  }

  @Test func changesDuringCatchUpComeAfterIt() throws {
    var (scene, author, from) = try scene(messages: 5)
    var reader = scene.device(2)
    // Held after the token's lookup: the answer to what it lacks is still to come.
    scene.holdsTasks = true
    let id = scene.connect(reader)
    scene.finishOneTask()
    #expect(scene.take(id).welcomes.count == 1)
    try author.write("meanwhile")
    scene.send(author.changes(), on: from)
    scene.finishLastTask()
    #expect(scene.take(id).changes.isEmpty)
    scene.finishTasks()
    let frames = scene.take(id)
    #expect(frames.changes.map(\.logPosition) == [5, 6])
    try reader.take(frames)
    #expect(reader.workspace.image() == author.workspace.image())
  }

  @Test func snapshotWaitsForTheCommitInFlight() throws {
    var (scene, author, from) = try scene(messages: 5) { $0.catchUpOperationsMax = 1 }
    var reader = scene.device(2)
    scene.holdsTasks = true
    try author.write("in flight")
    scene.send(author.changes(), on: from)
    let id = scene.connect(reader)
    scene.finishLastTask()
    #expect(scene.take(id).isEmpty)
    scene.finishTasks()
    let frames = scene.take(id)
    #expect(frames.welcomes.first?.logPosition == 6)
    #expect(frames.snapshots.first?.logPosition == 6)
    try reader.take(frames)
    #expect(reader.workspace.image() == author.workspace.image())
  }

  @Test func ownReplicaWithAnotherDigestIsAFork() throws {
    var (scene, author, from) = try scene(messages: 2)
    scene.drop(from)
    var hello = author.hello
    hello.known = hello.known.map { KnownReplica(replica: $0.replica, seq: $0.seq, digest: 1) }
    let id = scene.open()
    scene.send(.hello(hello), on: id)
    let refusal = try #require(scene.take(id).refusals.first)
    #expect(refusal.code == .fork)
    #expect(refusal.batch == 0)
    author.outgoing = []
  }

  @Test func otherReplicaWithAnotherDigestIsRepairedByASnapshot() throws {
    var (scene, author, _) = try scene(messages: 2)
    var reader = scene.device(2)
    scene.drop(try scene.join(&reader))
    var hello = reader.hello
    hello.known = hello.known.map { KnownReplica(replica: $0.replica, seq: $0.seq, digest: 1) }
    let id = scene.open()
    scene.send(.hello(hello), on: id)
    let frames = scene.take(id)
    #expect(frames.welcomes.count == 1)
    #expect(frames.snapshots.count == 1)
    author.outgoing = []
  }

  @Test func clientCanAskForRanges() throws {
    var (scene, author, _) = try scene(messages: 2)
    var reader = scene.device(2)
    let id = try scene.join(&reader)
    scene.send(
      .missing([OperationRange(replica: author.replica, first: 2, last: 3)]), on: id)
    let operations = try scene.take(id).changes.flatMap { try PackedDelta.unpack($0.delta) }
    #expect(operations.map(\.id.seq).min() == 2)
    #expect(operations.compactMap(\.lastID?.seq).max() == 3)
    scene.send(
      .missing([OperationRange(replica: ReplicaID(rawValue: 5), first: 1, last: 9)]), on: id)
    #expect(scene.take(id).isEmpty)
    author.outgoing = []
  }

  @Test func receiverOfSmallFramesGetsALargeBatchInParts() throws {
    var scene = ServerScene()
    var (author, reader) = (scene.device(1), scene.device(2))
    let from = try scene.join(&author)
    var hello = reader.hello
    hello.frameBytesMax = UInt32(WireLimits.frameBytesFloor)
    let to = scene.open()
    scene.send(.hello(hello), on: to)
    _ = scene.take(to)
    var generator = scene.generator
    let text = String(
      String.UnicodeScalarView(
        (0..<60_000).compactMap { _ in
          Unicode.Scalar(UInt32.random(in: 33...126, using: &generator))
        }
      ))
    try author.write(text)
    scene.send(author.changes(), on: from)
    let raw = scene.rawSent[to] ?? []
    #expect(raw.count > 2)
    #expect(raw.allSatisfy { $0.count <= WireLimits.frameBytesFloor })
    try reader.take(scene.take(to))
    #expect(reader.workspace.image() == author.workspace.image())
  }

  @Test func workspaceIsReadBackFromSnapshotAndTail() throws {
    var (scene, author, from) = try scene(messages: 30) {
      $0.snapshotEntries = 10
      $0.snapshotEntriesMax = 10
    }
    let snapshots = scene.storage.withState { $0.workspaces[ServerScene.workspace]?.snapshots }
    #expect(snapshots?.map(\.position) == [10, 20, 30])
    scene.drop(from)
    scene.pass(1_500)
    scene.pass(60_000)
    #expect(scene.core.residentWorkspaces == 0)
    var reader = scene.device(2)
    try reader.take(scene.take(scene.connect(reader)))
    #expect(reader.workspace.image() == author.workspace.image())
    author.outgoing = []
  }

  @Test func unreadableSnapshotIsReplacedByTheLog() throws {
    var (scene, author, from) = try scene(messages: 5)
    scene.storage.withState {
      $0.workspaces[ServerScene.workspace]?.snapshots = [
        StoredSnapshot(position: 4, bytes: [1, 2, 3])
      ]
    }
    scene.drop(from)
    scene.pass(1_500)
    scene.pass(60_000)
    #expect(scene.core.residentWorkspaces == 0)
    try author.write("after")
    let id = scene.connect(author)
    scene.send(author.changes(), on: id)
    #expect(scene.take(id).acks.map(\.logPosition) == [6])
  }

  @Test func damagedLogIsReportedAndNotServed() throws {
    var (scene, author, from) = try scene(messages: 5)
    scene.storage.withState {
      $0.workspaces[ServerScene.workspace]?.log[2].delta = [9, 9, 9]
    }
    scene.drop(from)
    scene.pass(1_500)
    scene.pass(60_000)
    let id = scene.connect(author)
    #expect(scene.take(id).refusals.map(\.code) == [.storageFailed])
    let other = scene.device(7, workspace: ServerScene.otherWorkspace)
    #expect(scene.take(scene.connect(other)).welcomes.count == 1)
    author.outgoing = []
  }
}
