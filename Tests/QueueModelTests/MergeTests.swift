import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// Merging operations from elsewhere: waiting ones, duplicates, runs known in part.
struct MergeTests {
  private func author() throws -> TestDevice {
    var device = TestDevice(1)
    try device.perform(.send("hello world", as: 1, in: "s"))
    try device.perform(.edit(.numbered(1), content: "hello", base: nil))
    try device.perform(.send("second", as: 2, in: "s"))
    return device
  }

  @Test func operationsWaitForThoseBeforeThem() throws {
    let author = try author()
    var reader = Workspace()
    let outcome = try reader.merge([author.made[2], author.made[4]])
    #expect(outcome.applied == [])
    #expect(outcome.waiting == 2)
    #expect(outcome.touched.isEmpty)
    #expect(reader.vector.isEmpty)
    #expect(reader.sessions() == [])
    let first = author.made[2].id.seq
    let gap = try #require(author.made[2].lastID).seq + 1
    #expect(
      reader.missingRanges == [
        OperationRange(replica: author.replica, first: 1, last: first - 1),
        OperationRange(replica: author.replica, first: gap, last: author.made[4].id.seq - 1),
      ])
    let rest = try reader.merge(author.made)
    #expect(rest.waiting == 0)
    #expect(Set(rest.applied.map(\.id)) == Set(author.made.map(\.id)))
    #expect(rest.touched.threads && rest.touched.sessions == [.named("s")])
    #expect(reader.image() == author.workspace.image())
    #expect(reader.pendingOperations == [] && reader.missingRanges == [])
  }

  @Test func missingOperationsOfAnotherReplicaAreReported() throws {
    let author = try author()
    var second = TestDevice(2)
    try second.merge(author.made)
    try second.perform(.cancel([.numbered(2)]))
    var reader = Workspace()
    _ = try reader.merge(second.made)
    #expect(reader.vector == VersionVector([second.replica: 1]))
    #expect(reader.pendingOperations.map(\.id.replica) == [second.replica])
    let missing = try #require(reader.missingRanges.first)
    #expect(missing.replica == author.replica && missing.first == 1)
    #expect(reader.missingRanges.count == 1)
    _ = try reader.merge(author.made)
    #expect(reader.image() == second.workspace.image())
  }

  @Test func duplicatesAreCountedAndChangeNothing() throws {
    let author = try author()
    var reader = Workspace()
    _ = try reader.merge(author.made + author.made)
    let image = reader.image()
    let again = try reader.merge(author.made.reversed())
    #expect(again.duplicates == author.made.count)
    #expect(again.applied == [])
    #expect(reader.image() == image)
  }

  @Test func ownOperationsFromAPeerAreDuplicates() throws {
    var author = try author()
    let image = author.workspace.image()
    var peer = TestDevice(2)
    try peer.merge(author.made)
    let outcome = try author.merge(Array(author.made.reversed()) + peer.made)
    #expect(outcome.duplicates == author.made.count)
    #expect(outcome.applied == peer.made)
    #expect(author.workspace.image().sessions == image.sessions)
  }

  /// Runs may arrive whole, in pieces, overlapping, in any order.
  @Test(arguments: TestSeeds.list(standard: 40, from: 700))
  func runsKnownInPartAreCompleted(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let author = try author()
    var pieces: [Operation] = []
    for operation in author.made {
      pieces.append(operation)
      guard operation.length > 1 else { continue }
      for _ in 0..<4 {
        let first = generator.below(operation.length)
        let back = try #require(operation.droppingFirst(first))
        pieces.append(try #require(back.keepingFirst(1 + generator.below(back.length))))
      }
    }
    var reader = Workspace()
    for piece in pieces.shuffled(using: &generator) { _ = try reader.merge([piece]) }
    #expect(reader.image() == author.workspace.image(), "seed \(seed)")
    #expect(reader.pendingOperations == [] && reader.missingRanges == [])
    try reader.checkInvariants()
  }

  @Test func backwardDeletionsDeleteFromTheEnd() throws {
    var author = TestDevice(1)
    try author.perform(.send("abcdef", as: 1, in: "s", requeues: false))
    let text = try #require(author.made.first { $0.length == 6 })
    let message = try #require(author.made.first { $0.id.seq == text.id.seq - 1 })
    let second = OperationID(replica: ReplicaID(rawValue: 2), seq: 1)
    let deletion = Operation(
      id: second,
      body: .deleteText(
        .init(
          message: message.id, first: try #require(text.id.advanced(by: 2)), count: 3,
          backwards: true)))
    var reader = Workspace()
    _ = try reader.merge(author.made)
    _ = try reader.merge([try #require(deletion.keepingFirst(2))])
    #expect(reader.contents("s") == ["abcf"])
    _ = try reader.merge([deletion])
    #expect(reader.contents("s") == ["abf"])
    #expect(reader.vector[second.replica] == 3)
    let oracle = SlowWorkspace(author.made + [deletion]).state()
    #expect(oracle.imageDifferences(from: reader) == [])
    var whole = Workspace()
    _ = try whole.merge(author.made + [deletion])
    #expect(whole.image() == reader.image())
  }

  @Test func theLatestStampCountsRemoteOnesAndSurvivesASnapshot() throws {
    var author = try author()
    author.now += 90_000
    try author.perform(.move([.numbered(2)], to: .position(1)))
    var reader = TestDevice(2)
    try reader.merge(author.made)
    #expect(reader.workspace.latestStamp == author.workspace.latestStamp)
    #expect(reader.workspace.latestStamp.milliseconds == author.now)
    try reader.restoreFromImage()
    #expect(reader.workspace.latestStamp == author.workspace.latestStamp)
    // A local write is ordered after the writes that were seen, even if the local clock is behind.
    try reader.perform(.move([.numbered(2)], to: .position(2)))
    try author.merge(reader.made)
    #expect(author.workspace.numbers("s") == [1, 2])
  }

  @Test func waitingOperationsAreBounded() throws {
    var reader = Workspace()
    let replica = ReplicaID(rawValue: 1)
    func announcement(_ seq: Int) -> Operation {
      Operation(
        id: OperationID(replica: replica, seq: UInt32(seq)),
        body: .announceDevice(device: DeviceID(high: 1, low: 1), name: "n"))
    }
    let many = (0..<Limits.pendingOperationsMax).map { announcement($0 * 2 + 2) }
    #expect(try reader.merge(many).waiting == Limits.pendingOperationsMax)
    let one = announcement(Limits.pendingOperationsMax * 2 + 2)
    #expect(throws: MergeError.tooManyPending(max: Limits.pendingOperationsMax)) {
      try reader.merge([one])
    }
    #expect(reader.pendingOperations.count == Limits.pendingOperationsMax)
    #expect(try reader.merge([announcement(1)]).applied.count == 2)
    #expect(try reader.merge([one]).waiting == Limits.pendingOperationsMax)
  }
}
