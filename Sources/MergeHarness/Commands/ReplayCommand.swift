import ArgumentParser
import SyncSimulation

/// The arguments that name one run.
struct RunArguments: ParsableArguments {
  @Option(help: "The seed.")
  var seed: UInt64

  @Option(help: "The faults of the world.")
  var profile: Profile = .standard

  @Option(name: .customLong("plant"), help: "Plant a bug, to see it found.")
  var planted: [PlantedBug] = []

  @Flag(help: "Give sessions hosts, which run the messages.")
  var agents = false

  @Flag(help: "Let agents ask for permission and answers, and users answer; implies --agents.")
  var requests = false

  @Flag(help: "Let users who withdraw or edit ask whether that was in time; implies --agents.")
  var outcomes = false

  @Option(help: "The number of messages for hosts to run, as in the run; implies --agents.")
  var items = 0

  /// Each text begins with a different character, which limits the number of texts.
  static func check(items: Int) throws {
    guard (0...20_000).contains(items) else {
      throw ValidationError("--items takes 1 to 20000.")
    }
  }

  func validate() throws {
    try Self.check(items: items)
    guard seed <= UInt64(Int64.max) else {
      throw ValidationError("Seeds must be below 2 to the power of 63.")
    }
  }

  var name: RunName {
    RunName(
      seed: seed, profile: profile, planted: Set(planted),
      runsAgents: agents || requests || outcomes || items > 0, items: items,
      raisesRequests: requests, asksOutcomes: outcomes)
  }
}

/// Runs one seed again.
struct ReplayCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replay",
    abstract: "Run one seed again, with a trace of all events if requested.",
    discussion: """
      Examples:
        cospool-harness replay --seed 17
        cospool-harness replay --seed 17 --profile hostile --trace | less
      """)

  @OptionGroup var chosen: RunArguments

  @Flag(help: "Print a line for each event, with its virtual time in milliseconds.")
  var trace = false

  func run() throws {
    let name = chosen.name
    let report = name.run(keepsTrace: trace)
    for line in report.trace { Console.write(line) }
    for violation in report.violations {
      Console.write(
        "step \(violation.step), \(violation.at) virtual ms: \(violation.checker)\n  "
          + violation.message.replacing("\n", with: "\n  "))
    }
    Console.write(
      """
      \(report.violations.count) violations: \(report.run.options.devices) devices, \
      \(report.run.steps.count) steps, \(report.commands) commands (\(report.commandsRefused) \
      refused), \(report.operations) operations, \(report.faults) faults, \
      \(report.virtualMilliseconds) virtual ms, trace hash \
      \(String(report.traceHash, radix: 16))
      """)
    if !report.violations.isEmpty { throw ExitCode.violation }
  }
}
