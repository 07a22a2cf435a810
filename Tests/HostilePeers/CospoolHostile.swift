import ArgumentParser
import Foundation

/// Runs seeded hostile clients against a real server.
@main
struct CospoolHostile: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cospool-hostile",
    abstract: "Let seeded hostile clients loose on a real server, and say what became of it.",
    discussion: """
      The server lies beside this program. Ends with 1 where the server ended, took more memory than it \
      may, let somebody write as another device, kept a known device out, or held other workspaces up.
      """)

  @Option(help: "How many clients come.")
  var clients = 100_000

  @Option(help: "How many at a time.")
  var atOnce = 32

  @Option(help: "Idle sockets of one address.")
  var idle = 1_000

  @Option(help: "What the dice begin with; 0: another one each time.")
  var seed: UInt64 = 0

  @Option(help: "MiB that the server may take.")
  var memory = 512

  @Option(help: "How many times the quiet p99 a commit of another workspace may take.")
  var slowdown = 3.0

  func run() throws {
    let own = Bundle.main.executableURL?.deletingLastPathComponent()
    let binary = (own ?? URL(filePath: ".")).appending(path: "cospool-server")
    var run = HostileRun(binary: binary.path(percentEncoded: false))
    run.clients = clients
    run.atOnce = atOnce
    run.idle = idle
    run.seed = seed == 0 ? UInt64.random(in: 1...1_000_000) : seed
    run.memoryMax = memory << 20
    run.slowdownMax = slowdown
    run.quietSeconds = 20
    print("seed \(run.seed)")
    let outcome = try run.run()
    print(outcome.text)
    guard outcome.problems.isEmpty else {
      for problem in outcome.problems { print("WRONG: \(problem)") }
      throw ExitCode(1)
    }
  }
}
