import ClientCore
import DispatchAuthority
import QueueModel
import QueueOracle

/// Agents on the hosts. They work for a while and may ask for permission or an answer. They end
/// done, failed, dead with their machine, or with a reason to wait.
final class SimulatedAgents: SimulationPart {
  /// The number of requests so far.
  var requestsRaised = 0
  unowned let simulation: Simulation

  init(in simulation: Simulation) { self.simulation = simulation }

  /// A host starts to run agents, and reports those of its earlier life.
  func start(on device: SimulatedDevice, _ executed: LoadedReplica.Execution) {
    var settings = ExecutionSettings()
    settings.onUnknown = [.ask, .skip, .retry][device.generator.below(3)]
    settings.skipsFailed = device.generator.chance(20)
    settings.take(device.hostSettings)
    device.process?.host.settings = settings
    let dead = executed.intents.map(\.message).filter { _ in device.generator.chance(50) }
    if options.planted.contains(.intentsRunAgain) {
      for start in executed.intents { begin(start, on: device) }
    }
    simulation.clients.tell(device) { core, context, store in
      core.executionStarted(
        settings, loaded: executed, deadAgents: Set(dead), at: context, store: store)
    }
  }

  func follow(_ order: AgentOrder, on device: SimulatedDevice) {
    switch order {
    case .start(let start):
      begin(start, on: device)
    case .stop(let session, let attempt):
      guard var agent = device.process?.agents[session], agent.order.attempt == attempt else {
        return
      }
      simulation.note(.agentStopped(device: device.index, agent.order))
      agent.isStopped = true
      agent.endsAt = min(agent.endsAt, clock.now + Int64(device.generator.below(10_000)))
      device.process?.agents[session] = agent
      clock.add(
        .agentEnd(device: device.index, life: device.life, agent.order), at: agent.endsAt)
    case .drained:
      simulation.hosts.drained(device)
    case .askConsent, .consentSettled:
      break
    }
  }

  private func begin(_ start: StartOrder, on device: SimulatedDevice) {
    results.log("device \(device.index): begins \(start.message), attempt \(start.attempt)")
    results.hash.add(start.message.low)
    results.hash.add(Int(start.attempt))
    if device.process?.agents[start.session] != nil {
      results.addViolation(
        "execution", "device \(device.index) runs two agents in \(start.session)")
    }
    if device.process?.store.holdsDurably(start) == false {
      results.addViolation(
        "execution",
        "device \(device.index) begins \(start.message) before its disk knows of it")
    }
    results.execution.starts += 1
    let spans: [(weight: Int, value: Int)] =
      options.hasQuickAgents
      ? [(90, 200), (9, 2_000), (1, 60_000)] : [(60, 500), (30, 8_000), (10, 60_000)]
    let span = device.generator.pick(weighted: spans)
    let endsAt = clock.now + Int64(device.generator.below(span))
    device.process?.agents[start.session] = SimulatedDevice.Agent(order: start, endsAt: endsAt)
    clock.add(.agentEnd(device: device.index, life: device.life, start), at: endsAt)
    simulation.note(.agentStarted(device: device.index, start))
    planRequest(of: start, on: device)
  }

  /// An agent is done, unless it was stopped before or its machine does not run.
  func end(_ order: StartOrder, on device: SimulatedDevice, life: Int) {
    guard device.life == life, let agent = device.process?.agents[order.session],
      agent.order == order, agent.endsAt <= clock.now
    else { return }
    if let until = device.sleepsUntil {
      return clock.add(.agentEnd(device: device.index, life: life, order), at: until)
    }
    if !agent.requests.isEmpty, !agent.isStopped {
      // It waits for an answer.
      return clock.add(.agentEnd(device: device.index, life: life, order), after: 500)
    }
    if agent.hasAsked {
      simulation.clients.tell(device) { core, context, store in
        core.taskHeard(
          .ended(.success(summary: nil)), in: order.session, at: context, store: store)
      }
      guard device.life == life else { return }
    }
    device.process?.agents[order.session] = nil
    let result = drawResult(on: device)
    results.log("device \(device.index): \(order.message) ends: \(result)")
    if case .succeeded = result { results.execution.successes += 1 }
    simulation.clients.tell(device) { core, context, store in
      core.agentEnded(
        order.session, attempt: order.attempt, with: result, at: context, store: store)
    }
    // If its host died during the report, the outcome is unknown.
    if case .succeeded = result, device.currentFiles.database.intents[order.message] == nil {
      simulation.note(.agentSucceeded(device: device.index, order))
    }
  }

  private func drawResult(on device: SimulatedDevice) -> TurnResult {
    switch device.generator.below(100) {
    case ..<86: .succeeded(summary: "done")
    case ..<90: .failed("exit code 1")
    case ..<93: .died("signal 9")
    case ..<96:
      .tryLater(clock.wall &+ device.clockOffset &+ 3_000, reason: "rate limit")
    default: .notStarted("no such command")
    }
  }
}
