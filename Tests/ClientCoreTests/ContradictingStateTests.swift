import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// A server that was set back has, from a copy of a device's store, other events than the devices
/// hold as state alone; SPECIFICATION.md, section "Contradicting states".
@Suite struct ContradictingStateTests {
  /// What is where when the devices meet the server.
  private struct World {
    var fleet: Fleet
    /// The epoch of the devices.
    let epoch: UInt64
    /// How often devices had greeted before.
    let greetings: Int

    /// The contents ever given to a message.
    func contents(_ number: UInt64) -> [String] {
      fleet.server.workspace.image().sessions.flatMap(\.messages)
        .first { $0.id == .numbered(number) }?.additions.map(\.text) ?? []
    }

    var texts: [String] { fleet.server.workspace.contents("a").sorted() }

    /// The epochs of the devices' greetings.
    var greeted: [UInt64] { Array(fleet.server.greetings[greetings...]) }

    func record(_ index: Int) -> ReplicaRecord { fleet.devices[index].core.replica.record }

    /// The devices come, one after the other.
    mutating func meet(_ order: [Int] = [0]) throws {
      for index in fleet.devices.indices { fleet.losses[index] = .sent }
      for index in order {
        fleet.losses[index] = nil
        fleet.cut(index)
        try fleet.pass(120_000)
      }
    }
  }

  private enum Holders {
    /// Who wrote, who read, or both have everything as state alone.
    case author, reader, both
    /// The author alone; the reader is there with its log.
    case authorBesideReader
  }

  /// - Parameters:
  ///   - good: what the author writes.
  ///   - evil: what a copy of its store writes instead.
  ///   - isSameEpoch: whether the server's epoch has the name of the devices' one.
  private func world(
    _ holders: Holders, good: [Command], evil: [Command], isSameEpoch: Bool = false
  ) throws -> World {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("shared", as: 1, in: "a"), on: 0)
    try fleet.settle()
    var backup = fleet.server
    backup.identity += 1
    let store = MemoryStore(copying: fleet.devices[0].store)
    for command in good { try fleet.perform(command, on: 0) }
    try fleet.settle()
    if holders == .authorBesideReader {
      fleet.cut(0)
      try fleet.perform(.insertText(.numbered(2), at: 4, text: " over"), on: 1)
      try fleet.settle()
      fleet.server.snapshotThreshold = 0
      try fleet.pass(60_000)
    } else {
      fleet.compact()
      try fleet.settle()
    }
    let epoch = fleet.server.epoch
    for index in 0...1 {
      fleet.cut(index)
      fleet.devices[index].actions = []
    }
    fleet.server = backup
    let twin = try fleet.addDevice(store: store, id: fleet.devices[0].id)
    for command in evil { try fleet.perform(command, on: twin) }
    try fleet.start(twin)
    try #require(fleet.devices[twin].core.isSynced)
    fleet.devices.remove(at: twin)
    switch holders {
    case .author: fleet.devices.remove(at: 1)
    case .reader: fleet.devices.remove(at: 0)
    case .both, .authorBesideReader: break
    }
    if isSameEpoch { fleet.server.epoch = epoch }
    return World(fleet: fleet, epoch: epoch, greetings: fleet.server.greetings.count)
  }

  private let good: [Command] = [.send("good", as: 2, in: "a")]
  private let evil: [Command] = [.send("evil", as: 3, in: "a")]

  @Test(arguments: [[0, 1], [1, 0]])
  func allWhoHoldTheBaseBringItOnce(order: [Int]) throws {
    var world = try world(.both, good: good, evil: evil)
    try world.meet(order)
    try world.fleet.expectConvergence()
    #expect(world.texts == ["evil", "good", "shared"])
    #expect(world.contents(2) == ["good"] && world.contents(3) == ["evil"])
    #expect(world.fleet.server.offers == [EpochName.none])
    for index in 0...1 {
      #expect(world.record(index).epoch == world.fleet.server.epoch)
      #expect(world.record(index).repairs == 1)
    }
    #expect(world.record(0).ownReplicas.count == 3)
    #expect(world.record(1).ownReplicas.count == 1)
  }

  @Test func refusedOfferMakesTheDeviceAskForTheState() throws {
    var world = try world(
      .author, good: [.send("good and longer", as: 2, in: "a")], evil: evil)
    try world.meet()
    try world.fleet.expectConvergence()
    #expect(world.fleet.server.offers == [world.epoch, EpochName.none])
    #expect(Array(world.greeted.prefix(3)) == [world.epoch, EpochName.own, EpochName.own])
    #expect(world.fleet.devices[0].reports.contains { $0.refusal == .fork })
    #expect(world.texts == ["evil", "good and longer", "shared"])
  }

  @Test func greetingRefusedTwiceMakesTheDeviceAskForTheState() throws {
    var world = try world(.author, good: good, evil: evil, isSameEpoch: true)
    try world.meet()
    try world.fleet.expectConvergence()
    #expect(
      Array(world.greeted.prefix(4))
        == [world.epoch, world.epoch, EpochName.own, EpochName.own])
    #expect(world.texts == ["evil", "good", "shared"])
  }

  /// The operations behind those of the base fit, and nobody could compare digests before.
  @Test func digestThatDiffersAfterTheLogWasComparedMakesTheDeviceAskForTheState() throws {
    let later: [Command] = [
      .send("later", as: 4, in: "a"), .insertText(.numbered(1), at: 6, text: " more"),
    ]
    var world = try world(.reader, good: good, evil: evil + later, isSameEpoch: true)
    try world.meet()
    try world.fleet.expectConvergence()
    #expect(
      Array(world.greeted.prefix(4))
        == [world.epoch, world.epoch, EpochName.own, EpochName.own])
    #expect(world.texts == ["evil", "good", "later", "shared more"])
    #expect(world.contents(4) == ["later"])
  }

  /// One device gives its base other ids, the other its log.
  @Test(arguments: [[0, 1], [1, 0]])
  func logAndBaseGetTheSameIDs(order: [Int]) throws {
    var world = try world(.authorBesideReader, good: good, evil: evil)
    try #require(world.record(0).floor.includes(world.record(1).acknowledged))
    try #require(world.record(1).floor == VersionVector())
    try world.meet(order)
    try world.fleet.expectConvergence()
    #expect(world.texts == ["evil", "good over", "shared"])
    #expect(world.contents(2) == ["good over"])
  }

  @Test func diskThatIsFullKeepsTheBaseUntilThereIsRoom() throws {
    var world = try world(.author, good: good, evil: evil)
    let before = world.fleet.devices[0].core.replica
    let failure = StoreError(code: .full, message: "full")
    world.fleet.devices[0].store.failure = failure
    try world.meet()
    #expect(world.record(0) == before.record)
    #expect(world.fleet.server.offers.isEmpty)
    world.fleet.devices[0].store.failure = nil
    try world.fleet.pass(120_000)
    try world.fleet.expectConvergence()
    #expect(world.texts == ["evil", "good", "shared"])
  }

  @Test func programThatEndsBeforeItOffersItsStateDoesSoLater() throws {
    var world = try world(.author, good: good, evil: evil)
    world.fleet.devices[0].store.commitsLeft = 2
    try world.meet()
    try #require(world.record(0).epoch == EpochName.own)
    world.fleet.devices[0].store.commitsLeft = nil
    try world.fleet.restart(0)
    try world.fleet.pass(120_000)
    try world.fleet.expectConvergence()
    #expect(world.fleet.server.offers == [EpochName.none])
    #expect(world.texts == ["evil", "good", "shared"])
  }
}
