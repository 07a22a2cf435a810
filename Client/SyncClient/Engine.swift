import ClientCore
import ClientStore
import Logging
import QueueModel
import SequenceCRDT
import Synchronization
import WireProtocol

/// Drives the core: one event at a time, on its own queue, because storing blocks.
///
/// ```text
/// event ─▶ core ─▶ store ─▶ sockets, agents ─▶ readers, observers
///                                         └─▶ disk, once for all who wait for it ─▶ their callers
/// ```
///
/// The actions of an event are performed in its turn, so that they reach the sockets in the order
/// of the events. None of them blocks; waits for the disk happen between two turns.
actor Engine {
  typealias Action = ClientCore.Action

  struct State {
    var core: ClientCore
    var observers: Observers
    var transports: [TransportID: Transport] = [:]
    /// The receiver of connection requests while the sync runs.
    var runner: AsyncStream<TransportID>.Continuation?
    var scheduled: Int64?
    /// When the queues last changed, and since when sessions may be unpacked.
    var changedAt: Int64 = 0
    var unpackedSince: Int64?
    var isClosed = false
    /// The vector of the stored image.
    var imageVector: VersionVector
    /// The receiver of orders for agents, if there is one.
    var agents: Agents?
    /// Callers that wait until stored changes are on the disk.
    var storing: [CheckedContinuation<StoreError?, Never>] = []
    /// Callers that wait for an answer of the authority.
    var questions: [UInt64: CheckedContinuation<AuthorityAnswer, Never>] = [:]
    var waiters = Waiters()
    /// The last logged state of the connection: whether it exists, and its problem.
    var logged = (isConnected: false, problem: String?.none)
    /// Callers that wait for an answer about notifications.
    var inquiries: [UInt64: CheckedContinuation<InboxAnswer, Never>] = [:]

    /// Operations after the stored image.
    var tailCount: Int {
      core.replica.workspace.vector.operationCount(missingFrom: imageVector)
    }
  }

  /// The maximum number of operations to replay when opening; after this many, the image is stored
  /// again.
  private static let tailMax = 32_768
  /// Closing stores the image if at least this many operations have arrived since.
  private static let tailWorthKeeping = 512

  nonisolated let store: ClientStore
  /// The events that readers fetch.
  let feedLog: FeedLog
  let logger: Logger
  /// The receiver of the device's own events.
  private let postEvent: @Sendable (DeviceEvent) -> Void
  private let directory: LockedDirectory
  let queue: EngineQueue
  private let clock = DeviceClock()
  var state: State
  private let published: Mutex<Published>

  nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

  init(
    core: ClientCore, store: ClientStore, directory: LockedDirectory, imageVector: VersionVector,
    logger: Logger, feedLog: FeedLog, turns: any TurnQueue,
    postEvent: @escaping @Sendable (DeviceEvent) -> Void
  ) {
    queue = EngineQueue(turns)
    self.store = store
    self.directory = directory
    self.logger = logger
    self.feedLog = feedLog
    state = State(
      core: core, observers: Observers(log: feedLog), imageVector: imageVector)
    self.postEvent = postEvent
    published = Mutex(Published(of: core, now: 0))
  }

  nonisolated var now: Int64 { clock.now }

  nonisolated func context() -> EventContext { clock.context }

  /// A consistent snapshot after the latest event.
  nonisolated var latest: Published { published.withLock { $0 } }

  nonisolated var path: String { directory.path }

  /// Runs an event and its actions.
  ///
  /// - Parameter synchronizes: whether the stored changes are on the disk when this returns.
  /// - Throws: `.closed`, the event's error, or `.diskUnconfirmed` if the disk fails.
  func submit<Value: Sendable>(
    synchronizes: Bool = false,
    _ event:
      @Sendable (inout ClientCore, EventContext, ClientStore) throws(Replica.Fault) -> (
        Value, [Action]
      )
  ) async throws(ClientError) -> Value {
    guard !state.isClosed else { throw .closed }
    let value: Value
    do throws(Replica.Fault) {
      let (made, actions) = try event(&state.core, context(), store)
      settle(actions)
      value = made
    } catch {
      throw ClientError(error)
    }
    if synchronizes, let problem = await untilStored() {
      throw .diskUnconfirmed(message: problem.message)
    }
    return value
  }

  /// Reads or writes data of the store other than the queues, in a separate turn.
  ///
  /// - Throws: `.queue(.persistenceFailed)`, `.closed`.
  func withStore<Value: Sendable>(
    _ body: @Sendable (ClientStore) throws(StoreError) -> Value
  ) async throws(ClientError) -> Value {
    try await submit { _, _, store throws(Replica.Fault) in
      do throws(StoreError) { return (try body(store), []) } catch { throw .store(error) }
    }
  }

  /// Waits until everything stored so far is on the disk. Events whose turns come before that wait
  /// together.
  private func untilStored() async -> StoreError? {
    await withCheckedContinuation { continuation in
      state.storing.append(continuation)
      guard state.storing.count == 1 else { return }
      soon { $0.synchronize() }
    }
  }

  private func synchronize() {
    guard !state.storing.isEmpty else { return }
    var problem: StoreError?
    do throws(StoreError) { try store.synchronize() } catch { problem = error }
    let waiting = state.storing
    state.storing = []
    for continuation in waiting { continuation.resume(returning: problem) }
  }

  /// Runs an event whose failures the core handles itself.
  func note(
    _ event: @Sendable (inout ClientCore, EventContext, ClientStore) -> [Action]
  ) {
    // A closed engine records nothing.
    guard !state.isClosed else { return }
    settle(event(&state.core, context(), store))
  }

  /// Reads values of the core that are not published.
  func read<Value: Sendable>(_ body: @Sendable (ClientCore) -> Value) -> Value {
    body(state.core)
  }

  /// Runs code after earlier requests, without waiting for it.
  nonisolated func soon(_ body: @escaping @Sendable (isolated Engine) -> Void) {
    queue.turns.runBehind { self.assumeIsolated(body) }
  }

  /// The same after a time, in milliseconds; does nothing if the engine has closed by then.
  nonisolated func soon(
    after milliseconds: Int64, _ body: @escaping @Sendable (isolated Engine) -> Void
  ) {
    queue.turns.run(after: milliseconds) { [weak self] in self?.assumeIsolated(body) }
  }

  func settle(_ actions: [Action]) {
    // Actions that others wait for come first; observers see the same state a moment later.
    var local: [Action] = []
    func send(_ actions: [Action]) {
      for action in actions {
        if action.isOutbound { run(action) } else { local.append(action) }
      }
    }
    send(actions)
    let following = state.core.executionFollowing(actions, at: context(), store: store)
    send(following)
    send(state.core.notificationsFollowing(actions + following, at: context(), store: store))
    send(state.core.ownNewsFollowing(at: context(), store: store))
    publish()
    for action in local { run(action) }
    let status = latest.status
    state.observers.show(status)
    log(status)
    schedule()
    if state.tailCount >= Engine.tailMax { keepImage() }
  }

  func publish() {
    let fresh = Published(of: state.core, now: now)
    published.withLock { $0 = fresh }
  }

  private func run(_ action: Action) {
    switch action {
    case .connect(let id):
      state.runner?.yield(id)
    case .send(let id, let frame):
      state.transports[id]?.send(FrameCodec.encode(frame))
    case .ping(let id):
      state.transports[id]?.ping()
    case .close(let id):
      state.transports.removeValue(forKey: id)?.close()
    case .changed(let touched):
      state.observers.show(
        state.core.replica.workspace, touched: touched, queueSizeMax: state.core.queueSizeMax)
      forgetConversations(touched)
      packLater()
    case .report(let problem):
      // Without a server, each attempt reports the same problem.
      let isNews = state.logged.problem != problem.message
      logger.log(level: isNews ? .warning : .debug, "\(problem.message)")
      state.logged.problem = problem.message
    case .agent(let order):
      tell(order)
    case .answered(let answer, let id):
      state.questions.removeValue(forKey: id)?.resume(returning: answer)
    case .decided(let request, let decision):
      state.waiters.tell(request, .success(decision))
    case .answerEnded(let answer, let ending):
      let event = AnswerEvent(ending)
      if !state.waiters.tell(answer, .success(event)) {
        postEvent(.answer(TaskAnswer(answer), event))
        settle(state.core.answerEndedUnheard(answer, ending, at: context()))
      }
    case .replied(let answer, let id):
      state.inquiries.removeValue(forKey: id)?.resume(returning: answer)
    case .notified(let notification):
      postEvent(.notification(NotificationView(notification)))
    case .notificationEnded(let name, let ending):
      postEvent(.notificationRetracted(NotificationView.id(of: name), ending.retraction))
    case .connectionMissed(let since):
      postEvent(.waitingForConnection(since: since))
    case .outputWanted(let id, let question):
      state.agents?.outputs?.yield(OutputWish(connection: id, question: question))
    }
  }

  /// Logs the beginning and the end of the connection.
  private func log(_ status: SyncStatus) {
    let isConnected = status.state == .connected
    guard isConnected != state.logged.isConnected else { return }
    state.logged.isConnected = isConnected
    if isConnected { state.logged.problem = nil }
    let server = status.server ?? "its server"
    logger.notice("\(isConnected ? "connected to" : "not connected any more to") \(server)")
  }

  /// One pending wake-up at a time; one that comes too early does nothing.
  private func schedule() {
    guard let deadline = state.core.deadline else { return }
    if let scheduled = state.scheduled, scheduled <= deadline { return }
    state.scheduled = deadline
    soon(after: min(deadline - now, 3_600_000)) { $0.wake(for: deadline) }
  }

  private func wake(for deadline: Int64) {
    guard !state.isClosed else { return }
    if state.scheduled == deadline { state.scheduled = nil }
    settle(state.core.timePassed(at: context(), store: store))
  }

  private func keepImage() {
    let entry = state.core.replica.lastEntry
    do {
      try store.keep(state.core.replica.workspace, upTo: entry)
    } catch {
      // The image only saves time at the next opening; the log contains everything.
      logger.warning("cannot store the state's image: \(error)")
    }
    state.imageVector = state.core.replica.workspace.vector
  }
}

