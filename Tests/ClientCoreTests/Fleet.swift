import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// Devices with the real core around the model server, in virtual time.
struct Fleet {
  struct Device {
    var core: ClientCore
    var store: MemoryStore
    var id: DeviceID
    /// The difference between the wall clock and the true time.
    var clockError: Int64 = 0
    var open: TransportID?
    var actions: [ClientCore.Action] = []
    var reports: [ConnectionProblem] = []
    /// The decisions that agents here received, and the outcomes of answers that were given here.
    var decisions: [(request: RequestID, decision: AskAnswer)] = []
    var endings: [(answer: AnswerRequest, ending: AnswerEnding)] = []
    /// The authority's replies to users here.
    var authorityAnswers: [AuthorityAnswer] = []
    /// How often an agent here was to stop.
    var agentStops = 0
  }

  var devices: [Device] = []
  var server = ModelServer()
  var now: Int64 = 1_000
  var isServerDown = false
  /// What is lost on a device's stalled connections.
  var losses: [Int: Loss] = [:]

  enum Loss {
    /// Nothing arrives at the server.
    case sent
    /// It arrives, but the server's answer does not.
    case received
  }
  /// Whether the effects on agents and tasks are carried out after every event, as by a driver.
  var follows = false
  /// The difference between the server's clock and the true time.
  var serverError: Int64 = 0
  var generator = SeededGenerator(seed: 1)

  init(devices count: Int, isPaired: Bool = true, seed: UInt64 = 1) throws {
    generator = SeededGenerator(seed: seed)
    server.milliseconds = wall
    for _ in 0..<count { try addDevice(isPaired: isPaired) }
  }

  /// The true time.
  var wall: Int64 { TestDevice.startOfTime + now }

  static func credentials() -> Credentials {
    Credentials(
      server: "ws://model:1", workspace: ModelServer.workspaceID, workspaceName: "model",
      token: [UInt8](repeating: 1, count: 32))
  }

  mutating func context(_ clockError: Int64 = 0) -> EventContext {
    EventContext(now: now, wall: wall + clockError, random: generator.next())
  }

  @discardableResult
  mutating func addDevice(
    isPaired: Bool = true, store: MemoryStore = MemoryStore(), id: DeviceID? = nil
  ) throws -> Int {
    let id = id ?? DeviceID(high: 0xD, low: UInt64(devices.count + 1))
    let replica = try Replica(
      Replica.Opening(
        loaded: store.loaded, device: id, deviceName: "device \(id.low)"),
      at: context(), store: store)
    let core = ClientCore(
      replica: replica, credentials: isPaired ? Fleet.credentials() : nil, queueSizeMax: 1_000)
    devices.append(Device(core: core, store: store, id: id))
    return devices.count - 1
  }

  /// A second machine continues from a device's memory and disk.
  mutating func copyRunning(_ index: Int) -> Int {
    var copy = devices[index]
    copy.store = MemoryStore(copying: copy.store)
    devices.append(copy)
    return devices.count - 1
  }

  /// A device's program ends and starts again with the content of its store.
  mutating func restart(_ index: Int, name: String? = nil, isPaired: Bool = true) throws {
    cut(index)
    let (id, store) = (devices[index].id, devices[index].store)
    let loaded = store.loaded
    let context = context(devices[index].clockError)
    let replica = try Replica(
      Replica.Opening(
        loaded: loaded, device: id, deviceName: name ?? "device \(id.low)"),
      at: context, store: store)
    devices[index].core = ClientCore(
      replica: replica, credentials: isPaired ? Fleet.credentials() : nil, queueSizeMax: 1_000)
    devices[index].core.answersLoaded(loaded.answers, at: context)
    try start(index)
  }

  mutating func note(
    _ index: Int,
    _ event: (inout ClientCore, EventContext, MemoryStore) throws -> [ClientCore.Action]
  ) rethrows {
    let context = context(devices[index].clockError)
    let store = devices[index].store
    let actions = try event(&devices[index].core, context, store)
    devices[index].actions += actions
    guard follows else { return }
    devices[index].actions += devices[index].core.executionFollowing(
      actions, at: context, store: store)
  }

  mutating func start() throws {
    for index in devices.indices { try start(index) }
  }

  mutating func start(_ index: Int) throws {
    note(index) { core, context, _ in core.started(at: context) }
    try settle()
  }

  @discardableResult
  mutating func perform(_ command: Command, on index: Int) throws -> CommandOutcome {
    var outcome: CommandOutcome?
    try note(index) { core, context, store in
      let done = try core.commandGiven(command, at: context, store: store)
      outcome = done.outcome
      return done.actions
    }
    return try #require(outcome)
  }

