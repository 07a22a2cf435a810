import ArgumentParser
import Basics
import Foundation
import QueueModel
import SyncSimulation

/// Shrinks a failing seed.
struct ShrinkCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "shrink",
    abstract: "Make a failing seed small, and write it as a scenario that still fails.",
    discussion: """
      Examples:
        cospool-harness shrink --seed 17 --profile hostile
        cospool-harness shrink --seed 17 --profile hostile --output small.json
        cospool-harness scenario small.json
      """)

  @OptionGroup var chosen: RunArguments

  @Option(help: "The file of the scenario (default: shrunk-PROFILE-SEED.json).")
  var output: String?

  @Option(help: "The maximum number of runs to try.")
  var attempts = 2_000

  func validate() throws {
    guard (1...1_000_000).contains(attempts) else {
      throw ValidationError("--attempts takes 1 to 1000000.")
    }
  }

  func run() throws {
    let name = chosen.name
    let report = name.run()
    guard let violation = report.violations.first else {
      Console.write(
        "seed \(name.seed) of profile \(name.profile.rawValue) does not fail; nothing to shrink",
        to: .standardError)
      throw ExitCode.violation
    }
    let isTerminal = Console.standardErrorIsTerminal
    let shrunk = Shrinker.shrink(
      report.run, violation: violation, attemptsMax: attempts,
      progress: { steps, attempts in
        if isTerminal {
          Console.overwrite("\(steps) steps left, \(attempts) runs tried", on: .standardError)
        }
      })
    if isTerminal { Console.overwrite("", on: .standardError) }
    let scenario = try Self.scenario(of: shrunk, name)
    let path = output ?? "shrunk-\(name.profile.rawValue)-\(name.seed).json"
    do {
      try Data(ScenarioWriter.text(of: scenario).utf8).write(to: URL(fileURLWithPath: path))
    } catch {
      throw ValidationError("\(path) cannot be written: \(Console.reason(error))")
    }
    Console.write(
      """
      \(report.run.steps.count) steps became \(shrunk.run.steps.count) in \(shrunk.attempts) runs; \
      it fails in \(shrunk.violation.checker):
        \(shrunk.violation.message.replacing("\n", with: "\n  "))
        cospool-harness scenario \(Shell.quoted(path))
      """)
  }

  /// The run as a scenario that fails in the same checker, with short labels if it still fails with
  /// them.
  static func scenario(of shrunk: ShrunkRun, _ name: RunName) throws -> Scenario {
    let description =
      "Shrunk from seed \(name.seed), profile \(name.profile.rawValue). "
      + "\(shrunk.violation.checker): \(shrunk.violation.message.prefix(500))"
    guard shrunk.run.options.server.nodes.count == 1 else {
      throw ValidationError(
        "Scenarios have one server. Replay the seed instead: \(name.replayCommand)")
    }
    let run = ScenarioTranscript.withoutSkippedSteps(shrunk.run)
    for labels in [ScenarioTranscript.shortLabels(of: run), [:]] {
      let scenario = ScenarioTranscript.scenario(
        of: run, name: "seed \(name.seed), \(name.profile.rawValue)",
        description: description, labels: labels)
      // The file is the result, so the scenario is written and read again.
      let read = try ScenarioParser.parse(Array(ScenarioWriter.text(of: scenario).utf8))
      if ScenarioRunner.run(read).violations.contains(where: {
        $0.checker == shrunk.violation.checker
      }) {
        return scenario
      }
    }
    throw ValidationError(
      "The shrunk run does not fail as a scenario; replay it instead: \(name.replayCommand)")
  }
}
