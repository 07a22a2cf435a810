import ClientCore
import QueueModel
import QueueOracle
import SequenceCRDT
import WireProtocol

/// The devices, by index: their addition, start, sleep and death, and their backups and copies.
/// `ClientDriver` runs their programs.
package final class SimulatedDevices: RandomAccessCollection, SimulationPart {
  private var devices: [SimulatedDevice] = []
  unowned let simulation: Simulation

  init(in simulation: Simulation) { self.simulation = simulation }

  package var startIndex: Int { 0 }
  package var endIndex: Int { devices.count }
  package subscript(index: Int) -> SimulatedDevice { devices[index] }

  /// The device and its copies, which all have the same id.
  func copies(of device: SimulatedDevice) -> [SimulatedDevice] {
    devices.filter { $0.files.device == device.files.device }
  }

  // MARK: - Creation

  /// Adds a new, paired device and starts it.
  func add() {
    let index = devices.count
    var generator = RandomStream.device.generator(seed: options.seed, index)
    let id = DeviceID(high: 0xD, low: UInt64(index + 1))
    let files = DeviceFiles(
      device: id, credentials: options.isAlone ? nil : pair(id, index, using: &generator))
    let device = SimulatedDevice(
      index: index, name: "device \(index)", files: files, generator: generator)
    devices.append(device)
    // Every other device, so that some devices are notified only by the server.
    if options.raisesRequests, index % 2 == 1 { simulation.pushes.addTarget(of: id) }
    start(device)
  }

  private func pair(
    _ id: DeviceID, _ index: Int, using generator: inout SeededGenerator
  ) -> Credentials {
    var token: [UInt8] = []
    while token.count < 32 { token.append(UInt8(truncatingIfNeeded: generator.next())) }
    simulation.server.disk.pair(id, name: "device \(index)", token: token)
    return Credentials(
      server: "ws://simulated:1", workspace: ServerDisk.workspace,
      workspaceName: "simulated", token: token)
  }

  /// Adds a device that starts on a copy of another one's files.
  private func clone(_ original: SimulatedDevice, _ method: CopyMethod) {
    let index = devices.count
    var generator = RandomStream.device.generator(seed: options.seed, index)
    var files = original.currentFiles
    if method == .database {
      // Another machine got only the database, and has its own id and token.
      files.device = DeviceID(high: 0xD, low: UInt64(index + 1))
      files.credentials = pair(files.device, index, using: &generator)
    }
    let device = SimulatedDevice(
      index: index, name: method == .database ? "device \(index)" : original.name, files: files,
      generator: generator)
    devices.append(device)
    if method == .memory, let memory = memory(of: original) {
      goOn(device, with: memory)
      simulation.note(.memoryCloned(device: index))
    } else {
      start(device)
    }
    simulation.note(.added(device: index))
  }

  // MARK: - Events

  func perform(_ event: WorldEvent, on device: SimulatedDevice) -> EventOutcome {
    switch event {
    case .restart:
      guard device.process == nil else { return .skipped("it runs") }
      return start(device) ? .done : .notStored("the store cannot be opened")
    case .setClock(_, let offset):
      device.clockOffset = offset
      return .done
    case .setStore(_, let condition):
      if condition != .working { results.hasStoreFailed = true }
      device.condition = condition
      device.process?.store.condition = condition
      // Any event may retry a change that could not be stored.
      device.process?.restsAtClockOffset = nil
      return .done
    case .backUp(_, let label):
      device.backups[label] = device.currentFiles
      device.memories[label] = memory(of: device)
      return .done
    case .restore(_, let label, let method):
      return restore(device, label, method)
    case .clone(_, let method):
      guard devices.count < 90, method == .database || copies(of: device).count < 12 else {
        return .skipped("there are copies enough")
      }
      clone(device, method)
      return .done
    default:
      guard device.process != nil else { return .skipped("it is off") }
      return performOnProcess(event, device)
    }
  }

  private func performOnProcess(_ event: WorldEvent, _ device: SimulatedDevice) -> EventOutcome {
    switch event {
    case .crash(_, let losesPower):
      end(device, losesPower: losesPower)
    case .crashAtCommit:
      let deaths: [DeviceStore.Death] = [.beforeCommit, .afterCommit, .beforeSync]
      device.process?.store.death = deaths[device.generator.below(deaths.count)]
    case .sleep(_, let milliseconds):
      guard !device.isAsleep else { return .skipped("it sleeps") }
      let until = clock.now + Swift.max(1, milliseconds)
      device.sleepsUntil = until
      clock.add(.wake(device: device.index, until: until), at: until)
    case .requestSync:
      guard !device.isAsleep else { return .skipped("it sleeps") }
      simulation.clients.tell(device) { core, context, _ in core.syncRequested(at: context) }
    default:
      return .skipped("nothing to do")
    }
    return .done
  }

  private func restore(
    _ device: SimulatedDevice, _ label: String, _ method: CopyMethod
  ) -> EventOutcome {
    guard let backup = device.backups[label] else { return .skipped("no backup \(label)") }
    end(device, losesPower: false)
    switch method {
    case .memory where device.memories[label] != nil:
      if let memory = device.memories[label] { goOn(device, with: memory) }
      simulation.note(.rolledBack(.device(device.index)))
      simulation.note(.memoryCloned(device: device.index))
      return .done
    case .database:
      device.files.database = backup.database
    case .directory, .memory: device.files = backup
    }
    simulation.note(.rolledBack(.device(device.index)))
    start(device)
    return .done
  }

  /// Ends every fault: the disk works, the network is up, the process runs.
  func repair(_ device: SimulatedDevice) {
    device.condition = .working
    device.process?.store.condition = .working
    device.process?.store.death = nil
    device.process?.restsAtClockOffset = nil
    simulation.network.repair(device)
    if device.isAsleep { wake(device) }
    start(device)
  }

  func wake(_ device: SimulatedDevice) {
    device.sleepsUntil = nil
    results.log("device \(device.index): wakes up")
    simulation.clients.tell(device) { core, context, store in
      core.timePassed(at: context, store: store)
    }
    simulation.network.resumePipes(of: device)
  }

  // MARK: - Processes

  /// Starts a process on the device's files.
  ///
  /// - Returns: whether it could open its store.
  @discardableResult
  private func start(_ device: SimulatedDevice) -> Bool {
    guard device.process == nil else { return true }
    device.life += 1
    if options.planted.contains(.unsentForgotten) { device.files.database.forgetUnsent() }
    if options.planted.contains(.notificationsForgotten) {
      device.files.database.notifications = LoadedNotifications()
    }
    let store = store(of: device, device.files)
    let origin = clock.now - Int64(device.generator.below(1_000_000))
    let executed: LoadedReplica.Execution
    do {
      let loaded = try device.files.load()
      executed = loaded.execution
      device.process = try process(of: device, loaded, store, origin)
      device.process?.host.choices = device.files.database.choices
    } catch let fault as Replica.Fault {
      device.files = store.files
      if case .store = fault {
        results.log("device \(device.index): cannot open its store")
      } else {
        results.addViolation(
          "reopening", "device \(device.index) cannot start on its files: \(fault)")
      }
      return false
    } catch {
      results.addViolation("reopening", "device \(device.index) cannot read its files: \(error)")
      return false
    }
    results.log("device \(device.index): started")
    simulation.note(.started(device: device.index))
    simulation.clients.started(device, executed)
    return device.process != nil
  }

  private func store(of device: SimulatedDevice, _ files: DeviceFiles) -> DeviceStore {
    let store = DeviceStore(
      files: files, planted: options.planted,
      generator: RandomStream.store.generator(
        seed: options.seed, device.index << 16 | device.life))
    store.condition = device.condition
    return store
  }

  private func process(
    of device: SimulatedDevice, _ loaded: LoadedReplica, _ store: DeviceStore, _ origin: Int64
  ) throws -> SimulatedDevice.Process {
    let clients = simulation.clients
    let replica = try Replica(
      Replica.Opening(
        loaded: loaded, device: device.files.device, deviceName: device.name),
      at: clients.context(of: device, origin: origin), store: store)
    var core = ClientCore(
      replica: replica, credentials: device.files.credentials,
      queueSizeMax: options.queueSizeMax)
    if options.raisesRequests {
      core.answersLoaded(loaded.answers, at: clients.context(of: device, origin: origin))
      core.notificationsLoaded(loaded.notifications)
    }
    core.choicesLoaded(device.files.database.choices)
    return SimulatedDevice.Process(
      core: core, store: store, mirror: QueueMirror(workspace: replica.workspace),
      clockOrigin: origin)
  }

  /// Ends the process at once, or the whole machine with `losesPower`.
  func end(_ device: SimulatedDevice, losesPower: Bool) {
    guard let process = device.process else { return }
    let losesCommits = losesPower && !process.store.isSynchronized
    device.files = process.store.filesLeft(losingPower: losesPower)
    device.pastExecution = device.execution
    device.process = nil
    device.life += 1
    device.sleepsUntil = nil
    results.log("device \(device.index): \(losesPower ? "lost its power" : "died")")
    for (_, pipe) in process.pipes.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      simulation.network.clientDies(pipe, losesPower: losesPower)
    }
    if losesCommits { simulation.note(.lostCommits(device: device.index)) }
  }

  // MARK: - Copies of a memory

  /// The running machine; nil if it does not run, or has agents, which cannot be copied.
  private func memory(of device: SimulatedDevice) -> SimulatedDevice.Memory? {
    guard !options.runsAgents else { return nil }
    return device.process.map { SimulatedDevice.Memory(process: $0, savedAt: clock.now) }
  }

  /// Continues with a saved memory and saved files.
  private func goOn(_ device: SimulatedDevice, with memory: SimulatedDevice.Memory) {
    device.life += 1
    device.files = memory.files
    var process = memory.process
    process.store = store(of: device, memory.files)
    // The monotonic clock did not advance meanwhile.
    process.clockOrigin += clock.now - memory.savedAt
    process.scheduledWake = nil
    process.restsAtClockOffset = nil
    process.foreignConnections.formUnion(process.pipes.keys)
    let connections = process.foreignConnections.sorted { $0.rawValue < $1.rawValue }
    process.pipes = [:]
    device.process = process
    results.log("device \(device.index): goes on with a copy of a memory")
    // Data that it sends meanwhile is lost.
    for id in connections {
      clock.add(
        .connectionEnd(device: device.index, life: device.life, id),
        after: Int64(device.generator.below(3_000)))
    }
    simulation.clients.scheduleWake(of: device)
  }
}
