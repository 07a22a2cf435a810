import DispatchAuthority
package import QueueModel
import WireProtocol

/// What whoever runs the agents has to do.
package enum AgentOrder: Hashable, Sendable {
  /// Hand the prompt to the session's agent; its intent is on the disk.
  case start(StartOrder)
  /// Stop the agent: ask it to end, and make it end 10 seconds later. Its end is told as any other, also
  /// where it had not begun.
  case stop(SessionID, attempt: UInt16)
  /// Nothing runs any more, and nothing will begin.
  case drained
}

/// What a core knows of executing.
struct Execution: Sendable {
  /// nil where this program runs no agents.
  var executor: Executor?
  /// Whether the program is to end, also where it was told so before it ran agents.
  var isDraining = false
  /// Decides where there is no server.
  var authority: Authority?
  /// Whether the server decides.
  var isServerAsked = false
  /// The connection on which the executor's questions were asked.
  var connection: ConnectionID?
  /// Questions that come behind operations which are not sent yet.
  var held: [(request: AuthorityRequest, id: UInt64)] = []
  var responses: [Response] = []
  /// Questions of the driver's own, by number.
  var questions: [UInt64: PersonQuestion] = [:]
  /// What could not be stored and is tried again.
  var unstored: [(command: Command, then: [Command], intents: IntentChanges)] = []
  var deadline: Int64?
  /// When `unstored` is tried again.
  var storeAt: Int64?

  static let storeRetryMilliseconds: Int64 = 5_000
}

/// Executing, as a part of the core: the driver calls `executionFollowing` after every event.
extension ClientCore {
  /// The executor's counts; nothing where there is none.
  package var executionCounters: ExecutionCounters {
    execution.executor?.counters ?? ExecutionCounters()
  }

  /// What agents work on here, by session.
  package var running: [SessionID: StartOrder] { execution.executor?.running ?? [:] }

  /// Whether a server decides about leases, or this device for itself.
  package var hasServer: Bool { credentials != nil || replica.record.workspace != nil }

  /// The program runs agents from now on.
  ///
  /// - Parameters:
  ///   - loaded: what the store held of executing.
  ///   - deadAgents: those of its intents whose agents are known to have died.
  package mutating func executionStarted(
    _ settings: ExecutorSettings, loaded: LoadedReplica.Execution, deadAgents: Set<MessageID>,
    at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    let occasion = corrected(occasion)
    var executor = Executor(
      device: replica.record.device, settings: settings, firstRequest: occasion.random(6))
    execution.isServerAsked = hasServer
    executor.authorityStands = hasServer
    execution.authority = Authority(loaded.authority, uptime: occasion.now)
    let intents = loaded.intents.sorted { $0.message < $1.message }
    var recovery = executor.recovered(
      intents, deadAgents: deadAgents, in: replica.workspace, at: occasion)
    if execution.isDraining {
      recovery += executor.drainRequested(in: replica.workspace, at: occasion)
    }
    execution.executor = executor
    let sessions = Set(replica.workspace.sessions().map(\.id))
    return carryOut(recovery, at: occasion, store: store)
      + tasksRecovered(at: occasion, store: store)
      + executing(at: occasion, store: store) { executor, workspace, occasion in
        executor.queuesChanged(sessions, in: workspace, at: occasion)
      }
  }

  /// What runs agents was set anew.
  package mutating func executionSettingsChanged(
    _ settings: ExecutorSettings, at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    let sessions = Set(replica.workspace.sessions().map(\.id))
    return executing(at: occasion, store: store) { executor, workspace, occasion in
      executor.settings = settings
      return executor.queuesChanged(sessions, in: workspace, at: occasion)
    }
  }

  /// An agent ended, or could not be started.
  package mutating func agentEnded(
    _ session: SessionID, attempt: UInt16, with result: RunResult, at occasion: Occasion,
    store: some ReplicaStore
  ) -> [Action] {
    executing(at: occasion, store: store) { executor, workspace, occasion in
      executor.ended(session, attempt: attempt, with: result, in: workspace, at: occasion)
    }
  }

  /// Somebody works in a session, or is done.
  package mutating func sessionBusyChanged(
    _ session: SessionID, isBusy: Bool, at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    executing(at: occasion, store: store) { executor, workspace, occasion in
      executor.busyChanged(session, isBusy, in: workspace, at: occasion)
    }
  }

  /// The agent of a session waits for a prompt, or does not any more.
  package mutating func sessionGateChanged(
    _ session: SessionID, isOpen: Bool, at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    executing(at: occasion, store: store) { executor, workspace, occasion in
      executor.gateChanged(session, isOpen: isOpen, in: workspace, at: occasion)
    }
  }

