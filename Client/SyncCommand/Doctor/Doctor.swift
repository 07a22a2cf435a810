import Operations

/// The checks of `cospool doctor`, which run in parallel, each with a time limit.
struct Doctor: Sendable {
  typealias Check = HealthCheck<DoctorContext>

  var context: DoctorContext

  static let checks: [Check] =
    fileChecks + daemonChecks + serverChecks + agentChecks + serviceChecks

  /// In the order of the checks.
  func findings() async -> [DoctorFinding] {
    await Check.findings(of: Doctor.checks, looking: context, within: context.limits.check)
  }

  /// Checks that only read files and block.
  static func local(
    _ code: String, _ run: @escaping @Sendable (DoctorContext) -> [DoctorFinding]
  ) -> Check {
    Check.local(code, run)
  }
}
