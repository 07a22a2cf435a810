/// A group of measurements.
enum Suite: String, CaseIterable {
  case prompt
  case queue
  case delta
  case workspace
  case sync
  case execution
  case soak
  case year
  case backup

  func measure(_ options: BenchOptions) throws -> [Result] {
    if let obstacle = obstacle(options) { throw BenchFailure(obstacle) }
    return switch self {
    case .prompt: try PromptSuite.measure(options)
    case .queue: try QueueSuite.measure(runs: options.runs)
    case .delta: try DeltaSuite.measure()
    case .workspace:
      try TypicalWorkspace.measure(runs: options.runs)
        + WorkspaceScaleSuite.measure(runs: options.runs) + JoinSuite.measure(runs: options.runs)
        + PastWriterSuite.measure(runs: options.runs)
        + processes(options)
    case .sync: try SyncSuite().measure(runs: options.runs)
    case .execution: try ExecutionSuite().measure()
    case .soak: try SoakSuite.measure()
    case .year: try YearSuite.measure(runs: options.runs)
    case .backup: try BackupSuite().measure()
    }
  }

  /// The part of the suite workspace that needs the product's executables.
  private func processes(_ options: BenchOptions) throws -> [Result] {
    if let obstacle = ProcessSuite.obstacle {
      CospoolBench.note("\(obstacle). It is left out.")
      return []
    }
    return try ProcessSuite.measure(runs: options.runs)
  }

  /// What is missing to run the suite, and what to do about it; nil if nothing is.
  func obstacle(_ options: BenchOptions) -> String? {
    switch self {
    case .prompt where options.traces == nil:
      "the suite prompt needs --traces DIR with the editing traces; see RESULTS.md"
    case .sync: SyncSuite.obstacle
    case .execution: ExecutionSuite.obstacle
    case .soak: SoakSuite.obstacle
    case .backup: BackupSuite.obstacle
    default: nil
    }
  }
}

/// The command line's options for a suite.
struct BenchOptions {
  /// The number of repetitions of each measurement.
  var runs = 5
  /// The folder with the editing traces.
  var traces: String?
}

/// Why a benchmark cannot continue, or what was wrong with its result.
struct BenchFailure: Error, CustomStringConvertible {
  var message: String

  init(_ message: String) {
    self.message = message
  }

  var description: String { message }

  /// Refuses a result that would make a measurement invalid.
  static func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
    guard condition else { throw BenchFailure(message()) }
  }
}