  /// A person wants the agent of a session stopped.
  ///
  /// - Returns: nil where none works here.
  package mutating func agentStopRequested(
    _ session: SessionID, at occasion: Occasion, store: some ReplicaStore
  ) -> [Action]? {
    guard running[session] != nil else { return nil }
    return executing(at: occasion, store: store) { executor, _, _ in
      executor.stopRequested(session)
    }
  }

  /// The program is to end: nothing begins any more. `drained` tells when nothing runs.
  package mutating func drainRequested(
    at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    execution.isDraining = true
    guard execution.executor != nil else { return [.agent(.drained)] }
    return executing(at: occasion, store: store) { executor, workspace, occasion in
      executor.drainRequested(in: workspace, at: occasion)
    }
  }

  /// The time to end in peace is over.
  package mutating func drainGraceEnded(
    at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    executing(at: occasion, store: store) { executor, _, occasion in
      executor.graceEnded(at: occasion)
    }
  }

  /// What follows for the agents from an event that led to `actions`: to be called after every one.
  package mutating func executionFollowing(
    _ actions: [Action], at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    let raw = occasion
    let occasion = corrected(occasion)
    var next: [Action] = takeResponses(at: occasion, store: store)
    if case .exchanging(let exchange) = link, exchange.hasCaughtUp {
      if execution.connection != exchange.connection {
        execution.connection = exchange.connection
        next += abandonQuestions()
        execution.held = []
        next += executing(at: occasion, store: store) { executor, workspace, occasion in
          executor.connected(in: workspace, at: occasion)
        }
      }
      next += sendHeld()
    } else if link.connection == nil {
      next += abandonQuestions()
    }
    next += tasksFollowing(at: raw, store: store)
    guard execution.executor != nil else { return next }
    if execution.isServerAsked != hasServer {
      let hasServer = hasServer
      execution.isServerAsked = hasServer
      execution.executor?.authorityChanged(stands: hasServer)
    }
    var touched = TouchedQueues()
    for case .changed(let queues) in actions { touched.formUnion(queues) }
    let isDue = execution.deadline.map { $0 <= occasion.now } ?? false
    next += retryStoring(at: occasion, store: store)
    next += executing(at: occasion, store: store) { executor, workspace, occasion in
      var orders = executor.queuesChanged(touched.sessions, in: workspace, at: occasion)
      if isDue { orders += executor.timePassed(in: workspace, at: occasion) }
      return orders
    }
    execution.deadline = [
      execution.storeAt, execution.executor?.deadline(wall: occasion.wall, now: occasion.now),
    ].compactMap { $0 }.min()
    return next
  }
}

extension ClientCore {
  /// The occasion with the best known time: holds and not-before times are compared with that.
  private func corrected(_ occasion: Occasion) -> Occasion {
    occasion.at(wall: time(at: occasion))
  }

  /// Lets the executor decide, by the best known time, and does what it says, until it has nothing
  /// more to say.
  private mutating func executing(
    at occasion: Occasion, store: some ReplicaStore,
    _ event: (inout Executor, Workspace, Occasion) -> [Executor.Action]
  ) -> [Action] {
    guard var executor = execution.executor else { return [] }
    let occasion = corrected(occasion)
    // The copy in place would make every change of it copy its seats.
    execution.executor = nil
    let orders = event(&executor, replica.workspace, occasion)
    execution.executor = executor
    return carryOut(orders, at: occasion, store: store)
  }

  private mutating func carryOut(
    _ orders: [Executor.Action], at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    var actions: [Action] = []
    for order in orders {
      switch order {
      case .ask(let request, let id):
        actions += ask(request, id: id, at: occasion, store: store)
      case .start(let start):
        let run = start.run(.running, milliseconds: time(at: occasion), note: "")
        let known = replica.workspace.dispatchState(of: start.message)?.runState.run
        // An agent whose beginning nobody would learn of must not begin; nor one of an attempt that
        // began already, for another session that had the message a moment ago.
        if known.map({ $0.attempt < run.attempt && $0.fence < run.fence }) ?? true,
          let done = perform(
            .reportRun(start.message, run), IntentChanges(begun: start), at: occasion,
            store: store)
        {
          actions += [.agent(.start(start))] + done
        } else {
          execution.executor?.beginFailed(start, at: occasion)
        }
      case .stop(let session, let attempt):
        actions.append(.agent(.stop(session, attempt: attempt)))
      case .end(let command, let following, let message):
        actions += performSurely(
          command, then: following, IntentChanges(ended: message), at: occasion, store: store)
      case .perform(let command, let following):
        actions += performSurely(
          command, then: following, IntentChanges(), at: occasion, store: store)
      case .drained:
        actions.append(.agent(.drained))
      }
    }
    return actions
  }

