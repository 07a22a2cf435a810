import ClientCore
import QueueModel
import QueueOracle
import SequenceCRDT
import ServerCore
import WireProtocol

/// Drives the production core of each device as SyncClient does. Passes events with the time of the
/// device's clocks, performs the core's actions in order, and wakes the core on request.
final class ClientDriver: SimulationPart {
  unowned let simulation: Simulation

  init(in simulation: Simulation) { self.simulation = simulation }

  // MARK: - Events

  /// A process begins, and continues the execution of an earlier life.
  func started(_ device: SimulatedDevice, _ executed: LoadedReplica.Execution) {
    tell(device) { core, context, _ in core.started(at: context) }
    if options.runsAgents { simulation.agents.start(on: device, executed) }
    if options.raisesRequests { showStanding(on: device) }
  }

  /// A message arrived from the server.
  func receive(_ bytes: [UInt8], _ device: SimulatedDevice, _ id: TransportID) {
    let frame: Frame
    do {
      frame = try FrameCodec.decode(bytes)
    } catch {
      return results.addViolation(
        "protocol", "device \(device.index) cannot read a frame: \(error)")
    }
    results.log("device \(device.index): receives \(frame.inWords)")
    if options.planted.contains(.notificationDropped), case .notification = frame {
      device.remembered.notificationsReceived += 1
      if device.remembered.notificationsReceived % 4 == 0 { return }
    }
    if case .response(let response) = frame {
      simulation.people.takeForConsent(response, on: device)
    }
    tell(device) { core, context, store in
      core.frameReceived(frame, on: id, at: context, store: store)
    }
    simulation.note(.advanced(device: device.index))
    if case .ack = frame { simulation.note(.acknowledged(device: device.index)) }
  }

  /// A connection of a copied memory turns out to be broken.
  func connectionEnds(_ device: SimulatedDevice, life: Int, _ id: TransportID) {
    guard device.life == life else { return }
    device.process?.foreignConnections.remove(id)
    tell(device) { core, context, _ in
      core.connectionLost(id, message: "the connection is another machine's", at: context)
    }
  }

  func timerFired(_ device: SimulatedDevice, life: Int) {
    guard device.life == life, device.process != nil else { return }
    device.process?.scheduledWake = nil
    // Nothing runs while the machine sleeps; waking catches up.
    guard !device.isAsleep else { return }
    if isAtRest(device) {
      // The random number of the event is still drawn, so that skipping it does not change the run.
      _ = device.generator.next()
      return scheduleWake(of: device)
    }
    tell(device, byTime: true) { core, context, store in
      core.timePassed(at: context, store: store)
    }
  }

  /// Whether the event of a timer would have no effect, like the last one. That is so if only time
  /// has passed since then, the device's clock was not set, and no deadline has passed. Most timers
  /// are of this kind, because none is cancelled.
  private func isAtRest(_ device: SimulatedDevice) -> Bool {
    guard !options.takesLongWay, let origin = device.process?.clockOrigin,
      device.process?.restsAtClockOffset == device.clockOffset
    else { return false }
    return device.process?.core.deadline.map { $0 > clock.now - origin } ?? true
  }

  /// A planted bug: sent operations count as acknowledged.
  func takeForAcknowledged(
    _ batch: UInt64, _ id: TransportID, _ device: SimulatedDevice, life: Int
  ) {
    guard device.life == life else { return }
    tell(device) { core, context, store in
      core.frameReceived(
        .ack(Ack(batch: batch, prefix: .empty)), on: id, at: context, store: store)
    }
  }

  // MARK: - Running the core

  func context(of device: SimulatedDevice, origin: Int64) -> EventContext {
    EventContext(
      now: clock.now - origin, wall: clock.wall &+ device.clockOffset,
      random: device.generator.next())
  }

  /// Passes the device's core an event that it handles itself.
  func tell(
    _ device: SimulatedDevice, byTime: Bool = false,
    _ event: (inout ClientCore, EventContext, DeviceStore) -> [ClientCore.Action]
  ) {
    run(on: device, byTime: byTime) { core, context, store in ((), event(&core, context, store)) }
  }

