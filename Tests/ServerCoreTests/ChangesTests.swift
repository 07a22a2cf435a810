import QueueModel
import SequenceCRDT
import ServerCore
import Testing
import WireProtocol

@Suite struct ChangesTests {
  @Test func changesReachTheOtherDeviceAsTheSameBytesAndNotTheAuthor() throws {
    var scene = ServerScene()
    var (author, reader) = (scene.device(1), scene.device(2))
    let (from, to) = (try scene.join(&author), try scene.join(&reader))
    try author.write("hello")
    let frame = author.changes()
    guard case .changes(let batch) = frame else { return }
    _ = scene.take(to)
    scene.send(frame, on: from)
    let answer = scene.take(from)
    #expect(answer.acks == [Ack(batch: 1, prefix: try scene.prefix(1))])
    #expect(answer.changes.isEmpty)
    let received = scene.take(to)
    #expect(received.changes.map(\.delta) == [batch.delta])
    // A device with the entry knows the prefix.
    let first = LogPrefix(position: 0, chain: 42).appending(batch.delta)
    #expect(received.changes.map(\.prefix) == [first])
    try reader.take(received)
    #expect(reader.workspace.image() == author.workspace.image())
  }

  @Test func changesReachASecondStoreOfTheSameDevice() throws {
    var scene = ServerScene()
    var (author, copy) = (scene.device(1), scene.device(1))
    copy.replica = ReplicaID(rawValue: 77)
    let (from, to) = (try scene.join(&author), try scene.join(&copy))
    _ = scene.take(to)
    try author.write("hello")
    scene.send(author.changes(), on: from)
    #expect(scene.take(from).changes.isEmpty)
    #expect(scene.take(to).changes.map(\.prefix.position) == [1])
  }

  @Test func nothingIsReportedBeforeTheCommit() throws {
    var scene = ServerScene()
    var (author, reader) = (scene.device(1), scene.device(2))
    let (from, to) = (try scene.join(&author), try scene.join(&reader))
    _ = scene.take(to)
    scene.holdsTasks = true
    try author.write("hello")
    scene.send(author.changes(), on: from)
    #expect(scene.take(from).acks.isEmpty)
    #expect(scene.take(to).changes.isEmpty)
    var late = scene.device(3)
    late.replica = ReplicaID(rawValue: 77)
    scene.finishTasks()
    #expect(scene.take(from).acks.count == 1)
    #expect(scene.take(to).changes.count == 1)
  }

