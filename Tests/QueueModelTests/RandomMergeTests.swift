import SyncTestSupport
import Testing

/// The number of seeds, from 1, that run by default.
private let standardSeeds = 60

/// Seeded runs of several devices over a faulty network, compared with the oracle at every step.
///
/// `COSPOOL_SEEDS=n` runs more of them; `COSPOOL_SEED=s` repeats one.
struct RandomMergeTests {
  @Test(arguments: TestSeeds.list(standard: standardSeeds))
  func everyStepAgreesWithTheOracle(seed: UInt64) throws {
    var run = MergeRun(seed: seed)
    try run.run(steps: 120)
    // A run in which hardly anything happens would show nothing. A seed draws its own weights, so
    // some seeds beyond the standard ones are quiet.
    let (commands, operations) = seed <= standardSeeds ? (3, 3) : (0, 0)
    #expect(run.commandsDone > commands && run.operationsMade > operations)
  }

  @Test(arguments: TestSeeds.list(standard: 4, from: 1_000))
  func longRunsOfTwoDevicesAgreeWithTheOracle(seed: UInt64) throws {
    var run = MergeRun(seed: seed, devices: 2, imageInterval: 16)
    try run.run(steps: 400)
  }
}
