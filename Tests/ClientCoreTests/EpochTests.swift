import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

@Suite struct EpochTests {
  /// Two devices that have all there is: prompts 1 to 3 in "main", moved about and edited.
  private func busyFleet() throws -> Fleet {
    var fleet = try Fleet(devices: 2)
    try fleet.start()
    for number in 1...3 as ClosedRange<UInt64> {
      try fleet.perform(.send("prompt \(number)", as: number, in: "main"), on: 0)
    }
    try fleet.settle()
    for _ in 0..<4 {
      try fleet.perform(.move([.numbered(3)], to: .position(1)), on: 0)
      try fleet.perform(.move([.numbered(2)], to: .position(1)), on: 0)
      try fleet.perform(.move([.numbered(1)], to: .position(1)), on: 1)
      try fleet.settle()
    }
    try fleet.perform(.edit(.numbered(2), content: "pmt two", base: nil), on: 1)
    try fleet.settle()
    try fleet.expectConvergence()
    return fleet
  }

  private func workspace(_ fleet: Fleet, _ index: Int) -> Workspace {
    fleet.devices[index].core.replica.workspace
  }

  private func record(_ fleet: Fleet, _ index: Int) -> ReplicaRecord {
    fleet.devices[index].core.replica.record
  }

  @Test func connectedDevicesMakeTheBaseThemselves() throws {
    var fleet = try busyFleet()
    let before = workspace(fleet, 0).dump()
    #expect(workspace(fleet, 0).deadWeight.dead > 8)
    fleet.compact()
    try fleet.settle()
    try fleet.expectConvergence()
    for index in 0...1 {
      #expect(record(fleet, index).epoch == fleet.server.epoch)
      #expect(record(fleet, index).floor == fleet.server.floor)
      #expect(fleet.devices[index].store.entries.isEmpty)
      #expect(workspace(fleet, index).deadWeight.dead == 0)
      #expect(workspace(fleet, index).dump() == before)
    }
    #expect(fleet.server.snapshotsSent == 0)
    try fleet.perform(.send("afterwards", as: 9, in: "main"), on: 1)
    try fleet.settle()
    try fleet.expectConvergence()
    #expect(fleet.server.epochRefusals == 0)
  }

  @Test(arguments: [false, true])
  func lateDeviceBringsItsUnsentWorkOnce(knowsTheBase: Bool) throws {
    var fleet = try busyFleet()
    if knowsTheBase {
      // From the second compaction on a device that has all of the base gets no snapshot.
      fleet.compact()
      try fleet.settle()
      for _ in 0..<3 { try fleet.perform(.move([.numbered(3)], to: .position(1)), on: 0) }
      try fleet.settle()
    }
    fleet.isServerDown = true
    fleet.cut(1)
    // Names slots and scalars that the base will not have.
    try fleet.perform(.edit(.numbered(2), content: "pmt two, late", base: nil), on: 1)
    try fleet.perform(.send("late", as: 8, in: "main"), on: 1)
    try fleet.perform(.move([.numbered(3)], to: .after(.numbered(8))), on: 1)
    try fleet.perform(.edit(.numbered(3), content: "rompt 3", base: nil), on: 1)
    if !knowsTheBase {
      // Both delete the first letter; only one of the two deletions is left.
      try fleet.perform(.edit(.numbered(3), content: "Xrompt 3", base: nil), on: 0)
      try fleet.perform(.move([.numbered(1)], to: .position(1)), on: 0)
      try fleet.settle()
    }
    let shown = workspace(fleet, 1).contents("main")
    fleet.compact()
    fleet.isServerDown = false
    try fleet.pass(60_000)
    try fleet.expectConvergence()
    #expect(fleet.server.snapshotsSent == (knowsTheBase ? 0 : 1))
    #expect(workspace(fleet, 0).contents("main").filter { $0 == "late" }.count == 1)
    #expect(workspace(fleet, 0).contents("main").contains("pmt two, late"))
    if knowsTheBase {
      #expect(workspace(fleet, 0).contents("main") == shown)
    } else {
      #expect(workspace(fleet, 0).contents("main").last == "Xrompt 3")
    }
    #expect(fleet.server.epochRefusals == 0)
    #expect(fleet.devices[1].store.entries.count <= 5)
    #expect(record(fleet, 1).ownReplicas.count == 1)
  }

  @Test func batchUnderWayIsRefusedAndSentAgainOnce() throws {
    var fleet = try busyFleet()
    try fleet.perform(.send("under way", as: 8, in: "main"), on: 1)
    // The batch leaves the device before it hears of the epoch, and arrives after it began.
    fleet.compact()
    try fleet.settle()
    try fleet.expectConvergence()
    #expect(fleet.server.epochRefusals == 1)
    #expect(workspace(fleet, 0).contents("main").filter { $0 == "under way" }.count == 1)
    #expect(fleet.devices[1].reports.isEmpty)
  }

