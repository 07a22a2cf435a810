import SyncSimulation
import Testing

/// An additional checker takes part in runs, replays and shrinking.
@Suite struct JoiningCheckerTests {
  /// Finds a device that starts more than once.
  private final class StartChecker: SimulationChecker {
    let name = "starts"
    private var starts: [Int: Int] = [:]

    func noted(_ observation: Observation, in simulation: Simulation) -> [String] {
      guard case .started(let device) = observation else { return [] }
      starts[device, default: 0] += 1
      return starts[device] == 2 ? ["device \(device) starts again"] : []
    }
  }

  @Test func aCheckerJoinsARunItsReplayAndItsShrinking() throws {
    let join: () -> [any SimulationChecker] = { [StartChecker()] }
    let report = try #require(
      (UInt64(1)...30).lazy
        .map { Simulation.run(seed: $0, profile: .crash, joining: join) }
        .first { !$0.violations.isEmpty })
    #expect(report.violations[0].checker == "starts")
    #expect(Simulation.replay(report.run).violations == [])
    #expect(Simulation.replay(report.run, joining: join).violations == report.violations)
    let small = Shrinker.shrink(
      report.run, violation: report.violations[0], attemptsMax: 100, joining: join)
    #expect(small.violation.checker == "starts")
    #expect(small.run.steps.count <= 3)
  }
}
