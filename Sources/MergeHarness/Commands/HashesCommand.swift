import ArgumentParser
import Basics
import Foundation

/// Shows that a run depends only on its seed, wherever it runs.
struct HashesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hashes",
    abstract: "Print the trace hashes of some seeds, or compare them with a file.",
    discussion: """
      Examples:
        cospool-harness hashes > hashes.txt
        cospool-harness hashes --check hashes.txt

      A run is the same on every machine, in debug and in release. Tests/Scenarios/trace-hashes.txt \
      has the hashes that the tests expect. If you change what devices send, write it again.
      """)

  @Option(help: "A file that this command wrote; exit code 1 if a hash differs.")
  var check: String?

  func run() throws {
    guard let check else {
      return Console.write(TraceHashTable().text.trimmingCharacters(in: .newlines))
    }
    let table: TraceHashTable
    do {
      table = try TraceHashTable(String(contentsOfFile: check, encoding: .utf8))
    } catch let error as CocoaError {
      Console.write("\(check): \(Console.reason(error))", to: .standardError)
      throw ExitCode.usage
    } catch {
      Console.write("\(check): \(error)", to: .standardError)
      throw ExitCode.usage
    }
    let differences = table.differences()
    guard differences.isEmpty else {
      for line in differences { Console.write(line) }
      Console.write(
        "Runs have changed. If that is intended: cospool-harness hashes > \(Shell.quoted(check))")
      throw ExitCode.violation
    }
    Console.write("\(table.entries.count) runs give the same hashes")
  }
}