  /// Runs an event and its actions.
  ///
  /// - Parameters:
  ///   - synchronizes: whether to wait for the disk after the actions, as for a command.
  ///   - byTime: whether nothing happened except the passing of time.
  /// - Returns: nil if there is no process, or it died during the event.
  @discardableResult
  func run<Value>(
    on device: SimulatedDevice, synchronizes: Bool = false, byTime: Bool = false,
    _ event: (inout ClientCore, EventContext, DeviceStore) throws -> (Value, [ClientCore.Action])
  ) rethrows -> Value? {
    guard let origin = device.process?.clockOrigin, let store = device.process?.store else {
      return nil
    }
    let repairsBefore = device.process?.core.replica.record.repairs
    let commitsBefore = store.commits
    let context = context(of: device, origin: origin)
    let result: (value: Value, actions: [ClientCore.Action])?
    var isAtRest = false
    // Also set if the event throws.
    defer { device.process?.restsAtClockOffset = isAtRest ? device.clockOffset : nil }
    do {
      result = try device.process?.core.run { core in
        let (value, actions) = try event(&core, context, store)
        var all = actions
        if options.runsAgents {
          all += core.executionFollowing(actions, at: context, store: store)
          if options.raisesRequests {
            all += core.notificationsFollowing(all, at: context, store: store)
          }
        }
        let isQuiet =
          !options.takesLongWay && byTime && all.isEmpty && store.commits == commitsBefore
        checkInvariants(of: &core, isQuiet: isQuiet, store, at: context, on: device)
        isAtRest = isQuiet && !core.followsWallClock
        return (value, all)
      }
    } catch {
      if store.hasDied { endAfterStoreFailure(device) } else { scheduleWake(of: device) }
      throw error
    }
    if store.hasDied { endAfterStoreFailure(device) }
    // Commits before the death count too.
    if repairsBefore != store.files.database.record?.repairs {
      simulation.note(.reauthored(device: device.index))
    }
    guard !store.hasDied, let result else { return nil }
    let life = device.life
    for action in result.actions where device.life == life { act(action, device) }
    if synchronizes, device.life == life {
      // A failing disk accepted no commit, either.
      try? store.synchronize()
      if store.hasDied {
        endAfterStoreFailure(device)
        return nil
      }
    }
    notifyObserver(of: device)
    scheduleWake(of: device)
    return result.value
  }

  /// The process died in a commit or while it waited for the disk, or its machine did.
  private func endAfterStoreFailure(_ device: SimulatedDevice) {
    simulation.devices.end(device, losesPower: device.process?.store.death == .beforeSync)
  }

  private func checkInvariants(
    of core: inout ClientCore, isQuiet: Bool, _ store: DeviceStore, at context: EventContext,
    on device: SimulatedDevice
  ) {
    do throws(InvariantViolation) {
      try core.checkInvariants(isQuiet: isQuiet)
    } catch {
      results.addViolation("invariants", "device \(device.index): \(error.reason)")
    }
    guard options.runsAgents else { return }
    // The list of non-empty queues depends on the stored state; they are searched only after it
    // changed.
    let state = SimulatedDevice.StoredState(
      life: device.life, commits: store.commits, vector: core.replica.workspace.vector)
    if device.remembered.work?.state != state || options.takesLongWay {
      device.remembered.work = core.sessionsWithWork.map { (state, $0) }
    }
    // Nothing is repaired before this check: every message that may start must wait for a reason.
    do throws(InvariantViolation) {
      try core.checkLiveness(of: device.remembered.work?.sessions, at: context)
    } catch {
      results.addViolation("liveness", "device \(device.index): \(error.reason)")
    }
  }

  /// The number of changes that an observer gets at once: a slow observer gets them together.
  private var unobservedChangesMax: Int { options.hasQuickAgents ? 16 : 1 }

