import SyncTestSupport
import Testing

/// Seeded runs of several devices over a faulty network, compared with the oracle at every step.
///
/// `COSPOOL_SEEDS=n` runs more of them, `COSPOOL_SEED=s` one again.
struct RandomMergeTests {
  @Test(arguments: TestSeeds.list(standard: 60))
  func everyStepAgreesWithTheOracle(seed: UInt64) throws {
    var run = MergeRun(seed: seed)
    try run.run(steps: 120)
    #expect(run.commandsDone > 0 && run.operationsMade > 0)
  }

  /// Runs in which hardly anything happens would show nothing. A seed draws its own weights, so a
  /// single one may be quiet; several together are not.
  @Test func severalRunsTogetherDoMuch() throws {
    var commands = 0
    var operations = 0
    for seed in UInt64(1)...6 {
      var run = MergeRun(seed: seed)
      try run.run(steps: 120)
      commands += run.commandsDone
      operations += run.operationsMade
    }
    #expect(commands > 6 * 15 && operations > 6 * 30)
  }

  @Test(arguments: TestSeeds.list(standard: 4, from: 1_000))
  func longRunsOfTwoDevicesAgreeWithTheOracle(seed: UInt64) throws {
    var run = MergeRun(seed: seed, devices: 2, imageInterval: 16)
    try run.run(steps: 400)
  }
}
