import QueueModel
import SyncSimulation
import SyncTestSupport
import Testing

/// Seeds of every profile; and a run depends only on its seed.
@Suite struct SimulationTests {
  @Test(arguments: Profile.allCases) func seedsOfEveryProfileHold(profile: Profile) {
    for seed in TestSeeds.list(standard: profile == .smoke ? 4 : 1, from: 1) {
      let report = Simulation.run(seed: seed, profile: profile)
      #expect(
        report.violations.isEmpty, "profile \(profile.rawValue), COSPOOL_SEED=\(seed)")
    }
  }

  @Test func theSameSeedGivesTheSameRun() {
    let first = Simulation.run(seed: 5, profile: .smoke)
    let again = Simulation.run(seed: 5, profile: .smoke)
    #expect(first == again)
    #expect(first.commands > 5)
    #expect(first.faults > 0)
  }

  /// The hashing of the standard library has a different seed in every process. These numbers are
  /// the same in all of them, in debug and release, unless something iterates over a dictionary.
  @Test func aRecordedRunGivesTheSameHashAgain() {
    let report = Simulation.run(seed: 11, profile: .smoke)
    let again = Simulation.replay(report.run)
    #expect(again.traceHash == report.traceHash)
    #expect(again.violations == report.violations)
  }

  @Test func theTraceChangesNothing() {
    let silent = Simulation.run(seed: 3, profile: .smoke)
    let traced = Simulation.run(seed: 3, profile: .smoke, keepsTrace: true)
    #expect(silent.traceHash == traced.traceHash)
    #expect(silent.trace.isEmpty)
    #expect(traced.trace.count > 100)
  }

  /// Timers without effect are skipped, and unchanged data is not checked again. A seed gives the
  /// same run as without this, and a planted bug shows in the same step.
  @Test(arguments: [nil, .startBeforeFsync, .decidesTwice, .notificationDropped] as [PlantedBug?])
  func theShortWayComesToTheSame(planted: PlantedBug?) {
    for seed in TestSeeds.list(standard: 2, from: 1) {
      let report = Simulation.run(
        seed: seed, profile: .smoke, planted: planted.map { [$0] } ?? [], runsAgents: true,
        raisesRequests: true, asksOutcomes: true)
      var run = report.run
      run.options.takesLongWay = true
      let long = Simulation.replay(run)
      #expect(long.traceHash == report.traceHash, "COSPOOL_SEED=\(seed)")
      #expect(long.violations == report.violations, "COSPOOL_SEED=\(seed)")
    }
  }

  @Test func otherSeedsGiveOtherRuns() {
    let hashes = Set((1...6).map { Simulation.run(seed: $0, profile: .smoke).traceHash })
    #expect(hashes.count == 6)
  }
}
