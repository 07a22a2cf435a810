/// The checks of `cospool doctor`, beside each other, each with a limit of time.
struct Doctor: Sendable {
  var context: DoctorContext

  /// Some findings about one thing.
  struct Check: Sendable {
    var code: String
    var run: @Sendable (DoctorContext) async -> [DoctorFinding]
  }

  static let checks: [Check] =
    fileChecks + daemonChecks + serverChecks + agentChecks + serviceChecks

  /// In the order of the checks.
  func findings() async -> [DoctorFinding] {
    let context = context
    return await withTaskGroup(of: (Int, [DoctorFinding]).self) { tasks in
      for (index, check) in Doctor.checks.enumerated() {
        tasks.addTask {
          let late = DoctorFinding.warning(
            check.code, "the check did not end within \(context.limits.check)",
            fix: "Try again; what it looks at may hang.")
          return (
            index,
            await Deadline.value(within: context.limits.check, otherwise: [late]) {
              await check.run(context)
            }
          )
        }
      }
      var found = [[DoctorFinding]](repeating: [], count: Doctor.checks.count)
      for await (index, findings) in tasks { found[index] = findings }
      return found.flatMap { $0 }
    }
  }

  /// Checks that only read files and block.
  static func local(
    _ code: String, _ run: @escaping @Sendable (DoctorContext) -> [DoctorFinding]
  ) -> Check {
    Check(code: code) { context in await Deadline.blocking { run(context) } }
  }
}
