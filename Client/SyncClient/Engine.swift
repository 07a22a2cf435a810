import ClientCore
import ClientStore
import Dispatch
import Logging
import QueueModel
import SequenceCRDT
import Synchronization
import WireProtocol

/// Drives the core: one event at a time, on a queue of its own, because storing blocks.
///
/// State changes happen under the lock; actions are run in the same turn, so that they reach the
/// sockets in the order of the events. None of them blocks.
final class Engine: Sendable {
  typealias Action = ClientCore.Action

  /// What readers see without waiting for the store.
  struct Published: Sendable {
    var workspace: Workspace
    var status: SyncStatus
    var core: ClientCore
  }

  struct State {
    var core: ClientCore
    var observers: Observers
    var transports: [ConnectionID: Transport] = [:]
    /// Where connection requests go while somebody runs the sync.
    var runner: AsyncStream<ConnectionID>.Continuation?
    var scheduled: Int64?
    /// When the queues changed last, and since when something may be unpacked.
    var changedAt: Int64 = 0
    var unpackedSince: Int64?
    var isClosed = false
    /// What the stored image holds.
    var imageVector: VersionVector
    /// Where orders for agents go while somebody runs them.
    var agents: AsyncStream<TurnOrder>.Continuation?
    /// Who waits for an answer of the authority.
    var questions: [UInt64: CheckedContinuation<AuthorityAnswer, Never>] = [:]
    var waiters = Waiters()
    /// Where the late end of an answer is told.
    var tellsDevice: (@Sendable (DeviceEvent) -> Void)?
    /// Who waits for an answer about notifications.
    var inquiries: [UInt64: AsyncStream<InboxAnswer>.Continuation] = [:]

    /// Operations behind the stored image.
    var tailCount: Int {
      core.replica.workspace.vector.operationCount(missingFrom: imageVector)
    }
  }

  /// Operations replayed at an opening at most; the image is stored again after so many.
  private static let tailMax = 32_768
  /// A closing stores the image where so many operations came since.
  private static let tailWorthKeeping = 512

  let store: ClientStore
  /// The events that readers fetch.
  let feedLog: FeedLog
  let logger: Logger
  private let directory: DataDirectory
  let queue: DispatchQueue
  /// For tasks that do nothing but hand events over.
  let executor: QueueExecutor
  private let origin = ContinuousClock.now
  let state: Mutex<State>
  private let published: Mutex<Published>

  init(
    core: ClientCore, store: ClientStore, directory: DataDirectory, imageVector: VersionVector,
    logger: Logger
  ) {
    queue = DispatchQueue(label: "cospool.client")
    executor = QueueExecutor(queue)
    self.store = store
    self.directory = directory
    self.logger = logger
    // A number of its own for every opening: cursors of an earlier one are told apart.
    let log = FeedLog(opening: Engine.randomValue())
    feedLog = log
    state = Mutex(
      State(core: core, observers: Observers(log: log), imageVector: imageVector))
    published = Mutex(
      Published(
        workspace: core.replica.workspace, status: SyncStatus(of: core, now: 0), core: core))
  }

  var now: Int64 { Engine.milliseconds(origin.duration(to: .now)) }

  func context() -> EventContext {
    EventContext(now: now, wall: Engine.wallMilliseconds, random: Engine.randomValue())
  }

  /// A consistent picture of the latest event's outcome.
  var latest: Published { published.withLock { $0 } }

  var path: String { directory.path }

