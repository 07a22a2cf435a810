import AgentFormats
import ArgumentParser
import Basics
import Operations
import Platform

/// `cospool bugreport`
struct BugReportCommand: LocalCommand {
  static let configuration = CommandConfiguration(
    commandName: "bugreport",
    abstract: "Collect the data for a bug report, without texts, names and keys.",
    discussion: """
      EXAMPLES
        cospool bugreport
        cospool bugreport --output report.txt

      The report contains versions, the doctor's findings, counts, settings that are numbers or switches, \
      and the daemon's last log lines. The command prints it. With --output, it shows the report first, and \
      writes it after you confirm, or at once with --yes. It sends nothing. Read the report before you share it.
      """)
  @Option(
    help: ArgumentHelp("Write it to this new file.", valueName: "file"),
    completion: .file())
  var output: String?
  @Flag(help: "Write without asking.") var yes = false
  @OptionGroup var options: GlobalOptions

  func run(in environment: Environment) async throws -> String {
    let text = try await report(in: environment)
    guard let output else {
      return options.json ? JSONTree.object(["report": .string(text)]).line : text
    }
    if !yes {
      guard let confirm = environment.confirm else {
        throw CommandFailure(
          code: "notConfirmed",
          message: "This is not a terminal, so you cannot confirm. To write \(output), add --yes.",
          exitCode: ExitStatus.usage)
      }
      environment.complain(text)
      guard confirm("Write this to \(TextStyle.line(output))?") else {
        return answer("nothing was written", written: false)
      }
    }
    try NewFile.write(text, to: output)
    return answer("written to \(TextStyle.line(output))", written: true)
  }

  private func answer(_ text: String, written: Bool) -> String {
    guard options.json else { return text }
    return JSONTree.object(["file": .string(output ?? ""), "written": .boolean(written)]).line
  }

  private func report(in environment: Environment) async throws -> String {
    let directory = Paths.absolute(try environment.dataDirectory(flag: options.data))
    let context = await DoctorContext.gathered(
      dataDirectory: directory, variables: environment.variables,
      program: DoctorCommand.program(environment.variables), now: environment.style.now,
      limits: environment.doctorLimits)
    let findings = await Doctor(context: context).findings()
    let words = [
      "journalctl", "--user", "--unit", SystemdUnit.name, "--no-pager", "--output=short-iso",
      "--no-hostname", "--lines=\(BugReport.logLines)",
    ]
    var log: String?
    if let program = ProgramRun.path(of: words[0], in: environment.variables) {
      let run = await ProgramRun.run(
        [program] + words.dropFirst(), variables: environment.variables, seconds: 5)
      if let run, run.status == 0 { log = run.output }
    }
    let file = FileHandleBytes.end(of: directory + "/cospoold.log", count: 65_536)
      .map { String(decoding: $0, as: UTF8.self) }
    return BugReport(context: context, findings: findings, log: log, file: file).text()
  }
}
