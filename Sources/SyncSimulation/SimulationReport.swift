import ClientCore
import QueueModel

/// A violation, with the place where it was found.
package struct Violation: Hashable, Sendable {
  /// The checker's name.
  package var checker: String
  package var message: String
  /// The number of steps before it.
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

/// A run as values: the same values give the same run.
package struct RecordedRun: Hashable, Sendable {
  package var options: SimulationOptions
  package var steps: [Step]

  package init(options: SimulationOptions, steps: [Step]) {
    self.options = options
    self.steps = steps
  }
}

/// The results of a run.
package struct SimulationReport: Hashable, Sendable {
  package var run: RecordedRun
  package var violations: [Violation] = []
  /// A digest of everything that happened; the same run has the same digest on every machine.
  package var traceHash: UInt64 = 0
  /// Operations that devices made.
  package var operations = 0
  /// Commands that were performed, and that were refused.
  package var commands = 0
  package var commandsRefused = 0
  /// Faults of network, devices, disks, clocks and server.
  package var faults = 0
  package var virtualMilliseconds: Int64 = 0
  /// How long the slowest outbox took to drain after the last repair, in virtual milliseconds.
  package var drainMilliseconds: Int64 = 0
  package var execution = ExecutionReport()
  package var trace: [String] = []

  package init(run: RecordedRun) {
    self.run = run
  }
}

/// The counts of execution, of one run or of several together.
package struct ExecutionReport: Hashable, Sendable {
  /// Prompts that agents got.
  package var starts = 0
  /// Prompts that succeeded.
  package var successes = 0
  /// Leases that devices asked for.
  package var claims = 0
  /// Leases that devices lost.
  package var fenced = 0
  /// Attempts with an unknown outcome.
  package var unknown = 0
  /// Attempts that agents got twice, although no store went back in time in between.
  package var doubleStarts = 0
  /// Attempts that agents got a second time after the server's store went back to before the first.
  package var repeatsAfterRestore = 0
  /// Withdrawals and edits that were reported as in time, and as too late.
  package var inTime = 0
  package var tooLate = 0
  package var requests = RequestCounts()
  package var notifications = NotificationCounts()

  package init() {}

  mutating func add(_ counters: ExecutionCounts) {
    claims += counters.claims
    fenced += counters.fenced
    unknown += counters.unknown
  }

  package static func += (sum: inout ExecutionReport, other: ExecutionReport) {
    sum.starts += other.starts
    sum.successes += other.successes
    sum.claims += other.claims
    sum.fenced += other.fenced
    sum.unknown += other.unknown
    sum.doubleStarts += other.doubleStarts
    sum.repeatsAfterRestore += other.repeatsAfterRestore
    sum.inTime += other.inTime
    sum.tooLate += other.tooLate
    sum.requests += other.requests
    sum.notifications += other.notifications
  }
}

/// The agents' requests and their outcomes.
package struct RequestCounts: Hashable, Sendable {
  package var raised = 0
  /// Decisions that agents received, and those of them without an answer in time.
  package var decided = 0
  package var expired = 0
  /// Answers that users gave (a double tap counts as two), and those that were the first.
  package var answers = 0
  package var answersTaken = 0

  static func += (sum: inout RequestCounts, other: RequestCounts) {
    sum.raised += other.raised
    sum.decided += other.decided
    sum.expired += other.expired
    sum.answers += other.answers
    sum.answersTaken += other.answersTaken
  }
}

/// The notifications that users saw, and those that they should have seen.
package struct NotificationCounts: Hashable, Sendable {
  /// Notifications that devices showed, and those of them that were shown again because a device
  /// died before it could record that.
  package var shown = 0
  package var repeats = 0
  /// Pushes that arrived.
  package var pushes = 0
  /// How many times a device with nothing in transit was checked for an agent's request, and how
  /// often the device did not show it.
  package var approvalLooks = 0
  package var missedApprovals = 0

  static func += (sum: inout NotificationCounts, other: NotificationCounts) {
    sum.shown += other.shown
    sum.repeats += other.repeats
    sum.pushes += other.pushes
    sum.approvalLooks += other.approvalLooks
    sum.missedApprovals += other.missedApprovals
  }
}
