import DispatchAuthority
package import QueueModel
import WireProtocol

/// An order to the code that runs the agents.
package enum AgentOrder: Hashable, Sendable {
  /// Hand the prompt to the session's agent; its intent is on the disk.
  case start(StartOrder)
  /// Stop the agent: ask it to end, and kill it after `LeaseTimes.stopGraceMilliseconds`. Report
  /// its end like any other, even if it had not begun.
  case stop(SessionID, attempt: UInt16)
  /// Ask, on all devices, whether the session may run here; the settings require consent.
  case askConsent(SessionID)
  /// Stop asking: the session may run here, or must not run here any longer.
  case consentSettled(SessionID)
  /// Nothing runs, nothing will start, and no lease is held.
  case drained
}

/// Runs the messages of this device's sessions: stores the decisions of its executor, and sends its
/// questions.
///
/// ```text
/// without agents ──started──▶ executing ──drain requested──▶ draining ──nothing runs──▶ drained
///       │                                                       ▲
///       └───────────────── drain requested, then started ───────┘
///
/// an order of the executor:  stored ──▶ handed on
///                            not stored ──▶ tried again every 5 s, in order; a start is given up
/// ```
struct ExecutionMachine: Sendable {
  typealias Action = ClientCore.Action

  /// nil if this program runs no agents.
  private(set) var executor: Executor?
  /// The choices of users at this device about single sessions, even before it runs agents.
  private(set) var choices = SessionChoices() { didSet { executor?.choices = choices } }
  /// Whether the program is about to end, even if that was requested before it ran agents.
  private(set) var isDraining = false
  /// Whether the server decides.
  private var isServerAsked = false
  /// The connection on which the executor's questions were asked.
  private var asked: TransportID?
  /// Decisions that could not be stored, to be tried again.
  private var unstored: [(command: Command, then: [Command], intents: IntentChanges)] = []
  /// When `unstored` is tried again.
  private var storeAt: Int64?
  private(set) var deadline: Int64?
  /// The best known time of the latest event.
  private var latestWall = Int64.min

  static let storeRetryMilliseconds: Int64 = 5_000

  /// The attempts that agents work on here, by session.
  var running: [SessionID: StartOrder] { executor?.running ?? [:] }

  /// The token of the lease for a session's messages here.
  func leaseToken(of session: SessionID) -> UInt64? {
    executor?.sessions[session]?.lease.token
  }

  /// Whether a user stopped the agent that works for a session here.
  func isStopped(_ session: SessionID, in workspace: Workspace) -> Bool {
    executor?.isStopped(session, in: workspace) == true
  }

  /// Lets the executor decide, by the best known time, and performs its actions, until it has no
  /// more.
  mutating func decide(
    over connection: inout ConnectionMachine, at context: EventContext, store: some ReplicaStore,
    _ event: (inout Executor, Workspace, EventContext) -> [Executor.Action]
  ) -> [Action] {
    guard var executor else { return [] }
    let context = connection.corrected(context)
    // Moved out of its place, it is not copied when it changes.
    self.executor = nil
    let orders = event(&executor, connection.replica.workspace, context)
    self.executor = executor
    return carryOut(orders, over: &connection, at: context, store: store)
  }

  /// Checks that nothing that may start waits without a time for its next check.
  ///
  /// - Throws: `InvariantViolation` naming the first such session.
  func checkLiveness(
    of waiting: [SessionID]?, _ connection: ConnectionMachine, at context: EventContext
  ) throws(InvariantViolation) {
    guard let executor else { return }
    let workspace = connection.replica.workspace
    try executor.checkLiveness(
      of: waiting ?? executor.sessionsWithWork(in: workspace), in: workspace, deadline: deadline,
      at: connection.corrected(context))
  }

  /// Checks the machine against itself.
  ///
  /// - Throws: `InvariantViolation` naming the first contradiction.
  func checkInvariants() throws(InvariantViolation) {
    try executor?.checkInvariants()
    guard (storeAt == nil) == unstored.isEmpty else {
      throw InvariantViolation(reason: "what could not be stored is not tried again")
    }
    guard executor?.isDraining ?? isDraining == isDraining else {
      throw InvariantViolation(reason: "the executor does not know that the program will end")
    }
  }
}

