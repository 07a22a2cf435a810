import DispatchAuthority
import QueueModel
import QueueOracle
import ServerCore

/// The server, or one of several nodes over one store: its disk, its clock, and its process if one
/// runs. It drives the production core like SyncServer: it passes the time, performs actions in
/// order, and runs the store's tasks one after the other.
package final class SimulatedServer: SimulationPart {
  /// The interval at which the core gets the time.
  private static let tickMilliseconds: Int64 = 250
  private static let pingMilliseconds: Int64 = 20_000
  private static let silenceMilliseconds: Int64 = 45_000

  /// A running process.
  struct Process {
    var core: ServerCore
    /// By connection; ids increase, so sorting by them gives the order of opening.
    var pipes: [ConnectionID: Pipe] = [:]
    /// Work for the store's thread, in order.
    var tasks: [PendingTask] = []
    var isStoreBusy = false
    /// The actions to perform; an action can raise events whose actions must not overtake it.
    var actions: [ServerAction] = []
    var isActing = false
    var nextConnection: UInt64 = 0
    var isStopped = false
    /// The outcome of the first task, which the process does not know yet.
    var heldOutcome: StoreOutcome?
    /// Whether it was decided, in this pause, whether the store has the first task.
    var wasHeld = false
    /// Whether the connection on which the first task was sent is gone.
    var isTaskCut = false
  }

  /// Work that the store has not done yet.
  struct PendingTask {
    var id: StoreTaskID
    var task: StoreTask
  }

  /// The place among the nodes.
  package let index: Int
  package let disk: ServerDisk
  /// The disk, as this node uses it.
  let storage: MemoryStorage
  private let configuration: ServerConfiguration
  var process: Process?
  /// Counts starts and ends, so that events for an earlier process do not reach a later one.
  private(set) var life = 0
  /// Its faults, if it is one of several nodes.
  var trouble = NodeTrouble()
  var memory = PlantedMemory()
  var clockOffset: Int64 = 0
  var generator: SeededGenerator
  /// Counts the batches that a planted bug keeps from one receiver.
  private var fanOuts = 0
  unowned let simulation: Simulation

  /// - Parameter disk: that of the other nodes; nil for the first one.
  init(in simulation: Simulation, index: Int = 0, sharing disk: ServerDisk? = nil) {
    self.simulation = simulation
    self.index = index
    configuration = ServerConfiguration(simulation.options)
    generator = RandomStream.server.generator(seed: simulation.options.seed, index)
    var identities = SeededGenerator(seed: generator.seed ^ 0x1D)
    let disk = disk ?? ServerDisk(firstChain: identities.next())
    self.disk = disk
    storage = index == 0 ? disk.storage : MemoryStorage(sharing: disk.storage, node: index)
  }

  var time: ServerTime {
    ServerTime(
      uptimeMilliseconds: clock.now, wallMilliseconds: clock.wall + clockOffset)
  }

  // MARK: - Start and end

  func start() {
    life = simulation.router.nextLife()
    disk.nodeStarted(index)
    // Finding secrets by their hash is the store's task, so any injective function is enough.
    process = Process(core: ServerCore(configuration: configuration) { $0 })
    clock.add(.tick(life: life), after: SimulatedServer.tickMilliseconds)
    results.log("\(name): started")
    results.hash.add(life)
    // Orders that were not carried out before.
    simulation.pushes.pushSoon(life: life)
  }

  /// Its name in the trace.
  var name: String { simulation.nodes.count > 1 ? "node \(index)" : "server" }

  /// Ends the process at once; tasks in flight to the store may or may not be stored.
  func end(_ why: String) {
    guard let process else { return }
    if process.isStoreBusy, process.heldOutcome == nil, !process.isTaskCut,
      let first = process.tasks.first, case .commit = first.task, generator.chance(50)
    {
      _ = perform(first)
    }
    self.process = nil
    life = simulation.router.nextLife()
    trouble.endPause()
    results.log("\(name): ended: \(why)")
    simulation.network.serverDies(self)
    if options.planted.contains(.ackBeforeFsync) { disk.loseUnsyncedCommits() }
  }

  func startLater(_ milliseconds: ClosedRange<Int64>) {
    let delay = Int64.random(in: milliseconds, using: &generator)
    clock.add(.serverStart(life: life), after: delay)
  }

  func tick(life: Int) {
    guard life == self.life, let process else { return }
    clock.add(.tick(life: life), after: SimulatedServer.tickMilliseconds)
    guard !trouble.isPaused(at: clock.now) else { return }
    if simulation.nodes.count > 1, index == 0, generator.chance(10) { disk.updateStandby() }
    for (_, pipe) in process.pipes.sorted(by: { $0.key < $1.key }) {
      if clock.now - pipe.serverHeardAt >= SimulatedServer.silenceMilliseconds {
        results.log("\(name): connection \(pipe.number) fell silent")
        simulation.network.serverLetsGo(of: pipe)
      } else if clock.now - pipe.serverPingedAt >= SimulatedServer.pingMilliseconds {
        pipe.serverPingedAt = clock.now
        simulation.network.put(.ping, .fromServer, on: pipe)
      }
    }
    let moment = time
    tell { $0.clockTicked(at: moment) }
    if options.raisesRequests { simulation.note(.serverTicked) }
  }

  // MARK: - Connections

  /// Accepts a connection that opens.
  func take(_ pipe: Pipe) -> ConnectionID {
    process?.nextConnection += 1
    let id = ConnectionID(rawValue: UInt64(life) << 32 | (process?.nextConnection ?? 0))
    pipe.serverID = id
    pipe.serverHolds = true
    pipe.serverEnd.node = index
    pipe.serverEnd.life = life
    pipe.serverHeardAt = clock.now
    pipe.serverPingedAt = clock.now
    process?.pipes[id] = pipe
    return id
  }

  func lose(_ id: ConnectionID) {
    process?.pipes[id] = nil
    let moment = time
    tell { $0.connectionClosed(id, at: moment) }
  }

  func receive(_ bytes: [UInt8], _ id: ConnectionID, at moment: ServerTime) {
    var generator = generator
    tell { $0.frameReceived(bytes, on: id, at: moment, using: &generator) }
    self.generator = generator
  }

  // MARK: - Events and actions of the core

  /// Passes an event to the core and performs its actions, in order.
  func tell(_ event: (inout ServerCore) -> [ServerAction]) {
    guard let more = process?.core.run(event), !more.isEmpty else { return }
    process?.actions += more
    guard process?.isActing == false else { return }
    process?.isActing = true
    let life = life
    var place = 0
    while life == self.life, let actions = process?.actions, place < actions.count {
      act(actions[place])
      place += 1
    }
    guard life == self.life else { return }
    process?.actions = []
    process?.isActing = false
    if process?.isStopped == true {
      end("it was asked to stop")
      startLater(50...200)
    }
  }

  private func act(_ action: ServerAction) {
    switch action {
    case .send(let bytes, let ids):
      if simulation.nodes.count > 1 { simulation.note(.answered(node: index, bytes)) }
      for id in receivers(ids) {
        guard let pipe = process?.pipes[id] else { continue }
        simulation.network.send(bytes, .fromServer, on: pipe)
      }
    case .close(let id, _, let reason):
      guard let pipe = process?.pipes[id] else { return }
      results.log("\(name): closes connection \(pipe.number): \(reason)")
      simulation.network.serverCloses(pipe)
    case .abort(let id, let reason):
      guard let pipe = process?.pipes[id] else { return }
      results.log("\(name): drops connection \(pipe.number): \(reason)")
      pipe[.fromServer].cut(afterBytes: 0)
      simulation.network.serverLetsGo(of: pipe)
    case .setReading(let id, let isOn):
      guard let pipe = process?.pipes[id] else { return }
      pipe[.toServer].isPaused = !isOn
      if isOn { clock.add(.arrival(pipe, .toServer), after: 0) }
    case .authenticated(let id, _):
      process?.pipes[id]?.isAuthenticated = true
    case .store(let id, let task):
      process?.tasks.append(PendingTask(id: id, task: task))
      startStoreTask()
    case .pushOrdersStored:
      results.log("\(name): push orders are stored")
      simulation.pushes.pushSoon(life: life)
    case .liveStatus(let order):
      results.log("\(name): live status \(order.event) of \(order.task.sessionId)")
    case .testPush(let target, _):
      results.log("\(name): tests push target \(target.id)")
    case .answerSettled(let id, let outcome):
      results.log("\(name): posted answer \(id.rawValue): \(outcome)")
    case .contentReleased: break
    case .report(let report):
      results.log("\(name): \(report)")
      simulation.note(.serverReport(report))
    case .stopped:
      process?.isStopped = true
    }
  }

  private func receivers(_ ids: [ConnectionID]) -> [ConnectionID] {
    guard options.planted.contains(.fanOutSkipsOne), ids.count > 1 else { return ids }
    fanOuts += 1
    return fanOuts % 8 == 0 ? ids.dropLast() : ids
  }

  // MARK: - Tasks of the store

  private func startStoreTask() {
    guard let process, !process.isStoreBusy, !process.tasks.isEmpty else { return }
    self.process?.isStoreBusy = true
    let time = Int64.random(in: options.server.storeMilliseconds, using: &generator)
    clock.add(.storeDone(life: life), after: time)
  }

  func finishStoreTask(life: Int) {
    guard life == self.life, let pending = process?.tasks.first, !isHeld(pending) else { return }
    process?.tasks.removeFirst()
    process?.isStoreBusy = false
    let outcome = takeHeldOutcome() ?? cutOutcome(of: pending) ?? perform(pending)
    let moment = time
    tell { $0.storeFinished(pending.id, outcome, at: moment) }
    startStoreTask()
  }

  /// Performs a task of the store's thread, and records what is durable.
  @discardableResult
  func perform(_ pending: PendingTask) -> StoreOutcome {
    let task = pending.task
    let outcome = simulation.nodes.count > 1 ? performOnShared(task) : storage.perform(task)
    if case .joined(.appended) = outcome { simulation.note(.joined) }
    guard case .commit(let batch) = task, case .committed(let result) = outcome,
      result.lost.isEmpty
    else { return outcome }
    let entries = batch.appends.map(\.entry)
    for entry in entries { results.hash.add(entry.content.bytes) }
    if options.planted.contains(.ackBeforeFsync), disk.synced == nil || generator.chance(10) {
      disk.holdBack()
    }
    simulation.note(.committed(entries, wallMilliseconds: batch.wallMilliseconds))
    for (_, changes) in batch.inboxes { simulation.note(.inboxesChanged(changes)) }
    let dispatches = batch.records.flatMap(\.records.dispatches)
    let granted = dispatches.filter { $0.intervention == .none }
    if !granted.isEmpty { simulation.note(.granted(granted)) }
    let intervened = dispatches.filter { $0.intervention != .none }
    if !intervened.isEmpty { simulation.note(.intervened(intervened)) }
    return outcome
  }
}

extension ServerConfiguration {
  /// Limits that short runs reach, except for one that a planted bug removes.
  fileprivate init(_ options: SimulationOptions) {
    self.init()
    log.catchUpEntriesMax = options.server.catchUpEntriesMax
    log.snapshotEntries = options.server.snapshotEntries
    log.partBytesMax = options.server.partBytesMax
    sharesStore = options.server.nodes.count > 1
    if options.planted.contains(.pushNeverDue) {
      notifications.patienceMilliseconds = .max / 4
    }
    if options.planted.contains(.stampClampOff) {
      devices.stampAheadMillisecondsMax = .max / 4
    }
  }
}

extension ServerCore {
  /// Passes itself to an event, so that the driver can change it in place.
  fileprivate mutating func run(
    _ event: (inout ServerCore) -> [ServerAction]
  ) -> [ServerAction] {
    event(&self)
  }
}
