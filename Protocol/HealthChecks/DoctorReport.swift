#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// What a doctor prints.
package struct DoctorReport: Encodable, Sendable {
  package var findings: [DoctorFinding]
  /// What was wrong and was corrected.
  package var repaired: [String]
  package var worst: DoctorFinding.Severity

  package init(_ findings: [DoctorFinding], repaired: [String] = []) {
    self.findings = findings
    self.repaired = repaired
    worst = findings.map(\.severity).max() ?? .ok
  }

  /// Looks; where it may, corrects what can be corrected safely, and looks again.
  ///
  /// - Parameters:
  ///   - limit: of a check. Those that are done again have what is left of it, a second at least.
  ///   - look: does the checks, each within the limit that it is given.
  package static func looking(
    repairing: Bool, within limit: Duration, _ look: (Duration) async -> [DoctorFinding]
  ) async -> DoctorReport {
    let begin = ContinuousClock.now
    let findings = await look(limit)
    guard repairing else { return DoctorReport(findings) }
    let repaired = findings.filter { $0.repair?.done() == true }.map(\.what)
    guard !repaired.isEmpty else { return DoctorReport(findings) }
    // Whole seconds: they may be told.
    let left = ((limit - begin.duration(to: .now)) / .seconds(1)).rounded(.up)
    return DoctorReport(await look(.seconds(max(1, left))), repaired: repaired)
  }

  /// Whether the program ends with a failure.
  ///
  /// - Parameter strict: whether a warning is one, too.
  package func isBad(strict: Bool) -> Bool { worst >= (strict ? .warning : .error) }

  /// One line of JSON; it only ever gains fields.
  package func json() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }

  /// The worst first; what is well is counted, or shown where that is asked for.
  ///
  /// - Parameters:
  ///   - marked: a severity's word as the terminal shows it.
  ///   - line: a text without what would move the cursor.
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
  /// Does it. A link that came to stand at the path since is not followed.
  ///
  /// - Returns: whether it could be done.
  package func done() -> Bool {
    switch self {
    case .mode(let path, let bits):
      fchmodat(AT_FDCWD, path, mode_t(bits), AT_SYMLINK_NOFOLLOW) == 0
    }
  }
}
