import QueueModel
import SequenceCRDT
import ServerCore
import SyncTestSupport
import Testing
import WireProtocol

/// The core with a store in memory, a stopped clock, and connections that record what was
/// sent to them.
struct ServerScene {
  static let workspace = WorkspaceID(high: 1, low: 1)
  static let otherWorkspace = WorkspaceID(high: 2, low: 2)

  var core: ServerCore
  private(set) var storage = MemoryStorage()
  var now = ServerTime(uptimeMilliseconds: 0, wallMilliseconds: 1_700_000_000_000)
  var generator = SeededGenerator(seed: 7)
  /// Store tasks that were requested and not done yet.
  private(set) var waitingTasks: [(id: StoreTaskID, task: StoreTask)] = []
  /// Whether store tasks wait for `finishTasks`.
  var holdsTasks = false
  private(set) var sent: [ConnectionID: [Frame]] = [:]
  private(set) var rawSent: [ConnectionID: [[UInt8]]] = [:]
  private(set) var closed: [ConnectionID: CloseCode] = [:]
  private(set) var aborted: Set<ConnectionID> = []
  private(set) var isReading: [ConnectionID: Bool] = [:]
  private(set) var reports: [ServerReport] = []
  private(set) var isStopped = false
  private(set) var pushWakes = 0
  /// How many times contents have left memory.
  private(set) var releases = 0
  private(set) var liveOrders: [LiveStatusOrder] = []
  var tests: [(target: PushTargetID, connection: ConnectionID)] = []
  /// The results of answers without a connection.
  private(set) var settled: [PostedAnswerID: [PostedAnswerOutcome]] = [:]
  private var lastPost: UInt64 = 0
  /// Whether sent bytes count as delivered at once.
  var delivers = true
  private var lastConnection: UInt64 = 0

  init(_ adjust: (inout ServerConfiguration) -> Void = { _ in }) {
    var configuration = ServerConfiguration()
    adjust(&configuration)
    core = ServerCore(configuration: configuration) { $0 + [0] }
    storage.addWorkspace(ServerScene.workspace, name: "default", firstChain: 42)
    storage.addWorkspace(ServerScene.otherWorkspace, name: "other", firstChain: 43)
  }

  /// Two nodes over one store.
  static func nodes() -> (ServerScene, ServerScene) {
    let first = ServerScene { $0.sharesStore = true }
    var second = ServerScene { $0.sharesStore = true }
    second.storage = MemoryStorage(sharing: first.storage, node: 1)
    return (first, second)
  }

  // MARK: - Driving

  mutating func run(_ actions: [ServerAction]) {
    var actions = actions[...]
    while let action = actions.popFirst() {
      switch action {
      case .send(let bytes, let ids):
        for id in ids {
          rawSent[id, default: []].append(bytes)
          if let frame = try? FrameCodec.decode(bytes) { sent[id, default: []].append(frame) }
          if delivers { actions += core.bytesBuffered(0, on: id) }
        }
      case .close(let id, let code, _):
        closed[id] = code
        actions += core.connectionClosed(id, at: now)
      case .abort(let id, _):
        aborted.insert(id)
        actions += core.connectionClosed(id, at: now)
      case .setReading(let id, let isOn): isReading[id] = isOn
      case .authenticated: break
      case .store(let id, let task):
        if holdsTasks {
          waitingTasks.append((id, task))
        } else {
          actions += core.storeFinished(id, storage.perform(task), at: now)
        }
      case .pushOrdersStored: pushWakes += 1
      case .liveStatus(let order): liveOrders.append(order)
      case .testPush(let target, let id): tests.append((target.id, id))
      case .answerSettled(let id, let outcome): settled[id, default: []].append(outcome)
      case .contentReleased: releases += 1
      case .report(let report): reports.append(report)
      case .stopped: isStopped = true
      }
    }
  }

  /// Performs the waiting store tasks, and those that follow from them.
  mutating func finishTasks() {
    while !waitingTasks.isEmpty {
      let (id, task) = waitingTasks.removeFirst()
      run(core.storeFinished(id, storage.perform(task), at: now))
    }
  }

  /// Performs the task that waits longest, but not those that follow from it.
  mutating func finishOneTask() {
    guard !waitingTasks.isEmpty else { return }
    let (id, task) = waitingTasks.removeFirst()
    run(core.storeFinished(id, storage.perform(task), at: now))
  }

  /// Performs the search for devices that lost their access, before the tasks that wait longer.
  mutating func findLapsed() {
    let index = waitingTasks.firstIndex { if case .findLapsed = $0.task { true } else { false } }
    guard let index else { return }
    let (id, task) = waitingTasks.remove(at: index)
    run(core.storeFinished(id, storage.perform(task), at: now))
  }

