import ClientCore
import QueueModel
import QueueOracle
import WireProtocol

/// Agents that ask for leave or for an answer while they work, and people who see it on any device
/// and answer: at the same time, twice, offline, or after it expired.
extension Simulation {
  /// Lets an agent that begins ask something later on, now and then with its subagents: two or three
  /// at once, or more than are shown at once.
  func planRequest(of order: StartOrder, on device: SimulatedDevice) {
    guard options.raisesRequests, device.generator.chance(40) else { return }
    let endsAt = device.process?.agents[order.session]?.endsAt ?? now
    let span = max(1, min(2_000, Int(endsAt - now)))
    let at = now + Int64(device.generator.below(span))
    queue.add(.ask(device: device.index, life: device.life, order), at: at)
    // What others draw does not hang on how many ask.
    var generator = SeededGenerator(seed: UInt64(at) &* 31 &+ UInt64(device.index))
    let counts = [
      (weight: 70, value: 0), (weight: 20, value: 1), (weight: 8, value: 2),
      (weight: 2, value: Limits.taskRequestsMax + 1),
    ]
    for _ in 0..<generator.pick(weighted: counts) {
      let at = now + Int64(generator.below(span))
      queue.add(.ask(device: device.index, life: device.life, order), at: at)
    }
  }

  /// The agent asks, where it still works; it waits until it is told.
  func agentAsks(_ device: SimulatedDevice, life: Int, _ order: StartOrder) {
    guard device.life == life, !device.isAsleep,
      var agent = device.process?.agents[order.session], agent.order == order, !agent.isStopped
    else { return }
    requestsRaised += 1
    let request = RequestID(high: 0xA5, low: UInt64(requestsRaised))
    let spans: [(weight: Int, value: Int64?)] = [(2, 3_000), (5, 15_000), (3, 60_000), (1, nil)]
    let drawn = device.generator.pick(weighted: spans)
    let patience = isWindingUp ? drawn ?? 60_000 : drawn
    let isFirst = !agent.hasAsked
    agent.requests[request] = patience == nil
    agent.hasAsked = true
    device.process?.agents[order.session] = agent
    let matter: AgentAsk =
      device.generator.chance(60)
      ? .approval(toolName: "shell", summary: "make", details: nil)
      : .question("Which one?", options: ["a", "b"])
    let ask = Ask(
      session: order.session, id: request, matter: matter, patienceMilliseconds: patience)
    log("device \(device.index): the agent of \(order.session) asks \(request)")
    note(.raised(device: device.index, life: device.life, request))
    queue.add(.look(device: device.index, life: life, order.session, request), at: now + 300)
    if isFirst {
      tell(device) { core, context, store in
        core.taskHeard(.began, in: order.session, at: context, store: store)
      }
    }
    do {
      try run(on: device) { core, context, store in
        ((), try core.askRaised(ask, at: context, store: store))
      }
    } catch {
      // The session is gone: the agent asks at its own prompt.
      guard device.life == life else { return }
      decided(request, AskAnswer(ending: .withdrawn), on: device)
    }
  }

  /// An agent is told of what it asked.
  func decided(_ request: RequestID, _ decision: AskAnswer, on device: SimulatedDevice) {
    log("device \(device.index): \(request) is \(decision)")
    note(.decided(device: device.index, request, decision))
    if options.planted.contains(.decidesTwice) {
      note(.decided(device: device.index, request, decision))
    }
    for session in (device.process?.agents ?? [:]).keys {
      device.process?.agents[session]?.requests[request] = nil
    }
  }

  /// Somebody at a device sees what tasks await, each request once, and may answer later.
  func lookAtRequests(_ touched: TouchedQueues, on device: SimulatedDevice) {
    guard options.raisesRequests, let workspace = device.process?.core.replica.workspace else {
      return
    }
    for session in touched.sessions.sorted() {
      for request in workspace.task(of: session)?.requests ?? []
      where device.process?.seenRequests.insert(request.id).inserted == true {
        planAnswer(to: request, in: session, on: device)
      }
    }
  }

  private func planAnswer(
    to request: TaskRequest, in session: SessionID, on device: SimulatedDevice
  ) {
    guard device.generator.chance(60) else { return }
    let answer = drawAnswer(to: request, in: session, on: device)
    let span = device.generator.pick(weighted: [(6, 500), (5, 8_000), (2, 70_000)])
    // Now and then a double tap.
    for _ in 0...(device.generator.chance(20) ? 1 : 0) {
      queue.add(
        .answer(device: device.index, life: device.life, answer),
        at: now + Int64(device.generator.below(span)))
    }
  }

  func answer(_ answer: AnswerRequest, on device: SimulatedDevice, life: Int) {
    guard device.life == life, device.process != nil, !device.isAsleep else { return }
    log("device \(device.index): answers \(answer)")
    execution.answers += 1
    tell(device) { core, context, _ in
      core.visibilityChanged(forMilliseconds: 20_000, at: context)
    }
    guard device.life == life else { return }
    // A disk that takes nothing refuses the answer, and the person sees that.
    let ending = try? run(on: device, synchronizes: true) { core, context, store in
      let given = try core.answerGiven(answer, at: context, store: store)
      return (given.ending, given.actions)
    }
    if let ending, let ending { note(.answerEnded(device: device.index, answer, ending)) }
  }

  private func drawAnswer(
    to request: TaskRequest, in session: SessionID, on device: SimulatedDevice
  ) -> AnswerRequest {
    let choices = Verdict.allCases.filter { $0.answers(request) }
    return AnswerRequest(
      session: session, request: request.id, verdict: choices[device.generator.below(2)],
      text: "as \(device.index) says")
  }

  // MARK: - What nobody answered yet

  /// How often it is looked whether devices show an open request, in milliseconds.
  private static let lookMilliseconds: Int64 = 700

  /// Looks at each device that has nothing under way whether it shows what an agent waits for.
  func lookForMissed(
    _ request: RequestID, in session: SessionID, on host: SimulatedDevice, life: Int
  ) {
    guard host.life == life, let process = host.process,
      process.agents[session]?.requests[request] != nil
    else { return }
    queue.add(
      .look(device: host.index, life: life, session, request),
      at: now + Simulation.lookMilliseconds)
    // There is no room for it yet, another device writes the task, or an answer is on its way to the agent.
    guard process.core.replica.workspace.awaits(request, in: session),
      !process.core.isSettled(request)
    else { return }
    for device in devices where device !== host && isQuiet([host, device]) {
      note(.looked(host: host.index, device: device.index, session, request))
    }
  }

  /// Whether an agent waits for as long as people like.
  func isOpen(_ request: RequestID, _ device: Int, _ life: Int) -> Bool {
    guard devices[device].life == life, let process = devices[device].process else {
      return false
    }
    return process.agents.values.contains { $0.open.contains(request) }
  }

  /// Somebody answers everything that agents wait for.
  ///
  /// - Returns: whether there was something.
  func answerWhatIsOpen() -> Bool {
    var wasOpen = false
    for host in devices {
      for (session, agent) in (host.process?.agents ?? [:]).sorted(by: { $0.key < $1.key }) {
        for id in agent.open {
          let person = devices[host.generator.below(devices.count)]
          guard
            let request = person.process?.core.replica.workspace.task(of: session)?.request(id)
          else { continue }
          wasOpen = true
          answer(
            drawAnswer(to: request, in: session, on: person), on: person, life: person.life)
        }
      }
    }
    return wasOpen
  }
}
