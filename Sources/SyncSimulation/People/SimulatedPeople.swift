import ClientCore
import QueueModel
import QueueOracle
import SequenceCRDT
import WireProtocol

/// Users of the devices: their commands, and the results that they see. They also see the agents'
/// requests, and answer them at the same time, twice, offline, or after they expired.
final class SimulatedPeople: SimulationPart {
  unowned let simulation: Simulation

  init(in simulation: Simulation) { self.simulation = simulation }

  // MARK: - Commands

  func perform(_ action: UserAction, on device: SimulatedDevice) -> EventOutcome {
    guard let workspace = device.process?.core.replica.workspace else {
      return .skipped("it is off")
    }
    guard !device.isAsleep else { return .skipped("it sleeps") }
    let life = device.life
    defer {
      if device.life == life { takeOverSometimes(on: device) }
      if device.life == life { stopSometimes(on: device) }
      if device.life == life { settleUnseen(on: device) }
      if device.life == life { forgetNeeds(on: device) }
    }
    switch action {
    case .open(let message):
      device.process?.editors[message] = try? workspace.editBase(message)
      return .done
    case .command(let command):
      return give(command, for: action, from: workspace, on: device)
    case .edit(let message, let content, let view):
      let opened = view == .opened ? device.process?.editors[message] : nil
      let command = Command.edit(
        message, content: content, base: opened ?? (try? workspace.editBase(message)))
      return give(command, for: action, from: workspace, on: device)
    }
  }

  private func give(
    _ command: Command, for action: UserAction, from workspace: Workspace,
    on device: SimulatedDevice
  ) -> EventOutcome {
    // Recorded when the command is performed: a sent command counts even if the device forgets it.
    var after: Workspace?
    let life = device.life
    let isApart = isApart(device)
    let careless = careless(command, on: device)
    do {
      let outcome = try simulation.clients.run(on: device, synchronizes: true) {
        core, context, store in
        let done = try core.commandGiven(
          self.insistent(command, careless: careless, core), isApart: isApart,
          waitsForDisk: false, at: context, store: store)
        after = core.replica.workspace
        let actions =
          options.planted.contains(.moveEventMissing) && command.isMove
          ? done.actions.filter { !$0.isChange } : done.actions
        let more = try self.goingTooFar(
          done.outcome, careless: careless, core: &core, at: context, store: store)
        return (done.outcome, actions + more)
      }
      guard let outcome else {
        simulation.note(
          .interrupted(device: device.index, action, before: workspace, after: after))
        return .notStored("the process died")
      }
      results.commandsTaken += 1
      results.operationsMade += outcome.operations.reduce(0) { $0 + $1.length }
      simulation.note(.performed(device: device.index, action, before: workspace, outcome))
      askForOutcomes(of: command, from: workspace, outcome, on: device)
      if device.life == life { interrupt(for: command, seenIn: workspace, on: device) }
      return .performed(outcome)
    } catch let fault as Replica.Fault {
      switch fault {
      case .queue(let error):
        results.commandsRefused += 1
        simulation.note(.refused(device: device.index, action, error))
        return .refused(error)
      default:
        if device.process == nil {
          simulation.note(
            .interrupted(device: device.index, action, before: workspace, after: after))
        }
        return .notStored("\(fault)")
      }
    } catch {
      preconditionFailure("a command throws faults only, not \(error)")
    }
  }

  // MARK: - Answers

  /// A user at a device sees the awaited requests, each once, and may answer later.
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
    // Sometimes a double tap.
    for _ in 0...(device.generator.chance(20) ? 1 : 0) {
      clock.add(
        .answer(device: device.index, life: device.life, answer),
        after: Int64(device.generator.below(span)))
    }
  }

  private func drawAnswer(
    to request: TaskRequest, in session: SessionID, on device: SimulatedDevice
  ) -> AnswerRequest {
    let choices = Verdict.allCases.filter { $0.answers(request) }
    let verdict = choices[device.generator.below(2)]
    let isSent = !isMisled(on: request.id, device) || options.planted.contains(.approvedUnseen)
    return AnswerRequest(
      session: session, request: request.id, verdict: verdict,
      text: "as \(device.index) says",
      digest: verdict == .allowed ? isSent ? request.digest : ContentHash.none : nil)
  }

  /// Whether a device shows something other than an agent's request. It must not change the random
  /// numbers of other parts.
  private func isMisled(on request: RequestID, _ device: SimulatedDevice) -> Bool {
    (request.low &* 31 &+ UInt64(device.index)).isMultiple(of: 16)
  }

  func answer(_ answer: AnswerRequest, on device: SimulatedDevice, life: Int) {
    guard device.life == life, device.process != nil, !device.isAsleep else { return }
    results.log("device \(device.index): answers \(answer)")
    results.execution.requests.answers += 1
    if answer.verdict == .allowed {
      simulation.note(
        .allowed(
          device: device.index, answer.request,
          shown: isMisled(on: answer.request, device) ? ContentHash.none : answer.digest))
    }
    simulation.clients.tell(device) { core, context, _ in
      core.visibilityChanged(forMilliseconds: 20_000, at: context)
    }
    guard device.life == life else { return }
    // A full disk refuses the answer, and the user sees that.
    let ending = try? simulation.clients.run(on: device, synchronizes: true) {
      core, context, store in
      let given = try core.answerGiven(answer, at: context, store: store)
      return (given.ending, given.actions)
    }
    if let ending, let ending {
      simulation.note(.answerEnded(device: device.index, answer, ending))
    }
  }

  /// Answers all open requests.
  ///
  /// - Returns: whether there were any.
  func answerWhatIsOpen() -> Bool {
    let devices = simulation.devices
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

extension Command {
  fileprivate var isMove: Bool {
    switch self {
    case .move, .moveThreads: true
    default: false
    }
  }
}

extension ClientCore.Action {
  fileprivate var isChange: Bool { if case .changed = self { true } else { false } }
}
