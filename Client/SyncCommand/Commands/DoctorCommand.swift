import AgentFormats
import ArgumentParser
import Basics
import Operations
import Platform

/// `cospool doctor`
struct DoctorCommand: LocalCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Check the installation and suggest fixes.",
    discussion: """
      EXAMPLES
        cospool doctor
        cospool doctor --fix
        cospool doctor --json

      Checks the data directory, the daemon, the connection to the server, its certificate and clock,
      unsent changes, the agents, their hooks and the service. It takes at most five seconds, and also
      works without a daemon. --fix only tightens permissions on private files.

      Exit codes: 0 no errors, 1 an error.
      """)
  @Flag(help: "Fix what can be fixed safely, then check again.") var fix = false
  @Flag(help: "Exit with 1 for a warning as well.") var strict = false
  @Flag(help: "Show passed checks as well.") var all = false
  @OptionGroup var options: GlobalOptions

  func run(in environment: Environment) async throws -> String {
    try await outcome(in: environment).output
  }

  func outcome(in environment: Environment) async throws -> CommandRunner.Outcome {
    let directory = Paths.absolute(try environment.dataDirectory(flag: options.data))
    let program = Self.program(environment.variables)
    let context = await DoctorContext.gathered(
      dataDirectory: directory, variables: environment.variables, program: program,
      now: environment.style.now, limits: environment.doctorLimits)
    let report = await DoctorReport.looking(repairing: fix, within: context.limits.check) { limit in
      var context = context
      context.limits.check = limit
      return await Doctor(context: context).findings()
    }
    return CommandRunner.Outcome(
      exitCode: report.isBad(strict: strict) ? ExitStatus.failed : 0,
      output: options.json
        ? try report.json() : Self.text(report, showsAll: all, style: environment.style))
  }

  /// This program's path: as it was called, or found in `PATH` if that is a name. Links are kept,
  /// since an upgrade changes their targets; Foundation would resolve them.
  static func program(_ variables: [String: String]) -> String {
    let called = CommandLine.arguments.first ?? "cospool"
    if called.contains("/") { return Paths.absolute(called) }
    return ProgramRun.path(of: called, in: variables) ?? called
  }

  private static func text(
    _ report: DoctorReport, showsAll: Bool, style: TextStyle
  ) -> String {
    report.text(showsAll: showsAll) { severity in
      let colour: TextStyle.Colour? =
        switch severity {
        case .ok: .green
        case .info: .dim
        case .warning: .yellow
        case .error: .red
        }
      return style.coloured(severity.rawValue, colour)
    } line: { text in
      TextStyle.line(text)
    }
  }
}
