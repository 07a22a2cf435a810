extension Simulation {
  /// Runs a seed: draws the run, performs its steps, and stops at the first violation.
  ///
  /// - Parameters:
  ///   - runsAgents: whether hosts run messages.
  ///   - raisesRequests: whether agents ask, and users answer.
  ///   - asksOutcomes: whether users who withdraw or edit a message ask if they were in time.
  ///   - items: the number of messages to queue for them; 0 for a mix of everything instead.
  ///   - joining: makes additional checkers. A checker belongs to one run, so it is called for
  ///     each.
  package static func run(
    seed: UInt64, profile: Profile, planted: Set<PlantedBug> = [], runsAgents: Bool = false,
    raisesRequests: Bool = false, asksOutcomes: Bool = false, items: Int = 0,
    keepsTrace: Bool = false, joining: () -> [any SimulationChecker] = { [] }
  ) -> SimulationReport {
    var plan = SwarmPlan(
      seed: seed, profile: profile, planted: planted, runsAgents: runsAgents,
      raisesRequests: raisesRequests, asksOutcomes: asksOutcomes, items: items,
      keepsTrace: keepsTrace)
    let simulation = Simulation(
      plan.options, checkers: standardCheckers(for: plan.options) + joining())
    var steps: [Step] = []
    while simulation.results.violations.isEmpty,
      let step = plan.step(in: simulation, number: steps.count)
    {
      steps.append(step)
      simulation.advance(milliseconds: step.after)
      simulation.apply(step.event)
    }
    if simulation.results.violations.isEmpty, steps.last?.event != .settle {
      steps.append(Step(after: 0, .settle))
      simulation.apply(.settle)
    }
    return simulation.report(of: RecordedRun(options: plan.options, steps: steps))
  }

  /// Repeats a run's steps.
  package static func replay(
    _ run: RecordedRun, keepsTrace: Bool = false,
    joining: () -> [any SimulationChecker] = { [] }
  ) -> SimulationReport {
    var options = run.options
    options.keepsTrace = keepsTrace || options.keepsTrace
    let simulation = Simulation(options, checkers: standardCheckers(for: options) + joining())
    for step in run.steps where simulation.results.violations.isEmpty {
      simulation.advance(milliseconds: step.after)
      simulation.apply(step.event)
    }
    if simulation.results.violations.isEmpty, run.steps.last?.event != .settle {
      simulation.apply(.settle)
    }
    return simulation.report(of: run)
  }

  /// The results of the run so far.
  private func report(of run: RecordedRun) -> SimulationReport {
    var report = results.report(of: run)
    for device in devices { report.execution += device.execution }
    return report
  }
}
