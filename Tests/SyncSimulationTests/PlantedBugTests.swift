import SyncSimulation
import Testing

/// The net catches fish: a bug that is there on purpose is found, by the checker that is for it.
///
/// Bugs inside the cores are mutants of the sources; `Tests/Scripts/mutants.sh` counts the seeds of
/// both kinds.
@Suite struct PlantedBugTests {
  struct Case: CustomTestStringConvertible {
    var bug: PlantedBug
    var profile = Profile.smoke
    /// Of these one must tell.
    var checkers: Set<String>

    var testDescription: String { bug.rawValue }
  }

  static let cases = [
    Case(bug: .ackBeforeFsync, checkers: ["durability"]),
    Case(bug: .commitBeforeFsync, checkers: ["durability", "invariants"]),
    Case(
      bug: .outboxClearedAtSend,
      checkers: ["convergence", "durability", "loss", "quiescence"]),
    Case(bug: .stampClampOff, profile: .hostile, checkers: ["log"]),
    Case(bug: .moveEventMissing, checkers: ["events"]),
    Case(bug: .unsentForgotten, checkers: ["invariants", "loss"]),
    Case(bug: .fanOutSkipsOne, checkers: ["convergence", "quiescence", "drain"]),
    Case(bug: .intentsRunAgain, profile: .crash, checkers: ["execution"]),
    Case(bug: .decidesTwice, checkers: ["requests"]),
    Case(bug: .retractionLost, checkers: ["notifications"]),
    // The last of an inbox that is dropped keeps the inbox from being empty.
    Case(bug: .notificationDropped, checkers: ["notifications", "quiescence"]),
    Case(bug: .notificationsForgotten, profile: .crash, checkers: ["notifications"]),
  ]

  @Test(arguments: cases) func isFound(_ planted: Case) {
    for seed in UInt64(1)...40 {
      let report = Simulation.run(
        seed: seed, profile: planted.profile, planted: [planted.bug],
        runsAgents: planted.bug.needsAgents, raisesRequests: planted.bug.needsRequests)
      guard let violation = report.violations.first else { continue }
      #expect(planted.checkers.contains(violation.checker), "\(violation)")
      return
    }
    Issue.record("\(planted.bug.rawValue) was not found in 40 seeds")
  }

  @Test func everyBugIsTried() {
    #expect(Set(Self.cases.map(\.bug)) == Set(PlantedBug.allCases))
  }
}
