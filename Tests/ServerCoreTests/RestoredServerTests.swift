import QueueModel
import SequenceCRDT
import ServerCore
import Testing
import WireProtocol

/// A server that was restored from a backup and lacks what devices hold as state alone.
@Suite struct RestoredServerTests {
  /// A device in epoch 1 whose server has been set back to before it.
  private func scene() throws -> (ServerScene, ScriptedDevice) {
    var scene = ServerScene()
    var author = scene.device(1)
    _ = scene.device(2)
    let id = try scene.join(&author)
    try author.write("before the backup")
    scene.send(author.changes(), on: id)
    let backup = scene.storage.withState { $0 }
    try author.write("after the backup")
    try author.churn(9)
    scene.send(author.changes(), on: id)
    _ = scene.take(id)
    scene.compact()
    try author.take(scene.take(id))
    scene.drop(id)
    scene.storage.withState { $0 = backup }
    scene.restart(ServerConfiguration())
    return (scene, author)
  }

  private func offer(_ device: ScriptedDevice, parts: Int = 2) -> [Frame] {
    let bytes = PackedSnapshot.pack(device.workspace.image())
    let size = (bytes.count + parts - 1) / parts
    let starts = Array(stride(from: 0, to: bytes.count, by: size))
    return starts.enumerated().map { index, start in
      .snapshot(
        SnapshotPart(
          epoch: device.epoch, logPosition: 9, index: UInt32(index), count: UInt32(starts.count),
          bytes: Array(bytes[start..<min(start + size, bytes.count)])))
    }
  }

  @Test func stateOfADeviceIsTakenOverInItsEpoch() throws {
    var (scene, author) = try scene()
    let id = scene.connect(author)
    for frame in offer(author) { scene.send(frame, on: id) }
    #expect(scene.closed[id] == .serviceRestart)
    let again = scene.connect(author)
    let welcome = try #require(scene.take(again).welcomes.first)
    #expect(welcome.epoch == author.epoch)
    #expect(welcome.known.first?.digest == author.workspace.digest(of: author.replica))
    try author.write("goes on")
    scene.send(author.changes(), on: again)
    #expect(scene.take(again).acks.count == 1)
    var reader = ScriptedDevice(number: 2, workspace: ServerScene.workspace)
    _ = try scene.join(&reader)
    #expect(reader.workspace.image() == author.workspace.image())
  }

