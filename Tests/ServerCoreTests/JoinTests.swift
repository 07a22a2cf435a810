import QueueModel
import SequenceCRDT
import ServerCore
import Testing
import WireProtocol

/// States that devices offer to a server whose log lacks some of them.
@Suite struct JoinTests {
  private static let full = StorageFault(code: .full, message: "disk full")

  func send(
    _ device: ScriptedDevice, on id: ConnectionID, _ scene: inout ServerScene
  ) {
    for frame in device.offer(parts: 2) { scene.send(frame, on: id) }
  }

  func kinds(_ scene: ServerScene) throws -> [Bool] {
    try scene.tables.log.map { entry in if case .state = entry.content { true } else { false } }
  }

  @Test func operationsThatTheServerLostAreAnEntryAgain() throws {
    var world = try DivergedWorld()
    let id = world.scene.connect(world.author)
    let frames = world.scene.take(id)
    #expect(frames.welcomes.map(\.head.position) == [1])
    try world.author.take(frames)
    #expect(world.author.hasDiverged)
    send(world.author, on: id, &world.scene)
    #expect(world.scene.closed[id] == .serviceRestart)
    let report = ServerReport.stateJoined(
      id, workspace: ServerScene.workspace, device: world.author.id)
    #expect(world.scene.reports.contains(report))
    #expect(try kinds(world.scene) == [false, true])
    let again = try world.scene.join(&world.author)
    #expect(!world.author.hasDiverged)
    #expect(world.author.prefix == (try world.scene.prefix(2)))
    try world.author.write("goes on")
    world.scene.send(world.author.changes(), on: again)
    #expect(world.scene.take(again).acks.map(\.prefix) == [try world.scene.prefix(3)])
    _ = try world.scene.join(&world.other)
    #expect(world.other.workspace.image() == world.author.workspace.image())
    #expect(try world.other.texts() == DivergedWorld.lost.union(["goes on"]))
  }

  @Test func operationsSentInTheMeantimeAreKept() throws {
    var world = try DivergedWorld()
    let member = try world.scene.join(&world.other)
    try world.other.write("meanwhile")
    world.scene.send(world.other.changes(), on: member)
    let id = world.scene.connect(world.author)
    _ = world.scene.take(id)
    send(world.author, on: id, &world.scene)
    // All devices reconnect.
    #expect(world.scene.closed[id] == .serviceRestart)
    #expect(world.scene.closed[member] == .serviceRestart)
    _ = try world.scene.join(&world.author)
    _ = try world.scene.join(&world.other)
    #expect(try world.author.texts() == DivergedWorld.lost.union(["meanwhile"]))
    #expect(world.other.workspace.image() == world.author.workspace.image())
  }

  @Test func theStateIsReadBackAfterARestart() throws {
    var world = try DivergedWorld()
    let id = world.scene.connect(world.author)
    send(world.author, on: id, &world.scene)
    world.scene.restart(ServerConfiguration())
    var reader = world.scene.device(3)
    _ = try world.scene.join(&reader)
    #expect(reader.workspace.image() == world.author.workspace.image())
  }

  @Test func onlyWhoHasDivergedMayOffer() throws {
    var world = try DivergedWorld()
    let id = try world.scene.join(&world.other)
    send(world.other, on: id, &world.scene)
    #expect(world.scene.closed[id] == .protocolError)
    #expect(try kinds(world.scene) == [false])
  }

  @Test(arguments: [[0, 2], [1], [0, 0, 2], [0, 1, 1]])
  func partsThatDoNotFollowAreAFault(order: [Int]) throws {
    var world = try DivergedWorld()
    let id = world.scene.connect(world.author)
    let frames = world.author.offer(parts: 3)
    for index in order { world.scene.send(frames[index], on: id) }
    #expect(world.scene.closed[id] == .protocolError)
    #expect(try kinds(world.scene) == [false])
  }

  @Test func anOfferMayBeginAgain() throws {
    var world = try DivergedWorld()
    let id = world.scene.connect(world.author)
    let frames = world.author.offer(parts: 3)
    for index in [0, 1, 0, 1, 2] { world.scene.send(frames[index], on: id) }
    #expect(world.scene.closed[id] == .serviceRestart)
    #expect(try kinds(world.scene) == [false, true])
  }