  @Test func batchesThatArriveDuringACommitShareTheNext() throws {
    var scene = ServerScene()
    var devices = (1...4).map { scene.device($0) }
    var ids: [ConnectionID] = []
    for index in devices.indices { ids.append(try scene.join(&devices[index])) }
    let before = scene.storage.withState { $0.commits.count }
    scene.holdsTasks = true
    for round in 0..<3 {
      for index in devices.indices {
        try devices[index].write("message \(round)")
        scene.send(devices[index].changes(), on: ids[index])
      }
    }
    scene.finishTasks()
    let commits = scene.storage.withState { Array($0.commits[before...]) }
    #expect(commits.filter { $0 > 0 } == [1, 11])
    for id in ids { #expect(scene.take(id).acks.count == 3) }
  }

  @Test func differentWorkspacesShareATransaction() throws {
    var scene = ServerScene()
    var first = scene.device(1)
    var second = scene.device(2, workspace: ServerScene.otherWorkspace)
    var third = scene.device(3, workspace: ServerScene.otherWorkspace)
    let ids = [try scene.join(&first), try scene.join(&second), try scene.join(&third)]
    scene.holdsTasks = true
    try first.write("a")
    scene.send(first.changes(), on: ids[0])
    try first.write("b")
    scene.send(first.changes(), on: ids[0])
    try second.write("c")
    scene.send(second.changes(), on: ids[1])
    scene.finishTasks()
    #expect(scene.storage.withState { $0.commits.filter { $0 > 0 } } == [1, 2])
    #expect(scene.take(ids[2]).changes.count == 1)
    #expect(scene.take(ids[1]).changes.isEmpty)
  }

  @Test func failedCommitIsRefusedAndNothingOfItRemains() throws {
    var scene = ServerScene()
    var (author, reader) = (scene.device(1), scene.device(2))
    let (from, to) = (try scene.join(&author), try scene.join(&reader))
    _ = scene.take(to)
    scene.storage.withState { $0.writeFault = StorageFault(code: .full, message: "disk full") }
    try author.write("hello")
    let lost = author.outgoing
    scene.send(author.changes(), on: from)
    let refusal = try #require(scene.take(from).refusals.first)
    #expect(refusal.code == .storageFailed)
    #expect(refusal.batch == 1)
    #expect(refusal.retryAfterMilliseconds != nil)
    #expect(scene.closed[from] == nil)
    #expect(scene.take(to).changes.isEmpty)
    #expect(!scene.core.isHealthy)

    scene.storage.withState { $0.writeFault = nil }
    scene.pass(1_000)
    #expect(scene.core.isHealthy)
    author.outgoing = lost
    scene.send(author.changes(), on: from)
    #expect(scene.take(from).acks == [Ack(batch: 2, prefix: try scene.prefix(1))])
    #expect(scene.take(to).changes.count == 1)
  }

  @Test func batchBehindAFailedCommitIsRefusedToo() throws {
    var scene = ServerScene()
    var author = scene.device(1)
    let from = try scene.join(&author)
    scene.holdsTasks = true
    try author.write("one")
    scene.send(author.changes(), on: from)
    try author.write("two")
    scene.send(author.changes(), on: from)
    scene.storage.withState { $0.writeFault = StorageFault(code: .full, message: "") }
    scene.finishTasks()
    #expect(scene.take(from).refusals.map(\.batch) == [1, 2])
    #expect(scene.storage.withState { $0.workspaces[ServerScene.workspace]?.log.isEmpty } == true)
  }

  /// By then, its author has received everything in the log.
  @Test func repeatedBatchIsAcknowledgedAtTheHeadAndStoredOnce() throws {
    var scene = ServerScene()
    var (author, reader) = (scene.device(1), scene.device(2))
    let (from, to) = (try scene.join(&author), try scene.join(&reader))
    _ = scene.take(to)
    try author.write("one")
    let repeated = author.outgoing
    scene.send(author.changes(), on: from)
    try author.write("two")
    scene.send(author.changes(), on: from)
    _ = scene.take(from)
    author.outgoing = repeated
    scene.send(author.changes(), on: from)
    #expect(scene.take(from).acks == [Ack(batch: 3, prefix: try scene.prefix(2))])
    #expect(scene.take(to).changes.count == 2)
  }

  @Test func batchRepeatedWhileItsCommitIsInFlightIsAnsweredBehindTheEntry() throws {
    var scene = ServerScene()
    var author = scene.device(1)
    let (first, second) = (try scene.join(&author), scene.connect(author))
    _ = scene.take(second)
    scene.holdsTasks = true
    try author.write("one")
    let repeated = author.outgoing
    scene.send(author.changes(), on: first)
    author.outgoing = repeated
    scene.send(author.changes(), on: second)
    #expect(scene.take(second).acks.isEmpty)
    scene.finishTasks()
    let prefix = try scene.prefix(1)
    #expect(scene.take(first).acks == [Ack(batch: 1, prefix: prefix)])
    let frames = scene.take(second)
    #expect(frames.acks == [Ack(batch: 2, prefix: prefix)])
    #expect(frames.changes.map(\.prefix) == [prefix])
    let order = frames.compactMap { frame in
      switch frame {
      case .changes: "entry"
      case .ack: "answer"
      default: nil
      }
    }
    #expect(order == ["entry", "answer"])
    #expect(try scene.tables.log.count == 1)
  }

  @Test func partlyKnownBatchIsStoredWithoutItsKnownPart() throws {
    var scene = ServerScene()
    var (author, reader) = (scene.device(1), scene.device(2))
    let (from, to) = (try scene.join(&author), try scene.join(&reader))
    _ = scene.take(to)
    try author.write("one")
    let known = author.outgoing
    scene.send(author.changes(), on: from)
    try author.write("two")
    author.outgoing = known + author.outgoing
    scene.send(author.changes(), on: from)
    #expect(scene.take(from).acks.map(\.prefix.position) == [1, 2])
    let received = scene.take(to)
    try reader.take(received)
    #expect(reader.workspace.image() == author.workspace.image())
    let entries = try scene.storage.entries(
      of: ServerScene.workspace, after: 1, limit: 10, bytesMax: .max)
    let stored = try PackedDelta.unpack(try #require(entries.first).content.bytes)
    #expect(stored.first?.id.seq == UInt32(known.reduce(0) { $0 + $1.length } + 1))
  }

  /// A copy of a program's memory: it detects itself in the entry, and the entry does not change.
  @Test func copyThatDidSomethingElseHearsOfTheEntryBeforeItIsAnswered() throws {
    var scene = ServerScene()
    var author = scene.device(1)
    let from = try scene.join(&author)
    var copy = author
    let second = try scene.join(&copy)
    try author.write("one")
    scene.send(author.changes(), on: from)
    let stored = try scene.tables.log
    try copy.write("two, which is different")
    scene.send(copy.changes(), on: second)
    let frames = scene.take(second)
    #expect(frames.changes.map(\.prefix) == [try scene.prefix(1)])
    #expect(scene.closed[second] == nil)
    #expect(try Array(scene.tables.log.prefix(1)) == stored)
  }

  @Test func batchWithoutItsPredecessorsIsOutOfOrder() throws {
    var scene = ServerScene()
    var author = scene.device(1)
    let from = try scene.join(&author)
    try author.write("one")
    let first = author.outgoing
    author.outgoing = []
    try author.write("two")
    scene.send(author.changes(), on: from)
    let frames = scene.take(from)
    #expect(frames.acks.isEmpty)
    #expect(frames.refusals.map(\.code) == [.outOfOrder])
    #expect(scene.closed[from] == nil)
    #expect(try scene.tables.log.isEmpty)
    author.outgoing = first
    scene.send(author.changes(), on: from)
    #expect(scene.take(from).acks.count == 1)
  }

  @Test func referenceToUnsentOperationIsOutOfOrder() throws {
    var scene = ServerScene()
    var (author, reader) = (scene.device(1), scene.device(2))
    let (from, to) = (try scene.join(&author), try scene.join(&reader))
    try author.write("one")
    // The reader has it from elsewhere, and refers to it before the server knows it.
    reader.workspace = author.workspace
    try reader.perform(.cancel([MessageID(high: 1, low: 1)]))
    scene.send(reader.changes(), on: to)
    let refusal = try #require(scene.take(to).refusals.first)
    #expect(refusal.code == .outOfOrder)
    #expect(refusal.batch == 1)
    #expect(try scene.tables.log.isEmpty)
    scene.send(author.changes(), on: from)
    #expect(scene.take(from).acks.count == 1)
  }

  @Test func replicaMustAnnounceItsDeviceFirst() throws {
    var scene = ServerScene()
    var author = scene.device(1)
    let from = try scene.join(&author)
    author.outgoing = [
      Operation(
        id: OperationID(replica: author.replica, seq: 1),
        body: .openSession(session: try SessionID("main"), clears: []))
    ]
    scene.send(author.changes(), on: from)
    #expect(scene.take(from).refusals.map(\.code) == [.invalidChanges])
  }

  @Test func onlyTheFirstOperationAnnounces() throws {
    var scene = ServerScene()
    var author = scene.device(1)
    let from = try scene.join(&author)
    try author.write("one")
    scene.send(author.changes(), on: from)
    _ = scene.take(from)
    var other = Workspace()
    let announcement = other.announce(
      device: author.id, name: "again", replica: ReplicaID(rawValue: 5))
    author.outgoing = announcement.map {
      Operation(
        id: OperationID(
          replica: author.replica, seq: author.workspace.vector[author.replica] + 1),
        body: $0.body)
    }
    scene.send(author.changes(), on: from)
    #expect(scene.take(from).refusals.map(\.code) == [.invalidChanges])
    #expect(try scene.tables.log.count == 1)
  }

  /// F2: a device that begins too many runs continues with its current one, and reads.
  @Test func deviceThatDrawsIdsTooFastIsSlowedDownAndNotLockedOut() throws {
    var scene = ServerScene {
      $0.devices.replicas.burst = 2
      $0.devices.replicas.seconds = 60
    }
    var (author, other) = (scene.device(1), scene.device(2))
    let (from, to) = (try scene.join(&author), try scene.join(&other))
    for run in 0..<3 {
      if run > 0 { author.beginRun() }
      try author.write("in run \(run)")
      scene.send(author.changes(), on: from)
    }
    let frames = scene.take(from)
    #expect(frames.acks.map(\.batch) == [1, 2])
    let refusal = try #require(frames.refusals.first)
    #expect(refusal.code == .rateLimited)
    #expect(refusal.batch == 3)
    #expect(refusal.retryAfterMilliseconds == 60_000)
    #expect(scene.closed[from] == nil)
    // Others are not delayed, and it receives their changes.
    try other.write("of another device")
    scene.send(other.changes(), on: to)
    #expect(scene.take(to).acks.count == 1)
    #expect(scene.take(from).changes.count == 1)
    // It may continue with an id that it has.
    var before = scene.device(1)
    let reader = try scene.join(&before)
    before.replica = ReplicaID(rawValue: 1_001)
    try before.perform(.cancel([MessageID(high: 1, low: 1)]))
    scene.send(before.changes(), on: reader)
    #expect(scene.take(reader).acks.count == 1)
    scene.pass(60_000)
    var fresh = scene.device(1)
    let again = try scene.join(&fresh)
    fresh.replica = ReplicaID(rawValue: 9_001)
    try fresh.perform(.cancel([MessageID(high: 1, low: 2)]))
    scene.send(fresh.changes(), on: again)
    #expect(scene.take(again).acks.count == 1)
  }

  @Test(arguments: [[], [1, 2, 3], [UInt8](repeating: 0, count: 40)])
  func unreadableDeltaIsRefusedAndTheConnectionStays(delta: [UInt8]) throws {
    var scene = ServerScene()
    var author = scene.device(1)
    let from = try scene.join(&author)
    scene.send(.changes(Changes(batch: 9, delta: delta)), on: from)
    #expect(scene.take(from).refusals.map(\.code) == [.invalidChanges])
    #expect(scene.closed[from] == nil)
  }

  @Test func batchZeroIsAFault() throws {
    var scene = ServerScene()
    var author = scene.device(1)
    let from = try scene.join(&author)
    scene.send(.changes(Changes(batch: 0, delta: [])), on: from)
    #expect(scene.closed[from] == .protocolError)
  }

  @Test func referenceToItselfIsRefused() throws {
    var scene = ServerScene()
    var author = scene.device(1)
    let from = try scene.join(&author)
    try author.write("one")
    scene.send(author.changes(), on: from)
    _ = scene.take(from)
    let id = OperationID(
      replica: author.replica, seq: author.workspace.vector[author.replica] + 1)
    author.outgoing = [
      Operation(id: id, body: .clearTags(element: id, field: .live, clears: []))
    ]
    scene.send(author.changes(), on: from)
    let frames = scene.take(from)
    #expect(frames.refusals.map(\.code) == [.invalidChanges])
  }
}
