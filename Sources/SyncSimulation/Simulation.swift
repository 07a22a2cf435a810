import ClientCore

/// The simulated world: devices, network and server under virtual time, on one thread.
///
/// The cores are the production ones; `clients` and `server` drive them like SyncClient and
/// SyncServer. The same options and events give the same run, down to the bytes. This type connects
/// the parts: it applies events, advances the time, and notifies the checkers.
package final class Simulation {
  package let options: SimulationOptions
  package let clock: VirtualClock
  package let results: RunResults
  private let checkers: [any SimulationChecker]
  /// Whether nothing has happened since everything came to rest.
  private(set) var isJustSettled = false

  /// The server; the first of the nodes.
  package private(set) lazy var server = SimulatedServer(in: self)
  /// The processes over the server's store: one, or several nodes.
  package var nodes: [SimulatedServer] { router.nodes }
  private(set) lazy var router = NodeRouter(in: self)
  private(set) lazy var pushes = SimulatedPushService(in: self)
  private(set) lazy var network = SimulatedNetwork(in: self)
  package private(set) lazy var devices = SimulatedDevices(in: self)
  private(set) lazy var clients = ClientDriver(in: self)
  private(set) lazy var agents = SimulatedAgents(in: self)
  private(set) lazy var hosts = SimulatedHosts(in: self)
  private(set) lazy var people = SimulatedPeople(in: self)
  package private(set) lazy var quiescence = Quiescence(in: self)

  package init(_ options: SimulationOptions, checkers: [any SimulationChecker]? = nil) {
    self.options = options
    self.checkers = checkers ?? Simulation.standardCheckers(for: options)
    clock = VirtualClock()
    results = RunResults(clock: clock, keepsTrace: options.keepsTrace)
    for node in nodes { node.start() }
    for _ in 0..<options.devices { devices.add() }
    if options.runsAgents { clock.add(.sample, after: Simulation.sampleMilliseconds) }
  }

  /// How often checkers examine everything.
  private static let sampleMilliseconds: Int64 = 5_000

  // MARK: - Events

  /// Applies one event now.
  @discardableResult
  package func apply(_ event: WorldEvent) -> EventOutcome {
    defer { results.stepsDone += 1 }
    results.log("event: \(event)")
    results.hash.add(clock.now)
    let outcome = perform(event)
    isJustSettled = event == .settle
    switch outcome {
    case .skipped(let why): results.log("  skipped: \(why)")
    case .done where event.isFault: results.faults += 1
    default: break
    }
    return outcome
  }

  private func perform(_ event: WorldEvent) -> EventOutcome {
    switch event {
    case .settle:
      quiescence.settleAndCheck()
      return .done
    case .crashServer, .restartServer, .backUpServer, .restoreServer, .swapServers,
      .setServerClock, .setServerStore:
      return server.perform(event)
    case .atNode(let index, let event):
      guard nodes.count > 1, nodes.indices.contains(index) else {
        return .skipped("there is no node \(index)")
      }
      return nodes[index].perform(event)
    case .failOver:
      return failOver()
    default:
      let index = event.device ?? -1
      guard devices.indices.contains(index) else { return .skipped("there is no device \(index)") }
      return perform(event, on: devices[index])
    }
  }

  private func perform(_ event: WorldEvent, on device: SimulatedDevice) -> EventOutcome {
    switch event {
    case .perform(_, let action):
      people.perform(action, on: device)
    case .atHost(_, let event):
      hosts.perform(event, on: device)
    case .disconnect, .reconnect, .cut, .partition, .heal, .clog, .dropAck:
      network.perform(event, on: device)
    default:
      devices.perform(event, on: device)
    }
  }

  // MARK: - Time

  /// Lets virtual time pass.
  package func advance(milliseconds: Int64) {
    let end = clock.now + max(0, milliseconds)
    while let happening = clock.next(until: end) { handle(happening) }
    clock.pass(until: end)
  }

  private func handle(_ happening: Happening) {
    switch happening {
    case .arrival(let pipe, let direction): network.arrive(pipe, direction)
    case .opening(let pipe): network.open(pipe)
    case .lingerEnd(let pipe): network.serverLetsGo(of: pipe)
    case .storeDone(let life): node(life)?.finishStoreTask(life: life)
    case .tick(let life): node(life)?.tick(life: life)
    case .serverStart(let life):
      if let node = node(life), node.process == nil { node.start() }
    case .nodeWake(let life): node(life)?.wakeIfDue()
    case .nodeGone(let index, let life):
      if nodes[index].life == life { nodes[index].disk.nodeIsGone(index) }
    case .lateTask(let task, let index, let restores):
      nodes[index].performLate(task, restores: restores)
    case .push(let life): pushes.push(life: life)
    case .timer(let index, let life): clients.timerFired(devices[index], life: life)
    case .wake(let index, let until):
      if devices[index].sleepsUntil == until { devices.wake(devices[index]) }
    case .connectionEnd(let index, let life, let id):
      clients.connectionEnds(devices[index], life: life, id)
    case .bogusAck(let index, let life, let id, let batch):
      clients.takeForAcknowledged(batch, id, devices[index], life: life)
    case .agentEnd(let index, let life, let order):
      agents.end(order, on: devices[index], life: life)
    case .ask(let index, let life, let order): agents.ask(devices[index], life: life, order)
    case .look(let index, let life, let session, let request):
      agents.lookForMissed(request, in: session, on: devices[index], life: life)
    case .graceEnd(let index, let life): hosts.endGrace(of: devices[index], life: life)
    case .sample:
      note(.sampled)
      clock.add(.sample, after: Simulation.sampleMilliseconds)
    case .answer(let index, let life, let given):
      people.answer(given, on: devices[index], life: life)
    }
  }

  /// The node with this process number, or between two processes.
  private func node(_ life: Int) -> SimulatedServer? { nodes.first { $0.life == life } }

  /// Whether a process of the server holds the other end of a connection.
  func isServed(_ pipe: Pipe) -> Bool {
    pipe.serverHolds && pipe.serverEnd.life == nodes[pipe.serverEnd.node].life
  }

  // MARK: - Watching

  /// Notifies every checker of an event.
  func note(_ observation: Observation) {
    for checker in checkers {
      for message in checker.noted(observation, in: self) {
        results.addViolation(checker.name, message)
      }
    }
  }

  /// Asks every checker, as after everything has come to rest.
  package func check() {
    for checker in checkers {
      for message in checker.settled(in: self) { results.addViolation(checker.name, message) }
    }
  }

  /// A new instance of every checker. Others join by
  /// `run(seed:profile:planted:keepsTrace:joining:)` or by the initializer.
  package static func standardCheckers(
    for options: SimulationOptions
  ) -> [any SimulationChecker] {
    if options.isAlone {
      return [
        CommandChecker(), InvariantChecker(), EventChecker(), ConvergenceChecker(),
        ExecutionChecker(), StandstillChecker(), NeedsChecker(), UndoChecker(), EditionChecker(),
      ]
    }
    return [
      ProtocolChecker(), DurabilityChecker(), LogChecker(), CommandChecker(), InvariantChecker(),
      ConvergenceChecker(), MarkLedger(), OrderChecker(), FifoChecker(), EventChecker(),
      OracleChecker(), BoundednessChecker(), ImmutabilityChecker(), UndoChecker(), EditionChecker(),
    ]
      + (options.runsAgents
        ? [
          ExecutionChecker(), AloneChecker(), TurnChecker(), StopChecker(), StandstillChecker(),
          NeedsChecker(),
        ]
        : [])
      + (options.server.nodes.count > 1 ? [NodeChecker()] : [])
      + (options.asksOutcomes ? [OutcomeChecker()] : [])
      + (options.raisesRequests ? [RequestChecker(), NotificationChecker(), PushChecker()] : [])
  }
}
