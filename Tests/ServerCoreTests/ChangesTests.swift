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
    #expect(answer.acks == [Ack(batch: 1, logPosition: 1)])
    #expect(answer.changes.isEmpty)
    let received = scene.take(to)
    #expect(received.changes.map(\.delta) == [batch.delta])
    #expect(received.changes.map(\.logPosition) == [1])
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
    #expect(scene.take(to).changes.map(\.logPosition) == [1])
  }

  @Test func nothingIsToldBeforeTheCommit() throws {
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
    #expect(scene.take(from).acks == [Ack(batch: 2, logPosition: 1)])
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

  @Test func repeatedBatchIsAcknowledgedAgainAtItsPlaceAndStoredOnce() throws {
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
    #expect(scene.take(from).acks == [Ack(batch: 3, logPosition: 1)])
    #expect(scene.take(to).changes.count == 2)
  }

  @Test func batchRepeatedWhileItsCommitIsInFlightIsStoredOnce() throws {
    var scene = ServerScene()
    var author = scene.device(1)
    let (first, second) = (try scene.join(&author), scene.connect(author))
    scene.holdsTasks = true
    try author.write("one")
    let repeated = author.outgoing
    scene.send(author.changes(), on: first)
    author.outgoing = repeated
    scene.send(author.changes(), on: second)
    scene.finishTasks()
    #expect(scene.take(first).acks == [Ack(batch: 1, logPosition: 1)])
    #expect(scene.take(second).acks == [Ack(batch: 2, logPosition: 1)])
    #expect(scene.storage.withState { $0.workspaces[ServerScene.workspace]?.log.count } == 1)
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
    #expect(scene.take(from).acks.map(\.logPosition) == [1, 2])
    let received = scene.take(to)
    try reader.take(received)
    #expect(reader.workspace.image() == author.workspace.image())
    let entries = try scene.storage.entries(of: ServerScene.workspace, after: 1, limit: 10)
    let stored = try PackedDelta.unpack(try #require(entries.first).delta)
    #expect(stored.first?.id.seq == UInt32(known.reduce(0) { $0 + $1.length } + 1))
  }

  @Test func sameIdsWithOtherContentAreAFork() throws {
    var scene = ServerScene()
    var author = scene.device(1)
    let from = try scene.join(&author)
    var clone = author
    try author.write("one")
    scene.send(author.changes(), on: from)
    try clone.write("two, different")
    scene.send(clone.changes(), on: from)
    let refusal = try #require(scene.take(from).refusals.first)
    #expect(refusal.code == .fork)
    #expect(scene.closed[from] == nil)
    #expect(scene.storage.withState { $0.workspaces[ServerScene.workspace]?.log.count } == 1)
  }

  @Test func forkIsFoundWhateverTheOperationsWereCutInto() throws {
    var scene = ServerScene()
    var author = scene.device(1)
    let from = try scene.join(&author)
    try author.write("abcdef")
    let whole = author.outgoing
    scene.send(author.changes(), on: from)
    _ = scene.take(from)
    let text = try #require(whole.first { $0.length == 6 })
    author.outgoing = try [
      #require(text.droppingFirst(2))
    ]
    scene.send(author.changes(), on: from)
    #expect(scene.take(from).acks.count == 1)
    guard case .insertText(var insertion) = text.body else { return }
    insertion.text = "abcdeX"
    author.outgoing = [Operation(id: text.id, body: .insertText(insertion))]
    scene.send(author.changes(), on: from)
    #expect(scene.take(from).refusals.map(\.code) == [.fork])
  }

  @Test func whatFollowsOnAForkIsRefusedWithIt() throws {
    var scene = ServerScene()
    var author = scene.device(1)
    let from = try scene.join(&author)
    var copy = author
    let second = try scene.join(&copy)
    try author.write("one")
    scene.send(author.changes(), on: from)
    // The same numbers for another text, and behind it what would follow on the author's too.
    try copy.write("two")
    let forked = copy.outgoing
    copy.outgoing = []
    try copy.write("three")
    let behind = copy.outgoing
    copy.outgoing = forked
    scene.send(copy.changes(), on: second)
    copy.outgoing = behind
    scene.send(copy.changes(), on: second)
    #expect(scene.take(second).refusals.map(\.code) == [.fork, .fork])
    #expect(scene.storage.withState { $0.workspaces[ServerScene.workspace]?.log.count } == 1)
    // A new connection begins with what `welcome` tells.
    let third = try scene.join(&author)
    try author.write("four")
    scene.send(author.changes(), on: third)
    #expect(scene.take(third).acks.count == 1)
  }

  @Test func batchWithoutItsPredecessorsIsAnsweredWithWhatIsMissing() throws {
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
    let ranges = try #require(frames.missing.first)
    #expect(ranges.map(\.replica) == [author.replica])
    #expect(ranges.first?.first == 1)
    #expect(ranges.first?.last == first.last?.lastID?.seq)
    #expect(scene.storage.withState { $0.workspaces[ServerScene.workspace]?.log.isEmpty } == true)
  }

  @Test func stampTwoMinutesAheadIsTakenAndOneMillisecondMoreIsNot() throws {
    var scene = ServerScene()
    var (onTime, ahead) = (scene.device(1), scene.device(2))
    let (first, second) = (try scene.join(&onTime), try scene.join(&ahead))
    let wall = scene.now.wallMilliseconds
    try onTime.write("in time", at: wall + 120_000)
    scene.send(onTime.changes(), on: first)
    #expect(scene.take(first).acks.count == 1)
    try ahead.write("ahead", at: wall + 120_001)
    scene.send(ahead.changes(), on: second)
    let refusal = try #require(scene.take(second).refusals.first)
    #expect(refusal.code == .clockAhead)
    #expect(refusal.serverMilliseconds == wall)
    #expect(refusal.batch == 1)
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

  @Test func ownReplicaMayNotAnnounceAnotherDevice() throws {
    var scene = ServerScene()
    var author = scene.device(1)
    let from = try scene.join(&author)
    author.outgoing = author.workspace.announce(
      device: DeviceID(high: 1, low: 1), name: "other", replica: author.replica)
    scene.send(author.changes(), on: from)
    #expect(scene.take(from).refusals.map(\.code) == [.foreignReplica])
  }

  @Test func operationsThatTheServerLostAreTakenFromAnyDevice() throws {
    var scene = ServerScene()
    var (author, reader) = (scene.device(1), scene.device(2))
    let (from, to) = (try scene.join(&author), try scene.join(&reader))
    try author.write("one")
    let lost = author.outgoing
    scene.send(author.changes(), on: from)
    try reader.take(scene.take(to))

    var restored = ServerScene()
    _ = restored.device(1)
    _ = restored.device(2)
    let again = restored.connect(reader)
    #expect(restored.take(again).welcomes.first?.known.isEmpty == true)
    reader.outgoing = lost
    restored.send(reader.changes(), on: again)
    #expect(restored.take(again).acks.count == 1)
    let marks = restored.storage.withState { $0.workspaces[ServerScene.workspace]?.replicas }
    #expect(marks?[author.replica]?.device == author.id)
  }

  @Test(arguments: [[], [1, 2, 3], [UInt8](repeating: 0, count: 40)])
  func unreadableDeltaIsRefusedAndTheConnectionStays(delta: [UInt8]) throws {
    var scene = ServerScene()
    var author = scene.device(1)
    let from = try scene.join(&author)
    scene.send(.changes(Changes(batch: 9, logPosition: 0, delta: delta)), on: from)
    #expect(scene.take(from).refusals.map(\.code) == [.invalidChanges])
    #expect(scene.closed[from] == nil)
  }

  @Test func batchZeroIsAFault() throws {
    var scene = ServerScene()
    var author = scene.device(1)
    let from = try scene.join(&author)
    scene.send(.changes(Changes(batch: 0, logPosition: 0, delta: [])), on: from)
    #expect(scene.closed[from] == .protocolError)
  }

  @Test func referenceToItselfIsRefusedAndNotWaitedFor() throws {
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
    #expect(frames.missing.isEmpty)
    #expect(frames.refusals.map(\.code) == [.invalidChanges])
  }
}
