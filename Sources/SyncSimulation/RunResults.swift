/// The results of a run so far: violations, counts, a digest, and a trace if requested.
package final class RunResults {
  package private(set) var violations: [Violation] = []
  /// A line for each event, if the options ask for it.
  package private(set) var trace: [String] = []
  /// A digest of everything that happened.
  var hash = TraceHash()

  /// Events applied so far.
  var stepsDone = 0
  package internal(set) var operationsMade = 0
  var commandsTaken = 0
  var commandsRefused = 0
  var faults = 0
  /// How long the slowest draining took after a repair.
  var drainMilliseconds: Int64 = 0
  var execution = ExecutionReport()
  /// Whether the store of the server or of a device ever failed.
  var hasStoreFailed = false

  private let clock: VirtualClock
  private let keepsTrace: Bool

  init(clock: VirtualClock, keepsTrace: Bool) {
    self.clock = clock
    self.keepsTrace = keepsTrace
  }

  package var traceHash: UInt64 { hash.value }

  func log(_ line: @autoclosure () -> String) {
    guard keepsTrace else { return }
    trace.append("\(clock.now) \(line())")
  }

  func addViolation(_ checker: String, _ message: String) {
    log("violation: \(checker): \(message)")
    // One fault appears in many places; the first few are enough.
    guard violations.count < 20 else { return }
    violations.append(
      Violation(checker: checker, message: message, step: stepsDone, at: clock.now))
  }

  /// The results of the run so far, without the counts of devices.
  func report(of run: RecordedRun) -> SimulationReport {
    var report = SimulationReport(run: run)
    report.violations = violations
    report.traceHash = traceHash
    report.operations = operationsMade
    report.commands = commandsTaken
    report.commandsRefused = commandsRefused
    report.faults = faults
    report.virtualMilliseconds = clock.now
    report.drainMilliseconds = drainMilliseconds
    report.execution = execution
    report.trace = trace
    return report
  }
}
