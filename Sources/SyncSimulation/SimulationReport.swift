/// Something that must not be, with the place where it showed.
package struct Violation: Hashable, Sendable {
  /// The checker's name.
  package var checker: String
  package var message: String
  /// The number of steps done before.
  package var step: Int
  /// Virtual milliseconds since the start.
  package var at: Int64

  package init(checker: String, message: String, step: Int, at: Int64) {
    self.checker = checker
    self.message = message
    self.step = step
    self.at = at
  }
}

/// A run as values: the same again gives the same.
package struct RecordedRun: Hashable, Sendable {
  package var options: SimulationOptions
  package var steps: [Step]

  package init(options: SimulationOptions, steps: [Step]) {
    self.options = options
    self.steps = steps
  }
}

/// What came of a run.
package struct SimulationReport: Hashable, Sendable {
  package var run: RecordedRun
  package var violations: [Violation] = []
  /// A digest of everything that happened; the same for the same run on every machine.
  package var traceHash: UInt64 = 0
  /// Operations that devices made.
  package var operations = 0
  /// Commands that were taken, and that were refused.
  package var commands = 0
  package var commandsRefused = 0
  /// Faults of network, devices, disks, clocks and server.
  package var faults = 0
  package var virtualMilliseconds: Int64 = 0
  /// How long the slowest outbox took to drain after the last healing, virtual milliseconds.
  package var drainMilliseconds: Int64 = 0
  package var trace: [String] = []

  package init(run: RecordedRun) {
    self.run = run
  }
}