  /// Runs an event on the queue and the actions that follow from it.
  ///
  /// - Parameter synchronizes: whether what the event stored is on the disk when this returns. It is
  ///   waited for once everything that the event leads to has left.
  /// - Throws: `.closed`, what the event throws, or `.storage` where the disk does not take it.
  func submit<Value: Sendable>(
    synchronizes: Bool = false,
    _ event:
      @escaping @Sendable (inout ClientCore, EventContext, ClientStore) throws(Replica.Fault) -> (
        Value, [Action]
      )
  ) async throws(ClientError) -> Value {
    let result = await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<Value, ClientError>, Never>) in
      queue.async { continuation.resume(returning: self.turn(synchronizes, event)) }
    }
    return try result.get()
  }

  /// An event whose failures the core deals with itself.
  func note(
    _ event: @escaping @Sendable (inout ClientCore, EventContext, ClientStore) -> [Action]
  ) async {
    // A closed engine has nothing to note.
    try? await submit { core, context, store throws(Replica.Fault) in
      ((), event(&core, context, store))
    }
  }

  /// The same behind what was asked for before, without waiting for it.
  func noteSoon(
    _ event: @escaping @Sendable (inout ClientCore, EventContext, ClientStore) -> [Action]
  ) {
    enqueue { state in
      guard !state.isClosed else { return }
      self.settle(&state, event(&state.core, self.context(), self.store))
    }
  }

  private func turn<Value: Sendable>(
    _ synchronizes: Bool,
    _ event: (inout ClientCore, EventContext, ClientStore) throws(Replica.Fault) -> (
      Value, [Action]
    )
  ) -> Result<Value, ClientError> {
    state.withLock { state in
      guard !state.isClosed else { return .failure(.closed) }
      do throws(Replica.Fault) {
        let (value, actions) = try event(&state.core, context(), store)
        var problem: StoreError?
        settle(&state, actions) {
          guard synchronizes else { return }
          do throws(StoreError) { try store.synchronize() } catch { problem = error }
        }
        if let problem { return .failure(.diskUnconfirmed(message: problem.message)) }
        return .success(value)
      } catch {
        return .failure(ClientError(error))
      }
    }
  }

  /// - Parameter afterSending: what is done between that which others wait for, and telling those
  ///   who are here.
  func settle(_ state: inout State, _ actions: [Action], afterSending: () -> Void = {}) {
    // What others wait for goes first, before anything else is even looked at; observers look at the
    // same state a moment later.
    var local: [Action] = []
    func send(_ actions: [Action]) {
      for action in actions {
        if action.isOutbound { run(action, &state) } else { local.append(action) }
      }
    }
    send(actions)
    let following = state.core.executionFollowing(actions, at: context(), store: store)
    send(following)
    send(state.core.notificationsFollowing(actions + following, at: context(), store: store))
    afterSending()
    publish(state.core)
    for action in local { run(action, &state) }
    state.observers.show(published.withLock { $0.status })
    schedule(&state)
    if state.tailCount >= Engine.tailMax { keepImage(&state) }
  }

  func publish(_ core: ClientCore) {
    let status = SyncStatus(of: core, now: now)
    published.withLock {
      $0 = Published(workspace: core.replica.workspace, status: status, core: core)
    }
  }

  private func run(_ action: Action, _ state: inout State) {
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
      packLater(&state)
    case .report(let problem):
      logger.warning("\(problem.message)")
    case .agent(let order):
      tell(order, &state)
    case .told(let answer, let id):
      state.questions.removeValue(forKey: id)?.resume(returning: answer)
    case .decided(let request, let decision):
      state.waiters.tell(request, .success(decision))
    case .answerEnded(let answer, let ending):
      let event = AnswerEvent(ending)
      if !state.waiters.tell(answer, .success(event)) {
        state.tellsDevice?(.answer(TaskAnswer(answer), event))
      }
    case .replied(let answer, let id):
      state.inquiries[id]?.yield(answer)
    case .notified(let notification):
      state.tellsDevice?(.notification(NotificationView(notification)))
    case .notificationEnded(let name, let ending):
      state.tellsDevice?(.notificationRetracted(NotificationView.id(of: name), ending.retraction))
    case .connectionMissed(let since):
      state.tellsDevice?(.waitingForConnection(since: since))
    }
  }

  /// One pending wake-up at a time; one that comes too early does nothing.
  private func schedule(_ state: inout State) {
    guard let deadline = state.core.deadline else { return }
    if let scheduled = state.scheduled, scheduled <= deadline { return }
    state.scheduled = deadline
    let delay = min(max(0, deadline - now), 3_600_000)
    queue.asyncAfter(deadline: .now() + .milliseconds(Int(delay))) { [weak self] in
      self?.wake(for: deadline)
    }
  }

  private func wake(for deadline: Int64) {
    state.withLock { state in
      guard !state.isClosed else { return }
      if state.scheduled == deadline { state.scheduled = nil }
      settle(&state, state.core.timePassed(at: context(), store: store))
    }
  }

  private func keepImage(_ state: inout State) {
    let entry = state.core.replica.lastEntry
    do {
      try store.keep(state.core.replica.workspace, upTo: entry)
    } catch {
      // The image only saves time at the next opening; the log holds everything.
      logger.warning("cannot store the state's image: \(error)")
    }
    state.imageVector = state.core.replica.workspace.vector
  }
}

