import ArgumentParser
import CommandArguments
import Foundation

/// Simulates devices and a server, and shows how conflicts end; see README.md beside this file.
@main
struct CospoolHarness: AsyncParsableCommand {
  static let version = "0.1.0"

  static let configuration = CommandConfiguration(
    commandName: "cospool-harness",
    abstract: "Run conflicts between simulated devices and check the results.",
    discussion: """
      Examples:
        cospool-harness scenario conflict.json
        cospool-harness run --seeds 1000
        cospool-harness run --profile all --minutes 10 --json
        cospool-harness replay --seed 17 --profile hostile --trace
        cospool-harness shrink --seed 17 --profile hostile --output small.json
        cospool-harness matrix

      Devices and server are the production code, under virtual time, in one process. A seed and a \
      profile name a run permanently; the same run gives the same trace hash on every machine.

      Exit code: 0 if everything holds, 1 if something does not, 2 for a mistake in the \
      arguments or in a scenario file, 130 after Ctrl-C.
      """,
    version: version,
    subcommands: [
      RunCommand.self, ReplayCommand.self, ShrinkCommand.self, MatrixCommand.self,
      ScenarioCommand.self, HashesCommand.self, BenchCommand.self,
    ])

  static func main() async {
    Foundation.exit(await run(arguments: Array(CommandLine.arguments.dropFirst())))
  }

  /// Runs a command line and returns its exit code.
  static func run(arguments: [String]) async -> Int32 {
    do {
      let reading = try ArgumentReader(CospoolHarness.self).read(arguments)
      var command = try parseAsRoot(reading.arguments)
      if var asynchronous = command as? any AsyncParsableCommand {
        try await asynchronous.run()
      } else {
        try command.run()
      }
      return 0
    } catch let fault as ArgumentFault {
      Console.write(fault.text, to: .standardError)
      return ExitCode.usage.rawValue
    } catch let code as ExitCode where code != .validationFailure {
      return code.rawValue
    } catch {
      let isHelp = exitCode(for: error) == .success
      Console.write(fullMessage(for: error), to: isHelp ? .standardOutput : .standardError)
      return isHelp ? 0 : 2
    }
  }
}

extension ExitCode {
  /// A property was violated.
  static let violation = ExitCode(1)
  /// A scenario file or an argument is wrong.
  static let usage = ExitCode(2)
  /// Stopped by Ctrl-C.
  static let interrupted = ExitCode(130)
}
