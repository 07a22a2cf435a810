/// A finding of a check of `cospool doctor` or `cospool-server doctor`.
package struct DoctorFinding: Equatable, Sendable, Encodable {
  package enum Severity: String, Equatable, Sendable, Encodable, CaseIterable, Comparable {
    case ok, info, warning, error

    package static func < (one: Severity, other: Severity) -> Bool {
      allCases.firstIndex(of: one) ?? 0 < allCases.firstIndex(of: other) ?? 0
    }
  }

  /// A repair that `--fix` may make by itself: it removes permissions of others, and changes no
  /// content.
  package enum Repair: Equatable, Sendable {
    case mode(path: String, bits: Int)
  }

  private enum CodingKeys: String, CodingKey { case code, severity, what, fix }

  /// The same in all versions, for scripts.
  package var code: String
  package var severity: Severity
  /// What the check found.
  package var what: String
  /// What to do about it.
  package var fix: String?
  package var repair: Repair?

  package static func ok(_ code: String, _ what: String) -> DoctorFinding {
    DoctorFinding(code: code, severity: .ok, what: what)
  }

  package static func info(_ code: String, _ what: String, fix: String? = nil) -> DoctorFinding {
    DoctorFinding(code: code, severity: .info, what: what, fix: fix)
  }

  package static func warning(
    _ code: String, _ what: String, fix: String, repair: Repair? = nil
  ) -> DoctorFinding {
    DoctorFinding(code: code, severity: .warning, what: what, fix: fix, repair: repair)
  }

  package static func error(
    _ code: String, _ what: String, fix: String, repair: Repair? = nil
  ) -> DoctorFinding {
    DoctorFinding(code: code, severity: .error, what: what, fix: fix, repair: repair)
  }
}