  /// Runs actions and answers until nothing is left.
  mutating func settle() throws {
    server.milliseconds = wall + serverError
    var rounds = 0
    while let index = devices.firstIndex(where: { !$0.actions.isEmpty }) {
      rounds += 1
      try #require(rounds < 100_000, "the devices never come to rest")
      let action = devices[index].actions.removeFirst()
      try run(action, of: index)
    }
  }

  /// Runs some actions, of any devices, each device's in their order.
  mutating func advance(_ count: Int) throws {
    server.milliseconds = wall + serverError
    for _ in 0..<count {
      let busy = devices.indices.filter { !devices[$0].actions.isEmpty }
      guard let index = generator.pick(busy) else { return }
      try run(devices[index].actions.removeFirst(), of: index)
    }
  }

  private mutating func run(_ action: ClientCore.Action, of index: Int) throws {
    switch action {
    case .connect(let id):
      if isServerDown {
        note(index) { core, context, _ in
          core.connectionLost(id, message: "refused", at: context)
        }
      } else {
        devices[index].open = id
        note(index) { core, context, store in core.connectionOpened(id, at: context, store: store)
        }
      }
    case .send(let id, let frame):
      guard devices[index].open == id, losses[index] != .sent else { return }
      // Every frame is encoded and decoded.
      let arrived = try FrameCodec.decode(FrameCodec.encode(frame))
      let statesTaken = server.statesTaken
      let result = try server.receive(arrived, from: devices[index].id)
      if server.statesTaken > statesTaken {
        // All devices connect again.
        for other in devices.indices { cut(other) }
      }
      if losses[index] != .received, server.reaches(devices[index].id) {
        for answer in result.answers { deliver(answer, to: index) }
      }
      guard let fanOut = result.fanOut else { return }
      for other in devices.indices where other != index && server.reaches(devices[other].id) {
        deliver(fanOut, to: other)
      }
    case .close(let id):
      if devices[index].open == id { devices[index].open = nil }
    case .report(let problem):
      devices[index].reports.append(problem)
    case .ping(let id):
      note(index) { core, context, _ in
        core.connectionHeard(id, at: context)
        return []
      }
    case .decided(let request, let decision):
      devices[index].decisions.append((request, decision))
    case .answerEnded(let answer, let ending):
      devices[index].endings.append((answer, ending))
    case .answered(let answer, _):
      devices[index].authorityAnswers.append(answer)
    case .agent(.stop): devices[index].agentStops += 1
    case .changed, .agent, .replied, .notified, .notificationEnded, .connectionMissed,
      .outputWanted:
      break
    }
  }

  mutating func deliver(_ frame: Frame, to index: Int) {
    guard let id = devices[index].open else { return }
    note(index) { core, context, store in
      core.frameReceived(frame, on: id, at: context, store: store)
    }
  }

  /// Breaks a connection.
  mutating func cut(_ index: Int) {
    guard let id = devices[index].open else { return }
    devices[index].open = nil
    devices[index].actions.removeAll {
      if case .send = $0 { true } else { false }
    }
    note(index) { core, context, _ in
      core.connectionLost(id, message: "cut", at: context)
    }
  }

  /// Lets time pass, and wakes devices at their deadlines.
  mutating func pass(_ milliseconds: Int64) throws {
    let end = now + milliseconds
    try settle()
    while let next = devices.compactMap(\.core.deadline).min(), next <= end {
      now = max(now, next)
      for index in devices.indices {
        note(index) { $0.timePassed(at: $1, store: $2) }
      }
      // A deadline that is never met would stop the clock.
      if devices.compactMap(\.core.deadline).min() == next { now += 1 }
      try settle()
    }
    now = max(now, end)
    try settle()
  }

  /// All devices have everything, and the stores match the memory.
  func expectConvergence(_ location: SourceLocation = #_sourceLocation) throws {
    let image = server.workspace.image()
    for device in devices {
      let reports = device.reports.map(\.message)
      let isSynced = device.core.isSynced
      let isEqual = device.core.replica.workspace.image() == image
      #expect(isSynced, "\(reports)", sourceLocation: location)
      #expect(isEqual, "\(device.id) differs from the server", sourceLocation: location)
      try expectStoreAgrees(device, location)
    }
  }

  func expectStoreAgrees(
    _ device: Device, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let loaded = device.store.loaded
    var workspace = loaded.workspace ?? Workspace()
    for entry in loaded.tail { _ = try workspace.merge(entry.operations) }
    let isEqual = workspace.image() == device.core.replica.workspace.image()
    #expect(isEqual, "the store of \(device.id) differs", sourceLocation: location)
    #expect(loaded.record == device.core.replica.record, sourceLocation: location)
  }
}
