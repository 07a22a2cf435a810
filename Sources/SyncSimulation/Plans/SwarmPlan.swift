import QueueOracle

/// Draws a run: the number of devices, the faults, the commands and the pace.
///
/// Every seed omits some kinds of faults and exaggerates others ("swarm testing"), because a fault
/// that always happens hides bugs that appear only without it.
struct SwarmPlan {
  /// Kinds of faults, or their repair.
  enum Fault: CaseIterable {
    case crash, crashAtCommit, sleep, cut, disconnect, partition, clog, dropAck
    case setClock, setServerClock
    case fillDisk, failDisk, backUp, restore, clone
    case crashServer, restartServer, fillServerDisk, failServerDisk
    case backUpServer, restoreServer, swapServers
    case requestSync
    case crashNode, restartNode, pauseNode, cutNodeStore, cutNodes, setNodeClock, failOver

    /// The faults of one server, and of devices.
    static let usual = allCases.filter { !ofNodes.contains($0) }
    static let ofNodes: [Fault] = [
      .crashNode, .restartNode, .pauseNode, .cutNodeStore, .cutNodes, .setNodeClock, .failOver,
    ]
  }

  private(set) var options: SimulationOptions
  private(set) var stepCount: Int
  /// The number of steps after which everything is repaired and checked.
  private let settleEvery: Int
  let faultPercent: Int
  private let faults: [(weight: Int, value: Fault)]
  /// How much longer than usual users and faults wait, in percent.
  let pacePercent: Int
  private let profile: Profile
  private var workload: Workload
  /// Set if many messages must be run.
  var queues: QueueWorkload?
  /// Set if hosts run messages.
  private var hosts: HostWorkload?
  var generator: SeededGenerator
  private var labels = 0

  init(
    seed: UInt64, profile: Profile, planted: Set<PlantedBug> = [], runsAgents: Bool = false,
    raisesRequests: Bool = false, asksOutcomes: Bool = false, items: Int = 0,
    keepsTrace: Bool = false
  ) {
    var generator = RandomStream.plan.generator(seed: seed, 0)
    self.profile = profile
    let devices = SwarmPlan.deviceCount(profile, using: &generator)
    options = SimulationOptions(seed: seed, devices: devices)
    options.planted = planted
    // A single device has nothing to sync: it only runs messages.
    let runsAgents = runsAgents || profile == .alone || profile == .nodes
    options.isAlone = profile == .alone
    options.runsAgents = runsAgents
    options.raisesRequests = raisesRequests
    options.asksOutcomes = asksOutcomes
    options.keepsTrace = keepsTrace
    SwarmPlan.drawConditions(&options, profile, using: &generator)
    if profile == .nodes { options.server.nodes = SwarmPlan.nodes(using: &generator) }
    let steps = SwarmPlan.stepRange(profile)
    stepCount = Int.random(in: steps, using: &generator)
    settleEvery = profile == .partition ? 40 : stepCount / (1 + generator.below(3)) + 1
    let faultPercent = SwarmPlan.faultPercent(profile, using: &generator)
    self.faultPercent = items > 0 ? 1 + faultPercent / 8 : faultPercent
    // The requests' checkers know of a store that goes back in time only if its server does.
    let left: [Fault] = raisesRequests && profile == .nodes ? [.failOver] : []
    faults = SwarmPlan.faultWeights(profile, using: &generator).filter { !left.contains($0.value) }
    pacePercent = [20, 100, 100, 400][generator.below(4)]
    if items > 0 {
      SwarmPlan.drawQueues(&options, using: &generator)
      queues = QueueWorkload(
        itemCount: items, hostCount: options.devices,
        generator: RandomStream.workload.generator(seed: seed, 1))
    }
    var pattern =
      generator.chance(profile == .hostile ? 15 : 50)
      ? .human : generator.pick(Workload.Pattern.drawn) ?? .human
    if runsAgents, devices < 10, RandomStream.plan.generator(seed: seed, 2).seed % 4 == 0 {
      // Long queues are run; the oracle would take longer than everything else.
      pattern = .batches
      stepCount *= 3
      options.usesOracle = false
      options.queueSizeMax = 1_000
    }
    if runsAgents, items == 0 {
      var generator = RandomStream.plan.generator(seed: seed, 3)
      options.timersLateMax = [0, 0, 3_000][generator.below(3)]
      hosts = HostWorkload(generator: generator)
    }
    workload = Workload(
      pattern: pattern, sessionCount: 1 + generator.below(5),
      longTextScalars: profile == .hostile ? 20_000 : 4_000, hostCount: runsAgents ? devices : 0,
      generator: RandomStream.workload.generator(seed: seed, 0))
    self.generator = generator
  }

