import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// A server that was restored has lost what a device passed on, and a copy of that device's store
/// wrote something else under the same ids.
@Suite struct LostEventTests {
  /// What is where when the server comes back without what device 0 had sent.
  private struct World {
    var fleet: Fleet
    /// The device that had sent it, which is away.
    var author: Fleet.Device
    /// Positions in the fleet.
    let reader = 0
    let copy = 1

    var texts: [String] { fleet.server.workspace.contents("a").sorted() }

    /// The contents ever given to a message.
    func contents(_ number: UInt64) -> [String] {
      fleet.server.workspace.image().sessions.flatMap(\.messages)
        .first { $0.id == .numbered(number) }?.additions.map(\.text) ?? []
    }

    mutating func authorReturns() throws {
      let index = try fleet.addDevice(store: author.store, id: author.id)
      try fleet.start(index)
      try fleet.pass(120_000)
    }
  }

  /// - Parameters:
  ///   - count: how many prompts the copy writes instead.
  ///   - answers: whether the reader has something that names what was lost.
  private func world(copyWrites count: UInt64, answers: Bool = true) throws -> World {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    try fleet.perform(.send("shared", as: 1, in: "a"), on: 0)
    try fleet.settle()
    let position = fleet.server.log.count
    let copy = try fleet.addDevice(
      store: MemoryStore(copying: fleet.devices[0].store), id: fleet.devices[0].id)
    try fleet.perform(.send("left", as: 2, in: "a"), on: 0)
    try fleet.settle()
    if answers {
      try fleet.perform(.insertText(.numbered(2), at: 4, text: " over"), on: 1)
      try fleet.perform(.send("behind it", as: 3, in: "a"), on: 1)
      try fleet.settle()
    }
    for index in fleet.devices.indices {
      fleet.cut(index)
      fleet.devices[index].actions = []
    }
    let author = fleet.devices[0]
    try fleet.server.restore(upTo: position)
    for number in 1...count {
      try fleet.perform(.send("right \(number)", as: 10 + number, in: "a"), on: copy)
    }
    fleet.losses[1] = .sent
    try fleet.start(copy)
    fleet.losses = [:]
    fleet.devices.remove(at: 0)
    return World(fleet: fleet, author: author)
  }

  @Test(arguments: [UInt64(1), 3])
  func anotherDeviceBringsThemAnewWithWhatNamesThem(count: UInt64) throws {
    var world = try world(copyWrites: count)
    try world.fleet.pass(120_000)
    try world.fleet.expectConvergence()
    let rights = (1...count).map { "right \($0)" }
    #expect(world.texts == (["shared", "left over", "behind it"] + rights).sorted())
    // Nothing waits for what nobody has.
    #expect(world.fleet.devices.allSatisfy { $0.core.replica.workspace.pendingOperations.isEmpty })
  }

  @Test(arguments: [UInt64(1), 3])
  func authorThatComesLaterGivesThemTheSameIDs(count: UInt64) throws {
    var world = try world(copyWrites: count)
    try world.fleet.pass(120_000)
    try world.authorReturns()
    try world.fleet.expectConvergence()
    #expect(world.contents(2) == ["left over"])
    #expect(world.contents(3) == ["behind it"])
    #expect(world.texts.count == 3 + Int(count))
  }

  /// The device takes what follows under the lost ids, since it has nothing to send, and finds the
  /// fork by the digests, or by what does not fit.
  @Test(arguments: [UInt64(2), 3])
  func whatCameBeforeTheForkWasFoundIsNotBroughtAgain(count: UInt64) throws {
    var world = try world(copyWrites: count, answers: false)
    try world.fleet.pass(120_000)
    try world.authorReturns()
    try world.fleet.expectConvergence()
    for number in 1...count {
      #expect(world.contents(10 + number) == ["right \(number)"])
    }
    #expect(world.contents(2) == ["left"])
  }

  @Test(arguments: [UInt64(1), 3])
  func aStateThatShowsOtherEventsIsTakenOver(count: UInt64) throws {
    var world = try world(copyWrites: count)
    world.fleet.server.snapshotThreshold = 0
    try world.fleet.pass(120_000)
    #expect(world.fleet.server.snapshotsSent > 0)
    try world.authorReturns()
    try world.fleet.expectConvergence()
    #expect(world.contents(2) == ["left over"])
    #expect(world.contents(3) == ["behind it"])
    #expect(world.texts.count == 3 + Int(count))
  }
}