  /// F5: the operator can raise the limit; a fault would mean that the client is broken.
  @Test(arguments: [0, 1])
  func aStateBeyondTheLimitIsRefused(excess: Int) throws {
    let size = PackedSnapshot.pack(try DivergedWorld().author.workspace.image()).count
    var world = try DivergedWorld { $0.quota.stateBytesMax = size - excess }
    let id = world.scene.connect(world.author)
    _ = world.scene.take(id)
    send(world.author, on: id, &world.scene)
    guard excess > 0 else {
      #expect(world.scene.closed[id] == .serviceRestart)
      return
    }
    let refusal = try #require(world.scene.take(id).refusals.first)
    #expect(refusal.code == .limitReached)
    #expect(refusal.retryAfterMilliseconds != nil)
    #expect(refusal.message.contains("limit"))
    #expect(try kinds(world.scene) == [false])
  }

  /// Each state fits alone; the two together exceed the limit of the workspace.
  @Test(arguments: [true, false])
  func statesBeyondTheQuotaAreNotJoined(inBytes: Bool) throws {
    var world = try DivergedWorld()
    let state = world.author.workspace
    let units = state.vector.sorted.reduce(0) { $0 + UInt64($1.seq) }
    let size = PackedSnapshot.pack(state.image()).count
    world = try DivergedWorld {
      if inBytes { $0.quota.stateBytesMax = size } else { $0.quota.unitsMax = units + 1 }
    }
    let member = try world.scene.join(&world.other)
    try world.other.write("kept, and one too many")
    world.scene.send(world.other.changes(), on: member)
    let id = world.scene.connect(world.author)
    _ = world.scene.take(id)
    send(world.author, on: id, &world.scene)
    let refusal = try #require(world.scene.take(id).refusals.first)
    #expect(refusal.code == .limitReached)
    #expect(refusal.message.contains("workspace quota"))
    #expect(try kinds(world.scene) == [false, false])
  }

  /// Each joined state is an entry as large as all before, so it counts for the day, too. The last
  /// one is accepted whole.
  @Test func aUsedDailyQuotaAcceptsNoMoreStates() throws {
    var world = try DivergedWorld()
    let size = PackedSnapshot.pack(world.author.workspace.image()).count
    world = try DivergedWorld { $0.quota.dailyBytesMax = 2 * size }
    var refusals: [Refusal] = []
    for number: UInt64 in 3..<8 {
      let device = try world.device(number)
      let id = world.scene.connect(device)
      send(device, on: id, &world.scene)
      refusals += world.scene.take(id).refusals
    }
    #expect(refusals.count >= 2)
    #expect(refusals.allSatisfy { $0.code == .limitReached && $0.message.contains("midnight") })
    #expect(refusals.allSatisfy { (1...600_000).contains($0.retryAfterMilliseconds ?? 0) })
    let entries = try world.scene.tables.log.map(\.content.bytes.count)
    let taken = entries.reduce(0, +)
    #expect(taken >= 2 * size)
    #expect(taken - (entries.last ?? 0) < 2 * size)
  }

  /// They were all offered before the first one was joined.
  @Test func offersThatWaitAreRefusedWhereTheFirstSpendsTheDay() throws {
    var world = try DivergedWorld()
    let written = try world.scene.tables.written.bytes
    world.scene.storage.withState {
      $0.workspaces[ServerScene.workspace]?.quota.dailyBytesMax = written + 1
    }
    let devices = [world.author, try world.device(3), try world.device(4)]
    let ids = devices.map { world.scene.connect($0) }
    world.scene.holdsTasks = true
    for (device, id) in zip(devices, ids) { send(device, on: id, &world.scene) }
    world.scene.finishTasks()
    // The others reconnect like all members, and learn it then.
    #expect(world.scene.closed[ids[0]] == .serviceRestart)
    #expect(try kinds(world.scene) == [false, true])
  }

  /// Its contents are not lost: it can be joined on any day, and needs no larger quota.
  @Test func aStateThatIsLargerThanADaysShareComesInOnTheNextDay() throws {
    var world = try DivergedWorld()
    world.scene.storage.withState {
      $0.workspaces[ServerScene.workspace]?.quota.dailyBytesMax = 10
    }
    let early = world.scene.connect(world.author)
    send(world.author, on: early, &world.scene)
    #expect(world.scene.take(early).refusals.map(\.code) == [.limitReached])
    world.scene.pass(86_400_000)
    let id = world.scene.connect(world.author)
    send(world.author, on: id, &world.scene)
    #expect(world.scene.closed[id] == .serviceRestart)
    _ = try world.scene.join(&world.author)
    #expect(!world.author.hasDiverged)
    // The day's quota is used up; on the next day, changes are accepted again.
    try world.author.write("goes on")
    let batch = world.author.changes()
    let spent = try world.scene.join(&world.author)
    world.scene.send(batch, on: spent)
    #expect(world.scene.take(spent).refusals.map(\.code) == [.limitReached])
    world.scene.pass(86_400_000)
    let fresh = try world.scene.join(&world.author)
    world.scene.send(batch, on: fresh)
    #expect(world.scene.take(fresh).acks.count == 1)
  }

