import QueueModel
import SequenceCRDT
import ServerCore
import Testing
import WireProtocol

@Suite struct LifetimeTests {
  @Test func workspaceLeavesMemorySixtySecondsAfterItsLastUse() throws {
    var scene = ServerScene()
    var device = scene.device(1)
    let id = try scene.join(&device)
    scene.pass(1_000)
    scene.drop(id)
    scene.pass(1_000)
    scene.pass(58_999)
    #expect(scene.core.residentWorkspaces == 1)
    scene.pass(1)
    #expect(scene.core.residentWorkspaces == 0)
  }

  @Test func contentOfASilentWorkspaceIsReadAgainForTheNextBatch() throws {
    var scene = ServerScene { $0.times.connectedIdleMilliseconds = 5_000 }
    var device = scene.device(1)
    let id = try scene.join(&device)
    try device.write("one")
    scene.send(device.changes(), on: id)
    scene.pass(10_000)
    scene.pass(10_000)
    #expect(scene.releases == 1, "the driver is notified once")
    try device.write("two")
    scene.holdsTasks = true
    scene.send(device.changes(), on: id)
    let tasks = scene.waitingTasks.map(\.task)
    #expect(tasks.contains { if case .load = $0 { true } else { false } })
    scene.finishTasks()
    #expect(scene.take(id).acks.map(\.prefix.position) == [1, 2])
  }

  @Test func receiverThatReadsNothingIsCutAtEightMebibytes() throws {
    var scene = ServerScene()
    var (author, reader) = (scene.device(1), scene.device(2))
    let (from, to) = (try scene.join(&author), try scene.join(&reader))
    _ = scene.take(to)
    scene.delivers = false
    var generator = scene.generator
    let text = String(
      String.UnicodeScalarView(
        (0..<300_000).compactMap { _ in
          Unicode.Scalar(UInt32.random(in: 0x4E00...0x9FFF, using: &generator))
        }))
    while !scene.aborted.contains(to), author.batch < 100 {
      let handed = scene.rawSent[to]?.reduce(0) { $0 + $1.count } ?? 0
      #expect(handed <= 2 << 20)
      try author.write(text, in: "s\(author.batch)")
      scene.send(author.changes(), on: from)
      scene.report(buffered: 0, on: from)
      scene.pass(1_000)
    }
    #expect(scene.aborted.contains(to))
    #expect(author.batch > 8)
    #expect(scene.closed[from] == nil)
  }

  @Test func receiverThatReadsSlowlyGetsEverythingInOrder() throws {
    var scene = ServerScene { $0.traffic.sendWindowBytes = 100 }
    var (author, reader) = (scene.device(1), scene.device(2))
    let (from, to) = (try scene.join(&author), try scene.join(&reader))
    _ = scene.take(to)
    scene.delivers = false
    for index in 0..<20 {
      try author.write("message \(index)")
      scene.send(author.changes(), on: from)
    }
    #expect(scene.allSent(to).changes.count < 5)
    for _ in 0..<60 { scene.report(buffered: 0, on: to) }
    let positions = scene.allSent(to).changes.map(\.prefix.position)
    #expect(positions == Array(1...20))
  }

  @Test func revokedDeviceIsClosedWithinSeconds() throws {
    var scene = ServerScene()
    var device = scene.device(1)
    let id = try scene.join(&device)
    scene.pass(2_000)
    #expect(scene.closed[id] == nil)
    scene.storage.revoke(device.id, in: ServerScene.workspace)
    scene.pass(1_000)
    #expect(scene.take(id).refusals.map(\.code) == [.revoked])
    #expect(scene.closed[id] == .policyViolation)
  }

