import ArgumentParser
import Foundation

/// Runs seeded hostile clients against a real server.
@main
struct CospoolHostile: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cospool-hostile",
    abstract: "Let seeded hostile clients loose on a real server, and report the result.",
    discussion: """
      The program starts the server executable beside it. It exits with 1 if the server ended, \
      took more memory than allowed, let a client write as another device, kept a known device \
      out, or delayed other workspaces.
      """)

  @Option(help: "The number of clients.")
  var clients = 100_000

  @Option(help: "The number of clients at a time.")
  var atOnce = 32

  @Option(help: "The number of idle sockets from one address.")
  var idle = 1_000

  @Option(help: "The seed of the random numbers; 0 chooses one.")
  var seed: UInt64 = 0

  @Option(help: "The memory that the server may take, in MiB.")
  var memory = 512

  @Option(help: "The p99 of another workspace's commits, at most this multiple of the quiet one.")
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