  /// No device writes, and the log must not grow by state after state.
  @Test func aLongTailOfStatesBecomesASnapshot() throws {
    var world = try DivergedWorld { $0.log.snapshotBytes = 1 }
    for number: UInt64 in 3..<6 {
      let device = try world.device(number)
      let id = world.scene.connect(device)
      send(device, on: id, &world.scene)
      #expect(world.scene.closed[id] == .serviceRestart)
    }
    #expect(try world.scene.tables.snapshots.count == 2)
  }

  @Test(arguments: [[], [1, 2, 3], [UInt8](repeating: 0, count: 40)])
  func invalidStatesAreRefusedForAWhile(bytes: [UInt8]) throws {
    var world = try DivergedWorld()
    let id = world.scene.connect(world.author)
    _ = world.scene.take(id)
    world.scene.send(.snapshot(SnapshotPart(index: 0, count: 1, bytes: bytes)), on: id)
    let refusal = try #require(world.scene.take(id).refusals.first)
    #expect(refusal.code == .invalidChanges)
    #expect(refusal.retryAfterMilliseconds != nil)
    #expect(try kinds(world.scene) == [false])
    _ = try world.scene.join(&world.other)
  }

  @Test func aStateThatContradictsTheLogIsRefused() throws {
    var world = try DivergedWorld()
    // The ids of the server's data have another text.
    var forged = world.author.workspace.image()
    let text = forged.sessions[0].messages[0].additions[0].text
    forged.sessions[0].messages[0].additions[0].text = String(text.map { _ in "x" })
    let member = try world.scene.join(&world.other)
    try world.other.write("so that neither has all of the other")
    world.scene.send(world.other.changes(), on: member)
    let id = world.scene.connect(world.author)
    _ = world.scene.take(id)
    world.scene.send(
      .snapshot(SnapshotPart(index: 0, count: 1, bytes: PackedSnapshot.pack(forged))), on: id)
    #expect(world.scene.take(id).refusals.map(\.code) == [.invalidChanges])
    #expect(world.scene.closed[member] == nil)
    #expect(try kinds(world.scene) == [false, false])
  }

  /// The server does not know the device's prefix, so the device cannot know.
  @Test func knownStatesMakeNoEntry() throws {
    var world = try DivergedWorld()
    world.other.prefix = LogPrefix(position: 7, chain: 7)
    let id = world.scene.connect(world.other)
    send(world.other, on: id, &world.scene)
    #expect(world.scene.closed[id] == .serviceRestart)
    #expect(try kinds(world.scene) == [false])
    let isJoined = world.scene.reports.contains { report in
      if case .stateJoined = report { true } else { false }
    }
    #expect(!isJoined)
  }

  /// F1: a later offer replaced the earlier one.
  @Test func severalOffersAtOnceAreAllJoinedAndAnswered() throws {
    var world = try DivergedWorld()
    var devices = [world.author, try world.device(3), try world.device(4)]
    let ids = devices.map { world.scene.connect($0) }
    world.scene.holdsTasks = true
    for (device, id) in zip(devices, ids) { send(device, on: id, &world.scene) }
    world.scene.finishTasks()
    for id in ids { #expect(world.scene.closed[id] == .serviceRestart) }
    world.scene.holdsTasks = false
    for index in devices.indices {
      _ = try world.scene.join(&devices[index])
      #expect(!devices[index].hasDiverged)
      #expect(
        try devices[index].texts()
          == DivergedWorld.lost.union(["of device 3", "of device 4"]))
    }
    #expect(try kinds(world.scene) == [false, true, true, true])
  }

