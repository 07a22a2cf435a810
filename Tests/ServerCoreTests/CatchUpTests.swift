import QueueModel
import SequenceCRDT
import Testing
import WireProtocol

@testable import ServerCore

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
    try author.take(scene.take(from))
    return (scene, author, from)
  }

  /// A text that no compression makes smaller.
  private func noise(_ count: Int, _ scene: ServerScene) -> String {
    var generator = scene.generator
    return String(
      String.UnicodeScalarView(
        (0..<count).compactMap { _ in
          Unicode.Scalar(UInt32.random(in: 33...126, using: &generator))
        }))
  }

  @Test func newDeviceGetsTheLogAsFewDeltas() throws {
    var (scene, author, _) = try scene(messages: 50)
    var reader = scene.device(2)
    let frames = scene.take(scene.connect(reader))
    #expect(frames.changes.map(\.prefix) == [try scene.prefix(50)])
    #expect(frames.changes.map(\.batch) == [0])
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
    var (scene, author, _) = try scene(messages: 200) { $0.log.partBytesMax = 1_024 }
    var reader = scene.device(2)
    let frames = scene.take(scene.connect(reader))
    let prefixes = frames.changes.map(\.prefix)
    #expect(prefixes.count > 3)
    #expect(prefixes.map(\.position) == prefixes.map(\.position).sorted())
    #expect(prefixes == (try prefixes.map { try scene.prefix($0.position) }))
    #expect(prefixes.last?.position == 200)
    #expect(frames.changes.allSatisfy { $0.delta.count <= 1_024 })
    try reader.take(frames)
    #expect(reader.workspace.image() == author.workspace.image())
    author.outgoing = []
  }

  @Test func anEntryLargerThanAPartComesWhole() throws {
    var (scene, author, from) = try scene(messages: 3) { $0.log.partBytesMax = 1_024 }
    try author.write(noise(5_000, scene))
    scene.send(author.changes(), on: from)
    try author.write("behind it")
    scene.send(author.changes(), on: from)
    var reader = scene.device(2)
    let frames = scene.take(scene.connect(reader))
    #expect(frames.changes.contains { $0.delta.count > 1_024 })
    try reader.take(frames)
    #expect(reader.prefix == (try scene.prefix(5)))
    #expect(reader.workspace.image() == author.workspace.image())
  }

  /// Several entries, each as large as a frame may be, are not merged into one that fits no frame.
  @Test func largeEntriesAreNotMergedBeyondAFrame() throws {
    var (scene, author, from) = try scene(messages: 1) { $0.log.partBytesMax = 4 << 20 }
    for session in ["a", "b"] {
      try author.write(noise(700_000, scene), in: session)
      scene.send(author.changes(), on: from)
    }
    var reader = scene.device(2)
    let id = scene.connect(reader)
    #expect(scene.rawSent[id]?.allSatisfy { $0.count <= WireLimits.frameBytesMax } == true)
    let frames = scene.take(id)
    #expect(frames.changes.map(\.prefix.position) == [1, 2, 3])
    try reader.take(frames)
    #expect(reader.workspace.image() == author.workspace.image())
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

  @Test func oneStateIsPackedForAllWhoWait() throws {
    var (scene, author, _) = try scene(messages: 5) { $0.log.catchUpEntriesMax = 1 }
    scene.holdsTasks = true
    var readers = (2..<6).map { scene.device($0) }
    let ids = readers.map { scene.connect($0) }
    var packings = 0
    while let next = scene.waitingTasks.first {
      if case .packSnapshot = next.task { packings += 1 }
      scene.finishOneTask()
    }
    #expect(packings == 1)
    for (index, id) in ids.enumerated() {
      try readers[index].take(scene.take(id))
      #expect(readers[index].workspace.image() == author.workspace.image())
    }
    author.outgoing = []
  }

  @Test func repeatedRequestsForTheStateAreSlowedDown() throws {
    var (scene, _, _) = try scene(messages: 5) {
      $0.log.catchUpEntriesMax = 1
      $0.devices.catchUps.burst = 3
    }
    let reader = scene.device(2)
    for _ in 0..<3 {
      let id = scene.connect(reader)
      #expect(!scene.take(id).snapshots.isEmpty)
      scene.drop(id)
    }
    let id = scene.connect(reader)
    #expect(scene.take(id).refusals.map(\.code) == [.rateLimited])
    let other = scene.connect(scene.device(3))
    #expect(!scene.take(other).snapshots.isEmpty)
    scene.pass(10_000)
    let again = scene.connect(reader)
    #expect(!scene.take(again).snapshots.isEmpty)
  }

  @Test func repeatedEmptyGreetingsAreSlowedDown() throws {
    var (scene, author, _) = try scene(messages: 20) {
      // Reading 20 entries takes more work than may be merged: each `hello` costs two turns.
      $0.log.catchUpWorkMax = 10_000
      $0.devices.catchUps.burst = 5
    }
    var reader = scene.device(2)
    let nothing = reader
    for _ in 0..<2 {
      let id = scene.connect(nothing)
      let frames = scene.take(id)
      #expect(frames.changes.count == 20, "none is merged")
      try reader.take(frames)
      scene.drop(id)
    }
    #expect(reader.workspace.image() == author.workspace.image())
    let id = scene.connect(nothing)
    let frames = scene.take(id)
    #expect(frames.refusals.map(\.code) == [.rateLimited])
    #expect(frames.refusals.first?.retryAfterMilliseconds == 10_000)
    #expect(frames.welcomes.isEmpty)
    let other = scene.connect(scene.device(3))
    #expect(scene.take(other).changes.count == 20)
    // A device that lacks nothing needs no turn.
    let still = scene.connect(reader)
    #expect(scene.take(still).welcomes.count == 1)
    scene.pass(10_000)
    let again = scene.connect(nothing)
    #expect(scene.take(again).changes.count == 20)
    author.outgoing = []
  }

  @Test func frequentlyReturningDevicesAreNotDelayed() throws {
    var (scene, _, _) = try scene(messages: 5)
    let reader = scene.device(2)
    for _ in 0..<500 {
      let id = scene.connect(reader)
      let frames = scene.take(id)
      guard frames.refusals.isEmpty, frames.changes.count == 1 else {
        Issue.record("it was delayed: \(frames)")
        return
      }
      scene.drop(id)
    }
  }

  @Test func aLeavingClientHasOnlyItsShareWaiting() throws {
    var (scene, _, _) = try scene(messages: 5) { $0.devices.catchUps.burst = 3 }
    let reader = scene.device(2)
    scene.holdsTasks = true
    for _ in 0..<6 {
      let id = scene.connect(reader)
      // The token's lookup.
      scene.finishLastTask()
      scene.drop(id)
    }
    let packings = scene.waitingTasks.count { if case .catchUp = $0.task { true } else { false } }
    #expect(packings == 3)
    scene.finishTasks()
    scene.holdsTasks = false
    let again = scene.connect(reader)
    #expect(scene.take(again).changes.count == 1, "the unused part was returned")
  }

  /// A device cannot spend its share again each time that its workspace leaves memory.
  @Test func aUsedShareIsKeptWhileNoDeviceIsConnected() throws {
    var (scene, _, from) = try scene(messages: 20) {
      $0.log.catchUpWorkMax = 10_000
      $0.devices.catchUps = .init(burst: 5, seconds: 10_000)
    }
    scene.drop(from)
    let reader = scene.device(2)
    for _ in 0..<2 {
      let id = scene.connect(reader)
      #expect(scene.take(id).changes.count == 20)
      scene.drop(id)
    }
    scene.pass(1_500)
    scene.pass(60_000)
    let early = scene.connect(reader)
    #expect(scene.take(early).refusals.map(\.code) == [.rateLimited])
    scene.pass(50_000_000)
    scene.pass(60_000)
    #expect(scene.core.residentWorkspaces == 0)
    #expect(scene.take(scene.connect(reader)).changes.count == 20)
  }

  @Test func waitingWorkOfAConnectionEndsWithIt() {
    var connections = Connections(ServerConfiguration())
    let id = ConnectionID(rawValue: 1)
    let now = ServerTime(uptimeMilliseconds: 1, wallMilliseconds: 1)
    connections.open(id, from: "192.0.2.1", acceptedAt: now, at: now)
    connections[id]?.outgoing.release([[1, 2, 3]])
    var actions = ActionList()
    connections.close(id, .normal, "it goes", &actions)
    #expect(connections[id]?.outgoing.missedBytes == 0, "it may end slowly")
    #expect(connections[id]?.outgoing.isEmpty == true)
  }

  @Test func aSlowReaderHasABoundedQueue() throws {
    var (scene, _, _) = try scene(messages: 5) {
      $0.traffic.sendWindowBytes = 1
      $0.quota.waitingBytesMax = 1
    }
    let (slow, other) = (scene.device(2), scene.device(3))
    scene.delivers = false
    let first = scene.connect(slow)
    #expect(scene.take(first).welcomes.count == 1, "the first may have any size")
    for device in [slow, other] {
      let second = scene.connect(device)
      #expect(scene.take(second).refusals.map(\.code) == [.rateLimited])
    }
    scene.drop(first)
    let third = scene.connect(other)
    scene.report(buffered: 0, on: third)
    let frames = scene.take(third)
    #expect(frames.refusals.isEmpty)
    #expect(frames.changes.count == 1)
    // Data that it has read no longer waits.
    let fourth = scene.connect(slow)
    #expect(scene.take(fourth).refusals.isEmpty)
  }

  @Test func oneDeviceThatTakesNothingKeepsNoOtherOut() throws {
    func waiting(_ max: Int) throws -> (ServerScene, Int) {
      var (scene, _, _) = try self.scene(messages: 5) {
        $0.traffic.sendWindowBytes = 1
        $0.quota.waitingBytesMax = max
      }
      scene.delivers = false
      let id = scene.connect(scene.device(2))
      return (scene, scene.core.connections[id]?.outgoing.missedBytes ?? 0)
    }
    let bytes = try waiting(1 << 20).1
    try #require(bytes > 0)
    var scene = try waiting(bytes * 4).0
    #expect(scene.take(scene.connect(scene.device(2))).refusals.map(\.code) == [.rateLimited])
    let other = scene.connect(scene.device(3))
    #expect(scene.take(other).refusals.isEmpty)
    scene.report(buffered: 0, on: other)
    #expect(scene.take(other).changes.count == 1)
  }

  @Test func aDeviceThatLacksTooManyBytesGetsTheState() throws {
    var (scene, author, _) = try scene(messages: 5) { $0.log.catchUpBytesMax = 100 }
    var reader = scene.device(2)
    let frames = scene.take(scene.connect(reader))
    #expect(frames.changes.isEmpty)
    try reader.take(frames)
    #expect(reader.prefix == (try scene.prefix(5)))
    #expect(reader.workspace.image() == author.workspace.image())
    author.outgoing = []
  }

  @Test(arguments: [5, 4])
  func deviceThatLacksMoreThanTheLimitGetsTheState(limit: Int) throws {
    var (scene, author, _) = try scene(messages: 5) { $0.log.catchUpEntriesMax = limit }
    var reader = scene.device(2)
    let id = scene.connect(reader)
    let frames = scene.take(id)
    #expect(frames.snapshots.isEmpty == (limit == 5))
    #expect(frames.changes.isEmpty == (limit == 4))
    try reader.take(frames)
    #expect(reader.prefix == (try scene.prefix(5)))
    #expect(reader.workspace.image() == author.workspace.image())
    // Its log is a prefix of the server's: there is nothing to join.
    for frame in author.offer() { scene.send(frame, on: id) }
    #expect(scene.closed[id] == .protocolError)
  }

  @Test func theStateComesInParts() throws {
    var (scene, author, _) = try scene(messages: 60) {
      $0.log.catchUpEntriesMax = 1
      $0.log.partBytesMax = 256
    }
    var reader = scene.device(2)
    let frames = scene.take(scene.connect(reader))
    #expect(frames.snapshots.count > 2)
    #expect(frames.snapshots.allSatisfy { $0.bytes.count <= 256 })
    #expect(Set(frames.snapshots.map(\.prefix)) == [try scene.prefix(60)])
    try reader.take(frames)
    #expect(reader.workspace.image() == author.workspace.image())
    author.outgoing = []
  }

  @Test func aStateInTheLogIsCrossedByTheWholeState() throws {
    var world = try DivergedWorld()
    var (scene, author) = (world.scene, world.author)
    let id = scene.connect(author)
    for frame in author.offer() { scene.send(frame, on: id) }
    #expect(scene.closed[id] == .serviceRestart)
    let frames = scene.take(scene.connect(world.other))
    #expect(frames.changes.isEmpty)
    #expect(frames.snapshots.map(\.prefix) == [try scene.prefix(2)])
    // After it, the log consists of entries again.
    world.other.prefix = try scene.prefix(2)
    let again = try scene.join(&author)
    try author.write("goes on")
    scene.send(author.changes(), on: again)
    let later = scene.take(scene.connect(world.other))
    #expect(later.snapshots.isEmpty)
    #expect(later.changes.map(\.prefix) == [try scene.prefix(3)])
  }

  @Test func changesDuringCatchUpComeAfterIt() throws {
    var (scene, author, from) = try scene(messages: 5)
    var reader = scene.device(2)
    // Held after the token's lookup: the answer about the missing entries is still to come.
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
    #expect(frames.changes.map(\.prefix.position) == [5, 6])
    try reader.take(frames)
    #expect(reader.workspace.image() == author.workspace.image())
  }

  @Test func snapshotWaitsForTheCommitInFlight() throws {
    var (scene, author, from) = try scene(messages: 5) { $0.log.catchUpEntriesMax = 1 }
    var reader = scene.device(2)
    scene.holdsTasks = true
    try author.write("in flight")
    scene.send(author.changes(), on: from)
    let id = scene.connect(reader)
    // The token's lookup, then the result that the log cannot be used; the commit still waits.
    scene.finishLastTask()
    scene.finishLastTask()
    #expect(scene.take(id).snapshots.isEmpty)
    #expect(scene.waitingTasks.count == 1, "the commit")
    scene.finishTasks()
    let frames = scene.take(id)
    #expect(frames.snapshots.first?.prefix == (try scene.prefix(6)))
    try reader.take(frames)
    #expect(reader.workspace.image() == author.workspace.image())
  }

  @Test func snapshotIsSentThoughTheCommitInFlightFails() throws {
    var (scene, author, from) = try scene(messages: 5) { $0.log.catchUpEntriesMax = 1 }
    var reader = scene.device(2)
    scene.holdsTasks = true
    try author.write("in flight")
    scene.send(author.changes(), on: from)
    let id = scene.connect(reader)
    scene.finishLastTask()
    scene.finishLastTask()
    scene.storage.withState { $0.writeFault = StorageFault(code: .full, message: "disk full") }
    scene.finishTasks()
    let frames = scene.take(id)
    #expect(frames.snapshots.first?.prefix == (try scene.prefix(5)))
    try reader.take(frames)
    #expect(reader.prefix == (try scene.prefix(5)))
  }

  @Test func entriesThatCannotBeReadAreRefusedForNow() throws {
    var (scene, author, from) = try scene(messages: 2)
    var reader = scene.device(2)
    scene.holdsTasks = true
    let id = scene.connect(reader)
    scene.finishOneTask()
    scene.storage.withState { $0.readFault = StorageFault(code: .unavailable, message: "") }
    scene.finishTasks()
    let refusal = try #require(scene.take(id).refusals.first)
    #expect(refusal.code == .storageFailed)
    #expect(refusal.retryAfterMilliseconds != nil)
    scene.storage.withState { $0.readFault = nil }
    scene.holdsTasks = false
    _ = try scene.join(&reader)
    #expect(reader.workspace.image() == author.workspace.image())
    scene.drop(from)
  }
}