extension Engine {
  /// Returns the stream of connection requests; nil if the sync already runs.
  func beginRunning() -> AsyncStream<TransportID>? {
    let (stream, continuation) = AsyncStream<TransportID>.makeStream(bufferingPolicy: .unbounded)
    guard !state.isClosed else {
      continuation.finish()
      return stream
    }
    guard state.runner == nil else { return nil }
    state.runner = continuation
    packLater()
    settle(state.core.started(at: context()))
    return stream
  }

  func endRunning() {
    guard !state.isClosed else { return }
    settle(state.core.stopped())
    state.runner = nil
  }

  /// The expiry of the peer's certificate, in seconds since 1970; nil without a connection, or TLS.
  var certificateEnd: Int64? { state.transports.values.lazy.compactMap(\.certificateEnd).first }

  /// Registers a transport before it is opened, so that the core can cancel it at any time.
  func register(_ transport: Transport, as id: TransportID) -> Bool {
    guard !state.isClosed, state.core.expects(id) else { return false }
    state.transports[id] = transport
    return true
  }

  /// Stores the image, closes store and streams; idempotent.
  func close() {
    guard !state.isClosed else { return }
    settle(state.core.stopped())
    if state.tailCount >= Engine.tailWorthKeeping { keepImage() }
    state.isClosed = true
    synchronize()
    state.runner?.finish()
    state.runner = nil
    state.agents?.orders.finish()
    state.agents?.outputs?.finish()
    for question in state.questions.values { question.resume(returning: .unavailable) }
    state.questions = [:]
    state.waiters.finish()
    for inquiry in state.inquiries.values { inquiry.resume(returning: .unavailable) }
    state.inquiries = [:]
    state.observers.finish()
    do {
      try store.close()
    } catch {
      logger.warning("cannot close the store: \(error)")
    }
    directory.release()
  }

