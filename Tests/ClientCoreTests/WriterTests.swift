import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// The author of operations: a replica that each run of the program draws for its first operation.
@Suite struct WriterTests {
  /// The author of one more operation.
  private func author(
    _ fleet: inout Fleet, _ index: Int = 0, sends number: UInt64
  ) throws -> ReplicaID {
    let outcome = try fleet.perform(.send("text", as: number, in: "a"), on: index)
    return try #require(outcome.operations.first).id.replica
  }

  @Test func nothingIsAuthoredBeforeTheFirstCommand() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    #expect(fleet.server.log.isEmpty)
    #expect(fleet.devices[0].core.replica.workspace.vector.isEmpty)
    // A command that changes nothing draws none, either.
    #expect(throws: Replica.Fault.self) { try fleet.perform(.undo, on: 0) }
    #expect(fleet.devices[0].core.replica.workspace.vector.isEmpty)
    try fleet.perform(.send("text", as: 1, in: "a"), on: 0)
    try fleet.settle()
    let shown = fleet.devices[1].core.replica.workspace
    #expect(shown.vector.sorted.map { shown.device(of: $0.replica)?.name } == ["device 1"])
  }

  @Test func oneRunIsOneReplica() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    let first = try author(&fleet, sends: 1)
    for number in 2...20 as ClosedRange<UInt64> {
      try fleet.pass(1_000_000)
      #expect(try author(&fleet, sends: number) == first)
      _ = try author(&fleet, 1, sends: 100 + number)
    }
    try fleet.settle()
    try fleet.expectConvergence()
    #expect(fleet.server.workspace.vector.sorted.count == 2)
  }

  @Test func anotherRunIsAnother() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    let first = try author(&fleet, sends: 1)
    try fleet.restart(0)
    let second = try author(&fleet, sends: 2)
    #expect(first != second)
    try fleet.settle()
    try fleet.expectConvergence()
  }

  /// A copy of the memory no longer has a connection.
  @Test(arguments: [true, false])
  func aDeviceThatLosesItsConnectionGetsANewAuthor(byThePerson: Bool) throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    let first = try author(&fleet, sends: 1)
    if byThePerson {
      try fleet.note(0) { try $0.syncSwitched(false, at: $1, store: $2) }
    } else {
      fleet.cut(0)
    }
    let second = try author(&fleet, sends: 2)
    #expect(first != second)
    // Attempts that fail change nothing.
    fleet.isServerDown = true
    try fleet.pass(100_000)
    #expect(try author(&fleet, sends: 3) == second)
  }

  @Test(arguments: [
    (10_000, 10_000, true), (10_000, 12_000, true), (10_000, 8_000, true), (10_000, 12_001, false),
    (10_000, 7_999, false), (0, 2_001, false), (0, -1, true), (-1, -1, false),
    (1, Int64.max, false), (1, Int64.min, false), (86_400_000, 86_400_000, true),
  ])
  func clocksThatDisagreeMakeAnother(passed: Int64, shown: Int64, isSame: Bool) throws {
    let store = MemoryStore()
    let start = TestDevice.startOfTime
    func context(_ now: Int64, _ wall: Int64) -> EventContext {
      EventContext(now: now, wall: wall, random: UInt64(bitPattern: wall &* 31 &+ now))
    }
    var replica = try Replica(
      Replica.Opening(
        loaded: store.loaded, device: DeviceID(high: 0xD, low: 1), deviceName: "a"),
      at: context(0, start), store: store)
    func author(_ number: UInt64, _ context: EventContext) throws -> ReplicaID? {
      try replica.perform(
        .send("text", as: number, in: "a"), queueSizeMax: 10, wall: start, at: context,
        store: store
      ).operations.first?.id.replica
    }
    let first = try author(1, context(5_000, start))
    let second = try author(2, context(5_000 + passed, start &+ shown))
    #expect((first == second) == isSame)
    #expect(store.record?.outbox.ranges.count == (isSame ? 1 : 2))
  }

  @Test func foreignOperationsUnderTheOwnIDMakeANewStore() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    let first = try author(&fleet, sends: 1)
    try fleet.settle()
    var copy = fleet.devices[0].core.replica.workspace
    let foreign = try copy.perform(
      .send("of the copy", as: 2, in: "a"),
      in: CommandContext(replica: first, stamp: Stamp(milliseconds: fleet.wall + 1)))
    fleet.deliver(try fleet.server.append(foreign.operations), to: 0)
    #expect(fleet.devices[0].core.replica.workspace.contents("a") == ["text", "of the copy"])
    let second = try author(&fleet, sends: 3)
    #expect(first != second)
    try fleet.settle()
    try fleet.expectConvergence()
    #expect(fleet.devices[0].core.replica.record.repairs == 0)
  }

  @Test func aDeviceThatWasRenamedSaysSoWithItsNextOperation() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    _ = try author(&fleet, sends: 1)
    try fleet.restart(0, name: "renamed")
    #expect(fleet.server.greetings.last?.deviceName == "renamed")
    let replica = try author(&fleet, sends: 2)
    try fleet.settle()
    #expect(fleet.server.workspace.device(of: replica)?.name == "renamed")
    try fleet.expectConvergence()
  }

  /// Two copies of one machine may draw the same random numbers at the same time.
  @Test func theServersNonceGoesIntoTheID() throws {
    var authors: Set<ReplicaID> = []
    for nonce in [1, 2, 3, 3] as [UInt64] {
      let store = MemoryStore()
      let context = EventContext(now: 1, wall: TestDevice.startOfTime, random: 5)
      let replica = try Replica(
        Replica.Opening(
          loaded: store.loaded, device: DeviceID(high: 0xD, low: 1), deviceName: "a"),
        at: context, store: store)
      var core = ClientCore(
        replica: replica, credentials: Fleet.credentials(), queueSizeMax: 10)
      let id = TransportID(rawValue: 1)
      _ = core.started(at: context)
      _ = core.connectionOpened(id, at: context, store: store)
      _ = core.frameReceived(
        .welcome(
          Welcome(
            version: ProtocolVersion.current, head: .empty, nonce: nonce,
            serverMilliseconds: TestDevice.startOfTime,
            pingSeconds: 20, backoffMillisecondsMin: 0)),
        on: id, at: context, store: store)
      let done = try core.commandGiven(
        .send("text", as: 1, in: "a"), at: context, store: store)
      authors.formUnion(done.outcome.operations.map(\.id.replica))
    }
    #expect(authors.count == 3)
  }

  @Test func unsentOperationsKeepTheirIDsOverARestart() throws {
    var fleet = try Fleet(devices: 1)
    for number in 1...3 as ClosedRange<UInt64> {
      _ = try author(&fleet, sends: number)
      try fleet.restart(0)
      fleet.isServerDown = true
      fleet.cut(0)
    }
    let made = fleet.devices[0].store.operations
    #expect(fleet.devices[0].core.replica.record.outbox.count > 0)
    fleet.isServerDown = false
    try fleet.pass(60_000)
    try fleet.expectConvergence()
    #expect(try fleet.server.operations == made)
  }

  /// Both copies send the same, and the server has it once.
  @Test func copiesOfAStoreBringTheSameUnsentWorkOnce() throws {
    var fleet = try Fleet(devices: 1, isPaired: false)
    _ = try author(&fleet, sends: 1)
    let elsewhere = DeviceID(high: 0xE, low: 1)
    try fleet.addDevice(store: MemoryStore(copying: fleet.devices[0].store), id: elsewhere)
    #expect(
      fleet.devices[0].core.replica.record.store != fleet.devices[1].core.replica.record.store)
    _ = try author(&fleet, sends: 2)
    _ = try author(&fleet, 1, sends: 3)
    try fleet.note(0) { try $0.paired(Fleet.credentials(), at: $1, store: $2) }
    try fleet.start()
    try fleet.pass(60_000)
    try fleet.expectConvergence()
    #expect(fleet.server.workspace.numbers("a").sorted() == [1, 2, 3])
    #expect(fleet.devices.allSatisfy { $0.core.replica.record.repairs == 0 })
  }
}
