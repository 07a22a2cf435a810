import SyncSimulation
import SyncTestSupport
import Testing

/// Several nodes over one store, with every fault of theirs. `COSPOOL_SEEDS` for more seeds;
/// `cospool-harness run --profile nodes` for many.
@Suite struct NodeRunTests {
  @Test func nothingIsLostAndNothingStartsTwice() {
    var execution = ExecutionReport()
    for seed in TestSeeds.list(standard: 12) {
      let report = Simulation.run(seed: seed, profile: .nodes)
      #expect(
        report.violations == [], "cospool-harness replay --seed \(seed) --profile nodes")
      execution += report.execution
    }
    #expect(execution.starts > 0 && execution.claims > 0)
    #expect(execution.doubleStarts == 0)
  }

  /// The store keeps its commits here.
  @Test func notificationsArePushedByTheNodeThatServes() {
    var execution = ExecutionReport()
    for seed in TestSeeds.list(standard: 4) {
      let report = Simulation.run(seed: seed, profile: .nodes, raisesRequests: true)
      #expect(
        report.violations == [],
        "cospool-harness replay --seed \(seed) --profile nodes --requests")
      execution += report.execution
    }
    #expect(execution.notifications.pushes > 0 && execution.requests.decided > 0)
  }

  @Test func aRunIsTheSameAgain() {
    let report = Simulation.run(seed: 5, profile: .nodes)
    #expect(Simulation.replay(report.run).traceHash == report.traceHash)
  }
}
