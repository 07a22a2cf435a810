import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

@Suite struct ConnectionTests {
  @Test func unpairedDeviceDoesNotConnect() throws {
    var fleet = try Fleet(devices: 1, isPaired: false)
    fleet.note(0) { core, context, _ in core.started(at: context) }
    #expect(fleet.devices[0].actions.isEmpty)
    #expect(fleet.devices[0].core.condition == .notPaired)
  }

  @Test func pairingConnectsAtOnce() throws {
    var fleet = try Fleet(devices: 1, isPaired: false)
    try fleet.start()
    try fleet.note(0) { try $0.paired(Fleet.credentials(), at: $1, store: $2) }
    #expect(fleet.devices[0].actions == [.connect(TransportID(rawValue: 1))])
    try fleet.settle()
    try fleet.expectConvergence()
    #expect(fleet.devices[0].store.record?.workspace == ModelServer.workspaceID)
  }

  @Test func openedConnectionSaysHelloWithThePrefixOfTheLog() throws {
    var fleet = try Fleet(devices: 1)
    fleet.note(0) { core, context, _ in core.started(at: context) }
    let id = TransportID(rawValue: 1)
    #expect(fleet.devices[0].actions == [.connect(id)])
    fleet.devices[0].actions = []
    fleet.note(0) { core, context, store in core.connectionOpened(id, at: context, store: store) }
    let action = try #require(fleet.devices[0].actions.first)
    guard case .send(id, .hello(let hello)) = action else {
      Issue.record("no hello but \(action)")
      return
    }
    let record = fleet.devices[0].core.replica.record
    #expect(hello.device == record.device && hello.store == record.store)
    #expect(hello.prefix == .empty)
  }

  @Test func serverThatNeverAnswersIsGivenUp() throws {
    var fleet = try Fleet(devices: 1)
    fleet.note(0) { core, context, _ in core.started(at: context) }
    fleet.devices[0].actions = []
    fleet.now += ClientLimits.openingMilliseconds - 1
    fleet.note(0) { $0.timePassed(at: $1, store: $2) }
    #expect(fleet.devices[0].actions.isEmpty)
    fleet.now += 1
    fleet.note(0) { $0.timePassed(at: $1, store: $2) }
    #expect(fleet.devices[0].actions.first == .close(TransportID(rawValue: 1)))
    guard case .waiting = fleet.devices[0].core.condition else {
      Issue.record("the device does not wait")
      return
    }
  }

