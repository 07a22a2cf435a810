import SequenceCRDT
import SyncTestSupport
import Testing

/// Units that meet in one gap have the tree's order, and cost little more than elsewhere.
@Suite(.serialized) struct GapTests {
  @Test(arguments: GapWorkload.allCases)
  func aGapIsInTheOrderOfTheTree(workload: GapWorkload) throws {
    let insertions = workload.insertions(120)
    var reader = SequenceAuthor(99)
    for insertion in insertions { try reader.receive(insertion) }
    #expect(reader.isComplete)
    #expect(reader.order == reader.tree.order())
    try reader.sequence.checkInvariants()
    var generator = TestSeeds.generator(standard: 3)
    var other = SequenceAuthor(98)
    for insertion in insertions.shuffled(using: &generator) { try other.receive(insertion) }
    #expect(other.order == reader.order)
  }

  /// Four times as many insertions take about five times as long if each is O(log² n), and sixteen
  /// times as long if each is O(n). The test measures the time of its own thread, because the
  /// machine may be busy, and takes the best of a few runs of each size, one after the other.
  @Test(arguments: GapWorkload.allCases)
  func fourTimesAsManyInAGapAreNotSixteenTimesTheWork(workload: GapWorkload) throws {
    let sizes = [2_000, 8_000]
    var best = [Double](repeating: .infinity, count: 2)
    for _ in 0..<5 {
      for (index, size) in sizes.enumerated() {
        best[index] = min(best[index], try seconds(integrating: workload.insertions(size)))
      }
      if best[1] < 9 * best[0] { break }
    }
    print("\(workload): \(sizes[0]) in \(best[0] * 1_000) ms, \(sizes[1]) in \(best[1] * 1_000) ms")
    #expect(best[1] < 9 * best[0], "\(workload): \(best)")
  }

  private func seconds(integrating insertions: [Insertion]) throws -> Double {
    var sequence = RunSequence()
    let start = ThreadTime.seconds
    for insertion in insertions {
      try sequence.integrate(
        id: insertion.id, length: insertion.length, left: insertion.left, right: insertion.right)
    }
    let end = ThreadTime.seconds
    #expect(sequence.unitCount == insertions.count)
    return end - start
  }
}
