import AgentFormats
import ArgumentParser

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// `cospool doctor`
struct DoctorCommand: LocalCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Look whether everything works, and say what to do.",
    discussion: """
      EXAMPLES
        cospool doctor
        cospool doctor --fix
        cospool doctor --json

      Looks at the data directory, the daemon, the way to the server, its certificate and clock, what
      was not sent, the agents, their hooks and the service, in five seconds at most; without a daemon,
      too. --fix takes rights on private files away from others, and does nothing else.

      Exit codes: 0 nothing worse than a warning, 1 an error.
      """)
  @Flag(help: "Correct what can be corrected safely, and look again.") var fix = false
  @Flag(help: "Exit with 1 for a warning, too.") var strict = false
  @Flag(help: "Show what is well, too.") var all = false
  @OptionGroup var options: GlobalOptions

  func run(in environment: Environment) async throws -> String {
    try await outcome(in: environment).output
  }

  func outcome(in environment: Environment) async throws -> CommandRunner.Outcome {
    let directory = Paths.absolute(try environment.dataDirectory(flag: options.data))
    let program = Self.program(environment.variables)
    func look() async -> [DoctorFinding] {
      let context = await DoctorContext.gathered(
        dataDirectory: directory, variables: environment.variables, program: program,
        now: environment.style.now, limits: environment.doctorLimits)
      return await Doctor(context: context).findings()
    }
    var findings = await look()
    var repaired: [String] = []
    if fix {
      repaired = findings.compactMap { finding in
        finding.repair.flatMap { Self.repair($0) ? finding.what : nil }
      }
      if !repaired.isEmpty { findings = await look() }
    }
    let worst = findings.map(\.severity).max() ?? .ok
    return CommandRunner.Outcome(
      exitCode: worst >= (strict ? .warning : .error) ? 1 : 0,
      output: options.json
        ? try Self.json(findings, repaired)
        : Self.text(findings, repaired, showsAll: all, style: environment.style))
  }

  /// This program: as it was called, found in `PATH` where that is a name.
  static func program(_ variables: [String: String]) -> String {
    let called = ProcessInfo.processInfo.arguments.first ?? "cospool"
    if called.contains("/") { return Paths.absolute(called) }
    return ProgramRun.path(of: called, in: variables) ?? called
  }

  private static func repair(_ repair: DoctorFinding.Repair) -> Bool {
    switch repair {
    case .mode(let path, let bits):
      (try? FileManager.default.setAttributes(
        [.posixPermissions: bits], ofItemAtPath: path)) != nil
    }
  }

  private struct Report: Encodable {
    var findings: [DoctorFinding]
    var repaired: [String]
    var worst: DoctorFinding.Severity
  }

  private static func json(_ findings: [DoctorFinding], _ repaired: [String]) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let worst = findings.map(\.severity).max() ?? .ok
    let report = Report(findings: findings, repaired: repaired, worst: worst)
    return String(decoding: try encoder.encode(report), as: UTF8.self)
  }

  /// The worst first; what is well is counted, or shown where that is asked for.
  static func text(
    _ findings: [DoctorFinding], _ repaired: [String], showsAll: Bool, style: TextStyle
  ) -> String {
    let shown = DoctorFinding.Severity.allCases.reversed()
      .filter { showsAll || $0 != .ok }
      .flatMap { severity in findings.filter { $0.severity == severity } }
    var lines = repaired.map { "corrected  " + TextStyle.line($0) }
    for finding in shown {
      let colour: TextStyle.Colour? =
        switch finding.severity {
        case .ok: .green
        case .info: .dim
        case .warning: .yellow
        case .error: .red
        }
      let name = finding.severity.rawValue
      let padding = String(repeating: " ", count: max(1, 9 - name.count))
      lines.append(
        style.coloured(name, colour) + padding + finding.code + ": "
          + TextStyle.line(finding.what))
      if let fix = finding.fix { lines.append("         " + TextStyle.line(fix)) }
    }
    let counts = DoctorFinding.Severity.allCases.reversed().map { severity in
      (severity, findings.count { $0.severity == severity })
    }
    lines.append(counts.map { "\($0.1) \($0.0.rawValue)" }.joined(separator: ", "))
    return lines.joined(separator: "\n")
  }
}
