import ClientCore
import QueueModel
import QueueOracle
import SequenceCRDT
import ServerCore
import WireProtocol

extension Simulation {
  // MARK: - Coming to be

  /// Adds a fresh, paired device and starts it.
  @discardableResult
  package func addDevice() -> Int {
    let index = devices.count
    var generator = Simulation.generator(options.seed, .device, index)
    let id = DeviceID(high: 0xD, low: UInt64(index + 1))
    let files = DeviceFiles(
      device: id, credentials: pair(id, index, using: &generator))
    let device = SimulatedDevice(
      index: index, name: "device \(index)", files: files, generator: generator)
    devices.append(device)
    // Every other device, so that there are some that are told by the server alone.
    if options.raisesRequests, index % 2 == 1 { addPushTarget(of: id) }
    start(device)
    return index
  }

  private func pair(
    _ id: DeviceID, _ index: Int, using generator: inout SeededGenerator
  ) -> Credentials {
    var token: [UInt8] = []
    while token.count < 32 { token.append(UInt8(truncatingIfNeeded: generator.next())) }
    server.storage.addDevice(
      id, name: "device \(index)", to: SimulatedServer.workspace, token: token)
    return Credentials(
      server: "ws://simulated:1", workspace: SimulatedServer.workspace,
      workspaceName: "simulated", token: token)
  }

  /// Adds a device that starts on a copy of another's files.
  func clone(_ original: SimulatedDevice, _ method: CopyMethod) {
    let index = devices.count
    var generator = Simulation.generator(options.seed, .device, index)
    var files = original.currentFiles
    if method == .database {
      // Another machine got the database alone: it has its own id and token.
      files.device = DeviceID(high: 0xD, low: UInt64(index + 1))
      files.credentials = pair(files.device, index, using: &generator)
    }
    let device = SimulatedDevice(
      index: index, name: method == .database ? "device \(index)" : original.name, files: files,
      generator: generator)
    devices.append(device)
    if method == .memory, let memory = memory(of: original) {
      goOn(device, with: memory)
      note(.memoryCloned(device: index))
    } else {
      start(device)
    }
    note(.added(device: index))
  }

  /// The running machine; nil where it does not run, or has agents, which are no copies.
  func memory(of device: SimulatedDevice) -> SimulatedDevice.Memory? {
    guard !options.runsAgents else { return nil }
    return device.process.map { SimulatedDevice.Memory(process: $0, savedAt: now) }
  }

  /// Goes on with a memory and files that were kept.
  func goOn(_ device: SimulatedDevice, with memory: SimulatedDevice.Memory) {
    device.life += 1
    device.files = memory.files
    var process = memory.process
    process.store = DeviceStore(
      files: memory.files, planted: options.planted,
      generator: Simulation.generator(options.seed, .store, device.index << 16 | device.life))
    process.store.condition = device.condition
    // The clock that never steps stood still meanwhile.
    process.clockOrigin += now - memory.savedAt
    process.scheduledWake = nil
    process.foreignConnections.formUnion(process.pipes.keys)
    let connections = process.foreignConnections.sorted { $0.rawValue < $1.rawValue }
    process.pipes = [:]
    device.process = process
    log("device \(device.index): goes on with a copy of a memory")
    // What is sent meanwhile gets nowhere.
    for id in connections {
      queue.add(
        .connectionEnd(device: device.index, life: device.life, id),
        at: now + Int64(device.generator.below(3_000)))
    }
    scheduleWake(of: device)
  }

  /// A connection of a copied memory is found to be broken.
  func connectionEnds(_ device: SimulatedDevice, life: Int, _ id: TransportID) {
    guard device.life == life else { return }
    device.process?.foreignConnections.remove(id)
    tell(device) { core, context, _ in
      core.connectionLost(id, message: "the connection is another machine's", at: context)
    }
  }

