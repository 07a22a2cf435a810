import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// A peer that lies about clocks, numbers and names. Its operations are refused, wait, or harm only
/// its own data; local commands still work.
struct HostilePeerTests {
  private func device() throws -> TestDevice {
    var device = TestDevice(1)
    try device.perform(.send("text", as: 1, in: "s"))
    return device
  }

  private func session(_ device: TestDevice) throws -> OperationID {
    try #require(
      device.made.first { if case .openSession = $0.body { true } else { false } }?.id)
  }

  private func rename(
    _ session: OperationID, _ replica: UInt64, _ seq: UInt32, _ stamp: Stamp
  ) -> Operation {
    Operation(
      id: OperationID(replica: ReplicaID(rawValue: replica), seq: seq),
      body: .setRegister(
        element: session, field: .name, value: .text("from \(replica)"), stamp: stamp))
  }

  /// The greatest possible stamp: nothing is later, so no local write wins. But everything still
  /// works, the replica breaks ties, and the state survives a snapshot.
  @Test func theLastStampOfAllStopsNoCommand() throws {
    var device = try device()
    try device.merge([rename(try session(device), 2, 1, Stamp(rawValue: .max))])
    try device.perform(.renameSession(.named("s"), name: "local"))
    try device.perform(.send("more", as: 2, in: "s"))
    try device.perform(.move([.numbered(2)], to: .position(1)))
    try device.perform(.cancel([.numbered(1)]))
    #expect(device.workspace.numbers("s") == [2])
    let oracle = SlowWorkspace(
      device.made + [rename(try session(device), 2, 1, Stamp(rawValue: .max))])
    #expect(oracle.state().differences(from: device.workspace) == [])
    try device.workspace.checkInvariants()
    try device.restoreFromImage()
    try device.perform(.move([.numbered(2)], to: .position(1)))
  }

  @Test func gapsInAReplicasCountAreNamedAndWait() throws {
    var device = try device()
    let session = try session(device)
    let stamp = Stamp(milliseconds: TestDevice.startOfTime)
    let outcome = try device.merge([rename(session, 2, 3, stamp), rename(session, 2, 7, stamp)])
    #expect(outcome.applied.isEmpty && outcome.waiting == 2)
    let replica = ReplicaID(rawValue: 2)
    #expect(
      device.workspace.missingRanges == [
        OperationRange(replica: replica, first: 1, last: 2),
        OperationRange(replica: replica, first: 4, last: 6),
      ])
    try device.merge([rename(session, 2, 2, stamp), rename(session, 2, 1, stamp)])
    #expect(device.workspace.vector[replica] == 3)
    #expect(
      device.workspace.missingRanges == [OperationRange(replica: replica, first: 4, last: 6)])
  }

  /// The greatest number that a replica can have, without those before it: it waits forever, and
  /// one range is missing.
  @Test func theLastNumberOfAllIsOneRangeOfMissingOnes() throws {
    var device = try device()
    let stamp = Stamp(milliseconds: TestDevice.startOfTime)
    let last = rename(try session(device), 2, Limits.sequenceMax, stamp)
    #expect(try device.merge([last]).waiting == 1)
    #expect(
      device.workspace.missingRanges == [
        OperationRange(replica: ReplicaID(rawValue: 2), first: 1, last: Limits.sequenceMax - 1)
      ])
  }

  /// Operations in this replica's own name that it did not make: known ones are duplicates, unknown
  /// ones are accepted like any others, and the next local one has an id of its own.
  @Test func operationsInOnesOwnNameTakeNoIdsTwice() throws {
    var device = try device()
    let next = device.workspace.vector[device.replica] + 1
    let stamp = Stamp(milliseconds: TestDevice.startOfTime)
    let forged = rename(try session(device), device.replica.rawValue, next, stamp)
    #expect(try device.merge(device.made).duplicates == device.made.count)
    #expect(try device.merge([forged]).applied.count == 1)
    let outcome = try device.perform(.renameSession(.named("s"), name: "mine"))
    #expect(outcome.operations.map(\.id.seq) == [next + 1])
    try device.workspace.checkInvariants()
  }
}