  /// Does a command of the executor's and what follows from it, on the disk when this returns; nil where
  /// it cannot be stored. What the queues refuse, since they changed meanwhile, needs no doing any more.
  private mutating func perform(
    _ command: Command, then following: [Command] = [], _ intents: IntentChanges,
    at occasion: Occasion, store: some ReplicaStore
  ) -> [Action]? {
    do throws(Replica.Fault) {
      let outcome = try replica.perform(
        command, then: following, queueSizeMax: queueSizeMax, wall: time(at: occasion),
        intents: intents, at: occasion, store: store)
      guard !outcome.operations.isEmpty else { return [] }
      let sessions = outcome.touched.sessions
      return [.changed(outcome.touched)] + pumped(at: occasion, store: store)
        + executing(at: occasion, store: store) { executor, workspace, occasion in
          executor.queuesChanged(sessions, in: workspace, at: occasion)
        }
    } catch {
      if case .queue = error { return intents.begun == nil ? [] : nil }
      return nil
    }
  }

  private mutating func performSurely(
    _ command: Command, then following: [Command], _ intents: IntentChanges,
    at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    if execution.unstored.isEmpty,
      let done = perform(command, then: following, intents, at: occasion, store: store)
    {
      return done
    }
    execution.unstored.append((command, following, intents))
    execution.storeAt = occasion.now + Execution.storeRetryMilliseconds
    return []
  }

  private mutating func retryStoring(
    at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    guard let storeAt = execution.storeAt, storeAt <= occasion.now else { return [] }
    execution.storeAt = nil
    let waiting = execution.unstored
    execution.unstored = []
    return waiting.flatMap {
      performSurely($0.command, then: $0.then, $0.intents, at: occasion, store: store)
    }
  }

  // MARK: - Asking

  private mutating func ask(
    _ request: AuthorityRequest, id: UInt64, at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    guard hasServer else {
      let answer = decide(request, id: id, at: occasion, store: store) ?? .unavailable
      return executing(at: occasion, store: store) { executor, workspace, occasion in
        executor.answered(id, answer, in: workspace, at: occasion)
      }
    }
    // Without a connection it is asked when there is one.
    guard case .exchanging(let exchange) = link, exchange.hasCaughtUp else { return [] }
    execution.held.append((request, id))
    return sendHeld()
  }

  /// Questions go behind everything that was done before them; but a lease goes on whatever was
  /// done, and ends where much is to be sent first.
  mutating func sendHeld() -> [Action] {
    guard !execution.held.isEmpty, case .exchanging(let exchange) = link else { return [] }
    let isClear = exchange.hasSent(through: replica.lastEntry) || replica.record.outbox.isEmpty
    let held = execution.held
    let goes = held.map { question in
      isClear
        ? !isWithheld(question.id) : exchange.hasCaughtUp && question.request.isRenewal
    }
    execution.held = zip(held, goes).filter { !$0.1 }.map(\.0)
    return zip(held, goes).filter(\.1).map { question, _ in
      .send(exchange.connection, .request(question.request.request(id: question.id)))
    }
  }

  /// The device decides for itself; nil where it cannot store what it decided.
  mutating func decide(
    _ request: AuthorityRequest, id: UInt64, at occasion: Occasion, store: some ReplicaStore
  ) -> AuthorityAnswer? {
    guard var authority = execution.authority else { return nil }
    let outcome = authority.answer(
      request, id: id,
      from: LeaseHolder(device: replica.record.device, store: replica.record.store),
      in: replica.workspace, uptime: occasion.now, wall: time(at: occasion))
    if !outcome.changes.isEmpty {
      var transaction = StoreTransaction(record: replica.record)
      transaction.authority = outcome.changes
      do {
        try store.commit(transaction)
      } catch {
        return nil
      }
    }
    execution.authority = authority
    tasks.verdicts += outcome.changes.verdicts.map { ($0.request, $0.given) }
    return outcome.answer
  }

  private mutating func takeResponses(
    at occasion: Occasion, store: some ReplicaStore
  ) -> [Action] {
    let responses = execution.responses
    execution.responses = []
    var actions: [Action] = []
    for response in responses {
      if let question = execution.questions[response.id] {
        actions += take(response, to: question)
        continue
      }
      if let taken = takeTaskResponse(response, at: occasion, store: store) {
        actions += taken
        continue
      }
      guard let question = execution.executor?.question(response.id) else { continue }
      // An answer that breaks the specification is as good as none.
      let answer = (try? AuthorityAnswer(response, to: question)) ?? .unavailable
      actions += executing(at: occasion, store: store) { executor, workspace, occasion in
        executor.answered(response.id, answer, in: workspace, at: occasion)
      }
    }
    return actions
  }
}

extension AuthorityRequest {
  /// Whether it asks for a lease to go on that the asker has or had.
  fileprivate var isRenewal: Bool {
    if case .lease(_, let token) = self { token != 0 } else { false }
  }
}