  // MARK: - Drawing a run

  private static func deviceCount(
    _ profile: Profile, using generator: inout SeededGenerator
  ) -> Int {
    switch profile {
    case .alone: return 1
    case .smoke: return 2 + generator.below(2)
    case .hostile: return 3 + generator.below(6)
    default:
      switch generator.below(100) {
      case ..<60: return 2 + generator.below(3)
      case ..<90: return 5 + generator.below(4)
      case ..<98: return 9 + generator.below(8)
      default: return 30 + generator.below(21)
      }
    }
  }

  private static func stepRange(_ profile: Profile) -> ClosedRange<Int> {
    switch profile {
    case .smoke: 40...80
    case .hostile: 150...300
    default: 100...250
    }
  }

  private static func faultPercent(
    _ profile: Profile, using generator: inout SeededGenerator
  ) -> Int {
    switch profile {
    case .smoke: 15
    case .standard: 5 + generator.below(15)
    case .hostile: 20 + generator.below(25)
    default: 10 + generator.below(20)
    }
  }

  private static func drawConditions(
    _ options: inout SimulationOptions, _ profile: Profile, using generator: inout SeededGenerator
  ) {
    let slowest: Int64 = [8, 60, 250][generator.below(3)]
    options.network.latencyMilliseconds = 1...slowest
    options.network.splitPercent = [0, 10, 50][generator.below(3)]
    options.server.catchUpEntriesMax = [10, 100, 4_096][generator.below(3)]
    options.server.snapshotEntries = [4, 24, 256][generator.below(3)]
    options.server.partBytesMax = [1_024, 2_048, 65_536][generator.below(3)]
    options.server.storeMilliseconds = 1...([2, 8, 40][generator.below(3)])
    options.queueSizeMax = [6, 50, 1_000][generator.below(3)]
    options.drainMillisecondsMax = profile == .partition ? 5_000 : 120_000
  }

  private static func kinds(_ profile: Profile) -> [Fault] {
    switch profile {
    case .smoke, .standard, .hostile: Fault.usual
    case .partition: [.cut, .disconnect, .partition, .clog, .dropAck, .requestSync, .sleep]
    case .crash:
      [.crash, .crashAtCommit, .cut, .dropAck, .crashServer, .restartServer, .sleep]
    case .storage:
      [
        .fillDisk, .failDisk, .backUp, .restore, .clone, .crash, .crashAtCommit, .fillServerDisk,
        .failServerDisk, .backUpServer, .restoreServer, .swapServers, .crashServer,
      ]
    case .clock: [.setClock, .setServerClock, .sleep, .cut, .crash, .crashServer, .disconnect]
    case .alone: [.crash, .crashAtCommit, .sleep, .setClock, .fillDisk, .failDisk]
    case .nodes: Fault.ofNodes + [.cut, .dropAck, .disconnect, .crash, .sleep, .requestSync]
    }
  }

  private static func faultWeights(
    _ profile: Profile, using generator: inout SeededGenerator
  ) -> [(weight: Int, value: Fault)] {
    var weights: [(weight: Int, value: Fault)] = []
    for kind in kinds(profile) {
      weights.append(([0, 1, 2, 2, 6][generator.below(5)], kind))
    }
    if !weights.contains(where: { $0.weight > 0 }) { weights[0].weight = 1 }
    return weights
  }

  // MARK: - Drawing a step

  /// The next event; nil at the end of the run.
  mutating func step(in simulation: Simulation, number: Int) -> Step? {
    if queues != nil { return queueStep(in: simulation) }
    guard number < stepCount else { return nil }
    if number % settleEvery == settleEvery - 1 { return Step(after: 0, .settle) }
    let after = pause()
    if generator.chance(faultPercent) {
      if let event = repair(in: simulation) ?? fault(in: simulation) {
        return Step(after: after, event)
      }
    }
    if let event = hosts?.step(in: simulation) { return Step(after: after, event) }
    let device = generator.below(simulation.devices.count)
    guard let action = workload.action(on: simulation.devices[device]) else {
      return Step(after: after, .restart(device: device))
    }
    return Step(after: after, .perform(device: device, action))
  }

