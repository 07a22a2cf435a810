import ClientCore
import QueueModel
import SequenceCRDT
import ServerCore
import SyncTestSupport
import WireProtocol

/// A host whose agent asks and ends, two devices that come and go, a server that dies between any
/// two steps, and pushes that fail. Both cores are real, with frames in transit between them.
struct NotificationWorld {
  static let workspace = WorkspaceID(high: 1, low: 1)
  static let patienceMilliseconds: Int64 = 10_000

  struct Device {
    var id: DeviceID
    var store = NotificationStore()
    var core: ClientCore
    /// The notifications shown to its user, and how many times each was shown.
    var shown: [OperationID: Int] = [:]
    var retracted: [OperationID: Int] = [:]
    var isOnline = true
    var pipe: Pipe?
  }

  /// One connection; frames are in transit in both directions.
  struct Pipe {
    var client: TransportID
    var server: ConnectionID
    var toServer: [[UInt8]] = []
    var toClient: [[UInt8]] = []
  }

  struct Task {
    var id: StoreTaskID
    var task: StoreTask
  }

  var devices: [Device] = []
  let storage = MemoryStorage()
  var server: ServerCore?
  var tasks: [Task] = []
  var now: Int64 = 1_000
  var generator: SeededGenerator
  private var connections: UInt64 = 0
  private var requests: UInt64 = 0
  /// Everything that was ever posted, by name.
  var posted: [OperationID: StoredNotification] = [:]
  private var pushed: Set<Int64> = []
  /// Pushes that arrived, by device and name.
  var alerts: [DeviceID: [OperationID: Int]] = [:]
  var retractions: [DeviceID: [OperationID: Int]] = [:]

  static let session = SessionID.named("main")

  init(seed: UInt64) {
    generator = SeededGenerator(seed: seed)
    storage.addWorkspace(NotificationWorld.workspace, name: "w", firstChain: 7)
    for number in 0..<3 { addDevice(number) }
    startServer()
    for index in devices.indices { tell(index) { core, context, _ in core.started(at: context) } }
  }

  var wall: Int64 { 1_700_000_000_000 + now }
  var moment: ServerTime { ServerTime(uptimeMilliseconds: now, wallMilliseconds: wall) }

  // MARK: - Devices

  private mutating func addDevice(_ number: Int) {
    let id = DeviceID(high: 0xD, low: UInt64(number + 1))
    let token = [UInt8](repeating: UInt8(number + 1), count: 32)
    storage.addDevice(id, name: "d\(number)", to: NotificationWorld.workspace, token: token)
    let store = NotificationStore()
    devices.append(Device(id: id, store: store, core: core(id, store, token)))
  }

  private mutating func core(
    _ id: DeviceID, _ store: NotificationStore, _ token: [UInt8]
  ) -> ClientCore {
    do {
      let replica = try Replica(
        Replica.Opening(
          loaded: store.loaded, device: id, deviceName: "d"),
        at: context(), store: store)
      var core = ClientCore(
        replica: replica,
        credentials: Credentials(
          server: "ws://w:1", workspace: NotificationWorld.workspace, workspaceName: "w",
          token: token),
        queueSizeMax: 100)
      core.notificationsLoaded(store.loaded.notifications)
      return core
    } catch {
      preconditionFailure("a store in memory opens: \(error)")
    }
  }

  mutating func context() -> EventContext {
    EventContext(now: now, wall: wall, random: generator.next())
  }

  mutating func tell(
    _ index: Int,
    _ event: (inout ClientCore, EventContext, NotificationStore) throws -> [ClientCore.Action]
  ) rethrows {
    let context = context()
    let store = devices[index].store
    var actions = try event(&devices[index].core, context, store)
    actions += devices[index].core.executionFollowing(actions, at: context, store: store)
    actions += devices[index].core.notificationsFollowing(actions, at: context, store: store)
    for action in actions { run(action, of: index) }
  }