  /// Each is as large as a state may be, and in memory until it is joined.
  @Test(arguments: [true, false])
  func aDeviceOffersOneStateAtATime(isComplete: Bool) throws {
    var world = try DivergedWorld()
    let (first, second) = (world.scene.connect(world.author), world.scene.connect(world.author))
    let other = world.scene.connect(try world.device(3))
    let member = try world.scene.join(&world.other)
    let frames = world.author.offer(parts: 2)
    world.scene.holdsTasks = true
    // A commit in flight keeps offers waiting.
    try world.other.write("meanwhile")
    world.scene.send(world.other.changes(), on: member)
    for frame in isComplete ? frames : [frames[0]] { world.scene.send(frame, on: first) }
    world.scene.send(frames[0], on: second)
    #expect(world.scene.take(second).refusals.map(\.code) == [.rateLimited])
    if !isComplete { world.scene.send(frames[1], on: first) }
    send(try world.device(3), on: other, &world.scene)
    #expect(world.scene.take(other).refusals.isEmpty)
    world.scene.finishTasks()
    #expect(world.scene.closed[first] == .serviceRestart)
    #expect(try kinds(world.scene) == [false, false, true, true])
  }

  @Test func anOfferThatIsRefusedDoesNotKeepTheNextFromBeingJoined() throws {
    var world = try DivergedWorld()
    let (bad, good) = (world.scene.connect(try world.device(3)), world.scene.connect(world.author))
    _ = world.scene.take(bad)
    world.scene.holdsTasks = true
    world.scene.send(.snapshot(SnapshotPart(index: 0, count: 1, bytes: [1])), on: bad)
    send(world.author, on: good, &world.scene)
    world.scene.finishTasks()
    #expect(world.scene.take(bad).refusals.map(\.code) == [.invalidChanges])
    #expect(world.scene.closed[good] == .serviceRestart)
    #expect(try kinds(world.scene) == [false, true])
  }

  @Test func anOfferOfAClosedConnectionIsStillJoined() throws {
    var world = try DivergedWorld()
    let id = world.scene.connect(world.author)
    world.scene.holdsTasks = true
    send(world.author, on: id, &world.scene)
    world.scene.drop(id)
    world.scene.finishTasks()
    #expect(try kinds(world.scene) == [false, true])
  }

