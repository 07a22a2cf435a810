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
    let arguments = Array(CommandLine.arguments.dropFirst())
    var outcome = await runner.run(arguments)
    if !DescriptorWriter.writeLine(outcome.output, to: STDOUT_FILENO) {
      outcome = outcome.withOutputLost(isJSON: arguments.contains("--json"))
    }
    DescriptorWriter.writeLine(outcome.errors, to: STDERR_FILENO)
    exit(outcome.exitCode)
  }
}
