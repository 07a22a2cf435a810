import SyncTestSupport
import Testing

/// Seeded histories whose states are joined in pairs and triples.
///
/// `COSPOOL_SEEDS=2500` joins 20,000 pairs and 10,000 triples; `COSPOOL_SEED=s` repeats those of
/// one seed.
struct RandomJoinTests {
  @Test(arguments: TestSeeds.list(standard: 40))
  func joinedStatesAreThoseOfTheUnion(seed: UInt64) throws {
    var run = JoinRun(seed: seed)
    try run.run(pairs: 8, triples: 4)
    #expect(run.pairs == 8 && run.triples == 4)
  }

  /// A pair in which one state includes the other would show little.
  @Test func mostPairsHaveDiverged() throws {
    var (pairs, diverged) = (0, 0)
    for seed in 1...20 as ClosedRange<UInt64> {
      var run = JoinRun(seed: seed)
      try run.run(pairs: 8, triples: 0)
      pairs += run.pairs
      diverged += run.divergedPairs
    }
    #expect(diverged * 2 > pairs)
  }
}
