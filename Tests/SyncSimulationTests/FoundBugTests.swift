import QueueModel
import SyncSimulation
import SyncTestSupport
import Testing

/// Faults that the simulation found, as fixed runs.
@Suite struct FoundBugTests {
  private func expectNothing(
    _ options: SimulationOptions, _ steps: [Step], _ location: SourceLocation = #_sourceLocation
  ) {
    let report = Simulation.replay(RecordedRun(options: options, steps: steps))
    #expect(report.violations == [], sourceLocation: location)
  }

  private func send(_ number: UInt64, _ session: String) -> UserAction {
    .command(.send("text \(number)", as: number, in: session))
  }

  /// Two live copies of one memory write under one replica id.
  @Test func copiesOfAMemoryShowWhatEachOfThemWrote() {
    var options = SimulationOptions(seed: 1_002, devices: 2)
    options.network.latencyMilliseconds = 1...60
    let steps = [
      Step(after: 0, .perform(device: 0, send(3, "a"))),
      Step(after: 0, .perform(device: 1, send(6, "b"))),
      Step(after: 0, .clone(device: 0, .memory)),
      Step(
        after: 1_060,
        .perform(device: 2, .command(.renameSession(.named("a"), name: "renamed")))),
      Step(
        after: 76,
        .perform(device: 2, .edit(.numbered(3), content: "another text", against: .current))),
      Step(
        after: 0,
        .perform(device: 0, .edit(.numbered(6), content: "edited 6", against: .current))),
    ]
    for seed in UInt64(1)...12 {
      options.seed = seed
      expectNothing(options, steps)
    }
  }
}