  /// Performs the task that was requested last.
  mutating func finishLastTask() {
    guard let (id, task) = waitingTasks.popLast() else { return }
    run(core.storeFinished(id, storage.perform(task), at: now))
  }

  /// The store did the first waiting task, but reports a failure.
  mutating func failTaskAfterDoingIt() {
    guard !waitingTasks.isEmpty else { return }
    let (id, task) = waitingTasks.removeFirst()
    _ = storage.perform(task)
    let fault = StorageFault(code: .unavailable, message: "the disk did not answer")
    run(core.storeFinished(id, .failed(fault), at: now))
  }

  /// Everything that was sent to a connection since the last `take`.
  func allSent(_ id: ConnectionID) -> [Frame] { sent[id] ?? [] }

  mutating func pass(_ milliseconds: Int64) {
    now.uptimeMilliseconds += milliseconds
    now.wallMilliseconds += milliseconds
    run(core.clockTicked(at: now))
  }

  mutating func open(source: String = "192.0.2.1") -> ConnectionID {
    lastConnection += 1
    let id = ConnectionID(rawValue: lastConnection)
    run(core.connectionOpened(id, source: source, acceptedAt: now, at: now))
    return id
  }

  mutating func send(_ frame: Frame, on id: ConnectionID) {
    send(bytes: FrameCodec.encode(frame), on: id)
  }

  mutating func send(bytes: [UInt8], on id: ConnectionID) {
    run(core.frameReceived(bytes, on: id, at: now, using: &generator))
  }

  mutating func ping(on id: ConnectionID) {
    run(core.controlFrameReceived(0, on: id, at: now))
  }

  /// The process ends, and another one begins with the same store.
  mutating func restart(_ configuration: ServerConfiguration) {
    core = ServerCore(configuration: configuration) { $0 + [0] }
    waitingTasks = []
  }

  /// A device answers without a connection.
  mutating func post(
    _ answer: AnswerRequest, by device: DeviceID, in workspace: WorkspaceID = workspace
  ) -> PostedAnswerID {
    lastPost += 1
    let id = PostedAnswerID(rawValue: lastPost)
    run(core.answerPosted(id, answer, by: device, in: workspace, at: now))
    return id
  }

  mutating func stop() {
    run(core.stopRequested(at: now))
  }

  mutating func drop(_ id: ConnectionID) {
    run(core.connectionClosed(id, at: now))
  }

  mutating func report(buffered bytes: Int, on id: ConnectionID) {
    run(core.bytesBuffered(bytes, on: id))
  }

  mutating func received(raw bytes: Int, on id: ConnectionID) {
    run(core.bytesReceived(bytes, on: id, at: now))
  }

  /// Removes and returns what was sent to a connection since the last call.
  mutating func take(_ id: ConnectionID) -> [Frame] {
    rawSent[id] = nil
    return sent.removeValue(forKey: id) ?? []
  }

  // MARK: - The store