extension Engine {
  /// Takes connection requests; nil where somebody else runs the sync already.
  func beginRunning() async throws(ClientError) -> AsyncStream<ConnectionID>? {
    let (stream, continuation) = AsyncStream<ConnectionID>.makeStream(bufferingPolicy: .unbounded)
    return await onQueue { state -> AsyncStream<ConnectionID>? in
      guard !state.isClosed else {
        continuation.finish()
        return stream
      }
      guard state.runner == nil else { return nil }
      state.runner = continuation
      self.packLater(&state)
      self.settle(&state, state.core.started(at: self.context(), store: self.store))
      return stream
    }
  }

  func endRunning() async {
    await onQueue { state in
      guard !state.isClosed else { return }
      self.settle(&state, state.core.stopped())
      state.runner = nil
    }
  }

  /// Registers a transport before it is opened, so that the core can give it up at any time.
  func register(_ transport: Transport, as id: ConnectionID) async -> Bool {
    await onQueue { state in
      guard !state.isClosed, state.core.expects(id) else { return false }
      state.transports[id] = transport
      return true
    }
  }

  /// Stores the image, closes store and streams; idempotent.
  func close() async {
    await onQueue { state in
      guard !state.isClosed else { return }
      self.settle(&state, state.core.stopped())
      if state.tailCount >= Engine.tailWorthKeeping { self.keepImage(&state) }
      state.isClosed = true
      state.runner?.finish()
      state.runner = nil
      state.agents?.finish()
      for question in state.questions.values { question.resume(returning: .unavailable) }
      state.questions = [:]
      state.waiters.finish()
      for inquiry in state.inquiries.values { inquiry.finish() }
      state.inquiries = [:]
      state.observers.finish()
      do {
        try self.store.close()
      } catch {
        self.logger.warning("cannot close the store: \(error)")
      }
      self.directory.release()
    }
  }

  /// Does something behind what was asked for before, without waiting for it.
  func enqueue(_ body: @escaping @Sendable (inout State) -> Void) {
    queue.async { self.state.withLock { body(&$0) } }
  }

