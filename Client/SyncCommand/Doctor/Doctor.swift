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
}