  /// Starts a process on the device's files.
  ///
  /// - Returns: whether it could open its store.
  @discardableResult
  func start(_ device: SimulatedDevice) -> Bool {
    guard device.process == nil else { return true }
    device.life += 1
    if options.planted.contains(.unsentForgotten) { device.files.database.forgetUnsent() }
    if options.planted.contains(.notificationsForgotten) {
      device.files.database.notifications = LoadedNotifications()
    }
    let store = DeviceStore(
      files: device.files, planted: options.planted,
      generator: Simulation.generator(
        options.seed, .store, device.index << 16 | device.life))
    store.condition = device.condition
    let origin = now - Int64(device.generator.below(1_000_000))
    let executed: LoadedReplica.Execution
    do {
      let loaded = try device.files.load()
      executed = loaded.execution
      let replica = try Replica(
        Replica.Opening(
          loaded: loaded, device: device.files.device, deviceName: device.name),
        at: context(of: device, origin: origin), store: store)
      var core = ClientCore(
        replica: replica, credentials: device.files.credentials,
        queueSizeMax: options.queueSizeMax)
      if options.raisesRequests {
        core.answersLoaded(loaded.answers, at: context(of: device, origin: origin))
        core.notificationsLoaded(loaded.notifications)
      }
      device.process = SimulatedDevice.Process(
        core: core, store: store, mirror: QueueMirror(workspace: replica.workspace),
        clockOrigin: origin)
    } catch let fault as Replica.Fault {
      device.files = store.files
      if case .store = fault {
        log("device \(device.index): cannot open its store")
      } else {
        add("reopening", "device \(device.index) cannot start on its files: \(fault)")
      }
      return false
    } catch {
      add("reopening", "device \(device.index) cannot read its files: \(error)")
      return false
    }
    log("device \(device.index): started")
    note(.started(device: device.index))
    tell(device) { core, context, store in core.started(at: context, store: store) }
    if options.runsAgents { startExecuting(device, executed) }
    if options.raisesRequests { showStanding(on: device) }
    return device.process != nil
  }