// MARK: - Events

extension ExecutionMachine {
  /// The program runs agents from now on.
  mutating func started(
    _ settings: ExecutionSettings, loaded: LoadedReplica.Execution, deadAgents: Set<MessageID>,
    over connection: inout ConnectionMachine, at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    let workspace = connection.replica.workspace
    var executor = Executor(
      device: connection.replica.record.device, settings: settings, choices: choices,
      firstRequest: context.random(6))
    isServerAsked = connection.hasServer
    executor.authorityStands = connection.hasServer
    executor.isAlone = !connection.hasServer
    connection.authority.local = Authority(
      loaded.authority, uptime: context.now, wall: context.wall)
    let intents = loaded.intents.sorted { $0.message < $1.message }
    var recovery = executor.recovered(intents, deadAgents: deadAgents, at: context)
    if isDraining { recovery += executor.drainRequested(in: workspace, at: context) }
    self.executor = executor
    return carryOut(recovery, over: &connection, at: context, store: store)
  }

  /// The store's choices.
  mutating func choicesLoaded(_ choices: SessionChoices) { self.choices = choices }

  /// A user at this device made a choice about a session, and the store has it.
  mutating func chosen(
    _ choice: SessionChoice, of session: SessionID, over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    choices.apply(choice)
    return decide(over: &connection, at: context, store: store) { executor, workspace, context in
      executor.queuesChanged([session], in: workspace, at: context)
    }
  }

  /// The program is about to end: nothing new starts.
  mutating func drainRequested(
    over connection: inout ConnectionMachine, at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    isDraining = true
    guard executor != nil else { return [.agent(.drained)] }
    return decide(over: &connection, at: context, store: store) { executor, workspace, context in
      executor.drainRequested(in: workspace, at: context)
    }
  }

  /// A connection for questions is established.
  ///
  /// - Returns: nil if the waiting questions were asked over it already.
  mutating func connected(
    _ id: TransportID, over connection: inout ConnectionMachine, at context: EventContext,
    store: some ReplicaStore
  ) -> [Action]? {
    guard asked != id else { return nil }
    asked = id
    let abandoned = connection.abandonQuestions()
    connection.authority.held = []
    return abandoned
      + decide(over: &connection, at: context, store: store) { executor, workspace, context in
        executor.connected(in: workspace, at: context)
      }
  }

  /// An answer of the authority.
  mutating func take(
    _ response: Response, over connection: inout ConnectionMachine, at context: EventContext,
    store: some ReplicaStore
  ) -> [Action] {
    guard let question = executor?.question(response.id) else { return [] }
    // An answer that breaks the specification counts as none.
    let answer = (try? AuthorityAnswer(response, to: question)) ?? .unavailable
    return decide(over: &connection, at: context, store: store) { executor, workspace, context in
      executor.answered(response.id, answer, in: workspace, at: context)
    }
  }

  /// The consequences of an event that touched queues. Call it after every one.
  mutating func following(
    _ touched: TouchedQueues, over connection: inout ConnectionMachine, at context: EventContext,
    store: some ReplicaStore
  ) -> [Action] {
    guard executor != nil else { return [] }
    var isDue = deadline.map { $0 <= context.now } ?? false
    if isServerAsked != connection.hasServer {
      isServerAsked = connection.hasServer
      executor?.authorityChanged(isAlone: !isServerAsked)
      isDue = true
    }
    let wall = connection.time(at: context)
    let isSetBack = wall < latestWall
    latestWall = wall
    var actions = retryStoring(over: &connection, at: context, store: store)
    actions += decide(over: &connection, at: context, store: store) {
      executor, workspace, context in
      // A message in line may be due later again, so that one behind it comes into line.
      let changed =
        isSetBack
        ? touched.sessions.union(workspace.sessions(hostedBy: executor.device)) : touched.sessions
      var orders = executor.queuesChanged(changed, in: workspace, at: context)
      if isDue { orders += executor.timePassed(in: workspace, at: context) }
      return orders
    }
    connection.holdsLease = executor?.holdsLease ?? false
    deadline = [storeAt, executor?.deadline(wall: context.wall, now: context.now)]
      .compactMap { $0 }.min()
    return actions
  }
}

