import ArgumentParser
import Foundation

/// The command line of the benchmarks; RESULTS.md beside this file describes the measurements.
@main
struct CospoolBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cospool-bench",
    abstract: """
      Measures typing, queues, merging, opening, sizes, a server under load, running agents.
      """,
    discussion: """
      EXAMPLES
        cospool-bench all --traces traces
        cospool-bench delta --json
        cospool-bench prompt --traces traces --runs 9
        cospool-bench sync
        cospool-bench execution
        cospool-bench soak
        cospool-bench backup

      sync starts the cospool-server beside cospool-bench, or in $COSPOOL_BIN, on a free port of \
      127.0.0.1 with data in a temporary folder, and connects up to 2,000 devices to it from this \
      process. It takes about a minute, makes at most 3 runs, and gives up after two minutes if \
      something is stuck.

      execution starts a server and two cospoold; one runs what the other sends: 320 messages and \
      as many approvals, one after the other, and then 30 seconds of idling.

      soak makes a server and two cospoold do the work of a long day in three minutes, and \
      measures their memory at the end and a minute later.

      backup makes, verifies and restores backups of a server that takes 1,000 updates a second \
      for 30 seconds. It fails if a backup lacks anything that was acknowledged when the backup \
      began, or if the cospoold of a workspace has not brought back the rest within a minute after \
      it connects to the restored server.

      Values are medians of the runs. On a shared machine, compare runs made side by side, and \
      build with optimisation: swift build -c release --product cospool-bench.

      --traces is the folder of the data set "editing-traces" with automerge-paper.json.gz, \
      seph-blog1.json.gz, sveltecomponent.json.gz and friendsforever.json.gz; RESULTS.md says \
      where to get it.

      EXIT CODES
        0 ok, 1 failed, 2 usage
      """,
    version: "0.1.0")

  @Argument(help: "\(Suite.allCases.map(\.rawValue).joined(separator: ", ")) or all.")
  var suite = "all"

  @Option(help: "The folder with the editing traces.")
  var traces: String?

  @Option(help: "The number of runs of each measurement, 1 to 1000.")
  var runs = 5

  @Flag(help: "Print one JSON object instead of a table.")
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
    let options = BenchOptions(runs: runs, traces: traces)
    var results: [Result] = []
    for suite in Suite(rawValue: suite).map({ [$0] }) ?? Suite.allCases {
      if self.suite == "all", let obstacle = suite.obstacle(options) {
        CospoolBench.note("\(suite.rawValue) is left out: \(obstacle)")
        continue
      }
      results += try suite.measure(options)
    }
    let report = Report(suite: suite, machine: Report.thisMachine, results: results)
    print(try json ? report.json : report.table)
  }

  static func main() {
    do {
      var command = try parseAsRoot(nil)
      try command.run()
    } catch let failure as BenchFailure {
      note(failure.message)
      Foundation.exit(1)
    } catch {
      let message = fullMessage(for: error)
      let code = exitCode(for: error)
      if code.isSuccess {
        print(message)
        Foundation.exit(0)
      }
      FileHandle.standardError.write(Data((message + "\n").utf8))
      Foundation.exit(code == .validationFailure ? 2 : code.rawValue)
    }
  }

  /// Shows the user a message without changing the results on standard output.
  static func note(_ message: String) {
    FileHandle.standardError.write(Data("cospool-bench: \(message)\n".utf8))
  }
}
