import QueueModel
import SyncSimulation
import SyncTestSupport
import Testing

/// The checkers are effective: each finds the bugs that are planted for it.
///
/// Bugs inside the cores are mutants of the sources; `Tests/Scripts/mutants.sh` counts the seeds of
/// both kinds.
@Suite struct PlantedBugTests {
  struct Case: CustomTestStringConvertible {
    var bug: PlantedBug
    var profile = Profile.smoke
    var seeds: UInt64 = 40
    /// One of these must report it.
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
    Case(bug: .startBeforeFsync, checkers: ["execution"]),
    Case(bug: .decidesTwice, checkers: ["requests"]),
    Case(bug: .undoStarts, profile: .standard, seeds: 300, checkers: ["undo"]),
    Case(bug: .undoStartsApart, profile: .standard, seeds: 300, checkers: ["undo"]),
    Case(bug: .undoTakesHistory, profile: .standard, seeds: 300, checkers: ["undo"]),
    Case(bug: .mergedUnseen, profile: .standard, seeds: 300, checkers: ["editions"]),
    Case(bug: .undoneUnwritten, profile: .standard, seeds: 300, checkers: ["editions"]),
    Case(bug: .needsForgotten, profile: .standard, seeds: 300, checkers: ["needs"]),
    Case(bug: .approvedUnseen, checkers: ["requests"]),
    Case(bug: .retractionLost, checkers: ["notifications"]),
    // The last dropped notification of an inbox keeps the inbox from being empty.
    Case(bug: .notificationDropped, checkers: ["notifications", "quiescence", "stall"]),
    Case(bug: .notificationsForgotten, profile: .crash, checkers: ["notifications"]),
    Case(bug: .markIgnored, profile: .nodes, seeds: 300, checkers: ["log", "nodes"]),
    Case(bug: .markKept, profile: .nodes, seeds: 300, checkers: ["log", "nodes"]),
    Case(bug: .takeUnread, profile: .nodes, seeds: 300, checkers: ["log", "nodes", "protocol"]),
    Case(bug: .feedMisses, profile: .nodes, seeds: 300, checkers: ["quiescence", "drain"]),
    Case(bug: .pushByNonOwner, profile: .nodes, seeds: 300, checkers: ["nodes"]),
  ]

  @Test(arguments: cases) func isFound(_ planted: Case) {
    for seed in 1...planted.seeds {
      let report = Simulation.run(
        seed: seed, profile: planted.profile, planted: [planted.bug],
        runsAgents: planted.bug.needsAgents, raisesRequests: planted.bug.needsRequests)
      guard let violation = report.violations.first else { continue }
      #expect(planted.checkers.contains(violation.checker), "\(violation)")
      return
    }
    Issue.record("\(planted.bug.rawValue) was not found in \(planted.seeds) seeds")
  }

  /// This is rare in random runs, so the world is fixed. The server cannot store a withdrawal, its
  /// device loses its network before it can send that again, and the message starts.
  @Test(arguments: UInt64(1)...8) func silenceIsNotConsent(seed: UInt64) {
    var options = SimulationOptions(seed: seed, devices: 2)
    options.runsAgents = true
    options.asksOutcomes = true
    let session = SessionID.named("s")
    func perform(_ device: Int, _ command: Command, after: Int64 = 0) -> Step {
      Step(after: after, .perform(device: device, .command(command)))
    }
    let steps = [
      perform(0, .addSession(session, name: nil, project: nil)),
      perform(0, .setHost(session, DeviceID(high: 0xD, low: 1))),
      perform(0, .pause(session, reason: nil)),
      perform(0, .send("text", as: 1, in: "s")),
      Step(after: 5_000, .setServerStore(.full)),
      perform(1, .cancel([.numbered(1)])),
      Step(after: 3_000, .disconnect(device: 1)),
      Step(after: 0, .setServerStore(.working)),
      perform(0, .resume(session), after: 1_000),
      Step(after: 60_000, .settle),
    ]
    #expect(Simulation.replay(RecordedRun(options: options, steps: steps)).violations == [])
    options.planted = [.silenceIsConsent]
    let found = Simulation.replay(RecordedRun(options: options, steps: steps)).violations
    #expect(Set(found.map(\.checker)) == ["outcomes"])
  }

  /// The same: a disconnected device is notified of a request, and the server dies before it gives
  /// the device up. If the frames to the device did not arrive, only the time shows that a push is
  /// due.
  @Test func aPushThatIsNeverDueIsFound() {
    var finders = 0
    for seed in UInt64(1)...8 {
      var options = SimulationOptions(seed: seed, devices: 2)
      options.runsAgents = true
      options.raisesRequests = true
      var run = RecordedRun(options: options, steps: unseenRequest)
      #expect(Simulation.replay(run).violations == [])
      run.options.planted = [.pushNeverDue]
      let found = Simulation.replay(run).violations
      #expect(found.allSatisfy { $0.checker == "push" }, "seed \(seed)")
      if !found.isEmpty { finders += 1 }
    }
    #expect(finders > 0)
  }

  private var unseenRequest: [Step] {
    let approval = ApprovalRequest(
      id: RequestID(high: 0xA5, low: 99), toolName: "shell", summary: "make")
    func report(_ status: TaskStatus) -> Step {
      let report = TaskReport(
        session: .named("s"), status: status, milliseconds: VirtualClock.startOfTime)
      return Step(after: 500, .perform(device: 0, .command(.reportTask(report))))
    }
    return [
      Step(after: 5_000, .perform(device: 0, .command(.send("text", as: 1, in: "s")))),
      report(.processing(operation: nil)),
      Step(after: 2_000, .partition(device: 1, .fromServer)),
      report(.awaitingApproval(approval)),
      Step(after: 2_000, .crashServer),
      Step(after: 0, .disconnect(device: 1)),
      Step(after: 90_000, .requestSync(device: 0)),
    ]
  }

  @Test func everyBugIsTried() {
    #expect(
      Set(Self.cases.map(\.bug)) == Set(PlantedBug.allCases.filter { !$0.needsGivenWorld }))
  }
}
