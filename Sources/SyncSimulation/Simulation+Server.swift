import DispatchAuthority
import QueueModel
import QueueOracle
import SequenceCRDT
import ServerCore
import WireProtocol

extension Simulation {
  /// How often the server's driver tells it the time.
  private static let tickMilliseconds: Int64 = 250
  private static let pingMilliseconds: Int64 = 20_000
  private static let silenceMilliseconds: Int64 = 45_000

  // MARK: - Life

  func startServer() {
    server.life += 1
    // Looking secrets up by their hash is the store's business; any injective function will do.
    server.process = SimulatedServer.Process(
      core: ServerCore(configuration: server.configuration) { $0 })
    queue.add(.tick(life: server.life), at: now + Simulation.tickMilliseconds)
    log("server: started")
    hash.add(server.life)
    // What was not carried out before.
    pushSoon()
  }

  /// The process ends at once; what was in flight to the store may or may not be stored.
  func endServer(_ why: String) {
    guard let process = server.process else { return }
    if process.isStoreBusy, let first = process.tasks.first, case .commit = first.task,
      server.generator.chance(50)
    {
      _ = perform(first)
    }
    server.process = nil
    server.life += 1
    log("server: ended: \(why)")
    for pipe in pipes where pipe.serverHolds {
      pipe.serverHolds = false
      pipe[.toServer].vanish()
      pipe[.fromServer].cut(afterBytes: pipe.survivingBytes(.fromServer))
      // A machine that lost its power says nothing; the device has to find out.
      if pipe.chance(75) { put(.end("the server is gone"), .fromServer, on: pipe) }
    }
    if let synced = server.synced, !options.planted.isDisjoint(with: [.ackBeforeFsync]) {
      server.put(synced)
    }
  }

  func startServerLater(_ milliseconds: ClosedRange<Int64>) {
    let delay = Int64.random(in: milliseconds, using: &server.generator)
    queue.add(.serverStart(life: server.life), at: now + delay)
  }

  func tick(life: Int) {
    guard life == server.life, let process = server.process else { return }
    queue.add(.tick(life: life), at: now + Simulation.tickMilliseconds)
    for (_, pipe) in process.pipes.sorted(by: { $0.key < $1.key }) {
      if now - pipe.serverHeardAt >= Simulation.silenceMilliseconds {
        log("server: connection \(pipe.number) fell silent")
        serverLetsGo(of: pipe)
      } else if now - pipe.serverPingedAt >= Simulation.pingMilliseconds {
        pipe.serverPingedAt = now
        put(.ping, .fromServer, on: pipe)
      }
    }
    let moment = serverTime
    runServer { $0.clockTicked(at: moment) }
    if options.raisesRequests { note(.serverTicked) }
  }

  // MARK: - Actions

  /// Tells the server's core of an event and does what follows from it, in order.
  func runServer(_ event: (inout ServerCore) -> [ServerAction]) {
    guard let more = server.process?.core.run(event), !more.isEmpty else { return }
    server.process?.actions += more
    guard server.process?.isActing == false else { return }
    server.process?.isActing = true
    let life = server.life
    var place = 0
    while life == server.life, let actions = server.process?.actions, place < actions.count {
      act(actions[place])
      place += 1
    }
    guard life == server.life else { return }
    server.process?.actions = []
    server.process?.isActing = false
    if server.process?.isStopped == true {
      endServer("it was asked to stop")
      startServerLater(50...200)
    }
  }

  func receiveOnServer(_ bytes: [UInt8], _ id: ConnectionID, at moment: ServerTime) {
    var generator = server.generator
    runServer { $0.frameReceived(bytes, on: id, at: moment, using: &generator) }
    server.generator = generator
  }

