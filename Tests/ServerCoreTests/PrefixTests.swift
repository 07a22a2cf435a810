import QueueModel
import SequenceCRDT
import ServerCore
import Testing
import WireProtocol

/// The data that a device receives for its reported log prefix.
@Suite struct PrefixTests {
  /// A scene whose log has entries, and their author, which has all of them.
  private func scene(
    messages: Int, _ adjust: (inout ServerConfiguration) -> Void = { _ in }
  ) throws -> (ServerScene, ScriptedDevice) {
    var scene = ServerScene(adjust)
    var author = scene.device(1)
    let id = try scene.join(&author)
    for index in 0..<messages {
      try author.write("message \(index)")
      scene.send(author.changes(), on: id)
    }
    try author.take(scene.take(id))
    scene.drop(id)
    return (scene, author)
  }

  private func mayOffer(_ device: ScriptedDevice, on id: ConnectionID, _ scene: inout ServerScene)
    -> Bool
  {
    for frame in device.offer() { scene.send(frame, on: id) }
    return scene.closed[id] != .protocolError
  }

  @Test func theWholeLogIsAnsweredWithNothing() throws {
    var (scene, author) = try scene(messages: 3)
    #expect(author.prefix == (try scene.prefix(3)))
    let id = scene.connect(author)
    let frames = scene.take(id)
    #expect(frames.welcomes.map(\.head) == [author.prefix])
    #expect(frames.changes.isEmpty && frames.snapshots.isEmpty)
    #expect(frames.presences.last?.first?.seenLogPosition == 3)
    #expect(!mayOffer(author, on: id, &scene))
  }

  @Test func aPrefixIsAnsweredWithTheEntriesBehindIt() throws {
    var (scene, author) = try scene(messages: 3)
    author.prefix = try scene.prefix(1)
    let id = scene.connect(author)
    let frames = scene.take(id)
    #expect(frames.changes.map(\.prefix) == [try scene.prefix(3)])
    let operations = try frames.changes.flatMap { try PackedDelta.unpack($0.delta) }
    #expect(operations.allSatisfy { $0.id.seq > 1 })
    #expect(!mayOffer(author, on: id, &scene))
  }

  @Test func nothingIsAPrefixOfEveryLog() throws {
    var (empty, _) = try scene(messages: 0)
    let reader = empty.device(2)
    let first = empty.take(empty.connect(reader))
    #expect(first.welcomes.map(\.head) == [.empty])
    #expect(first.changes.isEmpty && first.snapshots.isEmpty)

    var (scene, author) = try scene(messages: 2)
    var later = scene.device(2)
    _ = try scene.join(&later)
    #expect(later.workspace.image() == author.workspace.image())
  }

  @Test(arguments: [1, 3] as [UInt64])
  func aPrefixOfAnotherLogIsAnsweredWithTheStateAndMayBeOffered(position: UInt64) throws {
    var (scene, author) = try scene(messages: 3)
    var other = scene.device(2)
    other.prefix = LogPrefix(position: position, chain: 99)
    let id = scene.connect(other)
    let frames = scene.take(id)
    #expect(frames.changes.isEmpty)
    #expect(frames.snapshots.map(\.prefix) == [try scene.prefix(3)])
    try other.take(frames)
    #expect(other.workspace.image() == author.workspace.image())
    #expect(mayOffer(other, on: id, &scene))
    author.outgoing = []
  }

  @Test func aPrefixBeyondTheHeadIsAnotherLogs() throws {
    var (scene, author) = try scene(messages: 3)
    author.prefix.position = 4
    let id = scene.connect(author)
    #expect(scene.take(id).snapshots.count == 1)
    #expect(mayOffer(author, on: id, &scene))
  }

  @Test func aPrefixOfWhichTheServerKeepsNothingMayBeAnothers() throws {
    var (scene, author) = try scene(messages: 40) {
      $0.log.snapshotEntries = 10
      $0.log.snapshotEntriesMax = 10
    }
    #expect(try scene.tables.log.first?.prefix.position == 30)
    author.prefix = LogPrefix(position: 29, chain: author.prefix.chain)
    let id = scene.connect(author)
    #expect(scene.take(id).snapshots.first?.prefix == (try scene.prefix(40)))
    #expect(mayOffer(author, on: id, &scene))
  }
}