  /// The process ends at once; with `losesPower` the whole machine does.
  func end(_ device: SimulatedDevice, losesPower: Bool) {
    guard let process = device.process else { return }
    let losesCommits = losesPower && !process.store.isSynchronized
    device.files = process.store.filesLeft(losingPower: losesPower)
    device.pastExecution = device.execution
    device.process = nil
    device.life += 1
    device.sleepsUntil = nil
    log("device \(device.index): \(losesPower ? "lost its power" : "died")")
    for (_, pipe) in process.pipes.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      pipe.clientHolds = false
      pipe.isDisturbed = true
      pipe[.fromServer].vanish()
      pipe[.toServer].cut(afterBytes: pipe.survivingBytes(.toServer))
      // Of a machine without power the server hears nothing more.
      if !losesPower { put(.end("the client died"), .toServer, on: pipe) }
    }
    if losesCommits { note(.lostCommits(device: device.index)) }
  }

  /// The process died in a commit or in the wait for the disk, or the machine with it.
  private func endOverItsStore(_ device: SimulatedDevice) {
    end(device, losesPower: device.process?.store.death == .beforeSync)
  }

  func wake(_ device: SimulatedDevice) {
    device.sleepsUntil = nil
    log("device \(device.index): wakes up")
    tell(device) { core, context, store in core.timePassed(at: context, store: store) }
    resumePipes(of: device)
  }

  // MARK: - Events of the core

  private func context(of device: SimulatedDevice, origin: Int64) -> EventContext {
    EventContext(
      now: now - origin, wall: wall &+ device.clockOffset, random: device.generator.next())
  }

  /// Tells the device's core of an event that it deals with itself.
  func tell(
    _ device: SimulatedDevice,
    _ event: (inout ClientCore, EventContext, DeviceStore) -> [ClientCore.Action]
  ) {
    run(on: device) { core, context, store in ((), event(&core, context, store)) }
  }

  private func checkInvariants(of core: ClientCore, on device: SimulatedDevice) {
    do throws(InvariantViolation) {
      try core.checkInvariants()
    } catch {
      add("invariants", "device \(device.index): \(error.reason)")
    }
  }

  /// How many changes an observer is told of at once: a slow one gets them together.
  private var changesUntoldMax: Int { options.hasQuickAgents ? 16 : 1 }

  /// Runs an event and the actions that follow from it.
  ///
  /// - Parameter synchronizes: whether the disk is waited for once they are done, as for a command.
  /// - Returns: nil where there is no process, or it died over the event.
  @discardableResult
  func run<Value>(
    on device: SimulatedDevice, synchronizes: Bool = false,
    _ event: (inout ClientCore, EventContext, DeviceStore) throws -> (Value, [ClientCore.Action])
  ) rethrows -> Value? {
    guard let origin = device.process?.clockOrigin, let store = device.process?.store else {
      return nil
    }
    let before = device.process?.core.replica.record
    let context = context(of: device, origin: origin)
    let result: (value: Value, actions: [ClientCore.Action])?
    do {
      result = try device.process?.core.run { core in
        let (value, actions) = try event(&core, context, store)
        defer { checkInvariants(of: core, on: device) }
        guard options.runsAgents else { return (value, actions) }
        var all = actions + core.executionFollowing(actions, at: context, store: store)
        if options.raisesRequests {
          all += core.notificationsFollowing(all, at: context, store: store)
        }
        return (value, all)
      }
    } catch {
      if store.hasDied { endOverItsStore(device) } else { scheduleWake(of: device) }
      throw error
    }
    if store.hasDied { endOverItsStore(device) }
    // What was committed before a death counts.
    let after = store.files.database.record
    if before?.repairs != after?.repairs {
      note(.reauthored(device: device.index))
    }
    guard !store.hasDied, let result else { return nil }
    let life = device.life
    for action in result.actions where device.life == life { act(action, device) }
    if synchronizes, device.life == life {
      // A disk that fails took no commit either.
      try? store.synchronize()
      if store.hasDied {
        endOverItsStore(device)
        return nil
      }
    }
    // Every change of the event is in the workspace, so the mirror is compared behind the last.
    if let untold = device.process?.untoldCount, untold >= changesUntoldMax {
      let touched = device.process?.untold ?? TouchedQueues()
      device.tellObserver()
      note(.changed(device: device.index, touched))
    }
    scheduleWake(of: device)
    return result.value
  }

  private func act(_ action: ClientCore.Action, _ device: SimulatedDevice) {
    switch action {
    case .connect(let id):
      connect(device, id)
    case .send(let id, let frame):
      guard let pipe = device.process?.pipes[id] else { return }
      log("device \(device.index): sends \(describe(frame))")
      send(FrameCodec.encode(frame), .toServer, on: pipe)
      takeForAcknowledged(frame, id, device)
    case .ping(let id):
      guard let pipe = device.process?.pipes[id] else { return }
      put(.ping, .toServer, on: pipe)
    case .close(let id):
      guard let pipe = device.process?.pipes.removeValue(forKey: id) else { return }
      pipe.clientHolds = false
      put(.end("the client closed"), .toServer, on: pipe)
    case .changed(let touched):
      device.process?.untold.formUnion(touched)
      device.process?.untoldCount += 1
      lookAtRequests(touched, on: device)
    case .report(let problem):
      log("device \(device.index): reports \(problem.message)")
    case .agent(let order):
      follow(order, on: device)
    case .notified(let notification):
      show(notification, on: device)
    case .notificationEnded(let name, _):
      takeBack(name, on: device)
    case .decided(let request, let decision):
      decided(request, decision, on: device)
    case .answerEnded(let answer, let ending):
      note(.answerEnded(device: device.index, answer, ending))
    case .told(let answer, let question):
      tell(answer, to: question, on: device)
    case .replied, .connectionMissed:
      break
    }
  }

  /// A planted bug: what is sent counts as acknowledged.
  private func takeForAcknowledged(
    _ frame: Frame, _ id: TransportID, _ device: SimulatedDevice
  ) {
    guard options.planted.contains(.outboxClearedAtSend), case .changes(let changes) = frame
    else { return }
    queue.add(
      .bogusAck(device: device.index, life: device.life, id, batch: changes.batch), at: now)
  }

  func timerFired(_ device: SimulatedDevice, life: Int) {
    guard device.life == life, device.process != nil else { return }
    device.process?.scheduledWake = nil
    // Nothing runs while the machine sleeps; waking catches up.
    guard !device.isAsleep else { return }
    tell(device) { core, context, store in core.timePassed(at: context, store: store) }
  }

  /// One pending wake-up at a time; one that comes too early does nothing.
  private func scheduleWake(of device: SimulatedDevice) {
    guard let process = device.process, let deadline = process.core.deadline else { return }
    if let scheduled = process.scheduledWake, scheduled <= deadline { return }
    device.process?.scheduledWake = deadline
    // A deadline that is not met would come again at the same moment for ever.
    let delay = min(max(1, deadline - (now - process.clockOrigin)), 3_600_000)
    queue.add(.timer(device: device.index, life: device.life), at: now + delay)
  }
}

extension ClientCore {
  /// Hands itself to an event; lets the driver change it in place.
  mutating func run<Result>(_ event: (inout ClientCore) throws -> Result) rethrows -> Result {
    try event(&self)
  }
}
