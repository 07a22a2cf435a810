/// A check of a program that examines a `Context`, with findings about one subject.
package struct HealthCheck<Context: Sendable>: Sendable {
  package var code: String
  /// The meaning of a timeout.
  package var late: LateCheck
  package var run: @Sendable (Context) async -> [DoctorFinding]

  package init(
    code: String, late: LateCheck = LateCheck(),
    run: @escaping @Sendable (Context) async -> [DoctorFinding]
  ) {
    self.code = code
    self.late = late
    self.run = run
  }

  /// A check that only reads files and blocks.
  package static func local(
    _ code: String, late: LateCheck = LateCheck(),
    _ run: @escaping @Sendable (Context) -> [DoctorFinding]
  ) -> HealthCheck {
    HealthCheck(code: code, late: late) { context in await Deadline.blocking { run(context) } }
  }

  /// Runs all checks in parallel, each with a time limit.
  ///
  /// - Returns: their findings, in the order of the checks.
  package static func findings(
    of checks: [HealthCheck], looking context: Context, within limit: Duration
  ) async -> [DoctorFinding] {
    await withTaskGroup(of: (Int, [DoctorFinding]).self) { tasks in
      for (index, check) in checks.enumerated() {
        tasks.addTask {
          let late = check.late.finding(check.code, after: limit)
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

/// The finding about a check that did not finish in time.
package struct LateCheck: Sendable {
  private let severity: DoctorFinding.Severity
  private let what: String
  private let fix: String

  /// The subject of the check may be slow, or this machine.
  package init(
    fix: String = "Run the doctor again; the file, program or server that it checks may hang."
  ) {
    self.init(severity: .warning, what: "the check did not finish", fix: fix)
  }

  /// The subject is at fault if it does not answer in time.
  package static func silence(of whom: String, fix: String) -> LateCheck {
    LateCheck(severity: .error, what: "\(whom) did not answer", fix: fix)
  }

  private init(severity: DoctorFinding.Severity, what: String, fix: String) {
    (self.severity, self.what, self.fix) = (severity, what, fix)
  }

  fileprivate func finding(_ code: String, after limit: Duration) -> DoctorFinding {
    DoctorFinding(code: code, severity: severity, what: "\(what) within \(limit)", fix: fix)
  }
}