  @Test func lostAcknowledgementAcrossAnEpochDoublesNothing() throws {
    var fleet = try busyFleet()
    fleet.server.acksToLose = 1
    try fleet.perform(.edit(.numbered(1), content: "prompt one", base: nil), on: 1)
    try fleet.settle()
    fleet.cut(1)
    fleet.compact()
    try fleet.pass(60_000)
    try fleet.expectConvergence()
    #expect(workspace(fleet, 1).contents("main").contains("prompt one"))
    #expect(record(fleet, 1).ownReplicas.count == 1)
  }

  @Test func baseThatDoesNotMatchIsReplacedByASnapshot() throws {
    var fleet = try busyFleet()
    try fleet.perform(.send("under way", as: 8, in: "main"), on: 1)
    guard case .compact(var compaction) = fleet.server.compact() else { return }
    compaction.epoch ^= 1
    fleet.deliver(.compact(compaction), to: 0)
    fleet.deliver(.compact(compaction), to: 1)
    try fleet.pass(1_000)
    try fleet.expectConvergence()
    #expect(fleet.server.snapshotsSent == 2)
    #expect(workspace(fleet, 0).contents("main").filter { $0 == "under way" }.count == 1)
  }

  @Test func failingStoreTakesNothingOver() throws {
    var fleet = try busyFleet()
    try fleet.perform(.send("kept", as: 8, in: "main"), on: 1)
    let before = fleet.devices[1].store.entries
    fleet.devices[1].store.failure = StoreError(code: .full, message: "no space")
    fleet.compact()
    try fleet.settle()
    #expect(record(fleet, 1).epoch == 0)
    #expect(fleet.devices[1].store.entries == before)
    fleet.devices[1].store.failure = nil
    try fleet.pass(120_000)
    try fleet.expectConvergence()
    #expect(workspace(fleet, 0).contents("main").contains("kept"))
  }

  @Test func restartBetweenEpochsGoesOn() throws {
    var fleet = try busyFleet()
    fleet.compact()
    try fleet.settle()
    fleet.isServerDown = true
    fleet.cut(1)
    try fleet.perform(.send("offline", as: 8, in: "main"), on: 1)
    let store = fleet.devices[1].store
    let id = fleet.devices[1].id
    fleet.devices.removeLast()
    let again = try fleet.addDevice(store: store, id: id)
    #expect(record(fleet, again).epoch == fleet.server.epoch)
    fleet.isServerDown = false
    try fleet.start(again)
    try fleet.pass(60_000)
    try fleet.expectConvergence()
    #expect(workspace(fleet, 0).contents("main").contains("offline"))
  }

  @Test func copiesOfAStoreBringTheSameUnsentWorkOnce() throws {
    var fleet = try busyFleet()
    fleet.compact()
    try fleet.settle()
    fleet.isServerDown = true
    fleet.cut(1)
    try fleet.perform(.edit(.numbered(2), content: "pmt two more", base: nil), on: 1)
    let copy = try fleet.addDevice(
      store: MemoryStore(copying: fleet.devices[1].store), needsFreshReplica: true,
      id: fleet.devices[1].id)
    fleet.compact()
    fleet.isServerDown = false
    try fleet.pass(60_000)
    try fleet.start(copy)
    try fleet.pass(60_000)
    try fleet.expectConvergence()
    #expect(workspace(fleet, 0).contents("main").contains("pmt two more"))
  }

  @Test func forkShowsWhenTheBaseIsTakenOver() throws {
    var fleet = try busyFleet()
    // A second store under the same replica id, as a machine set back to an earlier state has.
    let twin = try fleet.addDevice(
      store: MemoryStore(copying: fleet.devices[1].store), id: fleet.devices[1].id)
    fleet.isServerDown = true
    try fleet.perform(.edit(.numbered(1), content: "prompt 1 of the twin", base: nil), on: twin)
    fleet.isServerDown = false
    try fleet.perform(.edit(.numbered(3), content: "prompt 3 of the other", base: nil), on: 1)
    try fleet.settle()
    fleet.compact()
    try fleet.settle()
    try fleet.start(twin)
    try fleet.pass(60_000)
    try fleet.expectConvergence()
    #expect(workspace(fleet, 0).contents("main").contains("prompt 1 of the twin"))
    #expect(workspace(fleet, 0).contents("main").contains("prompt 3 of the other"))
    #expect(record(fleet, twin).ownReplicas.count > 1)
  }

  @Test func restoredServerGetsBackWhatOnlyBasesHold() throws {
    var fleet = try busyFleet()
    let backup = fleet.server
    try fleet.perform(.send("after the backup", as: 8, in: "main"), on: 0)
    try fleet.settle()
    fleet.compact()
    try fleet.settle()
    try fleet.perform(.send("in the epoch", as: 9, in: "main"), on: 1)
    try fleet.settle()
    for index in 0...1 { fleet.cut(index) }
    fleet.server = backup
    fleet.server.identity += 1
    // The state arrives, and the server ends the connections.
    try fleet.pass(10_000)
    #expect(fleet.server.statesTaken == 1)
    for index in 0...1 { fleet.cut(index) }
    try fleet.pass(60_000)
    try fleet.expectConvergence()
    let shown = workspace(fleet, 0).contents("main")
    #expect(shown.contains("after the backup") && shown.contains("in the epoch"))
  }
}
