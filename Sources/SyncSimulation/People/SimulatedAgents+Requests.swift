import ClientCore
import QueueModel
import QueueOracle
import WireProtocol

/// Agents that ask for permission or for an answer while they work.
extension SimulatedAgents {
  /// How often devices are checked for an open request, in milliseconds.
  private static let lookMilliseconds: Int64 = 700

  /// Plans a later request of an agent that begins, sometimes with its subagents: two or three
  /// requests at once, or more than can be shown.
  func planRequest(of order: StartOrder, on device: SimulatedDevice) {
    guard options.raisesRequests, device.generator.chance(40) else { return }
    let endsAt = device.process?.agents[order.session]?.endsAt ?? clock.now
    let span = max(1, min(2_000, Int(endsAt - clock.now)))
    let at = clock.now + Int64(device.generator.below(span))
    clock.add(.ask(device: device.index, life: device.life, order), at: at)
    // The number of requests must not change the random numbers of other parts.
    var generator = SeededGenerator(seed: UInt64(at) &* 31 &+ UInt64(device.index))
    let counts = [
      (weight: 70, value: 0), (weight: 20, value: 1), (weight: 8, value: 2),
      (weight: 2, value: Limits.taskRequestsMax + 1),
    ]
    for _ in 0..<generator.pick(weighted: counts) {
      clock.add(
        .ask(device: device.index, life: device.life, order),
        after: Int64(generator.below(span)))
    }
  }

  /// The agent asks if it still works, and waits for the decision.
  func ask(_ device: SimulatedDevice, life: Int, _ order: StartOrder) {
    guard device.life == life, !device.isAsleep,
      var agent = device.process?.agents[order.session], agent.order == order, !agent.isStopped
    else { return }
    requestsRaised += 1
    let request = RequestID(high: 0xA5, low: UInt64(requestsRaised))
    let spans: [(weight: Int, value: Int64?)] = [(2, 3_000), (5, 15_000), (3, 60_000), (1, nil)]
    let drawn = device.generator.pick(weighted: spans)
    let patience = simulation.quiescence.isWindingUp ? drawn ?? 60_000 : drawn
    let isFirst = !agent.hasAsked
    agent.requests[request] = patience == nil
    agent.hasAsked = true
    device.process?.agents[order.session] = agent
    let matter: AgentAsk =
      device.generator.chance(60)
      ? .approval(toolName: "shell", summary: "make", details: nil)
      : .question("Which one?", options: ["a", "b"])
    let ask = Ask(
      session: order.session, id: request, matter: matter, patienceMilliseconds: patience,
      digest: matter.text == nil ? nil : SimulatedAgents.digest(of: request))
    results.log("device \(device.index): the agent of \(order.session) asks \(request)")
    simulation.note(.raised(device: device.index, life: device.life, request))
    clock.add(.look(device: device.index, life: life, order.session, request), after: 300)
    if isFirst {
      simulation.clients.tell(device) { core, context, store in
        core.taskHeard(.began, in: order.session, at: context, store: store)
      }
    }
    do {
      try simulation.clients.run(on: device) { core, context, store in
        ((), try core.askRaised(ask, at: context, store: store))
      }
    } catch {
      // The session no longer exists: the agent asks at its own prompt.
      guard device.life == life else { return }
      decide(request, AskAnswer(ending: .withdrawn), on: device)
    }
  }

  /// Represents the content of a request; no two requests have the same.
  static func digest(of request: RequestID) -> ContentHash? {
    ContentHash(bytes: Array("\(request)".utf8.suffix(32)))
  }

  /// An agent receives the decision about its request.
  func decide(_ request: RequestID, _ decision: AskAnswer, on device: SimulatedDevice) {
    results.log("device \(device.index): \(request) is \(decision)")
    simulation.note(.decided(device: device.index, request, decision))
    if options.planted.contains(.decidesTwice) {
      simulation.note(.decided(device: device.index, request, decision))
    }
    for session in (device.process?.agents ?? [:]).keys {
      device.process?.agents[session]?.requests[request] = nil
    }
  }

  /// Whether an agent waits for an answer without a time limit.
  func isOpen(_ request: RequestID, _ device: Int, _ life: Int) -> Bool {
    guard simulation.devices[device].life == life,
      let process = simulation.devices[device].process
    else { return false }
    return process.agents.values.contains { $0.open.contains(request) }
  }

  /// Checks that each device with nothing in transit shows the requests that agents wait for.
  func lookForMissed(
    _ request: RequestID, in session: SessionID, on host: SimulatedDevice, life: Int
  ) {
    guard host.life == life, let process = host.process,
      process.agents[session]?.requests[request] != nil
    else { return }
    clock.add(
      .look(device: host.index, life: life, session, request),
      after: SimulatedAgents.lookMilliseconds)
    // There is no room for it yet, another device writes the task, or an answer is on its way to
    // the agent.
    guard process.core.replica.workspace.awaits(request, in: session),
      !process.core.isSettled(request)
    else { return }
    for device in simulation.devices
    where device !== host && simulation.quiescence.isQuiet([host, device]) {
      simulation.note(.looked(host: host.index, device: device.index, session, request))
    }
  }
}
