import Platform

/// The output of a doctor.
package struct DoctorReport: Encodable, Sendable {
  package var findings: [DoctorFinding]
  /// The problems that were corrected.
  package var repaired: [String]
  package var worst: DoctorFinding.Severity

  package init(_ findings: [DoctorFinding], repaired: [String] = []) {
    self.findings = findings
    self.repaired = repaired
    worst = findings.map(\.severity).max() ?? .ok
  }

  /// Runs the checks. If allowed, corrects the problems that can be corrected safely, and runs the
  /// checks again.
  ///
  /// - Parameters:
  ///   - limit: the time limit of a check. The second run has the rest of it, at least a second.
  ///   - look: runs the checks, each within the given limit.
  package static func looking(
    repairing: Bool, within limit: Duration, _ look: (Duration) async -> [DoctorFinding]
  ) async -> DoctorReport {
    let begin = ContinuousClock.now
    let findings = await look(limit)
    guard repairing else { return DoctorReport(findings) }
    let repaired = findings.filter { $0.repair?.done() == true }.map(\.what)
    guard !repaired.isEmpty else { return DoctorReport(findings) }
    // Whole seconds, because a finding may name them.
    let left = ((limit - begin.duration(to: .now)) / .seconds(1)).rounded(.up)
    return DoctorReport(await look(.seconds(max(1, left))), repaired: repaired)
  }

  /// Whether the program exits with a failure.
  ///
  /// - Parameter strict: whether a warning counts as a failure, too.
  package func isBad(strict: Bool) -> Bool { worst >= (strict ? .warning : .error) }

  /// One line of JSON; new versions only add fields.
  package func json() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }

  /// The findings, the worst first. Passed checks are counted, or shown on request.
  ///
  /// - Parameters:
  ///   - marked: a severity's word as the terminal shows it.
  ///   - line: a text without characters that would move the cursor.
  package func text(
    showsAll: Bool, marked: (DoctorFinding.Severity) -> String, line: (String) -> String
  ) -> String {
    let all = DoctorFinding.Severity.allCases.reversed()
    let shown = all.filter { showsAll || $0 != .ok }
      .flatMap { severity in findings.filter { $0.severity == severity } }
    var lines = repaired.map { "corrected  " + line($0) }
    for finding in shown {
      let padding = String(
        repeating: " ", count: max(1, 9 - finding.severity.rawValue.utf8.count))
      lines.append(
        marked(finding.severity) + padding + finding.code + ": " + line(finding.what))
      if let fix = finding.fix { lines.append("         " + line(fix)) }
    }
    let counts = all.map { severity in
      "\(findings.count { $0.severity == severity }) \(severity.rawValue)"
    }
    lines.append(counts.joined(separator: ", "))
    return lines.joined(separator: "\n")
  }
}

extension DoctorFinding.Repair {
  /// Makes the repair. It does not follow a link that replaced the file meanwhile.
  ///
  /// - Returns: whether it succeeded.
  package func done() -> Bool {
    switch self {
    case .mode(let path, let bits):
      fchmodat(AT_FDCWD, path, mode_t(bits), AT_SYMLINK_NOFOLLOW) == 0
    }
  }
}
