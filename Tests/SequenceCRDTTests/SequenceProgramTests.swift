import SequenceCRDT
import SyncTestSupport
import Testing

/// Replicas of one text and one list edit by place and by index, receive in any order, survive a
/// snapshot, and are copied and reset. Each is compared with the explicit tree.
struct SequenceProgramTests {
  @Test(arguments: TestSeeds.list(standard: 40, from: 11_000))
  func programsOfThreeReplicasFollowTheTree(seed: UInt64) throws {
    try run(seed, decisions: 500, SequenceProgram.Bounds(unitsMax: 120))
  }

  @Test(arguments: TestSeeds.list(standard: 8, from: 12_000))
  func programsOfSixReplicasFollowTheTree(seed: UInt64) throws {
    try run(seed, decisions: 900, SequenceProgram.Bounds(replicas: 6, unitsMax: 160))
  }

  /// Long insertions, so that runs have more entries than fit in a leaf, and more than 4,096 units.
  @Test(arguments: TestSeeds.list(standard: 2, from: 13_000))
  func longRunsFollowTheTree(seed: UInt64) throws {
    try run(
      seed, decisions: 260,
      SequenceProgram.Bounds(unitsMax: 14_000, longLength: 6_000, interval: 40))
  }

  /// Enough runs for three levels of the tree of leaves.
  @Test(arguments: TestSeeds.list(standard: 1, from: 14_000))
  func thousandsOfRunsFollowTheTree(seed: UInt64) throws {
    try run(
      seed, decisions: 6_000,
      SequenceProgram.Bounds(unitsMax: 3_000, longLength: 2, interval: 600))
  }

  private func run(
    _ seed: UInt64, decisions: Int, _ bounds: SequenceProgram.Bounds
  ) throws {
    var program = SequenceProgram(Choices(seed: seed, count: decisions), bounds: bounds)
    do {
      try program.run()
    } catch {
      Issue.record("seed \(seed) (set COSPOOL_SEED=\(seed)): \(error)")
    }
    #expect(program.editCount > 20, "seed \(seed)")
  }
}
