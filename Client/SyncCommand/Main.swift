import Platform
import Systemd

/// The entry point.
@main
struct Main {
  static func main() async {
    // `cospool queue list | head -1` must end quietly, and with the exit code of the command.
    signal(SIGPIPE, SIG_IGN)
    let runner = CommandRunner(environment: .current())
    DispatchLog.silence()
    let outcome = await runner.run(Array(CommandLine.arguments.dropFirst()))
    let isComplete = DescriptorWriter.writeLine(outcome.output, to: STDOUT_FILENO)
    DescriptorWriter.writeLine(outcome.errors, to: STDERR_FILENO)
    exit(outcome.exitCode == 0 && !isComplete ? 7 : outcome.exitCode)
  }
}