  private mutating func pause() -> Int64 {
    let milliseconds: Int =
      switch generator.below(100) {
      case ..<55: generator.below(40)
      case ..<85: generator.below(1_500)
      case ..<97: generator.below(12_000)
      default: generator.below(90_000)
      }
    return Int64(milliseconds * pacePercent / 100)
  }

  /// In half of the cases, repairs something that was broken.
  mutating func repair(in simulation: Simulation) -> WorldEvent? {
    guard generator.chance(50) else { return nil }
    var repairs: [WorldEvent] = []
    for device in simulation.devices {
      let index = device.index
      if device.process == nil { repairs.append(.restart(device: index)) }
      if !device.network.isUp { repairs.append(.reconnect(device: index)) }
      if device.network.blocksToServer || device.network.blocksFromServer {
        repairs.append(.heal(device: index))
      }
      if device.condition != .working {
        repairs.append(.setStore(device: index, .working))
      }
    }
    if simulation.server.disk.condition != .working { repairs.append(.setServerStore(.working)) }
    return generator.pick(repairs)
  }

  mutating func fault(in simulation: Simulation) -> WorldEvent? {
    let device = generator.below(simulation.devices.count)
    let fault = generator.pick(weighted: faults)
    switch fault {
    case .crash: return .crash(device: device, losesPower: generator.chance(40))
    case .crashAtCommit: return .crashAtCommit(device: device)
    case .sleep: return .sleep(device: device, milliseconds: Int64(generator.below(180_000)))
    case .cut: return .cut(device: device)
    case .disconnect: return .disconnect(device: device)
    case .partition:
      let directions: [PartitionDirection] = [.toServer, .fromServer, .both]
      return .partition(device: device, generator.pick(directions) ?? .both)
    case .clog: return .clog(device: device, milliseconds: Int64(generator.below(30_000)))
    case .dropAck: return .dropAck(device: device)
    case .setClock: return .setClock(device: device, offsetMilliseconds: clockOffset())
    case .setServerClock: return .setServerClock(offsetMilliseconds: serverClockOffset())
    case .fillDisk: return .setStore(device: device, .full)
    case .failDisk: return .setStore(device: device, .failing)
    case .backUp: return .backUp(device: device, label: freshLabel())
    case .restore: return restore(simulation.devices[device])
    case .clone: return .clone(device: device, method())
    case .swapServers: return .swapServers
    case .crashServer: return .crashServer
    case .restartServer: return .restartServer
    case .fillServerDisk: return .setServerStore(.full)
    case .failServerDisk: return .setServerStore(.failing)
    case .backUpServer: return .backUpServer(label: freshLabel())
    case .restoreServer:
      let labels = simulation.server.disk.backups.keys.sorted()
      return generator.pick(labels).map { .restoreServer(label: $0) }
    case .requestSync: return .requestSync(device: device)
    case .crashNode, .restartNode, .pauseNode, .cutNodeStore, .cutNodes, .setNodeClock:
      return .atNode(generator.below(options.server.nodes.count), nodeEvent(fault))
    case .failOver: return .failOver
    }
  }

  private mutating func restore(_ device: SimulatedDevice) -> WorldEvent? {
    let label = generator.pick(device.backups.keys.sorted())
    guard let label else { return .backUp(device: device.index, label: freshLabel()) }
    return .restore(device: device.index, label: label, method())
  }

  private mutating func method() -> CopyMethod {
    generator.pick([.database, .directory, .memory] as [CopyMethod]) ?? .database
  }

  private mutating func freshLabel() -> String {
    labels += 1
    return "\(labels)"
  }

  /// Minutes, hours, days or decades off; even before 1970.
  private mutating func clockOffset() -> Int64 {
    let scale: Int64 = generator.pick(weighted: [
      (3, 0), (4, 60_000), (3, 3_600_000), (2, 86_400_000), (2, 31_536_000_000),
    ])
    return Int64.random(in: -60...60, using: &generator) * scale
  }

  /// A server has an administrator: if its clock is off by decades, so are those of all devices.
  private mutating func serverClockOffset() -> Int64 {
    let scale: Int64 = generator.pick(weighted: [(3, 0), (4, 1_000), (2, 60_000)])
    return Int64.random(in: -60...60, using: &generator) * scale
  }
}