  /// A stream that starts with the current value, from `add`, and ends with the engine.
  nonisolated func observe<Value: Sendable>(
    _ policy: AsyncStream<Value>.Continuation.BufferingPolicy,
    _ add:
      @escaping @Sendable (
        inout Observers, AsyncStream<Value>.Continuation, UInt64, Workspace, SyncStatus
      ) -> Void
  ) -> AsyncStream<Value> {
    AsyncStream(bufferingPolicy: policy) { continuation in
      let id = DeviceClock.randomValue()
      // Set before it is added: a reader may be gone by then, and its removal must come afterwards.
      continuation.onTermination = { [weak self] _ in
        self?.soon { $0.state.observers.remove(id) }
      }
      soon { engine in
        guard !engine.state.isClosed else { return continuation.finish() }
        let latest = engine.latest
        add(&engine.state.observers, continuation, id, latest.workspace, latest.status)
      }
    }
  }

  /// A feed of events after a cursor, or from the present on.
  ///
  /// - Throws: `.closed`.
  func openFeed(after cursor: FeedCursor?) throws(ClientError) -> EventFeed {
    guard !state.isClosed else { throw .closed }
    return state.observers.openFeed(
      after: cursor, state.core.replica.workspace, latest.status)
  }

  /// Asks the authority, after all earlier changes; `.unavailable` if there is none now, or none
  /// that answers in time.
  ///
  /// - Throws: if a stop cannot be stored.
  func ask(
    _ request: AuthorityRequest, within limit: Duration
  ) async throws(ClientError) -> AuthorityAnswer {
    let id = DeviceClock.randomValue()
    let asked: [Action]?
    do throws(Replica.Fault) {
      asked =
        state.isClosed
        ? nil : try state.core.questionAsked(request, id: id, at: context(), store: store)
    } catch {
      throw ClientError(error)
    }
    guard let actions = asked else { return .unavailable }
    return await withCheckedContinuation { continuation in
      state.questions[id] = continuation
      settle(actions)
      // Set after the request, because an immediate time limit must find it.
      soon(after: DeviceClock.milliseconds(limit)) {
        $0.state.questions.removeValue(forKey: id)?.resume(returning: .unavailable)
      }
    }
  }

