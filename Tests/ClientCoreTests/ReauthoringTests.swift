import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

@Suite struct ReauthoringTests {
  /// Two devices on copies of one store, none of which knows of the other: the replica id is used
  /// twice.
  private func forked() throws -> Fleet {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    try fleet.perform(.send("shared", as: 1, in: "a"), on: 0)
    try fleet.settle()
    try fleet.addDevice(
      store: MemoryStore(copying: fleet.devices[0].store), id: fleet.devices[0].id)
    return fleet
  }

  @Test func forkOfEqualLengthIsFoundAtTheGreeting() throws {
    var fleet = try forked()
    try fleet.perform(.send("left", as: 2, in: "a"), on: 0)
    try fleet.settle()
    try fleet.perform(.send("rite", as: 3, in: "a"), on: 1)
    try fleet.start(1)
    try fleet.pass(1_000)
    try fleet.expectConvergence()
    #expect(Set(fleet.server.workspace.contents("a")) == ["shared", "left", "rite"])
    #expect(fleet.devices[1].core.replica.record.incarnation == 2)
  }

  @Test func shorterForkIsFoundByTheRefusedBatch() throws {
    var fleet = try forked()
    try fleet.perform(.send("left", as: 2, in: "a"), on: 0)
    try fleet.perform(.send("left again", as: 4, in: "a"), on: 0)
    try fleet.settle()
    try fleet.perform(.send("rite", as: 3, in: "a"), on: 1)
    try fleet.start(1)
    try fleet.pass(1_000)
    try fleet.expectConvergence()
    #expect(
      Set(fleet.server.workspace.contents("a")) == ["shared", "left", "left again", "rite"])
  }

  @Test func longerForkIsFoundByTheRefusedBatch() throws {
    var fleet = try forked()
    try fleet.perform(.send("left", as: 2, in: "a"), on: 0)
    try fleet.settle()
    try fleet.perform(.send("rite", as: 3, in: "a"), on: 1)
    try fleet.perform(.edit(.numbered(3), content: "right", base: nil), on: 1)
    try fleet.perform(.send("right again", as: 5, in: "a"), on: 1)
    try fleet.perform(.move([.numbered(5)], to: .position(1)), on: 1)
    try fleet.start(1)
    try fleet.pass(1_000)
    try fleet.expectConvergence()
    let texts = fleet.server.workspace.contents("a")
    #expect(Set(texts) == ["shared", "left", "right", "right again"])
    #expect(texts.first == "right again")
  }

  @Test func rewrittenOperationsAreSentOnceAndSurviveReopening() throws {
    var fleet = try forked()
    try fleet.perform(.send("left", as: 2, in: "a"), on: 0)
    try fleet.settle()
    try fleet.perform(.send("rite", as: 3, in: "a"), on: 1)
    try fleet.start(1)
    try fleet.pass(1_000)
    let count = fleet.server.log.count
    fleet.cut(1)
    try fleet.pass(1_000)
    #expect(fleet.server.log.count == count)
    let copy = try fleet.addDevice(
      store: MemoryStore(copying: fleet.devices[1].store), id: fleet.devices[1].id)
    #expect(
      fleet.devices[copy].core.replica.workspace.image()
        == fleet.devices[1].core.replica.workspace.image())
  }

  @Test func stampsAheadAreMovedDownAndKeepTheirOrder() throws {
    var fleet = try Fleet(devices: 2)
    fleet.devices[0].clockError = 10 * 365 * 86_400_000
    try fleet.perform(.send("one", as: 1, in: "a"), on: 0)
    try fleet.perform(.send("two", as: 2, in: "a"), on: 0)
    try fleet.perform(.move([.numbered(2)], to: .position(1)), on: 0)
    try fleet.perform(.setPriority(.numbered(1), .urgent), on: 0)
    try fleet.perform(.setPriority(.numbered(1), .normal), on: 0)
    try fleet.start()
    try fleet.pass(1_000)
    try fleet.expectConvergence()
    #expect(fleet.server.workspace.contents("a") == ["two", "one"])
    #expect(fleet.server.workspace.latestStamp.milliseconds <= fleet.wall + 1)
    // The ids stay: a copy of the store has the same events.
    #expect(fleet.devices[0].core.replica.record.incarnation == 1)
    // Later writes do not inherit the wrong clock.
    try fleet.perform(.send("three", as: 3, in: "a"), on: 0)
    try fleet.settle()
    try fleet.expectConvergence()
    #expect(fleet.devices[0].core.replica.record.incarnation == 1)
  }

  @Test func foreignReplicaIsRewrittenWhereNothingDiffers() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.perform(.send("text", as: 1, in: "a"), on: 0)
    let refusal = Refusal(code: .foreignReplica, message: "not yours")
    fleet.server.refusals = [refusal, refusal]
    try fleet.start()
    try fleet.pass(1_000)
    try fleet.expectConvergence()
    #expect(fleet.server.workspace.contents("a") == ["text"])
    #expect(fleet.devices[0].core.replica.record.incarnation == 2)
  }

  @Test func endlessForkRefusalsEndInWaiting() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.perform(.send("text", as: 1, in: "a"), on: 0)
    fleet.server.refusals = (0..<100).map { _ in Refusal(code: .fork, message: "again") }
    try fleet.start()
    try fleet.settle()
    #expect(
      fleet.devices[0].core.replica.record.incarnation
        == UInt32(ClientLimits.reauthoringsMax))
    guard case .waiting = fleet.devices[0].core.condition else {
      Issue.record("the device does not wait")
      return
    }
    #expect(fleet.devices[0].core.replica.workspace.contents("a") == ["text"])
  }

  @Test func failedRewritingChangesNothing() throws {
    var fleet = try forked()
    try fleet.perform(.send("left", as: 2, in: "a"), on: 0)
    try fleet.settle()
    try fleet.perform(.send("rite", as: 3, in: "a"), on: 1)
    let before = fleet.devices[1].core.replica
    fleet.devices[1].store.failure = StoreError(code: .full, message: "full")
    try fleet.start(1)
    #expect(fleet.devices[1].core.replica.workspace.image() == before.workspace.image())
    #expect(fleet.devices[1].core.replica.record == before.record)
    fleet.devices[1].store.failure = nil
    try fleet.pass(60_000)
    try fleet.expectConvergence()
  }

  @Test func restoredCopyTakesAFreshReplicaAndPullsTheRest() throws {
    var fleet = try Fleet(devices: 1)
    try fleet.start()
    try fleet.perform(.send("one", as: 1, in: "a"), on: 0)
    try fleet.settle()
    let backup = MemoryStore(copying: fleet.devices[0].store)
    try fleet.perform(.send("two", as: 2, in: "a"), on: 0)
    try fleet.settle()
    let lost = fleet.devices.removeFirst()
    try fleet.addDevice(store: backup, needsFreshReplica: false, id: lost.id)
    try fleet.start()
    try fleet.pass(1_000)
    try fleet.perform(.send("three", as: 3, in: "a"), on: 0)
    try fleet.settle()
    try fleet.expectConvergence()
    #expect(fleet.server.workspace.contents("a") == ["one", "two", "three"])
    #expect(fleet.devices[0].core.replica.record.incarnation == 2)
  }

  @Test func copyThatKnowsItIsOneKeepsTheIDsOfUnsentOperations() throws {
    var fleet = try Fleet(devices: 1)
    let unsent = try fleet.perform(.send("unsent", as: 1, in: "a"), on: 0)
    let copy = MemoryStore(copying: fleet.devices[0].store)
    let old = fleet.devices.removeFirst()
    try fleet.addDevice(store: copy, needsFreshReplica: true, id: old.id)
    #expect(
      fleet.devices[0].core.replica.record.replica != old.core.replica.record.replica)
    try fleet.start()
    try fleet.expectConvergence()
    let stored = Set(fleet.server.log.flatMap { $0 })
    #expect(stored.isSuperset(of: unsent.operations))
  }

  @Test func differingOperationsOfOthersAreRepairedAndNothingTypedIsLost() throws {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    fleet.cut(1)
    fleet.devices[1].actions = []
    // The same ids with other content reach the second device by some fault.
    var good = TestDevice(77)
    var bad = TestDevice(77)
    try good.perform(.send("good", as: 7, in: "a"))
    try bad.perform(.send("evil", as: 7, in: "a"))
    try fleet.server.store(good.made)
    let store = fleet.devices[1].store
    var replica = fleet.devices[1].core.replica
    _ = try replica.merge(
      Replica.Delivery(operations: bad.made, logPosition: 0), at: fleet.occasion(), store: store)
    fleet.devices.remove(at: 1)
    try fleet.addDevice(store: store)
    try fleet.perform(.send("own", as: 8, in: "a"), on: 1)
    try fleet.start(1)
    fleet.cut(0)
    try fleet.pass(2_000)
    try fleet.expectConvergence()
    let text = try #require(fleet.server.workspace.contents("a").first)
    #expect(text.contains("good") && text.contains("evil"))
    #expect(fleet.server.workspace.contents("a").contains("own"))
    #expect(fleet.devices[1].core.replica.record.repairs == 1)
  }
}
