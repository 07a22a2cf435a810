import ClientCore
import DispatchAuthority
import QueueModel
import QueueOracle

/// Hosts that run what waits: agents that work for a while, fail, die with their machine, or have to
/// wait themselves.
extension Simulation {
  /// A host starts to run agents, and reports on those of its earlier life.
  func startExecuting(_ device: SimulatedDevice, _ executed: LoadedReplica.Execution) {
    var settings = ExecutionSettings()
    settings.onUnknown = [.ask, .skip, .retry][device.generator.below(3)]
    settings.skipsFailed = device.generator.chance(20)
    let dead = executed.intents.map(\.message).filter { _ in device.generator.chance(50) }
    if options.planted.contains(.intentsRunAgain) {
      for start in executed.intents { begin(start, on: device) }
    }
    tell(device) { core, context, store in
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
      agent.isStopped = true
      agent.endsAt = min(agent.endsAt, now + Int64(device.generator.below(10_000)))
      device.process?.agents[session] = agent
      queue.add(
        .agentEnd(device: device.index, life: device.life, agent.order), at: agent.endsAt)
    case .askConsent, .consentSettled, .drained:
      break
    }
  }

  private func begin(_ start: StartOrder, on device: SimulatedDevice) {
    log("device \(device.index): begins \(start.message), attempt \(start.attempt)")
    hash.add(start.message.low)
    hash.add(Int(start.attempt))
    if device.process?.agents[start.session] != nil {
      add("execution", "device \(device.index) runs two agents in \(start.session)")
    }
    if device.process?.store.holdsDurably(start) == false {
      add("execution", "device \(device.index) begins \(start.message) before its disk knows of it")
    }
    execution.starts += 1
    let spans: [(weight: Int, value: Int)] =
      options.hasQuickAgents
      ? [(90, 200), (9, 2_000), (1, 60_000)] : [(60, 500), (30, 8_000), (10, 60_000)]
    let span = device.generator.pick(weighted: spans)
    let endsAt = now + Int64(device.generator.below(span))
    device.process?.agents[start.session] = SimulatedDevice.Agent(order: start, endsAt: endsAt)
    queue.add(.agentEnd(device: device.index, life: device.life, start), at: endsAt)
    note(.agentStarted(device: device.index, start))
    planRequest(of: start, on: device)
  }

  /// An agent is done, where it has not been stopped before and its machine runs.
  func agentEnds(_ device: SimulatedDevice, life: Int, _ order: StartOrder) {
    guard device.life == life, let agent = device.process?.agents[order.session],
      agent.order == order, agent.endsAt <= now
    else { return }
    if let until = device.sleepsUntil {
      return queue.add(.agentEnd(device: device.index, life: life, order), at: until)
    }
    if !agent.requests.isEmpty, !agent.isStopped {
      // It waits for an answer.
      return queue.add(
        .agentEnd(device: device.index, life: life, order), at: now + 500)
    }
    if agent.hasAsked {
      tell(device) { core, context, store in
        core.taskHeard(
          .ended(.success(summary: nil)), in: order.session, at: context, store: store)
      }
      guard device.life == life else { return }
    }
    device.process?.agents[order.session] = nil
    let result = agentResult(on: device)
    log("device \(device.index): \(order.message) ends: \(result)")
    if case .succeeded = result { execution.successes += 1 }
    tell(device) { core, context, store in
      core.agentEnded(
        order.session, attempt: order.attempt, with: result, at: context, store: store)
    }
    // Where its host died over the report, nobody knows what became of it.
    if case .succeeded = result, device.currentFiles.database.intents[order.message] == nil {
      note(.agentSucceeded(device: device.index, order))
    }
  }

  private func agentResult(on device: SimulatedDevice) -> TurnResult {
    switch device.generator.below(100) {
    case ..<86: .succeeded(summary: "done")
    case ..<90: .failed("exit code 1")
    case ..<93: .died("signal 9")
    case ..<96: .tryLater(wall &+ device.clockOffset &+ 3_000, reason: "rate limit")
    default: .notStarted("no such command")
    }
  }

  // MARK: - Rest

  /// How long hosts may take, after healing, to run whatever can be run.
  private static let restMillisecondsMax: Int64 = 3_600_000

  /// Lets hosts run until nothing can be run any more.
  ///
  /// - Returns: whether they came to that.
  func bringAgentsToRest() -> Bool {
    let end = now + Simulation.restMillisecondsMax
    while now < end {
      guard settle(withinMilliseconds: 120_000) else { continue }
      if openWork == nil { return true }
      advance(milliseconds: 500)
    }
    add("stall", "an hour after healing, \(openWork ?? "devices are not quiet: \(unsettled)")")
    return false
  }

  /// What is being run or could be, in words; nil where there is nothing.
  private var openWork: String? {
    for device in devices {
      guard let process = device.process else { continue }
      if let agent = process.agents.values.first(where: { !$0.isOpen }) {
        return "device \(device.index) runs \(agent.order.message)"
      }
      let workspace = process.core.replica.workspace
      // Of several copies of a host one has the lease, and goes by its own clock.
      let copies = devices.filter { $0.files.device == device.files.device }
      let times = copies.compactMap { copy in copy.process.map { clock(of: $0, on: copy) } }
      for session in workspace.sessions()
      where workspace.host(of: session.id) == .some(.some(device.files.device))
        && !devices.contains(where: { $0.process?.agents[session.id]?.isOpen == true })
      {
        if let message = startable(in: session.id, workspace, by: times.min() ?? wall) {
          return "\(message) waits for device \(device.index)"
        }
      }
    }
    return nil
  }

  /// A time that is nearer than this is waited for. Clocks may be decades off, so one further ahead
  /// may be one that never comes.
  private static let nearMilliseconds: Int64 = 60_000

  /// The message that its host ought to start now, or soon.
  private func startable(
    in session: SessionID, _ workspace: Workspace, by clock: Int64
  ) -> MessageID? {
    guard let view = try? workspace.messageQueue(session), let head = view.messages.first else {
      return nil
    }
    if head.status == .running {
      // Its turn goes on where it began, also when it was moved to another session. Where no agent has
      // it any more, the host has to find out.
      let isAsked = devices.contains { device in
        device.process?.agents.values.contains { $0.isOpen && $0.order.message == head.id }
          == true
      }
      return isAsked ? nil : head.id
    }
    guard !view.paused, head.status == .queued,
      let state = workspace.dispatchState(of: head.id), !state.queueStands,
      (head.run?.attempt ?? 0) < .max
    else { return nil }
    let earliest = max(head.notBefore ?? 0, head.heldUntil ?? 0)
    return earliest > clock &+ Simulation.nearMilliseconds ? nil : head.id
  }

  /// The time as both have to see it, the host that asks and the server that lets go: the earlier.
  private func clock(of process: SimulatedDevice.Process, on host: SimulatedDevice) -> Int64 {
    let context = EventContext(
      now: now - process.clockOrigin, wall: wall &+ host.clockOffset, random: 0)
    let seen = process.core.serverClock?.time(at: context) ?? context.wall
    return min(seen, wall &+ server.clockOffset)
  }
}
