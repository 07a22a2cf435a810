import ArgumentParser
import Basics
import Foundation
import Operations
import SyncServer

/// Checks the server, and suggests fixes.
struct ServerDoctorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Check the installation and suggest fixes.",
    discussion: """
      It checks the data directory and its permissions, the disk, the database, every \
      workspace, attachments, revocations, the process and its port, the certificate, the \
      clock, pushes and backups. The server can be running or stopped. If you pass --url, here \
      or to serve, it also checks that address: its name, the proxy in front of the server, and \
      the chain of the certificate.

      EXAMPLES
        cospool-server doctor
        cospool-server doctor --url wss://cospool.example.org
        cospool-server doctor --json

      Exit codes: 0 no errors, 1 an error.
      """)

  @OptionGroup var data: DataOptions

  @Option(
    help: ArgumentHelp(
      "The address that devices use. Default: the one of serve --url.", valueName: "url"))
  var url: String?

  @Option(
    help: ArgumentHelp("Your own root certificate in PEM, for --url.", valueName: "file"))
  var certificate: String?

  @Flag(help: "Tighten the permissions on private files, and check again.")
  var fix = false

  @Flag(help: "Exit with 1 for a warning as well.")
  var strict = false

  @Flag(help: "Show passed checks as well.")
  var all = false

  @Flag(help: "Print JSON: findings (code, severity, what, fix), repaired, worst.")
  var json = false

  func run() async throws {
    let report = await DoctorReport.looking(
      repairing: fix, within: ServerDoctorContext.limitUsual, look)
    try StandardOutput.write(
      json
        ? try report.json()
        : report.text(showsAll: all, marked: \.rawValue, line: ShownName.text))
    if report.isBad(strict: strict) { throw ExitCode(ExitStatus.failed) }
  }

  private func look(within limit: Duration) async -> [DoctorFinding] {
    var context = ServerDoctorContext(dataDirectory: data.resolved)
    context.limit = limit
    context.url = url
    context.startAdvice = ServerUnit.startAdvice(for: data.resolved)
    context.certificateFile = certificate
    return await ServerDoctor.findings(context)
  }
}
