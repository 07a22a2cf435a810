import ClientCore
import QueueModel
import SyncTestSupport
import Testing

/// The messages that the server is not known to have, from an index of the outbox.
@Suite struct UnsentMessagesTests {
  private func unsent(_ fleet: inout Fleet, _ index: Int = 0) throws -> [MessageID] {
    let store = fleet.devices[index].store
    return try fleet.devices[index].core.unsentMessages(store: store).map(\.message)
  }

  @Test func confirmedOperationsLeaveAndNewOnesArrive() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    #expect(try unsent(&fleet) == [])
    fleet.cut(0)
    try fleet.perform(.send("one", as: 1, in: "a"), on: 0)
    try fleet.perform(.send("two", as: 2, in: "b"), on: 0)
    let both = try unsent(&fleet)
    #expect(both.count == 2)
    // An edit is in the outbox, too, but is not a message.
    try fleet.perform(.edit(both[0], content: "one more", base: nil), on: 0)
    #expect(try unsent(&fleet) == both)
    try fleet.perform(.send("three", as: 3, in: "a"), on: 0)
    #expect(try unsent(&fleet).prefix(2) == both[...])
    #expect(try unsent(&fleet).count == 3)
    try fleet.pass(60_000)
    try fleet.settle()
    #expect(try unsent(&fleet) == [])
  }

  @Test func operationsWithFreshIDsAreFoundAgain() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    fleet.cut(0)
    try fleet.perform(.send("last of one", as: 2, in: "b"), on: 0)
    let copy = fleet.copyRunning(0)
    try fleet.perform(.send("first", as: 3, in: "a"), on: 0)
    try fleet.perform(.send("second", as: 4, in: "a"), on: copy)
    #expect(try unsent(&fleet, copy).count == 2)
    for index in [0, copy] {
      fleet.note(index) { core, context, _ in core.syncRequested(at: context) }
      try fleet.settle()
    }
    try fleet.pass(60_000)
    #expect(fleet.devices[copy].core.replica.record.repairs == 1)
    #expect(try unsent(&fleet, copy) == [])
    fleet.cut(copy)
    try fleet.perform(.send("later", as: 5, in: "a"), on: copy)
    #expect(try unsent(&fleet, copy).count == 1)
  }
}
