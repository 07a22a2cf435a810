import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// A merge that is refused halfway leaves the state as it was, whatever it had changed before.
struct RefusedMergeTests {
  @Test(arguments: TestSeeds.list(standard: 12, from: 4_701))
  func aRefusedMergeLeavesNothingBehind(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var commands = CommandGenerator(sessionCount: 3)
    var editors: [CommandGenerator.OpenEditors] = [[:], [:]]
    var devices = [TestDevice(1), TestDevice(2)]
    var known = 0
    for step in 0..<160 {
      let turn = generator.below(2)
      let command = commands.command(
        for: devices[turn].workspace, editors: &editors[turn], using: &generator)
      _ = try? devices[turn].perform(command)
      guard generator.chance(25) else { continue }
      let batch = Array(devices[1].made[known...])
      try checkRefusal(of: batch, by: devices[0].workspace, "seed \(seed) step \(step)")
      if generator.chance(20) { try devices[0].restoreFromSnapshot() }
      try checkRefusal(of: batch, by: devices[0].workspace, "seed \(seed) step \(step)")
      try devices[0].merge(batch)
      try devices[0].workspace.checkInvariants()
      known = devices[1].made.count
      if generator.chance(50) { try devices[1].merge(devices[0].made) }
    }
  }

  /// The batch, followed by an operation that is refused.
  private func checkRefusal(
    of batch: [Operation], by workspace: Workspace, _ place: String
  ) throws {
    guard
      let session = batch.first(where: { if case .openSession = $0.body { true } else { false } })
    else { return try checkRefusal(of: batch, naming: nil, by: workspace, place) }
    try checkRefusal(of: batch, naming: session.id, by: workspace, place)
  }

  private func checkRefusal(
    of batch: [Operation], naming session: OperationID?, by before: Workspace, _ place: String
  ) throws {
    // An insertion into something that is not a text, at once or together with what it names.
    guard let reference = session ?? before.origin(ofAnySession: batch) else { return }
    let wrong = Operation(
      id: OperationID(replica: ReplicaID(rawValue: 77), seq: 1),
      body: .insertText(
        .init(message: reference, origins: .init(left: nil, right: nil), text: "x")))
    var workspace = before
    let image = workspace.image()
    #expect(throws: MergeError.self, "\(place)") { try workspace.merge(batch + [wrong]) }
    #expect(workspace.image() == image, "\(place): something of it is left")
    #expect(workspace.pendingOperations == before.pendingOperations, "\(place)")
    #expect(workspace.latestStamp == before.latestStamp, "\(place)")
    try workspace.checkInvariants()
    // It continues as if nothing had happened.
    var other = before
    _ = try workspace.merge(batch)
    _ = try other.merge(batch)
    #expect(workspace.image() == other.image(), "\(place)")
    try workspace.checkInvariants()
  }
}

extension Workspace {
  /// The operation that introduced a session which one of the operations names.
  fileprivate func origin(ofAnySession batch: [Operation]) -> OperationID? {
    for operation in batch {
      if case .addMessage(let addition) = operation.body { return addition.session }
      if case .enqueueThread(let enqueue) = operation.body { return enqueue.session }
    }
    return nil
  }
}