  func onQueue<Value: Sendable>(
    _ body: @escaping @Sendable (inout State) -> Value
  ) async -> Value {
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: self.state.withLock { body(&$0) }) }
    }
  }

  /// A stream that starts with what `add` shows and ends with the engine.
  func observe<Value: Sendable>(
    _ policy: AsyncStream<Value>.Continuation.BufferingPolicy,
    _ add:
      @escaping @Sendable (
        inout Observers, AsyncStream<Value>.Continuation, UInt64, Workspace, SyncStatus
      ) -> Void
  ) -> AsyncStream<Value> {
    AsyncStream(bufferingPolicy: policy) { continuation in
      let id = Engine.randomValue()
      // Before it is added: a reader may be gone by then, and its removal comes behind.
      continuation.onTermination = { [weak self] _ in self?.forget(id) }
      queue.async {
        let isAdded = self.state.withLock { state in
          guard !state.isClosed else { return false }
          let status = self.published.withLock { $0.status }
          add(&state.observers, continuation, id, state.core.replica.workspace, status)
          return true
        }
        if !isAdded { continuation.finish() }
      }
    }
  }

  /// A feed of events behind a cursor, or from the present on.
  ///
  /// - Throws: `.closed`.
  func openFeed(after cursor: FeedCursor?) async throws(ClientError) -> EventFeed {
    let feed = await onQueue { state -> EventFeed? in
      guard !state.isClosed else { return nil }
      let status = self.published.withLock { $0.status }
      return state.observers.openFeed(
        after: cursor, state.core.replica.workspace, status)
    }
    guard let feed else { throw .closed }
    return feed
  }

  /// Asks the authority, behind everything that was done before; `.unavailable` where there is none
  /// now, or none that answers in time.
  func ask(_ request: AuthorityRequest, within limit: Duration) async -> AuthorityAnswer {
    let id = Engine.randomValue()
    return await withCheckedContinuation { continuation in
      queue.async {
        let isAsked = self.state.withLock { state in
          guard !state.isClosed,
            let actions = state.core.questionAsked(
              request, id: id, at: self.context(), store: self.store)
          else { return false }
          state.questions[id] = continuation
          self.settle(&state, actions)
          return true
        }
        guard isAsked else { return continuation.resume(returning: .unavailable) }
        // Behind the question: a limit that is over at once has to find it.
        self.after(limit) { self.answer(.unavailable, to: id) }
      }
    }
  }

  private func after(_ limit: Duration, _ body: @escaping @Sendable () -> Void) {
    let delay = Int(clamping: Engine.milliseconds(limit))
    queue.asyncAfter(deadline: .now() + .milliseconds(delay), execute: body)
  }

  private func answer(_ answer: AuthorityAnswer, to id: UInt64) {
    state.withLock { $0.questions.removeValue(forKey: id) }?.resume(returning: answer)
  }

  /// Raises a request and waits for its decision; withdrawn where the caller is cancelled.
  func raise(_ ask: Ask) async throws(ClientError) -> AskAnswer {
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (agent: Waiters.Agent) in
        queue.async {
          self.state.withLock { state in
            guard !state.isClosed else { return agent.resume(returning: .failure(.closed)) }
            guard state.waiters.add(agent, for: ask.id) else { return }
            do throws(Replica.Fault) {
              let actions = try state.core.askRaised(
                ask, at: self.context(), store: self.store)
              self.settle(&state, actions)
            } catch {
              state.waiters.tell(ask.id, .failure(ClientError(error)))
            }
          }
        }
      }
    } onCancel: {
      queue.async {
        self.state.withLock { state in
          guard !state.isClosed, state.waiters.leave(ask.id) else { return }
          self.settle(
            &state,
            state.core.askWithdrawn(ask.id, at: self.context(), store: self.store))
        }
      }
    }
    return try result.get()
  }

  /// Gives an answer and waits for its end, `.waiting` where the authority cannot be asked or takes
  /// longer than the limit.
  func give(
    _ answer: AnswerRequest, within limit: Duration
  ) async throws(ClientError) -> AnswerEvent {
    let result = await withCheckedContinuation { (person: Waiters.Person) in
      queue.async {
        self.state.withLock { state in
          guard !state.isClosed else { return person.resume(returning: .failure(.closed)) }
          state.waiters.add(person, for: answer)
          do throws(Replica.Fault) {
            let (ending, actions) = try state.core.answerGiven(
              answer, at: self.context(), store: self.store)
            self.settle(&state, actions)
            if let ending {
              state.waiters.tell(answer, .success(AnswerEvent(ending)))
            } else if !state.core.isAsked(answer.request) {
              state.waiters.tell(answer, .success(.waiting))
            }
          } catch {
            state.waiters.tell(answer, .failure(ClientError(error)))
          }
        }
        // Behind the answer: a limit that is over at once has to find it.
        self.after(limit) {
          self.state.withLock { _ = $0.waiters.tell(answer, .success(.waiting)) }
        }
      }
    }
    return try result.get()
  }

  /// Where to tell of answers whose giver waits no longer.
  func tellDevice(_ tell: @escaping @Sendable (DeviceEvent) -> Void) {
    state.withLock { $0.tellsDevice = tell }
  }

  private func forget(_ id: UInt64) {
    queue.async { self.state.withLock { $0.observers.remove(id) } }
  }
}

extension ClientCore.Action {
  /// Whether the server or an agent waits for it, as opposed to observers and callers here. Whoever
  /// connects looks at what is published first.
  fileprivate var isOutbound: Bool {
    switch self {
    case .send, .ping, .close, .agent: true
    case .connect, .changed, .report, .told, .decided, .answerEnded, .replied, .notified,
      .notificationEnded, .connectionMissed:
      false
    }
  }
}