  /// Raises a request and waits for its decision; withdraws it if the caller is cancelled.
  func raise(_ ask: Ask) async throws(ClientError) -> AskAnswer {
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (agent: Waiters.Agent) in
        guard !state.isClosed else { return agent.resume(returning: .failure(.closed)) }
        guard state.waiters.add(agent, for: ask.id) else { return }
        do throws(Replica.Fault) {
          settle(try state.core.askRaised(ask, at: context(), store: store))
        } catch {
          state.waiters.tell(ask.id, .failure(ClientError(error)))
        }
      }
    } onCancel: {
      soon { engine in
        guard !engine.state.isClosed, engine.state.waiters.isAwaited(ask.id) else { return }
        engine.settle(
          engine.state.core.askWithdrawn(ask.id, at: engine.context(), store: engine.store))
      }
    }
    return try result.get()
  }

  /// Gives an answer and waits for its result; `.waiting` if the authority cannot be asked or takes
  /// longer than the limit.
  func give(
    _ answer: AnswerRequest, within limit: Duration
  ) async throws(ClientError) -> AnswerEvent {
    let result = await withCheckedContinuation { (person: Waiters.Person) in
      guard !state.isClosed else { return person.resume(returning: .failure(.closed)) }
      state.waiters.add(person, for: answer)
      do throws(Replica.Fault) {
        let (ending, actions) = try state.core.answerGiven(answer, at: context(), store: store)
        settle(actions)
        if let ending {
          state.waiters.tell(answer, .success(AnswerEvent(ending)))
        } else if !state.core.isAsked(answer.request) {
          state.waiters.tell(answer, .success(.waiting))
        }
      } catch {
        state.waiters.tell(answer, .failure(ClientError(error)))
      }
      // Set after the answer, because an immediate time limit must find it.
      soon(after: DeviceClock.milliseconds(limit)) {
        _ = $0.state.waiters.tell(answer, .success(.waiting))
      }
    }
    let event = try result.get()
    // Only this device has it, so acknowledged means that it is on its disk.
    if event == .waiting, let problem = await untilStored() {
      throw .diskUnconfirmed(message: problem.message)
    }
    return event
  }
}

extension ClientCore.Action {
  /// Whether the server or an agent waits for it, as opposed to observers and callers here. A
  /// connection attempt comes later, because it reads the published state first.
  fileprivate var isOutbound: Bool {
    switch self {
    case .send, .ping, .close, .agent: true
    case .connect, .changed, .report, .answered, .decided, .answerEnded, .replied, .notified,
      .notificationEnded, .connectionMissed, .outputWanted:
      false
    }
  }
}