  private func act(_ action: ServerAction) {
    switch action {
    case .send(let bytes, let ids):
      var receivers = ids
      if options.planted.contains(.fanOutSkipsOne), ids.count > 1 {
        server.fanOuts += 1
        if server.fanOuts % 8 == 0 { receivers.removeLast() }
      }
      for id in receivers {
        guard let pipe = server.process?.pipes[id] else { continue }
        send(bytes, .fromServer, on: pipe)
      }
    case .close(let id, _, let reason):
      guard let pipe = server.process?.pipes[id] else { return }
      log("server: closes connection \(pipe.number): \(reason)")
      serverCloses(pipe)
    case .abort(let id, let reason):
      guard let pipe = server.process?.pipes[id] else { return }
      log("server: drops connection \(pipe.number): \(reason)")
      pipe[.fromServer].cut(afterBytes: 0)
      serverLetsGo(of: pipe)
    case .setReading(let id, let isOn):
      guard let pipe = server.process?.pipes[id] else { return }
      pipe[.toServer].isPaused = !isOn
      if isOn { queue.add(.arrival(pipe, .toServer), at: now) }
    case .authenticated(let id):
      server.process?.pipes[id]?.isAuthenticated = true
    case .store(let id, let task):
      server.process?.tasks.append(SimulatedServer.PendingTask(id: id, task: task))
      startStoreTask()
    case .pushOrdersStored:
      log("server: push orders are stored")
      pushSoon()
    case .liveStatus(let order):
      log("server: live status \(order.event) of \(order.task.sessionId)")
    case .testPush(let target, _):
      log("server: tests push target \(target.id)")
    case .answerSettled(let id, let outcome):
      log("server: posted answer \(id.rawValue): \(outcome)")
    case .contentReleased: break
    case .report(let report):
      log("server: \(report)")
      note(.serverReport(report))
    case .stopped:
      server.process?.isStopped = true
    }
  }

  // MARK: - Store

  private func startStoreTask() {
    guard let process = server.process, !process.isStoreBusy, !process.tasks.isEmpty else {
      return
    }
    server.process?.isStoreBusy = true
    let time = Int64.random(in: options.server.storeMilliseconds, using: &server.generator)
    queue.add(.storeDone(life: server.life), at: now + time)
  }

  func finishStoreTask(life: Int) {
    guard life == server.life, let pending = server.process?.tasks.first else { return }
    server.process?.tasks.removeFirst()
    server.process?.isStoreBusy = false
    let outcome = perform(pending)
    let moment = serverTime
    runServer { $0.storeFinished(pending.id, outcome, at: moment) }
    startStoreTask()
  }

  /// Does a task of the store's thread, and keeps account of what is durable.
  private func perform(_ pending: SimulatedServer.PendingTask) -> StoreOutcome {
    let task = pending.task
    let outcome = server.storage.perform(task)
    if case .joined(.appended) = outcome { note(.joined) }
    guard case .commit(let batch) = task, case .committed = outcome else { return outcome }
    let entries = batch.appends.map(\.entry)
    for entry in entries { hash.add(entry.content.bytes) }
    if options.planted.contains(.ackBeforeFsync),
      server.synced == nil || server.generator.chance(10)
    {
      server.synced = server.backup()
    }
    note(.committed(entries, wallMilliseconds: batch.wallMilliseconds))
    for (_, changes) in batch.inboxes { note(.inboxesChanged(changes)) }
    let letOut = batch.records.flatMap(\.records.dispatches)
    if !letOut.isEmpty { note(.letOut(letOut)) }
    return outcome
  }

  /// What is stored of notifications.
  var inboxRecords: InboxRecords {
    server.storage.withState { $0.workspaces[SimulatedServer.workspace]?.inboxes }
      ?? InboxRecords()
  }

  /// What a crash at this moment would leave of the server's log.
  var durableHead: LogPrefix {
    let state = server.synced?.state ?? server.storage.withState { $0 }
    return state.workspaces[SimulatedServer.workspace]?.head ?? .empty
  }
}

extension ServerCore {
  /// Hands itself to an event; lets the driver change it in place.
  mutating func run(_ event: (inout ServerCore) -> [ServerAction]) -> [ServerAction] {
    event(&self)
  }
}
