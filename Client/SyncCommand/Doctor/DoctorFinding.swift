/// What one check of `cospool doctor` found.
struct DoctorFinding: Equatable, Sendable, Encodable {
  enum Severity: String, Equatable, Sendable, Encodable, CaseIterable, Comparable {
    case ok, info, warning, error

    static func < (one: Severity, other: Severity) -> Bool {
      allCases.firstIndex(of: one) ?? 0 < allCases.firstIndex(of: other) ?? 0
    }
  }

  /// What `--fix` may do by itself: it takes rights away from others, and changes no content.
  enum Repair: Equatable, Sendable {
    case mode(path: String, bits: Int)
  }

  private enum CodingKeys: String, CodingKey { case code, severity, what, fix }

  /// The same from version to version, for scripts.
  var code: String
  var severity: Severity
  /// What was found.
  var what: String
  /// What to do about it.
  var fix: String?
  var repair: Repair?

  static func ok(_ code: String, _ what: String) -> DoctorFinding {
    DoctorFinding(code: code, severity: .ok, what: what)
  }

  static func info(_ code: String, _ what: String, fix: String? = nil) -> DoctorFinding {
    DoctorFinding(code: code, severity: .info, what: what, fix: fix)
  }

  static func warning(
    _ code: String, _ what: String, fix: String, repair: Repair? = nil
  ) -> DoctorFinding {
    DoctorFinding(code: code, severity: .warning, what: what, fix: fix, repair: repair)
  }

  static func error(
    _ code: String, _ what: String, fix: String, repair: Repair? = nil
  ) -> DoctorFinding {
    DoctorFinding(code: code, severity: .error, what: what, fix: fix, repair: repair)
  }
}
