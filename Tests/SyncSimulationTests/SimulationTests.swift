import SyncSimulation
import Testing

@Suite struct SimulationTests {
  @Test(arguments: 1...20) func smoke(seed: UInt64) {
    let report = Simulation.run(seed: seed, profile: .standard)
    print(
      seed, report.commands, report.commandsRefused, report.faults, report.virtualMilliseconds,
      report.drainMilliseconds, report.traceHash)
    #expect(report.violations == [])
  }
}