  /// All changes of the event are in the workspace, so the mirror is compared after the last one.
  private func notifyObserver(of device: SimulatedDevice) {
    guard let unobserved = device.process?.unobservedCount, unobserved >= unobservedChangesMax
    else { return }
    let touched = device.process?.unobserved ?? TouchedQueues()
    device.notifyObserver()
    simulation.note(.changed(device: device.index, touched))
  }

  /// Only one wake-up is pending; one that comes too early has no effect.
  func scheduleWake(of device: SimulatedDevice) {
    // Compared field by field, because copying the process would take longer than everything else.
    guard let deadline = device.process?.core.deadline, let origin = device.process?.clockOrigin
    else { return }
    if let scheduled = device.process?.scheduledWake, scheduled <= deadline { return }
    device.process?.scheduledWake = deadline
    // Otherwise, a missed deadline would cause a wake-up at the same moment forever.
    var delay = min(max(1, deadline - (clock.now - origin)), 3_600_000)
    // A busy machine, or one that slept, wakes its programs late.
    if options.timersLateMax > 0, device.generator.chance(30) {
      delay += Int64(device.generator.below(Int(options.timersLateMax)))
    }
    clock.add(.timer(device: device.index, life: device.life), after: delay)
  }

  // MARK: - Actions

  private func act(_ action: ClientCore.Action, _ device: SimulatedDevice) {
    switch action {
    case .connect(let id):
      simulation.network.connect(device, id)
    case .send(let id, let frame):
      guard let pipe = device.process?.pipes[id] else { return }
      results.log("device \(device.index): sends \(frame.inWords)")
      simulation.network.send(FrameCodec.encode(frame), .toServer, on: pipe)
      if options.planted.contains(.outboxClearedAtSend), case .changes(let changes) = frame {
        clock.add(
          .bogusAck(device: device.index, life: device.life, id, batch: changes.batch), after: 0)
      }
    case .ping(let id):
      guard let pipe = device.process?.pipes[id] else { return }
      simulation.network.put(.ping, .toServer, on: pipe)
    case .close(let id):
      guard let pipe = device.process?.pipes.removeValue(forKey: id) else { return }
      simulation.network.clientCloses(pipe)
    case .changed(let touched):
      device.process?.unobserved.formUnion(touched)
      device.process?.unobservedCount += 1
      simulation.people.lookAtRequests(touched, on: device)
    case .report(let problem):
      results.log("device \(device.index): reports \(problem.message)")
    case .agent(let order):
      simulation.agents.follow(order, on: device)
    case .notified(let notification):
      show(notification, on: device)
    case .notificationEnded(let name, _):
      takeBack(name, on: device)
    case .decided(let request, let decision):
      simulation.agents.decide(request, decision, on: device)
    case .answerEnded(let answer, let ending):
      simulation.note(.answerEnded(device: device.index, answer, ending))
    case .answered(let answer, let question):
      simulation.people.tell(answer, to: question, on: device)
      simulation.people.reportStop(answer, to: question, on: device)
    case .replied, .connectionMissed, .outputWanted:
      break
    }
  }
}

extension ClientCore {
  /// Passes itself to an event, so that the driver can change it in place.
  fileprivate mutating func run<Result>(
    _ event: (inout ClientCore) throws -> Result
  ) rethrows -> Result {
    try event(&self)
  }
}

extension Frame {
  /// Its text in a trace.
  fileprivate var inWords: String {
    switch self {
    case .changes(let changes):
      "changes batch \(changes.batch) at \(changes.prefix.position), \(changes.delta.count) bytes"
    case .snapshot(let part):
      "snapshot part \(part.index + 1) of \(part.count) at \(part.prefix.position)"
    case .hello(let hello): "hello at \(hello.prefix.position)"
    case .welcome(let welcome): "welcome at \(welcome.head.position)"
    case .presence(let devices): "presence of \(devices.count(where: \.isConnected)) devices"
    default: "\(self)"
    }
  }
}
