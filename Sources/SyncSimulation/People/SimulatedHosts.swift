import ClientCore
package import QueueModel
import QueueOracle

/// An event at a host that decides whether its messages start.
package enum HostEvent: Hashable, Sendable {
  /// The device's settings are replaced.
  case set(HostSettings)
  /// A user at the device allows it to run a session, or withdraws that.
  case chooseHost(SessionID, isHere: Bool)
  /// A user at the device chooses an agent for a session; nil: the device's.
  case chooseAgent(SessionID, StartMode?)
  /// A user works at the prompt of a session's agent, or has finished.
  case busy(SessionID, Bool)
  /// A session's agent, which a user started, waits for a prompt, or no longer.
  case gate(SessionID, isOpen: Bool)
  /// A user wants to stop the agent of a session.
  case stopAgent(SessionID)
  /// The program has to end: it does so once nothing runs, or after a while.
  case drain
}

/// The settings of a host.
package struct HostSettings: Hashable, Sendable {
  package var mode: StartMode
  package var needsConsent: Bool

  package init(mode: StartMode = .free, needsConsent: Bool = false) {
    self.mode = mode
    self.needsConsent = needsConsent
  }
}

/// Users at hosts, and their knowledge of which messages may start: it does not come from the
/// cores.
final class SimulatedHosts: SimulationPart {
  /// How long running agents may take to end when a program has to end.
  private static let graceMilliseconds: Int64 = 20_000
  unowned let simulation: Simulation

  init(in simulation: Simulation) { self.simulation = simulation }

  // MARK: - Events

  func perform(_ event: HostEvent, on device: SimulatedDevice) -> EventOutcome {
    guard options.runsAgents, device.process != nil else { return .skipped("it runs no agents") }
    guard !device.isAsleep else { return .skipped("it sleeps") }
    switch event {
    case .set(let settings): set(settings, on: device)
    case .chooseHost(let session, let isHere): return choose(session, isHere, on: device)
    case .chooseAgent(let session, let mode): return choose(session, mode, on: device)
    case .busy(let session, let isBusy):
      device.process?.host.busy.set(session, isBusy)
      simulation.clients.tell(device) { core, context, store in
        core.sessionBusyChanged(session, isBusy: isBusy, at: context, store: store)
      }
    case .gate(let session, let isOpen):
      device.process?.host.open.set(session, isOpen)
      simulation.clients.tell(device) { core, context, store in
        core.sessionGateChanged(session, isOpen: isOpen, at: context, store: store)
      }
    case .stopAgent(let session):
      guard device.process?.agents[session] != nil else { return .skipped("no agent works there") }
      simulation.clients.tell(device) { core, context, store in
        core.agentStopRequested(session, at: context, store: store) ?? []
      }
    case .drain:
      device.process?.host.isDraining = true
      clock.add(
        .graceEnd(device: device.index, life: device.life),
        after: SimulatedHosts.graceMilliseconds)
      simulation.clients.tell(device) { core, context, store in
        core.drainRequested(at: context, store: store)
      }
    }
    return .done
  }

  private func set(_ settings: HostSettings, on device: SimulatedDevice) {
    device.hostSettings = settings
    guard var execution = device.process?.host.settings else { return }
    execution.take(settings)
    device.process?.host.settings = execution
    simulation.clients.tell(device) { core, context, store in
      core.executionSettingsChanged(execution, at: context, store: store)
    }
  }

  private func choose(
    _ session: SessionID, _ isHere: Bool, on device: SimulatedDevice
  ) -> EventOutcome {
    let host = isHere ? device.files.device : nil
    return choose(.consent(session, isGiven: isHere), on: device) { core, context, store in
      try core.hostChosen(session, host, at: context, store: store).actions
    }
  }

  private func choose(
    _ session: SessionID, _ mode: StartMode?, on device: SimulatedDevice
  ) -> EventOutcome {
    let agent = mode.map { AgentChoice(name: "\($0)", mode: $0) }
    return choose(.agent(session, agent), on: device) { core, context, store in
      try core.agentChosen(session, agent, at: context, store: store)
    }
  }

  /// Stores a choice for a session; it counts once the disk has it.
  private func choose(
    _ choice: SessionChoice, on device: SimulatedDevice,
    _ event: (inout ClientCore, EventContext, DeviceStore) throws -> [ClientCore.Action]
  ) -> EventOutcome {
    // It comes before its consequences; a user whose choice was not stored sees that.
    let before = device.process?.host.choices
    device.process?.host.choices.apply(choice)
    do {
      try simulation.clients.run(on: device) { core, context, store in
        ((), try event(&core, context, store))
      }
      return .done
    } catch {
      if let before { device.process?.host.choices = before }
      if case Replica.Fault.queue(let error) = error { return .refused(error) }
      return .notStored("\(error)")
    }
  }

  /// The time for a normal end has passed.
  func endGrace(of device: SimulatedDevice, life: Int) {
    guard device.life == life else { return }
    simulation.clients.tell(device) { core, context, store in
      core.drainGraceEnded(at: context, store: store)
    }
  }

  /// Nothing runs: the program ends.
  func drained(_ device: SimulatedDevice) {
    guard device.process?.host.isDraining == true else { return }
    simulation.devices.end(device, losesPower: false)
  }

  /// Users allow everything to run again, and no user works at an agent's prompt.
  func heal(_ device: SimulatedDevice) {
    guard let host = device.process?.host else { return }
    if host.isDraining {
      // The next process starts with these.
      device.hostSettings = HostSettings()
      return simulation.devices.end(device, losesPower: false)
    }
    if device.hostSettings != HostSettings() { set(HostSettings(), on: device) }
    freeAgents(of: device)
    for session in host.busy.sorted() { _ = perform(.busy(session, false), on: device) }
    for session in host.open.sorted() {
      _ = perform(.gate(session, isOpen: false), on: device)
    }
  }

  /// Sessions have the device's agent again. A deleted session, which refuses a choice, may come back
  /// later: then its user chooses once more.
  func freeAgents(of device: SimulatedDevice) {
    guard let process = device.process else { return }
    let sessions = process.host.choices.agents.keys.filter {
      process.core.replica.workspace.session($0) != nil
    }
    for session in sessions.sorted() { _ = choose(session, nil, on: device) }
  }

  // MARK: - The users' knowledge

  /// Whether users at a device now allow a session's messages to start on it.
  func mayStart(_ session: SessionID, on device: SimulatedDevice) -> Bool {
    guard let host = device.process?.host, !host.isDraining, !host.busy.contains(session) else {
      return false
    }
    switch host.choices.agents[session]?.mode ?? host.settings.mode {
    case .off: return false
    case .free:
      return !host.settings.needsConsent || host.choices.consented.contains(session)
    case .gated: return host.open.contains(session)
    }
  }
}

extension ExecutionSettings {
  mutating func take(_ settings: HostSettings) {
    isEnabled = settings.mode != .off
    isGated = settings.mode == .gated
    needsConsent = settings.needsConsent
    asksForConsent = settings.needsConsent
  }
}

extension Set {
  fileprivate mutating func set(_ element: Element, _ isIn: Bool) {
    if isIn { insert(element) } else { remove(element) }
  }
}