  @Test func anOfferWaitsForCommitsInFlightAndBatchesWaitForIt() throws {
    var world = try DivergedWorld()
    let member = try world.scene.join(&world.other)
    let id = world.scene.connect(world.author)
    world.scene.holdsTasks = true
    try world.other.write("in flight")
    world.scene.send(world.other.changes(), on: member)
    send(world.author, on: id, &world.scene)
    #expect(world.scene.waitingTasks.count == 1, "the commit alone")
    world.scene.finishOneTask()
    try world.other.write("during the join")
    world.scene.send(world.other.changes(), on: member)
    #expect(world.scene.waitingTasks.count == 1, "the join alone")
    world.scene.finishTasks()
    #expect(world.scene.closed[id] == .serviceRestart)
    #expect(try kinds(world.scene) == [false, false, true, false])
    world.scene.holdsTasks = false
    var reader = world.scene.device(3)
    _ = try world.scene.join(&reader)
    #expect(
      try reader.texts() == DivergedWorld.lost.union(["in flight", "during the join"]))
  }

  /// F1: offers were not checked again after a failed transaction.
  @Test func anOfferThatWaitsForACommitThatFailsIsAnswered() throws {
    var world = try DivergedWorld()
    let member = try world.scene.join(&world.other)
    let id = world.scene.connect(world.author)
    world.scene.holdsTasks = true
    try world.other.write("lost with the disk")
    world.scene.send(world.other.changes(), on: member)
    send(world.author, on: id, &world.scene)
    world.scene.storage.withState { $0.writeFault = Self.full }
    world.scene.finishOneTask()
    world.scene.storage.withState { $0.writeFault = nil }
    world.scene.finishTasks()
    #expect(world.scene.closed[id] == .serviceRestart)
    #expect(try kinds(world.scene) == [false, true])
  }

  /// F1: offers were not checked again if the workspace could not be read.
  @Test func anOfferIsRefusedWhereTheWorkspaceCannotBeRead() throws {
    var world = try DivergedWorld()
    let member = try world.scene.join(&world.other)
    let id = world.scene.connect(world.author)
    _ = world.scene.take(id)
    world.scene.holdsTasks = true
    try world.other.write("lost with the disk")
    world.scene.send(world.other.changes(), on: member)
    send(world.author, on: id, &world.scene)
    world.scene.storage.withState {
      $0.writeFault = Self.full
      $0.readFault = Self.full
    }
    world.scene.finishTasks()
    let refusal = try #require(world.scene.take(id).refusals.first)
    #expect(refusal.code == .storageFailed)
    #expect(refusal.retryAfterMilliseconds != nil)
    world.scene.storage.withState {
      $0.writeFault = nil
      $0.readFault = nil
    }
    world.scene.holdsTasks = false
    let again = world.scene.connect(world.author)
    send(world.author, on: again, &world.scene)
    #expect(world.scene.closed[again] == .serviceRestart)
  }

  @Test func anOfferDuringTheSavingOfASnapshotIsJoined() throws {
    var world = try DivergedWorld {
      $0.log.snapshotEntries = 2
      $0.log.snapshotEntriesMax = 2
    }
    let member = try world.scene.join(&world.other)
    let id = world.scene.connect(world.author)
    world.scene.holdsTasks = true
    try world.other.write("full")
    world.scene.send(world.other.changes(), on: member)
    world.scene.finishOneTask()
    let isSaving = world.scene.waitingTasks.contains { waiting in
      if case .saveSnapshot = waiting.task { true } else { false }
    }
    #expect(isSaving)
    send(world.author, on: id, &world.scene)
    world.scene.finishTasks()
    #expect(world.scene.closed[id] == .serviceRestart)
    #expect(try world.scene.tables.snapshots.map(\.prefix.position) == [2])
    world.scene.restart(ServerConfiguration())
    world.scene.holdsTasks = false
    _ = try world.scene.join(&world.author)
    #expect(try world.author.texts() == DivergedWorld.lost.union(["full"]))
  }

  @Test func aJoinThatCannotBeStoredIsRefusedForAWhile() throws {
    var world = try DivergedWorld()
    let member = try world.scene.join(&world.other)
    let id = world.scene.connect(world.author)
    _ = world.scene.take(id)
    world.scene.storage.withState { $0.writeFault = Self.full }
    send(world.author, on: id, &world.scene)
    let refusal = try #require(world.scene.take(id).refusals.first)
    #expect(refusal.code == .storageFailed)
    #expect(refusal.retryAfterMilliseconds != nil)
    #expect(world.scene.closed[member] == nil)
    world.scene.storage.withState { $0.writeFault = nil }
    world.scene.pass(2_000)
    try world.other.write("goes on")
    world.scene.send(world.other.changes(), on: member)
    #expect(world.scene.take(member).acks.count == 1)
    let again = world.scene.connect(world.author)
    send(world.author, on: again, &world.scene)
    #expect(world.scene.closed[again] == .serviceRestart)
  }

  @Test func aJoinThatIsReportedAsFailedButDoneIsNotRepeated() throws {
    var world = try DivergedWorld()
    let member = try world.scene.join(&world.other)
    let id = world.scene.connect(world.author)
    world.scene.holdsTasks = true
    send(world.author, on: id, &world.scene)
    world.scene.failTaskAfterDoingIt()
    world.scene.finishTasks()
    #expect(world.scene.closed[id] == .policyViolation)
    #expect(world.scene.closed[member] == .serviceRestart)
    world.scene.holdsTasks = false
    _ = try world.scene.join(&world.author)
    #expect(!world.author.hasDiverged)
    #expect(try kinds(world.scene) == [false, true])
  }

  @Test func aDeviceThatConnectsMeanwhileIsWelcomedAfterIt() throws {
    var world = try DivergedWorld()
    let id = world.scene.connect(world.author)
    world.scene.holdsTasks = true
    send(world.author, on: id, &world.scene)
    let early = world.scene.connect(world.other)
    world.scene.finishLastTask()
    #expect(world.scene.take(early).isEmpty)
    // The join is done, and its result is being read.
    world.scene.finishOneTask()
    let late = world.scene.connect(world.other)
    world.scene.finishLastTask()
    #expect(world.scene.take(late).isEmpty)
    world.scene.finishTasks()
    for waiting in [early, late] {
      #expect(world.scene.closed[waiting] == nil)
      #expect(world.scene.take(waiting).welcomes.map(\.head) == [try world.scene.prefix(2)])
    }
  }

  @Test func membersReconnectThoughTheOutcomeCannotBeRead() throws {
    var world = try DivergedWorld()
    let member = try world.scene.join(&world.other)
    let id = world.scene.connect(world.author)
    world.scene.holdsTasks = true
    send(world.author, on: id, &world.scene)
    world.scene.finishOneTask()
    world.scene.storage.withState { $0.readFault = Self.full }
    world.scene.finishTasks()
    #expect(world.scene.closed[id] == .serviceRestart)
    #expect(world.scene.closed[member] == .serviceRestart)
    world.scene.storage.withState { $0.readFault = nil }
    world.scene.holdsTasks = false
    world.scene.pass(2_000)
    _ = try world.scene.join(&world.author)
    #expect(!world.author.hasDiverged)
  }
}