  @Test func wishToSyncStartsATryThatTakesLongOver() throws {
    var fleet = try Fleet(devices: 1)
    let (first, second) = (TransportID(rawValue: 1), TransportID(rawValue: 2))
    fleet.note(0) { core, context, _ in core.started(at: context) }
    fleet.devices[0].actions = []
    fleet.now += ClientLimits.patienceMilliseconds - 1
    fleet.note(0) { core, context, _ in core.syncRequested(at: context) }
    #expect(fleet.devices[0].actions.isEmpty)
    fleet.now += 1
    fleet.note(0) { core, context, _ in core.syncRequested(at: context) }
    #expect(fleet.devices[0].actions == [.close(first), .connect(second)])
    fleet.devices[0].actions = []
    // It does not wait for a slow answer to `hello`, either.
    fleet.note(0) { core, context, store in
      core.connectionOpened(second, at: context, store: store)
    }
    fleet.devices[0].actions = []
    fleet.now += ClientLimits.patienceMilliseconds
    fleet.note(0) { core, context, _ in core.syncRequested(at: context) }
    #expect(
      fleet.devices[0].actions == [.close(second), .connect(TransportID(rawValue: 3))])
  }

  @Test func tryThatFailsAfterAWishToSyncIsFollowedByAShortWait() throws {
    for seed in 0..<20 as Range<UInt64> {
      var fleet = try Fleet(devices: 1, seed: seed)
      fleet.isServerDown = true
      try fleet.start()
      try fleet.pass(300_000)
      // The next attempt begins, and is still running when a user wants to connect.
      let deadline = try #require(fleet.devices[0].core.deadline)
      fleet.now = deadline
      fleet.note(0) { $0.timePassed(at: $1, store: $2) }
      guard case .connect(let id)? = fleet.devices[0].actions.first else {
        Issue.record("the device does not connect")
        return
      }
      fleet.devices[0].actions = []
      fleet.note(0) { core, context, _ in core.syncRequested(at: context) }
      fleet.note(0) { core, context, _ in
        core.connectionLost(id, message: "broke", at: context)
      }
      let next = try #require(fleet.devices[0].core.deadline)
      #expect(next - fleet.now <= ClientLimits.backoffMillisecondsMin)
    }
  }

  @Test func backoffDoublesUpToItsMaximumWithFullJitter() throws {
    var fleet = try Fleet(devices: 1)
    fleet.isServerDown = true
    var longest: [Int64] = []
    for seed in 0..<200 as Range<UInt64> {
      var trial = try Fleet(devices: 1, seed: seed)
      trial.isServerDown = true
      try trial.start()
      for attempt in 0..<8 {
        guard case .waiting(let until) = trial.devices[0].core.condition else {
          Issue.record("the device does not wait")
          return
        }
        let delay = until - trial.now
        let bound = min(500 << Int64(attempt), 30_000)
        #expect(delay >= 0 && delay <= bound)
        if longest.count <= attempt { longest.append(0) }
        longest[attempt] = max(longest[attempt], delay)
        trial.now = until
        trial.note(0) { $0.timePassed(at: $1, store: $2) }
        try trial.settle()
      }
    }
    // Two hundred attempts reach the upper half of each range.
    for (attempt, delay) in longest.enumerated() {
      #expect(delay > min(500 << Int64(attempt), 30_000) / 2)
    }
  }

  @Test func healthyConnectionStartsBackoffOver() throws {
    var fleet = try Fleet(devices: 1)
    fleet.isServerDown = true
    try fleet.start()
    try fleet.pass(300_000)
    fleet.isServerDown = false
    try fleet.pass(31_000)
    let isSynced1 = fleet.devices[0].core.isSynced
    #expect(isSynced1)
    for _ in 0..<20 {
      fleet.now += 10_000
      fleet.deliver(.presence([]), to: 0)
    }
    fleet.cut(0)
    guard case .waiting(let until) = fleet.devices[0].core.condition else {
      Issue.record("the device does not wait")
      return
    }
    #expect(until - fleet.now <= 500)
  }

  // F4: the server restarts, and its devices are back soon; sooner if an agent works.
  @Test(arguments: [false, true])
  func aConnectionThatStoodComesBackSoon(anAgentWorks: Bool) throws {
    for seed in 0..<8 as Range<UInt64> {
      var fleet = try Fleet(devices: 1, seed: seed)
      fleet.follows = true
      try fleet.start()
      if anAgentWorks {
        fleet.note(0) { core, context, store in
          core.executionStarted(
            ExecutionSettings(), loaded: store.loaded.execution, deadAgents: [], at: context,
            store: store)
        }
        try fleet.perform(.send("text", as: 1, in: "s"), on: 0)
        try fleet.perform(.setHost(.named("s"), fleet.devices[0].id), on: 0)
        try fleet.pass(1_000)
        #expect(fleet.devices[0].core.running.count == 1)
      }
      try fleet.pass(10_000)
      fleet.isServerDown = true
      fleet.cut(0)
      let lostAt = fleet.now
      try fleet.pass(500)
      // The loss, and two failed attempts.
      #expect(fleet.devices[0].reports.count >= 3)
      while fleet.now < lostAt + ClientLimits.returnMilliseconds - 4_000 {
        guard case .waiting(let until) = fleet.devices[0].core.condition else {
          Issue.record("the device does not wait")
          return
        }
        #expect(until - fleet.now <= (anAgentWorks ? 2_000 : 4_000))
        try fleet.pass(max(1, until - fleet.now))
      }
      fleet.isServerDown = false
      try fleet.pass(4_000)
      let isSynced = fleet.devices[0].core.isSynced
      #expect(isSynced)
    }
  }

  @Test func silenceBringsPingThenEnd() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    let id = try #require(fleet.devices[0].open)
    #expect(fleet.devices[0].core.deadline == fleet.now + 20_000)
    fleet.now += 20_000
    fleet.note(0) { $0.timePassed(at: $1, store: $2) }
    #expect(fleet.devices[0].actions == [.ping(id)])
    fleet.devices[0].actions = []
    fleet.now += 24_999
    fleet.note(0) { $0.timePassed(at: $1, store: $2) }
    #expect(!fleet.devices[0].actions.contains(.close(id)))
    fleet.now += 1
    fleet.note(0) { $0.timePassed(at: $1, store: $2) }
    #expect(fleet.devices[0].actions.contains(.close(id)))
  }

  @Test func pongKeepsConnectionAlive() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    let id = try #require(fleet.devices[0].open)
    for _ in 0..<10 {
      fleet.now += 20_000
      fleet.note(0) { $0.timePassed(at: $1, store: $2) }
      #expect(fleet.devices[0].actions == [.ping(id)])
      fleet.devices[0].actions = []
      fleet.note(0) { core, context, _ in
        core.connectionHeard(id, at: context)
        return []
      }
    }
    let isSynced2 = fleet.devices[0].core.isSynced
    #expect(isSynced2)
  }

  @Test func goAwayIsFollowedWithinItsRange() throws {
    for seed in 0..<50 as Range<UInt64> {
      var fleet = try Fleet(devices: 1, seed: seed)
      try fleet.start()
      fleet.deliver(
        .goAway(
          GoAway(
            reconnectAfterMillisecondsMin: 2_000, reconnectAfterMillisecondsMax: 3_000,
            reason: "restart")), to: 0)
      try fleet.settle()
      #expect(fleet.devices[0].open == nil)
      guard case .waiting(let until) = fleet.devices[0].core.condition else {
        Issue.record("the device does not wait")
        return
      }
      #expect((2_000...3_000).contains(until - fleet.now))
      try fleet.pass(3_000)
      try fleet.expectConvergence()
    }
  }

  @Test(arguments: [
    RefusalCode.unauthorized, .revoked, .wrongWorkspace, .unsupportedVersion,
  ])
  func fatalRefusalStopsTryingAndKeepsEverything(_ code: RefusalCode) throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    fleet.isServerDown = true
    try fleet.perform(.send("kept", as: 1, in: "a"), on: 0)
    fleet.deliver(.refused(Refusal(code: code, message: "no")), to: 0)
    try fleet.settle()
    #expect(fleet.devices[0].core.condition == .refused)
    #expect(fleet.devices[0].core.problem?.refusal == code)
    #expect(fleet.devices[0].core.deadline == nil)
    try fleet.pass(3_600_000)
    #expect(fleet.devices[0].core.condition == .refused)
    #expect(fleet.devices[0].core.replica.record.outbox.count > 0)
    fleet.isServerDown = false
    fleet.note(0) { core, context, _ in core.syncRequested(at: context) }
    try fleet.settle()
    try fleet.expectConvergence()
    #expect(fleet.server.workspace.contents("a") == ["kept"])
  }

  @Test func storageRefusalKeepsConnectionAndResendsTheSame() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    let id = fleet.devices[0].open
    fleet.server.refusals = [
      Refusal(code: .storageFailed, message: "disk full", retryAfterMilliseconds: 1_000)
    ]
    try fleet.perform(.send("text", as: 1, in: "a"), on: 0)
    try fleet.settle()
    let isSynced3 = !fleet.devices[0].core.isSynced
    #expect(isSynced3)
    #expect(fleet.devices[0].core.problem?.refusal == .storageFailed)
    let before = try #require(fleet.server.received.last)
    try fleet.pass(2_000)
    let after = try #require(fleet.server.received.last)
    #expect(after.batch > before.batch)
    #expect(after.delta == before.delta)
    #expect(fleet.devices[0].open == id)
    try fleet.expectConvergence()
  }

  @Test func invalidChangesAreHeldUntilTheNextConnection() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    fleet.server.refusals = [Refusal(code: .invalidChanges, message: "bad")]
    try fleet.perform(.send("text", as: 1, in: "a"), on: 0)
    try fleet.settle()
    let count = fleet.server.received.count
    try fleet.perform(.send("more", as: 2, in: "a"), on: 0)
    try fleet.settle()
    #expect(fleet.server.received.count == count)
    #expect(fleet.devices[0].core.problem?.message == "bad")
    fleet.cut(0)
    try fleet.pass(1_000)
    try fleet.expectConvergence()
    #expect(fleet.server.workspace.contents("a") == ["text", "more"])
  }

  @Test func switchedOffSyncClosesAndStaysOff() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    try fleet.note(0) { try $0.syncSwitched(false, at: $1, store: $2) }
    try fleet.settle()
    #expect(fleet.devices[0].open == nil)
    #expect(fleet.devices[0].core.condition == .disabled)
    #expect(fleet.devices[0].store.record?.isSyncEnabled == false)
    try fleet.perform(.send("text", as: 1, in: "a"), on: 0)
    try fleet.pass(100_000)
    #expect(fleet.server.workspace.contents("a").isEmpty)
    try fleet.note(0) { try $0.syncSwitched(true, at: $1, store: $2) }
    try fleet.settle()
    try fleet.expectConvergence()
  }

  @Test func framesOfAnEarlierConnectionAreDropped() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    let old = try #require(fleet.devices[0].open)
    fleet.cut(0)
    try fleet.pass(1_000)
    let isSynced4 = fleet.devices[0].core.isSynced
    #expect(isSynced4)
    fleet.note(0) { core, context, store in
      core.frameReceived(
        .refused(Refusal(code: .revoked, message: "late")), on: old, at: context, store: store)
    }
    #expect(fleet.devices[0].actions.isEmpty)
    let isSynced5 = fleet.devices[0].core.isSynced
    #expect(isSynced5)
  }

  @Test func credentialsOfAnotherWorkspaceAreNotUsed() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    let store = MemoryStore(copying: fleet.devices[0].store)
    let replica = try Replica(
      Replica.Opening(
        loaded: store.loaded, device: fleet.devices[0].id, deviceName: "device 1"),
      at: fleet.context(), store: store)
    var other = Fleet.credentials()
    other.workspace = WorkspaceID(high: 9, low: 9)
    var core = ClientCore(replica: replica, credentials: other, queueSizeMax: 10)
    #expect(core.started(at: fleet.context()).isEmpty)
    #expect(core.condition == .refused)
    #expect(core.problem?.refusal == .wrongWorkspace)
  }

  @Test func dataBeforeWelcomeEndsTheConnection() throws {
    var fleet = try Fleet(devices: 1)
    fleet.note(0) { core, context, _ in core.started(at: context) }
    let id = TransportID(rawValue: 1)
    fleet.note(0) { core, context, store in core.connectionOpened(id, at: context, store: store) }
    fleet.devices[0].actions = []
    fleet.note(0) { core, context, store in
      core.frameReceived(.presence([]), on: id, at: context, store: store)
    }
    #expect(fleet.devices[0].actions.first == .close(id))
  }

  @Test func brokenDeltaEndsTheConnectionAndChangesNothing() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    let before = fleet.devices[0].core.replica.workspace.image()
    fleet.deliver(
      .changes(Changes(batch: 0, prefix: LogPrefix(position: 9), delta: [1, 2, 3])), to: 0)
    try fleet.settle()
    #expect(fleet.devices[0].open == nil)
    #expect(fleet.devices[0].core.replica.workspace.image() == before)
    #expect(fleet.devices[0].core.replica.record.prefix == fleet.server.head)
  }

  /// Over a slow line, the answers to a full window arrive one by one.
  @Test func eachAnswerGivesTheNextBatchItsTime() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    let id = try #require(fleet.devices[0].open)
    fleet.server.acksToLose = 2
    try fleet.perform(.send("one", as: 1, in: "a"), on: 0)
    try fleet.perform(.send("two", as: 2, in: "a"), on: 0)
    try fleet.settle()
    let batches = fleet.server.received.suffix(2).map(\.batch)
    let start = fleet.now
    func passes(to now: Int64) -> Bool {
      while fleet.now < now {
        fleet.now = min(now, fleet.now + 10_000)
        fleet.deliver(.presence([]), to: 0)
      }
      fleet.note(0) { $0.timePassed(at: $1, store: $2) }
      return !fleet.devices[0].actions.contains(.close(id))
    }
    #expect(passes(to: start + ClientLimits.answerMilliseconds - 1))
    fleet.deliver(.ack(Ack(batch: batches[0], prefix: fleet.server.head)), to: 0)
    #expect(passes(to: start + 2 * ClientLimits.answerMilliseconds - 2))
    #expect(fleet.devices[0].core.deadline == fleet.now + 1)
    #expect(!passes(to: start + 2 * ClientLimits.answerMilliseconds - 1))
  }

  /// A line with 5 KiB a second, on which a long prompt in one frame takes 200 seconds.
  @Test func aLongBatchHasTheTimeThatASlowLineTakes() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    var generator = SeededGenerator(seed: 5)
    let text = String(
      String.UnicodeScalarView(
        (0..<Limits.contentBytesMax).map { _ in
          Unicode.Scalar(UInt8(33 + generator.below(94)))
        }))
    fleet.losses[0] = .received
    try fleet.perform(.send(text, as: 1, in: "a"), on: 0)
    try fleet.settle()
    let batch = try #require(fleet.server.received.last)
    #expect(batch.delta.count > 800_000)
    let end = fleet.now + Int64(batch.delta.count / 5)
    while fleet.now < end {
      fleet.now += 10_000
      // The server's pings arrive all the time.
      fleet.deliver(.presence([]), to: 0)
      fleet.note(0) { $0.timePassed(at: $1, store: $2) }
      try fleet.settle()
    }
    #expect(fleet.devices[0].reports.map(\.message) == [])
    fleet.losses[0] = nil
    fleet.deliver(.ack(Ack(batch: batch.batch, prefix: fleet.server.head)), to: 0)
    try fleet.settle()
    try fleet.expectConvergence()
  }

  @Test func unansweredBatchStartsTheConnectionAgain() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    fleet.server.acksToLose = 1
    try fleet.perform(.send("text", as: 1, in: "a"), on: 0)
    try fleet.settle()
    for _ in 0..<3 {
      fleet.now += 10_000
      fleet.deliver(.presence([]), to: 0)
    }
    fleet.note(0) { $0.timePassed(at: $1, store: $2) }
    try fleet.settle()
    #expect(fleet.devices[0].open == nil)
    try fleet.pass(1_000)
    try fleet.expectConvergence()
  }
}
