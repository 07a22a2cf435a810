import ArgumentParser
import Basics
import SyncServer

/// Asks the server that runs whether it works, and nothing else: for those that ask twice a minute.
struct ServerHealthCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "health",
    abstract: "Ask the server that runs whether it works; for containers and monitors.",
    discussion: """
      Asks its own port for /healthz, in five seconds at most. `doctor` looks at everything, which takes \
      longer and is for people.

      Exit codes: 0 it works, 1 it says that it does not, 4 it does not run, does not answer, or does \
      not say where it listens.
      """)

  @OptionGroup var data: DataOptions

  func run() async throws {
    let health = await ServerAdministration(dataDirectory: data.resolved).health()
    try StandardOutput.write(health.text)
    switch health {
    case .well: break
    case .ill: throw ExitCode(ExitStatus.failed)
    case .unreachable: throw ExitCode(ExitStatus.unreachable)
    }
  }
}