  private mutating func run(_ action: ClientCore.Action, of index: Int) {
    switch action {
    case .connect(let id):
      guard devices[index].isOnline, server != nil else {
        return tell(index) { core, context, _ in
          core.connectionLost(id, message: "refused", at: context)
        }
      }
      connections += 1
      let connection = ConnectionID(rawValue: connections)
      devices[index].pipe = Pipe(client: id, server: connection)
      let moment = moment
      notifyServer { $0.connectionOpened(connection, source: "s", acceptedAt: moment, at: moment) }
      tell(index) { $0.connectionOpened(id, at: $1, store: $2) }
    case .send(let id, let frame):
      guard devices[index].pipe?.client == id else { return }
      devices[index].pipe?.toServer.append(FrameCodec.encode(frame))
    case .close(let id):
      if devices[index].pipe?.client == id { cut(index, notifiesClient: false) }
    case .notified(let notification):
      devices[index].shown[notification.name, default: 0] += 1
    case .notificationEnded(let name, _):
      devices[index].retracted[name, default: 0] += 1
    case .ping, .changed, .report, .agent, .answered, .decided, .answerEnded, .replied,
      .connectionMissed, .outputWanted:
      break
    }
  }

  /// Both ends lose the connection, and the frames in transit on it.
  mutating func cut(_ index: Int, notifiesClient: Bool = true) {
    guard let pipe = devices[index].pipe else { return }
    devices[index].pipe = nil
    let moment = moment
    notifyServer { $0.connectionClosed(pipe.server, at: moment) }
    guard notifiesClient else { return }
    tell(index) { core, context, _ in
      core.connectionLost(pipe.client, message: "cut", at: context)
    }
  }

  /// The device's program dies and starts again with its store. Notifications that it had stored
  /// and not shown are shown at the start.
  mutating func restartDevice(_ index: Int) {
    cut(index, notifiesClient: false)
    let token = [UInt8](repeating: UInt8(index + 1), count: 32)
    devices[index].core = core(devices[index].id, devices[index].store, token)
    for notification in devices[index].core.notifications
    where devices[index].shown[notification.name] == nil {
      devices[index].shown[notification.name] = 1
    }
    tell(index) { core, context, _ in core.started(at: context) }
  }

  // MARK: - Server

  mutating func startServer() {
    var configuration = ServerConfiguration()
    configuration.times.storageRetryMilliseconds = 100
    configuration.notifications.patienceMilliseconds = NotificationWorld.patienceMilliseconds
    server = ServerCore(configuration: configuration) { $0 }
  }

  /// Between any two steps: frames to and from it are lost, stored data is not.
  mutating func killServer() {
    server = nil
    tasks = []
    for index in devices.indices { cut(index) }
  }

  mutating func notifyServer(_ event: (inout ServerCore) -> [ServerAction]) {
    guard server != nil,
      let actions = server.map({ core -> [ServerAction] in
        var core = core
        let actions = event(&core)
        server = core
        return actions
      })
    else { return }
    for action in actions { act(action) }
  }

  private mutating func act(_ action: ServerAction) {
    switch action {
    case .send(let bytes, let ids):
      for id in ids {
        guard let index = devices.firstIndex(where: { $0.pipe?.server == id }) else { continue }
        devices[index].pipe?.toClient.append(bytes)
        notifyServer { $0.bytesBuffered(0, on: id) }
      }
    case .close(let id, _, _), .abort(let id, _):
      guard let index = devices.firstIndex(where: { $0.pipe?.server == id }) else { return }
      cut(index)
    case .store(let id, let task):
      tasks.append(Task(id: id, task: task))
    case .setReading, .authenticated, .pushOrdersStored, .liveStatus, .testPush, .answerSettled,
      .report, .contentReleased, .stopped:
      break
    }
  }

