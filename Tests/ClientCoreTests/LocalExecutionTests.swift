import ClientCore
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// The core carries the executor's orders out; without a server it is its own authority.
struct LocalExecutionTests {
  /// One device with its store, and the orders it gave.
  private struct Scene {
    var core: ClientCore
    let store: MemoryStore
    var orders: [AgentOrder] = []
    var now: Int64 = 1_000
    var random: UInt64 = 77
    let session = SessionID.named("s")
    static let device = DeviceID(high: 0xD, low: 1)

    init(store: MemoryStore = MemoryStore()) throws {
      self.store = store
      let occasion = Occasion(now: 0, wall: TestDevice.startOfTime, random: 5)
      let replica = try Replica(
        Replica.Opening(
          loaded: store.loaded, device: Scene.device, deviceName: "a", needsFreshReplica: false),
        at: occasion, store: store)
      core = ClientCore(replica: replica, credentials: nil, queueSizeMax: 100)
    }

    mutating func tell(
      _ event: (inout ClientCore, Occasion, MemoryStore) throws -> [ClientCore.Action]
    ) rethrows {
      now += 10
      random += 1
      let occasion = Occasion(now: now, wall: TestDevice.startOfTime + now, random: random)
      var actions = try event(&core, occasion, store)
      actions += core.executionFollowing(actions, at: occasion, store: store)
      for case .agent(let order) in actions { orders.append(order) }
    }

    mutating func perform(_ command: Command) throws {
      try tell { try $0.commandGiven(command, at: $1, store: $2).actions }
    }

    mutating func begin(
      deadAgents: Set<MessageID> = [], onUnknown: ExecutorSettings.UnknownPolicy = .ask
    ) {
      var settings = ExecutorSettings()
      settings.onUnknown = onUnknown
      let loaded = store.loaded.execution
      tell {
        $0.executionStarted(
          settings, loaded: loaded, deadAgents: deadAgents, at: $1, store: $2)
      }
    }

    mutating func end(_ number: UInt64, attempt: UInt16 = 1, _ result: RunResult) {
      tell { $0.agentEnded(.named("s"), attempt: attempt, with: result, at: $1, store: $2) }
    }

    /// What was begun: message numbers and attempts.
    var begun: [[UInt64]] {
      orders.compactMap { order in
        guard case .begin(let start) = order else { return nil }
        return [start.message.low, UInt64(start.attempt)]
      }
    }

    func status(_ number: UInt64) -> MessageStatus? { core.replica.workspace.status(number) }
  }

  private func serving(_ messages: UInt64) throws -> Scene {
    var scene = try Scene()
    scene.begin()
    try scene.perform(.addSession(scene.session, name: nil, project: nil))
    try scene.perform(.setHost(scene.session, Scene.device))
    for number in 1...messages { try scene.perform(.send("text \(number)", as: number, in: "s")) }
    return scene
  }

  @Test func aMessageBeginsInTheTurnOfItsSend() throws {
    var scene = try serving(2)
    #expect(scene.begun == [[1, 1]])
    #expect(scene.store.intents.keys.map(\.low) == [1])
    scene.end(1, .succeeded(summary: ""))
    #expect(scene.begun == [[1, 1], [2, 1]])
    #expect(scene.store.intents.keys.map(\.low) == [2])
    #expect(scene.status(1) == .succeeded)
  }

  @Test func aFailureStopsTheQueueUntilItIsDecided() throws {
    var scene = try serving(2)
    scene.end(1, .failed("no"))
    #expect(scene.begun.count == 1)
    #expect(scene.status(1) == .failed)
    try scene.perform(.retry(.numbered(1)))
    #expect(scene.begun == [[1, 1], [1, 2]])
    scene.end(1, attempt: 2, .failed("no"))
    try scene.perform(.skip(.numbered(1)))
    #expect(scene.begun == [[1, 1], [1, 2], [2, 1]])
  }

