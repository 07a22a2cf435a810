import ArgumentParser
import Basics
import Foundation

/// Runs scenario files.
struct ScenarioCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "scenario",
    abstract: "Run scenario files.",
    discussion: """
      Examples:
        cospool-harness scenario conflict.json
        cospool-harness scenario Tests/Scenarios/*.json

      Sources/MergeHarness/README.md describes the language.
      """)

  @Argument(help: "The files.", completion: .file(extensions: ["json"]))
  var files: [String]

  @Flag(help: "Print a line for each event, with its virtual time in milliseconds.")
  var trace = false

  func run() throws {
    var isWrong = false
    var hasFailed = false
    for file in files {
      do {
        let report = ScenarioRunner.run(try ScenarioFile.read(file), keepsTrace: trace)
        for line in report.trace { Console.write(line) }
        Console.write(ScenarioWords.text(of: report, file: file))
        if !report.failures.isEmpty { hasFailed = true }
      } catch {
        Console.write("\(file):\(error)", to: .standardError)
        isWrong = true
      }
    }
    if isWrong { throw ExitCode.usage }
    if hasFailed { throw ExitCode.violation }
  }
}

enum ScenarioFile {
  /// Reads and checks a file; a fault is reported with its line and column.
  static func read(_ path: String) throws(ScenarioError) -> Scenario {
    let bytes: [UInt8]
    do {
      bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    } catch {
      throw ScenarioError(
        "the file cannot be read: \(Console.reason(error))", at: .start)
    }
    return try ScenarioParser.parse(bytes)
  }
}

/// The result of a scenario, as text.
enum ScenarioWords {
  static func text(of report: ScenarioReport, file: String) -> String {
    let verdict = report.failures.isEmpty ? "passed" : "FAILED"
    let head =
      "\(verdict): \(report.name) (\(report.steps) steps, \(report.expectations) expectations, "
      + "\(report.operations) operations, \(report.virtualMilliseconds) virtual ms)"
    return ([head] + report.failures.map { "  " + text(of: $0, file: file) })
      .joined(separator: "\n")
  }

  /// The expected value above the actual one, so that they can be compared.
  private static func text(of failure: ScenarioReport.Failure, file: String) -> String {
    let head = "\(file):\(failure.position): \(failure.what)"
    guard let expected = failure.expected else {
      return head + "\n" + indented(failure.actual)
    }
    return """
      \(head)
          expected: \(expected)
          actual:   \(failure.actual.replacing("\n", with: "\n              "))
      """
  }

  private static func indented(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { "      " + $0 }
      .joined(separator: "\n")
  }
}