  @Test func whatOthersSentInTheMeantimeIsKept() throws {
    var (scene, author) = try scene()
    // The second device comes first: it knows the time before the backup, and writes.
    var other = ScriptedDevice(number: 2, workspace: ServerScene.workspace)
    let first = try scene.join(&other)
    try other.write("meanwhile")
    scene.send(other.changes(), on: first)
    #expect(scene.take(first).acks.count == 1)
    scene.drop(first)
    let id = scene.connect(author)
    for frame in offer(author) { scene.send(frame, on: id) }
    #expect(scene.closed[id] == .serviceRestart)
    for number in 1...2 as ClosedRange<UInt64> {
      var device = number == 1 ? author : other
      _ = try scene.join(&device)
      #expect(EpochName.count(device.epoch) == 2)
      let queue = try device.workspace.messageQueue(SessionID("main")).messages
      #expect(
        Set(queue.map(\.content)) == ["before the backup", "after the backup", "meanwhile"])
      #expect(device.workspace.deadWeight.dead == 0)
    }
    // Its author knows the digest of what it made, and need not do anything about it.
    let welcome = try #require(scene.take(scene.connect(other)).welcomes.first)
    let known = welcome.known.first { $0.replica == other.replica }
    #expect(known?.digest == other.workspace.digest(of: other.replica))
  }

  /// What a device would hold that has other operations under the ids that the server knows.
  private func forged(
    _ scene: inout ServerScene, _ author: ScriptedDevice,
    _ change: (inout WorkspaceImage.Addition) -> Void
  ) throws -> [UInt8] {
    var reader = ScriptedDevice(number: 2, workspace: ServerScene.workspace)
    scene.drop(try scene.join(&reader))
    var image = reader.workspace.image()
    for index in image.replicas.indices where image.replicas[index].id == author.replica {
      image.replicas[index].digest ^= 1
    }
    change(&image.sessions[0].messages[0].additions[0])
    return PackedSnapshot.pack(image)
  }

  @Test func stateThatDiffersIsRefused() throws {
    var (scene, author) = try scene()
    let bytes = try forged(&scene, author) { $0.text = "BEFORE THE BACKUP" }
    let id = scene.connect(author)
    scene.send(
      .snapshot(SnapshotPart(epoch: 5, logPosition: 1, index: 0, count: 1, bytes: bytes)), on: id)
    #expect(scene.take(id).refusals.map(\.code) == [.fork])
    #expect(scene.storage.withState { $0.workspaces[ServerScene.workspace]?.epoch } == 0)
  }

  @Test func stateThatDiffersInWhatItKnowsFurtherIsRefused() throws {
    var scene = ServerScene()
    var author = scene.device(1)
    let id = try scene.join(&author)
    try author.write("before the backup")
    scene.send(author.changes(), on: id)
    let backup = scene.storage.withState { $0 }
    var copy = author
    try author.write("after the backup, with more numbers")
    scene.send(author.changes(), on: id)
    _ = scene.take(id)
    scene.compact()
    try author.take(scene.take(id))
    scene.drop(id)
    scene.storage.withState { $0 = backup }
    scene.restart(ServerConfiguration())
    try copy.write("of a copy")
    let other = try scene.join(&copy)
    scene.send(copy.changes(), on: other)
    #expect(scene.take(other).acks.count == 1)
    scene.drop(other)
    let again = scene.connect(author)
    for frame in offer(author) { scene.send(frame, on: again) }
    #expect(scene.take(again).refusals.map(\.code) == [.fork])
    let stored = try #require(
      scene.storage.withState { $0.workspaces[ServerScene.workspace]?.epoch })
    #expect(stored == 0)
  }

  @Test func sameEventsInOtherFormsAreTakenOver() throws {
    var (scene, author) = try scene()
    let bytes = try forged(&scene, author) { $0.stamp = Stamp(rawValue: $0.stamp.rawValue + 1) }
    let id = scene.connect(author)
    let part = SnapshotPart(
      epoch: author.epoch, logPosition: 1, index: 0, count: 1, bytes: bytes)
    scene.send(.snapshot(part), on: id)
    #expect(scene.take(id).refusals.isEmpty)
    #expect(scene.closed[id] == .serviceRestart)
  }

  @Test func serverThatCompactedSomethingElseTakesBoth() throws {
    var (scene, author) = try scene()
    var other = ScriptedDevice(number: 2, workspace: ServerScene.workspace)
    let first = try scene.join(&other)
    try other.write("meanwhile")
    scene.send(other.changes(), on: first)
    #expect(scene.take(first).acks.count == 1)
    scene.drop(first)
    // Neither holds all of the other, and neither has the operations any more.
    scene.compact()
    let id = scene.connect(author)
    for frame in offer(author) { scene.send(frame, on: id) }
    #expect(scene.closed[id] == .serviceRestart)
    _ = try scene.join(&author)
    let queue = try author.workspace.messageQueue(SessionID("main")).messages
    #expect(
      Set(queue.map(\.content)) == ["before the backup", "after the backup", "meanwhile"])
    #expect(EpochName.count(author.epoch) == 2)
  }

  @Test func stampsOfTheFutureAreLowered() throws {
    var (scene, author) = try scene()
    scene.now.wallMilliseconds -= 86_400_000
    let id = scene.connect(author)
    for frame in offer(author) { scene.send(frame, on: id) }
    #expect(scene.closed[id] == .serviceRestart)
    var reader = ScriptedDevice(number: 2, workspace: ServerScene.workspace)
    _ = try scene.join(&reader)
    let queue = try reader.workspace.messageQueue(SessionID("main")).messages
    #expect(
      queue.map(\.content)
        == (try author.workspace.messageQueue(SessionID("main")).messages.map(\.content)))
    let ahead = reader.workspace.latestStamp.milliseconds - scene.now.wallMilliseconds
    #expect(ahead <= Limits.stampAheadMillisecondsMax + 1)
  }

  @Test func partsThatDoNotFollowAreAFault() throws {
    var (scene, author) = try scene()
    let id = scene.connect(author)
    let frames = offer(author, parts: 3)
    scene.send(frames[0], on: id)
    scene.send(frames[2], on: id)
    #expect(scene.closed[id] == .protocolError)
  }

  @Test(arguments: [0, 1])
  func stateBeyondTheLimitIsAFault(excess: Int) throws {
    var (scene, author) = try scene()
    var configuration = ServerConfiguration()
    configuration.offeredBytesMax = PackedSnapshot.pack(author.workspace.image()).count - excess
    scene.restart(configuration)
    let id = scene.connect(author)
    for frame in offer(author, parts: 1) { scene.send(frame, on: id) }
    #expect(scene.closed[id] == (excess == 0 ? .serviceRestart : .protocolError))
    author.outgoing = []
  }
}
