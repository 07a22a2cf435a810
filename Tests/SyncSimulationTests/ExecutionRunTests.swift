import SyncSimulation
import SyncTestSupport
import Testing

/// Hosts run what waits, in worlds where everything goes wrong. `COSPOOL_SEEDS` for more seeds;
/// `cospool-harness run --agents` for many.
@Suite struct ExecutionRunTests {
  @Test(arguments: Profile.allCases)
  func noAttemptStartsTwiceAndNothingIsLost(profile: Profile) {
    var execution = ExecutionReport()
    for seed in TestSeeds.list(standard: 4) {
      let report = Simulation.run(seed: seed, profile: profile, runsAgents: true)
      #expect(
        report.violations == [],
        "cospool-harness replay --seed \(seed) --profile \(profile.rawValue) --agents")
      execution += report.execution
    }
    #expect(execution.starts > 0 && execution.claims > 0)
    #expect(execution.doubleStarts == 0)
  }

  @Test func aRunIsTheSameAgain() {
    let first = Simulation.run(seed: 5, profile: .crash, runsAgents: true)
    let second = Simulation.run(seed: 5, profile: .crash, runsAgents: true)
    #expect(first.traceHash == second.traceHash)
    #expect(first.execution == second.execution)
    #expect(Simulation.replay(first.run).traceHash == first.traceHash)
  }

  /// A host that lost its memory of an agent finds the message said to run, and says that nobody
  /// knows: nothing is said to run for ever.
  @Test func aHostThatForgotWhatItRanSaysSo() {
    let report = Simulation.run(seed: 107, profile: .storage, runsAgents: true)
    #expect(report.violations == [])
    #expect(report.execution.unknown > 0)
  }

  /// A time that came while something else stood in the way woke the host again and again.
  @Test func timesThatHaveComeWakeNobodyTwice() {
    #expect(Simulation.run(seed: 122, profile: .clock, runsAgents: true).violations == [])
  }
}