// MARK: - Performing

extension ExecutionMachine {
  private mutating func carryOut(
    _ orders: [Executor.Action], over connection: inout ConnectionMachine, at context: EventContext,
    store: some ReplicaStore
  ) -> [Action] {
    var actions: [Action] = []
    for order in orders {
      switch order {
      case .ask(let request, let id):
        actions += ask(request, id: id, over: &connection, at: context, store: store)
      case .tell(.start(let start)):
        let run = start.run(.running, milliseconds: connection.time(at: context), note: "")
        let known = connection.replica.workspace.dispatchState(of: start.message)?.runState.run
        // If the beginning of an agent cannot be recorded, it must not begin. The same holds for an
        // attempt that has begun already, for another session that had the message a moment ago.
        if known.map({ $0.attempt < run.attempt && $0.fence < run.fence }) ?? true,
          let done = perform(
            .reportRun(start.message, run), IntentChanges(begun: start), over: &connection,
            at: context,
            store: store)
        {
          actions += [.agent(.start(start))] + done
        } else {
          actions += decide(over: &connection, at: context, store: store) {
            executor, workspace, context in
            executor.beginFailed(start, in: workspace, at: context)
          }
        }
      case .tell(let order):
        actions.append(.agent(order))
      case .end(let command, let following, let order):
        actions += performOrRetry(
          command, then: following, IntentChanges(ended: order), over: &connection, at: context,
          store: store)
      case .perform(let command, let following):
        actions += performOrRetry(
          command, then: following, IntentChanges(), over: &connection, at: context, store: store)
      }
    }
    return actions
  }

  /// Performs a command of the executor with its consequences, on the disk when this returns; nil
  /// if it cannot be stored. If the queues refuse it, because they have changed, it is no longer
  /// needed.
  private mutating func perform(
    _ command: Command, then following: [Command] = [], _ intents: IntentChanges,
    over connection: inout ConnectionMachine, at context: EventContext, store: some ReplicaStore
  ) -> [Action]? {
    do throws(Replica.Fault) {
      let outcome = try connection.replica.perform(
        command, then: following, queueSizeMax: connection.queueSizeMax,
        wall: connection.time(at: context), intents: intents, at: context, store: store)
      guard !outcome.operations.isEmpty else { return [] }
      let sessions = outcome.touched.sessions
      return [.changed(outcome.touched)] + connection.sendBatches(at: context, store: store)
        + decide(over: &connection, at: context, store: store) { executor, workspace, context in
          executor.queuesChanged(sessions, in: workspace, at: context)
        }
    } catch {
      if case .queue = error { return intents.begun == nil ? [] : nil }
      return nil
    }
  }

  private mutating func performOrRetry(
    _ command: Command, then following: [Command], _ intents: IntentChanges,
    over connection: inout ConnectionMachine, at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    if unstored.isEmpty,
      let done = perform(
        command, then: following, intents, over: &connection, at: context, store: store)
    {
      return done
    }
    unstored.append((command, following, intents))
    // Even if many ends follow, the first one is tried again in time.
    storeAt = storeAt ?? context.now + ExecutionMachine.storeRetryMilliseconds
    return []
  }

  private mutating func retryStoring(
    over connection: inout ConnectionMachine, at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    guard let storeAt, storeAt <= context.now else { return [] }
    self.storeAt = nil
    let waiting = unstored
    unstored = []
    return waiting.flatMap {
      performOrRetry(
        $0.command, then: $0.then, $0.intents, over: &connection, at: context, store: store)
    }
  }

  // MARK: - Asking

  private mutating func ask(
    _ request: AuthorityRequest, id: UInt64, over connection: inout ConnectionMachine,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    guard connection.hasServer else {
      let answer = connection.decide(request, id: id, at: context, store: store) ?? .unavailable
      return decide(over: &connection, at: context, store: store) {
        executor, workspace, context in
        executor.answered(id, answer, in: workspace, at: context)
      }
    }
    // Without a connection it is asked once there is one.
    guard connection.ready != nil else { return [] }
    // While the server accepts no questions, a repeated one waits only once.
    connection.authority.held.removeAll { $0.id == id }
    connection.authority.held.append((request, id))
    return connection.sendHeld()
  }
}