  /// Devices use the reading of `welcome`, for example for the expiry of requests.
  @Test(arguments: [-2_400_000, -2_001, 2_001, 2_400_000])
  func devicesConnectAgainWhereTheServersClockIsSet(step: Int64) throws {
    var scene = ServerScene()
    var (one, other) = (scene.device(1), scene.device(2))
    let ids = [try scene.join(&one), try scene.join(&other)]
    let greeting = scene.open()
    scene.pass(100)
    scene.now.wallMilliseconds += step
    scene.pass(100)
    for id in ids { #expect(scene.closed[id] == .serviceRestart) }
    #expect(scene.closed[greeting] == nil, "the server has not sent it a time limit yet")
    let again = scene.connect(one)
    let welcomes = scene.take(again).welcomes
    #expect(welcomes.map(\.serverMilliseconds) == [scene.now.wallMilliseconds])
    scene.pass(60_000)
    #expect(scene.closed[again] == nil)
  }

  @Test func clockThatIsCorrectedByLittleOftenIsNoticedOnceItIsMuch() throws {
    var scene = ServerScene()
    var device = scene.device(1)
    let id = try scene.join(&device)
    for _ in 1...4 {
      scene.now.wallMilliseconds += 500
      scene.pass(100)
    }
    #expect(scene.closed[id] == nil)
    scene.now.wallMilliseconds += 1
    scene.pass(100)
    #expect(scene.closed[id] == .serviceRestart)
  }

  @Test func deviceThatIsRevokedWhileItIsAwayLeavesTheList() throws {
    var scene = ServerScene()
    var (author, lost) = (scene.device(1), scene.device(2))
    let (from, away) = (try scene.join(&author), try scene.join(&lost))
    scene.drop(away)
    scene.pass(2_000)
    #expect(scene.take(from).presences.last?.map(\.device) == [author.id, lost.id])
    scene.storage.revoke(lost.id, in: ServerScene.workspace)
    scene.pass(1_000)
    scene.pass(1_000)
    #expect(scene.take(from).presences.last?.map(\.device) == [author.id])
    let again = scene.connect(author)
    #expect(scene.take(again).presences.last?.map(\.device) == [author.id])
  }

  @Test func workspaceOfARevokedDeviceLeavesMemory() throws {
    var pair = try NotifiedPair()
    try pair.report(NotifiedPair.working, NotifiedPair.approval(1))
    #expect(pair.entries.map(\.device) == [pair.phone.id])
    pair.scene.storage.revoke(pair.phone.id, in: ServerScene.workspace)
    pair.scene.pass(1_000)
    #expect(pair.scene.closed[pair.phoneConnection] == .policyViolation)
    pair.scene.drop(pair.hostConnection)
    pair.scene.pass(1_000)
    pair.scene.pass(60_000)
    #expect(pair.scene.core.residentWorkspaces == 0)
  }

  @Test func presenceTellsWhoIsThereAndHowFar() throws {
    var scene = ServerScene()
    var (author, reader) = (scene.device(1), scene.device(2))
    let (from, to) = (try scene.join(&author), try scene.join(&reader))
    try author.write("one")
    scene.send(author.changes(), on: from)
    scene.pass(1_000)
    _ = scene.take(from)
    scene.send(.ack(Ack(batch: 0, prefix: try scene.prefix(1))), on: to)
    scene.pass(1_000)
    let seen = try #require(scene.take(from).presences.last)
    #expect(seen.map(\.device) == [author.id, reader.id])
    #expect(seen.map(\.seenLogPosition) == [1, 1])
    #expect(seen.map(\.isConnected) == [true, true])
    scene.drop(to)
    scene.pass(1_000)
    #expect(scene.take(from).presences.last?.map(\.isConnected) == [true, false])
    scene.pass(5_000)
    let stored = scene.storage.withState { $0.workspaces[ServerScene.workspace]?.devices }
    #expect(stored?[reader.id]?.record.seenLogPosition == 1)
    #expect(stored?[reader.id]?.lastSeenAt != nil)
  }

  @Test func authorHasSeenItsOwnEntriesOnceItHasSeenThoseBefore() throws {
    var scene = ServerScene()
    var (first, second) = (scene.device(1), scene.device(2))
    let (one, two) = (try scene.join(&first), try scene.join(&second))
    try first.write("a")
    scene.send(first.changes(), on: one)
    try second.write("b")
    scene.send(second.changes(), on: two)
    scene.pass(1_000)
    #expect(scene.take(one).presences.last?.map(\.seenLogPosition) == [1, 0])
    scene.send(.ack(Ack(batch: 0, prefix: try scene.prefix(1))), on: two)
    scene.pass(1_000)
    #expect(scene.take(one).presences.last?.map(\.seenLogPosition) == [1, 2])
  }

  @Test func presenceIsSentOnceForManyChanges() throws {
    var scene = ServerScene()
    var (author, reader) = (scene.device(1), scene.device(2))
    let (from, to) = (try scene.join(&author), try scene.join(&reader))
    scene.pass(1_000)
    _ = scene.take(to)
    for index in 0..<50 {
      try author.write("message \(index)")
      scene.send(author.changes(), on: from)
    }
    scene.pass(200)
    #expect(scene.take(to).presences.count <= 2)
  }

  @Test func stopSaysGoodbyeStoresAndCloses() throws {
    var scene = ServerScene()
    var (author, reader) = (scene.device(1), scene.device(2))
    let (from, to) = (try scene.join(&author), try scene.join(&reader))
    _ = scene.take(to)
    scene.holdsTasks = true
    try author.write("last words")
    scene.send(author.changes(), on: from)
    scene.stop()
    #expect(scene.take(to).goodbyes.count == 1)
    #expect(scene.closed.isEmpty)
    #expect(!scene.core.isHealthy)
    scene.finishTasks()
    let frames = scene.take(from)
    #expect(frames.goodbyes.count == 1)
    #expect(frames.acks.count == 1)
    #expect(scene.closed[from] == .goingAway)
    #expect(scene.closed[to] == .goingAway)
    #expect(scene.isStopped)
  }

  @Test func stopDoesNotWaitForEverForTheStore() throws {
    var scene = ServerScene()
    var author = scene.device(1)
    let from = try scene.join(&author)
    scene.holdsTasks = true
    try author.write("stuck")
    scene.send(author.changes(), on: from)
    scene.stop()
    scene.pass(2_999)
    #expect(!scene.isStopped)
    scene.pass(1)
    #expect(scene.isStopped)
    #expect(scene.closed[from] == .goingAway)
  }

  @Test func stoppingServerTakesNoNewConnections() {
    var scene = ServerScene()
    let device = scene.device(1)
    scene.stop()
    let id = scene.connect(device)
    #expect(scene.take(id).refusals.map(\.code) == [.unavailable])
  }

  @Test func senderOfManyFramesIsSlowedDownAndThenCut() throws {
    var scene = ServerScene {
      $0.traffic.frames.perSecond = 10
      $0.traffic.frames.burst = 20
    }
    var device = scene.device(1)
    let id = try scene.join(&device)
    let frame = Frame.ack(Ack(batch: 0, prefix: .empty))
    for _ in 0..<20 { scene.send(frame, on: id) }
    #expect(scene.isReading[id] == nil)
    scene.send(frame, on: id)
    #expect(scene.isReading[id] == false)
    scene.pass(1_000)
    #expect(scene.isReading[id] == true)
    for _ in 0..<60 { scene.send(frame, on: id) }
    #expect(scene.take(id).refusals.map(\.code) == [.rateLimited])
    #expect(scene.closed[id] == .policyViolation)
  }

  @Test func connectionsBeyondTheMaximumAreTurnedAway() {
    var scene = ServerScene { $0.admission.connectionsMax = 3 }
    let ids = (0..<4).map { _ in scene.open() }
    #expect(ids.prefix(3).allSatisfy { scene.closed[$0] == nil })
    #expect(scene.take(ids[3]).refusals.map(\.code) == [.unavailable])
  }

  @Test func commitThatGotThroughAlthoughItFailedIsDeliveredByReconnection() throws {
    var scene = ServerScene()
    var (author, reader) = (scene.device(1), scene.device(2))
    let (from, to) = (try scene.join(&author), try scene.join(&reader))
    scene.holdsTasks = true
    try author.write("ambiguous")
    let operations = author.outgoing
    scene.send(author.changes(), on: from)
    scene.failTaskAfterDoingIt()
    #expect(scene.take(from).refusals.map(\.code) == [.storageFailed])
    scene.holdsTasks = false
    scene.pass(2_000)
    author.outgoing = operations
    scene.send(author.changes(), on: from)
    #expect(scene.closed[to] == .serviceRestart)
    let again = scene.connect(reader)
    try reader.take(scene.take(again))
    #expect(reader.workspace.image() == author.workspace.image())
    #expect(scene.storage.withState { $0.workspaces[ServerScene.workspace]?.log.count } == 1)
  }

  @Test func pingsCountAsFramesDo() {
    var scene = ServerScene {
      $0.traffic.frames.perSecond = 1
      $0.traffic.frames.burst = 10
    }
    let device = scene.device(1)
    let id = scene.connect(device)
    _ = scene.take(id)
    for _ in 0..<12 { scene.ping(on: id) }
    #expect(scene.isReading[id] == false)
    for _ in 0..<12 { scene.ping(on: id) }
    #expect(scene.take(id).refusals.map(\.code) == [.rateLimited])
  }
}
