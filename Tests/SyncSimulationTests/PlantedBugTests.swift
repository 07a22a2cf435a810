import SyncSimulation
import Testing

/// The net catches fish: a bug that is there on purpose is found, by the checker that is for it.
@Suite struct PlantedBugTests {
  /// The bug, where it shows, and the checkers of which one must tell.
  static let bugs: [(PlantedBug, Profile, Set<String>)] = [
    (.ackBeforeFsync, .crash, ["durability"]),
    (.commitBeforeFsync, .crash, ["durability"]),
    (.outboxClearedAtSend, .partition, ["durability"]),
    (.stampClampOff, .clock, ["log"]),
    (.moveEventMissing, .standard, ["events"]),
    (.fanOutSkipsOne, .hostile, ["convergence", "quiescence", "drain"]),
  ]

  @Test(arguments: bugs) func isFound(bug: PlantedBug, profile: Profile, checkers: Set<String>) {
    for seed in UInt64(1)...40 {
      let report = Simulation.run(seed: seed, profile: profile, planted: [bug])
      guard let violation = report.violations.first else { continue }
      #expect(checkers.contains(violation.checker), "\(violation)")
      return
    }
    Issue.record("\(bug.rawValue) was not found in 40 seeds")
  }
}