  /// The lease of the queue that it comes to is older than the one it ran under.
  @Test func aMessageMovedToAnotherQueueRunsAndEndsThere() throws {
    var scene = try serving(1)
    let other = SessionID.named("t")
    try scene.perform(.addSession(other, name: nil, project: nil))
    try scene.perform(.setHost(other, Scene.device))
    try scene.perform(.send("text 2", as: 2, in: "t"))
    #expect(scene.begun == [[1, 1], [2, 1]])
    scene.tell { $0.agentEnded(other, attempt: 1, with: .died("x"), at: $1, store: $2) }
    try scene.perform(.move([.numbered(2)], to: .after(.numbered(1))))
    try scene.perform(.retry(.numbered(2)))
    scene.end(1, .succeeded(summary: ""))
    // A fresh lease is asked for after a moment.
    scene.now += 20_000
    scene.tell { $0.timePassed(at: $1, store: $2) }
    #expect(scene.begun == [[1, 1], [2, 1], [2, 2]])
    scene.end(2, attempt: 2, .succeeded(summary: ""))
    #expect(scene.status(2) == .succeeded)
    #expect(scene.store.intents.isEmpty)
  }

  @Test(arguments: [true, false])
  func aKilledDaemonSaysWhatItKnows(agentDied: Bool) throws {
    let before = try serving(1)
    #expect(before.begun == [[1, 1]])
    var after = try Scene(store: before.store)
    after.begin(deadAgents: agentDied ? [.numbered(1)] : [])
    #expect(after.begun == [])
    #expect(after.status(1) == (agentDied ? .interrupted : .unknown))
    #expect(after.store.intents.isEmpty)
    try after.perform(.retry(.numbered(1)))
    #expect(after.begun == [[1, 2]])
  }

  @Test func whatIsUnknownMayBeTriedAgainByItself() throws {
    let before = try serving(1)
    var after = try Scene(store: before.store)
    after.begin(onUnknown: .retry)
    #expect(after.begun == [[1, 2]])
  }

  @Test func nothingBeginsThatCannotBeStored() throws {
    var scene = try serving(1)
    scene.end(1, .succeeded(summary: ""))
    try scene.perform(.pause(scene.session, reason: nil))
    try scene.perform(.send("text 2", as: 2, in: "s"))
    try scene.perform(.resume(scene.session))
    #expect(scene.begun.count == 2)
    scene.store.failure = StoreError(code: .full, message: "full")
    scene.end(2, .succeeded(summary: ""))
    #expect(scene.store.intents.keys.map(\.low) == [2])
    // When there is room again, the end is stored after all.
    scene.store.failure = nil
    scene.now += 6_000
    scene.tell { $0.timePassed(at: $1, store: $2) }
    #expect(scene.status(2) == .succeeded)
    #expect(scene.store.intents.isEmpty)
  }

  @Test func drainingWaitsForTheAgentAndBeginsNothing() throws {
    var scene = try serving(2)
    scene.tell { $0.drainRequested(at: $1, store: $2) }
    #expect(!scene.orders.contains(.drained))
    scene.end(1, .succeeded(summary: ""))
    #expect(scene.orders.contains(.drained))
    #expect(scene.begun == [[1, 1]])
    #expect(scene.status(2) == .queued)
  }

  @Test func theEndOfTheGraceStopsTheAgent() throws {
    var scene = try serving(1)
    scene.tell { $0.drainRequested(at: $1, store: $2) }
    scene.tell { $0.drainGraceEnded(at: $1, store: $2) }
    #expect(scene.orders.contains(.stop(scene.session, attempt: 1)))
    scene.end(1, .died("signal 15"))
    #expect(scene.orders.contains(.drained))
    #expect(scene.status(1) == .interrupted)
  }

  @Test func nothingBeginsWhileSomebodyWorksInTheSession() throws {
    var scene = try serving(1)
    scene.end(1, .succeeded(summary: ""))
    scene.tell { $0.sessionBusyChanged(.named("s"), isBusy: true, at: $1, store: $2) }
    try scene.perform(.send("text 2", as: 2, in: "s"))
    #expect(scene.begun.count == 1)
    scene.tell { $0.sessionBusyChanged(.named("s"), isBusy: false, at: $1, store: $2) }
    #expect(scene.begun == [[1, 1], [2, 1]])
  }
}
