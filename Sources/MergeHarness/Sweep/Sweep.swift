import SyncSimulation

/// The results of many seeds.
struct SweepResult: Sendable {
  struct Failure: Hashable, Sendable {
    var name: RunName
    var violation: Violation
  }

  var seeds = 0
  var operations = 0
  var steps = 0
  var commands = 0
  var faults = 0
  /// The slowest drain of all, in virtual milliseconds.
  var drainMillisecondsMax: Int64 = 0
  /// The counts of execution; empty without agents.
  var execution = ExecutionReport()
  var failures: [Failure] = []
  var seconds = 0.0
  /// Whether it ended before all seeds were done.
  var wasCutShort = false

  mutating func add(_ report: SimulationReport, of name: RunName) {
    seeds += 1
    operations += report.operations
    steps += report.run.steps.count
    commands += report.commands
    faults += report.faults
    execution += report.execution
    drainMillisecondsMax = max(drainMillisecondsMax, report.drainMilliseconds)
    failures += report.violations.map { Failure(name: name, violation: $0) }
  }
}

/// Runs many seeds on all cores; each simulation is independent.
struct Sweep: Sendable {
  /// The number of failing seeds after which the sweep ends; more would prove nothing new.
  static let failingSeedsMax = 20

  var first: UInt64
  /// nil for as many as the time allows.
  var count: UInt64?
  var profiles: ProfileChoice
  var planted: Set<PlantedBug> = []
  /// Whether hosts run messages.
  var runsAgents = false
  /// The number of messages queued for them in each run; 0 for a mix of everything instead.
  var items = 0
  /// Whether agents ask, and users answer.
  var raisesRequests = false
  /// Whether users who withdraw or edit a message ask if they were in time.
  var asksOutcomes = false
  var jobs: Int
  var secondsMax: Double?

  /// - Parameters:
  ///   - shouldStop: called before each seed.
  ///   - progress: called after each seed, one call at a time; failures are those of that seed.
  func run(
    shouldStop: @escaping @Sendable () -> Bool = { false },
    progress: (_ soFar: SweepResult, _ failures: [SweepResult.Failure]) -> Void = { _, _ in }
  ) async -> SweepResult {
    let clock = ContinuousClock()
    let start = clock.now
    let names = self.names
    var result = SweepResult()
    var failingSeeds = 0
    var next = names.makeIterator()
    let isOver = { (result: SweepResult, failingSeeds: Int) in
      shouldStop() || failingSeeds >= Self.failingSeedsMax
        || secondsMax.map { (clock.now - start).seconds >= $0 } ?? false
    }
    await withTaskGroup(of: (RunName, SimulationReport).self) { group in
      var running = 0
      while true {
        while running < max(1, jobs) {
          if isOver(result, failingSeeds) {
            result.wasCutShort = result.wasCutShort || next.next() != nil
            break
          }
          guard let name = next.next() else { break }
          running += 1
          group.addTask {
            var report = name.run()
            report.trace = []
            return (name, report)
          }
        }
        guard let (name, report) = await group.next() else { break }
        running -= 1
        let before = result.failures.count
        result.add(report, of: name)
        result.seconds = (clock.now - start).seconds
        if !report.violations.isEmpty { failingSeeds += 1 }
        progress(result, Array(result.failures[before...]))
      }
    }
    result.seconds = (clock.now - start).seconds
    result.failures.sort { ($0.name.seed, $0.violation.step) < ($1.name.seed, $1.violation.step) }
    return result
  }

  private var names: some Sequence<RunName> {
    let last = count.map { first &+ $0 &- 1 } ?? UInt64(Int64.max)
    return (first...max(first, last)).lazy.map { seed in
      RunName(
        seed: seed, profile: profiles.profile(of: seed), planted: planted, runsAgents: runsAgents,
        items: items, raisesRequests: raisesRequests, asksOutcomes: asksOutcomes)
    }
  }
}

extension Duration {
  var seconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }
}