  var tables: MemoryStorage.Tables {
    get throws { try #require(storage.withState { $0.workspaces[Self.workspace] }) }
  }

  /// The log's prefix at a position.
  func prefix(_ position: UInt64) throws -> LogPrefix {
    let chain = try storage.chain(of: Self.workspace, at: position)
    return LogPrefix(position: position, chain: try #require(chain))
  }

  /// Unloads the workspace, so that the next use reads the store.
  mutating func unload() {
    pass(1_500)
    pass(core.configuration.times.idleMilliseconds)
    #expect(core.residentWorkspaces == 0)
  }

  // MARK: - Devices

  /// A paired device of the scene's workspace.
  func device(_ number: UInt64, workspace: WorkspaceID = workspace) -> ScriptedDevice {
    let device = ScriptedDevice(number: number, workspace: workspace)
    storage.addDevice(device.id, name: device.name, to: workspace, token: device.token + [0])
    return device
  }

  /// Opens a connection and sends a device's `hello`.
  mutating func connect(_ device: ScriptedDevice) -> ConnectionID {
    let id = open()
    send(.hello(device.hello), on: id)
    return id
  }

  /// Connects a device and passes it everything that the server sends.
  mutating func join(_ device: inout ScriptedDevice) throws -> ConnectionID {
    let id = connect(device)
    try device.take(take(id))
    return id
  }
}

/// A device that makes real operations and keeps them, without a store or a network.
struct ScriptedDevice {
  var number: UInt64
  var workspaceID: WorkspaceID
  var replica: ReplicaID
  var workspace = Workspace()
  var outgoing: [Operation] = []
  var batch: UInt64 = 0
  /// The prefix of the server's log that it has.
  var prefix = LogPrefix.empty
  /// Whether the server's state lacks some of this one's.
  private(set) var hasDiverged = false
  private var texts: UInt64 = 0

  init(number: UInt64, workspace: WorkspaceID) {
    self.number = number
    workspaceID = workspace
    replica = ReplicaID(rawValue: 1_000 + number)
  }

  var id: DeviceID { DeviceID(high: 9, low: number) }
  var name: String { "device \(number)" }
  var token: [UInt8] { [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 32) }

  var hello: Hello {
    Hello(
      versions: ProtocolVersion.spoken, token: token, workspace: workspaceID, device: id,
      store: StoreID(rawValue: 2_000 + number), deviceName: name, prefix: prefix)
  }

  /// A process of the device ends and another begins, which writes under another id.
  mutating func beginRun() {
    replica = ReplicaID(rawValue: replica.rawValue + 1_000)
  }

  /// Queues a prompt.
  mutating func write(
    _ text: String, in session: String = "main", at milliseconds: Int64 = 1_700_000_000_000
  ) throws {
    outgoing += workspace.announce(device: id, name: name, replica: replica)
    texts += 1
    let command = Command.send(
      Command.Send(
        session: try SessionID(session), id: MessageID(high: number, low: texts), text: text))
    let context = CommandContext(
      replica: replica, stamp: Stamp(milliseconds: milliseconds, counter: UInt16(texts)),
      queueSizeMax: Limits.queueSizeRange.upperBound)
    outgoing += try workspace.perform(command, in: context).operations
  }

  /// Performs a command.
  mutating func perform(_ command: Command, at milliseconds: Int64 = 1_700_000_000_000) throws {
    outgoing += workspace.announce(device: id, name: name, replica: replica)
    texts += 1
    let context = CommandContext(
      replica: replica, stamp: Stamp(milliseconds: milliseconds, counter: UInt16(texts)),
      queueSizeMax: Limits.queueSizeRange.upperBound)
    outgoing += try workspace.perform(command, in: context).operations
  }

  /// The operations to send, as one batch.
  mutating func changes() -> Frame {
    batch += 1
    defer { outgoing = [] }
    return .changes(Changes(batch: batch, delta: PackedDelta.pack(outgoing)))
  }

  /// Its whole state, for a server that lacks some of it.
  func offer(parts: Int = 1) -> [Frame] {
    let bytes = PackedSnapshot.pack(workspace.image())
    return SnapshotPart.parts(of: bytes, bytesMax: (bytes.count + parts - 1) / parts)
      .map(Frame.snapshot)
  }

  /// Applies frames of the server. A state that lacks some of its own data is not accepted.
  mutating func take(_ frames: [Frame]) throws {
    var parts: [[UInt8]] = []
    for frame in frames {
      switch frame {
      case .changes(let changes):
        _ = try workspace.merge(PackedDelta.unpack(changes.delta))
        prefix = changes.prefix
      case .ack(let ack):
        prefix = ack.prefix
      case .snapshot(let part):
        #expect(Int(part.index) == parts.count)
        parts.append(part.bytes)
        guard parts.count == Int(part.count) else { continue }
        let state = try Workspace(image: PackedSnapshot.unpack(parts.flatMap { $0 }))
        parts = []
        hasDiverged = !state.vector.includes(workspace.vector)
        guard !hasDiverged else { continue }
        workspace = state
        prefix = part.prefix
      default: break
      }
    }
    #expect(parts.isEmpty)
    #expect(workspace.pendingOperations.isEmpty)
  }

  /// The texts of a session's prompts.
  func texts(in session: String = "main") throws -> Set<String> {
    Set(try workspace.messageQueue(SessionID(session)).messages.map(\.content))
  }
}

extension [Frame] {
  var refusals: [Refusal] { compactMap { if case .refused(let it) = $0 { it } else { nil } } }
  var acks: [Ack] { compactMap { if case .ack(let it) = $0 { it } else { nil } } }
  var changes: [Changes] { compactMap { if case .changes(let it) = $0 { it } else { nil } } }
  var welcomes: [Welcome] { compactMap { if case .welcome(let it) = $0 { it } else { nil } } }
  var presences: [[DevicePresence]] {
    compactMap { if case .presence(let it) = $0 { it } else { nil } }
  }
  var snapshots: [SnapshotPart] {
    compactMap { if case .snapshot(let it) = $0 { it } else { nil } }
  }
  var faults: [ProtocolFault] { compactMap { if case .error(let it) = $0 { it } else { nil } } }
  var grants: [PairGrant] { compactMap { if case .paired(let it) = $0 { it } else { nil } } }
  var goodbyes: [GoAway] { compactMap { if case .goAway(let it) = $0 { it } else { nil } } }
}
