/// Some findings about one thing, of a program that looks at `Context`.
package struct HealthCheck<Context: Sendable>: Sendable {
  package var code: String
  package var run: @Sendable (Context) async -> [DoctorFinding]

  package init(code: String, run: @escaping @Sendable (Context) async -> [DoctorFinding]) {
    self.code = code
    self.run = run
  }

  /// A check that only reads files and blocks.
  package static func local(
    _ code: String, _ run: @escaping @Sendable (Context) -> [DoctorFinding]
  ) -> HealthCheck {
    HealthCheck(code: code) { context in await Deadline.blocking { run(context) } }
  }

  /// Does all beside each other, each with a limit of time.
  ///
  /// - Returns: what they found, in the order of the checks.
  package static func findings(
    of checks: [HealthCheck], looking context: Context, within limit: Duration
  ) async -> [DoctorFinding] {
    await withTaskGroup(of: (Int, [DoctorFinding]).self) { tasks in
      for (index, check) in checks.enumerated() {
        tasks.addTask {
          let late = DoctorFinding.warning(
            check.code, "the check did not end within \(limit)",
            fix: "Try again; what it looks at may hang.")
          return (
            index,
            await Deadline.value(within: limit, otherwise: [late]) { await check.run(context) }
          )
        }
      }
      var found = [[DoctorFinding]](repeating: [], count: checks.count)
      for await (index, findings) in tasks { found[index] = findings }
      return found.flatMap { $0 }
    }
  }
}
