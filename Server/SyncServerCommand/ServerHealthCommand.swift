import ArgumentParser
import Basics
import SyncServer

/// Checks only whether the running server answers. Monitors and containers call it twice a minute.
struct ServerHealthCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "health",
    abstract: "Check whether the running server works; for containers and monitors.",
    discussion: """
      It requests /healthz on the server's own port, for at most five seconds. For people, \
      `doctor` checks everything, which takes longer.

      Exit codes: 0 the server works, 1 it reports that it does not work, 4 it does not run, does not \
      answer, or does not report its address.
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
