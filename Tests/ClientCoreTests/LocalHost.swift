import ClientCore
import QueueModel
import SyncTestSupport

/// One device with its store, and the orders that it gave.
struct LocalHost {
  var core: ClientCore
  let store: MemoryStore
  var orders: [AgentOrder] = []
  var now: Int64 = 1_000
  var random: UInt64 = 77
  let session = SessionID.named("s")
  static let device = DeviceID(high: 0xD, low: 1)

  init(store: MemoryStore = MemoryStore()) throws {
    self.store = store
    let context = EventContext(now: 0, wall: TestDevice.startOfTime, random: 5)
    let replica = try Replica(
      Replica.Opening(
        loaded: store.loaded, device: LocalHost.device, deviceName: "a"),
      at: context, store: store)
    core = ClientCore(replica: replica, credentials: nil, queueSizeMax: 100)
    core.choicesLoaded(store.choices)
  }

  /// The host of a session in which messages wait, from 1.
  static func serving(
    _ messages: UInt64, onUnknown: UnknownPolicy = .ask,
    _ change: (inout ExecutionSettings) -> Void = { _ in }
  ) throws -> LocalHost {
    var scene = try LocalHost()
    scene.begin(onUnknown: onUnknown, change)
    try scene.perform(.addSession(scene.session, name: nil, project: nil))
    try scene.perform(.setHost(scene.session, LocalHost.device))
    for number in 0..<messages {
      try scene.perform(.send("text \(number + 1)", as: number + 1, in: "s"))
    }
    return scene
  }

  mutating func tell(
    _ event: (inout ClientCore, EventContext, MemoryStore) throws -> [ClientCore.Action]
  ) rethrows {
    now += 10
    random += 1
    let context = EventContext(now: now, wall: TestDevice.startOfTime + now, random: random)
    var actions = try event(&core, context, store)
    actions += core.executionFollowing(actions, at: context, store: store)
    for case .agent(let order) in actions { orders.append(order) }
  }

  /// A user at the device sets where a session runs.
  mutating func choose(_ session: SessionID, host: DeviceID?) throws {
    try tell { try $0.hostChosen(session, host, at: $1, store: $2).actions }
  }

  /// A user at the device sets an agent for one session.
  mutating func choose(_ session: SessionID, agent mode: StartMode?) throws {
    let agent = mode.map { AgentChoice(name: "\($0)", mode: $0) }
    try tell { try $0.agentChosen(session, agent, at: $1, store: $2) }
  }

  mutating func perform(_ command: Command) throws {
    try tell { try $0.commandGiven(command, at: $1, store: $2).actions }
  }

  mutating func begin(
    deadAgents: Set<MessageID> = [], onUnknown: UnknownPolicy = .ask,
    _ change: (inout ExecutionSettings) -> Void = { _ in }
  ) {
    var settings = ExecutionSettings()
    settings.onUnknown = onUnknown
    change(&settings)
    let loaded = store.loaded.execution
    tell {
      $0.executionStarted(
        settings, loaded: loaded, deadAgents: deadAgents, at: $1, store: $2)
    }
  }

  /// The program died, and another one loads what it had stored.
  func restarted() throws -> LocalHost { try LocalHost(store: MemoryStore(copying: store)) }

  /// Time passes, and due steps are carried out.
  mutating func pass(milliseconds: Int64) {
    let end = now + milliseconds
    while now < end {
      now += 490
      tell { $0.timePassed(at: $1, store: $2) }
    }
  }

  mutating func end(_ number: UInt64, attempt: UInt16 = 1, _ result: TurnResult) {
    tell { $0.agentEnded(.named("s"), attempt: attempt, with: result, at: $1, store: $2) }
  }

  /// The attempts that were begun: message numbers and attempt numbers.
  var begun: [[UInt64]] {
    orders.compactMap { order in
      guard case .start(let start) = order else { return nil }
      return [start.message.low, UInt64(start.attempt)]
    }
  }

  func status(_ number: UInt64) -> MessageStatus? { core.replica.workspace.status(number) }
}