  /// The store does its next task; the server may die before it learns of it.
  mutating func doTask(diesAfterwards: Bool) {
    guard !tasks.isEmpty else { return }
    let next = tasks.removeFirst()
    if case .commit(let batch) = next.task {
      let outcome = storage.perform(next.task)
      if case .committed = outcome {
        for (_, changes) in batch.inboxes {
          for item in changes.posted { posted[item.name] = item }
        }
      }
      if diesAfterwards { return killServer() }
      let moment = moment
      return notifyServer { $0.storeFinished(next.id, outcome, at: moment) }
    }
    let outcome = storage.perform(next.task)
    let moment = moment
    notifyServer { $0.storeFinished(next.id, outcome, at: moment) }
  }

  // MARK: - Steps

  mutating func pass(_ milliseconds: Int64) {
    now += milliseconds
    let moment = moment
    notifyServer { $0.clockTicked(at: moment) }
    for index in devices.indices { tell(index) { $0.timePassed(at: $1, store: $2) } }
  }

  /// One frame arrives somewhere.
  ///
  /// - Returns: whether one was in transit.
  @discardableResult
  mutating func deliver(on index: Int, toServer: Bool) -> Bool {
    guard let pipe = devices[index].pipe else { return false }
    if toServer {
      guard !pipe.toServer.isEmpty else { return false }
      let bytes = pipe.toServer[0]
      devices[index].pipe?.toServer.removeFirst()
      let moment = moment
      var generator = generator
      notifyServer { $0.frameReceived(bytes, on: pipe.server, at: moment, using: &generator) }
      self.generator = generator
      return true
    }
    guard !pipe.toClient.isEmpty else { return false }
    let bytes = pipe.toClient[0]
    devices[index].pipe?.toClient.removeFirst()
    guard let frame = try? FrameCodec.decode(bytes) else { return true }
    tell(index) { $0.frameReceived(frame, on: pipe.client, at: $1, store: $2) }
    return true
  }

  /// The host's agent continues: asks, is done, fails, starts again.
  mutating func agentGoesOn() {
    let kind = devices[0].core.replica.workspace.task(of: NotificationWorld.session)?.status.kind
    requests += 1
    let request = RequestID(high: 5, low: requests)
    let choices: [TaskStatus] =
      switch kind {
      case .processing:
        [
          .awaitingApproval(
            ApprovalRequest(id: request, toolName: "Bash", summary: "rm")),
          .awaitingAnswer(UserQuestion(id: request, question: "Which?", options: [])),
          .completed(.success(summary: "s\(requests)")), .completed(.failure(error: "f")),
          .error(message: "e"),
        ]
      default: [.processing(operation: nil)]
      }
    let status = choices[generator.below(choices.count)]
    let report = TaskReport(
      session: NotificationWorld.session, status: status, milliseconds: wall)
    // A store that fails refuses the command, without changing anything.
    try? tell(0) { try $0.commandGiven(.reportTask(report), at: $1, store: $2).actions }
  }

  mutating func begin() {
    let send = Command.Send(
      session: NotificationWorld.session, id: MessageID(high: 1, low: 1), text: "go")
    try? tell(0) { try $0.commandGiven(.send(send), at: $1, store: $2).actions }
  }

  /// The push service tries its orders, in order; each attempt may fail.
  mutating func push(failing percent: Int) {
    let orders = storage.withState { $0.pushOrders }
    for order in orders {
      guard !generator.chance(percent) else { return }
      // An order that is retried has the same name with its provider, and is displayed once.
      guard pushed.insert(order.number).inserted else {
        try? storage.removePushOrders([order.number])
        continue
      }
      let name = order.order.notification.name
      switch order.order.kind {
      case .alert: alerts[order.order.device, default: [:]][name, default: 0] += 1
      case .retract: retractions[order.order.device, default: [:]][name, default: 0] += 1
      }
      try? storage.removePushOrders([order.number])
    }
  }
}
