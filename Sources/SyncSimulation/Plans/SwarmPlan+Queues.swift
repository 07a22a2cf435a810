import QueueOracle

/// Runs that execute as much as possible: many messages, with a fault for every few of them.
extension SwarmPlan {
  /// Each message should cost only its own frames and checks. So the server does work in proportion
  /// to the whole state less often, and the oracle does not run.
  static func drawQueues(
    _ options: inout SimulationOptions, using generator: inout SeededGenerator
  ) {
    options.devices = options.isAlone ? 1 : 2 + generator.below(2)
    options.hasQuickAgents = true
    options.usesOracle = false
    options.queueSizeMax = 1_000
    options.server.catchUpEntriesMax = [100, 4_096, 4_096][generator.below(3)]
    options.server.snapshotEntries = 512
  }

  /// The next step of such a run; nil once everything was queued, run and decided.
  mutating func queueStep(in simulation: Simulation) -> Step? {
    let after = queuePause()
    if generator.chance(faultPercent), let event = repair(in: simulation) ?? fault(in: simulation) {
      return Step(after: after, event)
    }
    let awake = simulation.devices.filter { $0.process != nil && !$0.isAsleep }
    guard let device = generator.pick(awake) else {
      let index = generator.below(simulation.devices.count)
      return Step(after: 1_000, .restart(device: index))
    }
    if let action = queues?.action(on: device) {
      return Step(after: after, .perform(device: device.index, action))
    }
    // If the last decisions were made at rest, the run is complete.
    if simulation.isJustSettled {
      guard queues?.decideAll(on: device) == true else { return nil }
      return queueStep(in: simulation)
    }
    return Step(after: 0, .settle)
  }

  private mutating func queuePause() -> Int64 {
    let milliseconds: Int =
      switch generator.below(100) {
      case ..<80: generator.below(60)
      case ..<98: generator.below(300)
      default: generator.below(5_000)
      }
    return Int64(milliseconds * min(pacePercent, 200) / 100)
  }
}
