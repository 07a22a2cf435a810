import ArgumentParser
import Foundation

/// Measures the rooms without input and output; see RESULTS.md beside this file.
@main
struct CospoolBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cospool-bench",
    abstract: "Measures merging, restoring and the size of what goes over the wire.",
    discussion: """
      Examples:
        cospool-bench all
        cospool-bench delta --json
        cospool-bench workspace --runs 9

      Times are medians of the runs. On a shared machine compare runs made side by side, and \
      build with optimisation: swift build -c release --product cospool-bench.
      """,
    version: "0.1.0")

  @Argument(help: "\(Suite.allCases.map(\.rawValue).joined(separator: ", ")) or all.")
  var suite = "all"

  @Option(help: "How often each measurement is repeated, 1 to 1000.")
  var runs = 5

  @Flag(help: "One JSON object instead of a table.")
  var json = false

  func validate() throws {
    guard suite == "all" || Suite(rawValue: suite) != nil else {
      throw ValidationError("There is no suite \(suite).")
    }
    guard (1...1_000).contains(runs) else {
      throw ValidationError("--runs takes 1 to 1000.")
    }
  }

  func run() throws {
    let suites = Suite(rawValue: suite).map { [$0] } ?? Suite.allCases
    let results = try suites.flatMap { try $0.measure(runs: runs) }
    let report = Report(suite: suite, machine: Report.thisMachine, results: results)
    print(try json ? report.json : report.table)
  }
}

/// A group of measurements.
enum Suite: String, CaseIterable {
  case delta
  case workspace

  func measure(runs: Int) throws -> [Result] {
    switch self {
    case .delta: try DeltaSuite.measure()
    case .workspace: try WorkspaceSuite.measure(runs: runs)
    }
  }
}

/// One measured value.
struct Result: Encodable {
  var name: String
  /// `seconds` or `bytes`.
  var metric: String
  var value: Double
}

/// What is printed.
struct Report: Encodable {
  var suite: String
  var machine: String
  var results: [Result]

  static var thisMachine: String {
    let info = ProcessInfo.processInfo
    return "\(info.operatingSystemVersionString), \(info.activeProcessorCount) cores"
  }

  var json: String {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
  }

  var table: String {
    let width = results.map(\.name.count).max() ?? 0
    return results.map { result in
      let name = result.name.padding(toLength: width, withPad: " ", startingAt: 0)
      return switch result.metric {
      case "seconds": "\(name)  \(String(format: "%10.3f ms", result.value * 1_000))"
      default: "\(name)  \(String(format: "%10.0f B", result.value))"
      }
    }.joined(separator: "\n")
  }
}
