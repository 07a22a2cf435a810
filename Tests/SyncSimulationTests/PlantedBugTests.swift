import SyncSimulation
import Testing

/// The net catches fish: a bug that is there on purpose is found, by the checker that is for it.
@Suite struct PlantedBugTests {
  /// The bug, and the checkers of which one must tell.
  static let bugs: [(PlantedBug, Set<String>)] = [
    (.ackBeforeFsync, ["durability"]),
    (.commitBeforeFsync, ["durability", "invariants"]),
    (.outboxClearedAtSend, ["convergence", "durability", "loss", "quiescence"]),
    (.moveEventMissing, ["events"]),
    (.fanOutSkipsOne, ["convergence", "quiescence", "drain"]),
  ]

  @Test(arguments: bugs) func isFound(bug: PlantedBug, checkers: Set<String>) {
    for seed in UInt64(1)...20 {
      let report = Simulation.run(seed: seed, profile: .smoke, planted: [bug])
      guard let violation = report.violations.first else { continue }
      #expect(checkers.contains(violation.checker), "\(violation)")
      return
    }
    Issue.record("\(bug.rawValue) was not found in 20 seeds")
  }
}
