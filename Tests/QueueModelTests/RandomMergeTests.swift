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
    // A run in which hardly anything happens would show nothing.
    #expect(run.commandsDone > 15 && run.operationsMade > 30)
  }

  @Test(arguments: TestSeeds.list(standard: 4, from: 1_000))
  func longRunsOfTwoDevicesAgreeWithTheOracle(seed: UInt64) throws {
    var run = MergeRun(seed: seed, devices: 2, imageInterval: 16)
    try run.run(steps: 400)
  }
}
