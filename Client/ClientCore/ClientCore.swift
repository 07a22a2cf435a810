package import QueueModel
package import SequenceCRDT
package import WireProtocol

/// A device's replica, its connection to the server, and the users of both, as state machines.
///
/// ```text
///                      ┌─▶ ConnectionMachine ◀── perform, ask, ready ──┐
/// events, frames ──▶ ClientCore ─▶ ExecutionMachine ───────────────────┤
///   (the driver)       ├─▶ TaskMachine ────────────────────────────────┤
///                      └─▶ InboxMachine ───────────────────────────────┘
/// ```
///
/// Methods are events; each gets the context and the store, and returns the driver's actions, in
/// order. After every event the driver calls `executionFollowing` and `notificationsFollowing` with
/// the actions. This code neither waits, nor reads a clock, nor draws random numbers.
package struct ClientCore: Sendable {
  /// An action of the driver.
  package enum Action: Hashable, Sendable {
    /// Open a transport to the credentials' server.
    case connect(TransportID)
    case send(TransportID, Frame)
    case ping(TransportID)
    /// Close the transport; no further event of it is expected.
    case close(TransportID)
    /// Notify observers.
    case changed(TouchedQueues)
    /// For the log.
    case report(ConnectionProblem)
    /// For the code that runs the agents.
    case agent(AgentOrder)
    /// The answer to a question of the driver's own.
    case answered(AuthorityAnswer, UInt64)
    /// For the agent that waits for it.
    case decided(RequestID, AskAnswer)
    /// For the user that answered.
    case answerEnded(AnswerRequest, AnswerEnding)
    /// The answer to a question about notifications.
    case replied(InboxAnswer, UInt64)
    /// An event to show to the user; it is stored.
    case notified(DeviceNotification)
    /// The notification must no longer be shown.
    case notificationEnded(OperationID, NotificationEnding)
    /// Something waits for a connection, missing since this time on the device's clock.
    case connectionMissed(since: Int64)
    /// Another device wants a part of the output that agents here wrote; `outputRead` answers.
    case outputWanted(TransportID, OutputQuestion)
  }

  var connection: ConnectionMachine
  var execution = ExecutionMachine()
  var tasks = TaskMachine()
  var inbox = InboxMachine()

  package init(replica: Replica, credentials: Credentials?, queueSizeMax: Int) {
    connection = ConnectionMachine(
      replica: replica, credentials: credentials, queueSizeMax: queueSizeMax)
  }

  /// When `timePassed` must be called; nil: never.
  package var deadline: Int64? {
    [
      connection.deadline, execution.deadline, tasks.deadline, inbox.deadline,
      connection.retention.due, connection.typingDeadline,
    ]
    .compactMap { $0 }.min()
  }

  /// Whether a wait depends on the wall clock, which may be set: `deadline` then moves with every
  /// event.
  package var followsWallClock: Bool {
    execution.executor?.sessions.values.contains { $0.times.wakeAtWall != nil } == true
      || tasks.answers.values.contains { !$0.wasSent }
  }

  /// Checks that no message that may start here is stuck. Call it after every event and its
  /// consequences.
  ///
  /// - Parameter waiting: an earlier value of `sessionsWithWork`, if no queue changed since; nil
  ///   finds it again.
  /// - Throws: `InvariantViolation` naming the first stuck session.
  package func checkLiveness(
    of waiting: [SessionID]? = nil, at context: EventContext
  ) throws(InvariantViolation) {
    try execution.checkLiveness(of: waiting, connection, at: context)
  }

  /// The sessions that `checkLiveness` has to examine; nil if this program runs no agents.
  ///
  /// - Complexity: O(sessions + messages of those whose host this device is).
  package var sessionsWithWork: [SessionID]? {
    execution.executor?.sessionsWithWork(in: replica.workspace)
  }

  /// Checks the machines against themselves and each other. Call it between events.
  ///
  /// - Parameter isQuiet: whether time passed without a store or an action. Then notifications and
  ///   tasks did not change, and are not checked.
  /// - Throws: `InvariantViolation` naming the first contradiction.
  package func checkInvariants(isQuiet: Bool = false) throws(InvariantViolation) {
    try connection.checkInvariants()
    try execution.checkInvariants()
    guard !isQuiet else { return }
    try tasks.checkInvariants()
    try inbox.checkInvariants()
  }
}

// MARK: - Connection

extension ClientCore {
  /// The driver started the sync.
  package mutating func started(at context: EventContext) -> [Action] {
    connection.started(at: context)
  }

  /// The driver stops: closes open transports.
  package mutating func stopped() -> [Action] {
    connection.stopped()
  }

  /// The device was paired, for the first time or again.
  package mutating func paired(
    _ fresh: Credentials, at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    tasks.looksForMerges = true
    return try connection.paired(fresh, at: context, store: store)
  }

  /// The device forgot its server; its queues and unsent changes stay.
  package mutating func unpaired() -> [Action] {
    connection.unpaired()
  }

  /// A user turned sync on or off.
  package mutating func syncSwitched(
    _ isOn: Bool, at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    try connection.syncSwitched(isOn, at: context, store: store)
  }

  /// A user wants to connect now, whatever was refused before.
  package mutating func syncRequested(at context: EventContext) -> [Action] {
    connection.syncRequested(at: context)
  }

  /// A local command.
  ///
  /// - Parameter waitsForDisk: whether it is durable when this returns; see
  ///   `ConnectionMachine.perform`.
  /// - Parameter isApart: whether the server has not answered, whatever the connection seems to be:
  ///   undo and redo are careful then.
  package mutating func commandGiven(
    _ command: Command, recordsUndo: Bool = true, isApart: Bool = false, waitsForDisk: Bool = true,
    at context: EventContext,
    store: some ReplicaStore
  ) throws(Replica.Fault) -> (outcome: CommandOutcome, actions: [Action]) {
    try requireAccess(at: context)
    let before = replica.workspace
    let done = try connection.perform(
      command, recordsUndo: recordsUndo, isApart: isApart, waitsForDisk: waitsForDisk, at: context,
      store: store)
    tasks.noteMerges(by: done.outcome.operations, since: before, connection, at: context)
    return done
  }

  /// The deadline was reached, or something happened before it.
  package mutating func timePassed(at context: EventContext, store: some ReplicaStore) -> [Action] {
    connection.forgetIfDue(at: context, store: store)
      + connection.endTypingIfDue(at: context, store: store)
      + connection.timePassed(at: context, store: store)
  }

  /// Sets how long to keep finished messages, in days; 0 means forever.
  package mutating func retentionChanged(toDays days: Int, at context: EventContext) {
    connection.retentionChanged(toDays: days, at: context)
  }

  /// The transport is open.
  package mutating func connectionOpened(
    _ id: TransportID, at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    connection.connectionOpened(id, at: context, store: store)
  }

  /// The transport could not be opened, broke, or was closed by the server.
  package mutating func connectionLost(
    _ id: TransportID, message: String, at context: EventContext
  ) -> [Action] {
    connection.connectionLost(id, message: message, at: context)
  }

  /// Any sign of life, such as a pong.
  package mutating func connectionHeard(_ id: TransportID, at context: EventContext) {
    connection.connectionHeard(id, at: context)
  }

  /// Frames arrived together. The consequences of each for the agents are performed before the next
  /// frame; for the last frame the driver requests them, as after every event.
  package mutating func framesReceived(
    _ frames: [Frame], on id: TransportID, at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    var actions: [Action] = []
    for (index, frame) in frames.enumerated() {
      var followed = frameReceived(frame, on: id, at: context, store: store)
      if index + 1 < frames.count {
        followed += executionFollowing(followed, at: context, store: store)
      }
      actions += followed
    }
    return actions
  }

  /// A frame arrived.
  package mutating func frameReceived(
    _ frame: Frame, on id: TransportID, at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    do throws(Replica.Fault) {
      switch connection.frameReceived(frame, on: id, at: context, store: store) {
      case .done(let actions):
        return actions
      case .response(let response):
        if let actions = inbox.answered(response) { return actions }
        connection.authority.responses.append(response)
        return []
      case .answered(let notice):
        connection.authority.verdicts.append((notice.request, notice.given))
        tasks.noteVerdict(notice.request, notice.given)
        return try inbox.requestEnded(notice.request, connection, store: store)
      case .notification(let notification):
        return try inbox.received(
          notification, on: id, over: connection, at: context, store: store)
      }
    } catch {
      return connection.failed(error, at: context)
    }
  }
}

// MARK: - Execution

extension ClientCore {
  /// The program runs agents from now on.
  ///
  /// - Parameters:
  ///   - loaded: the store's data about execution.
  ///   - deadAgents: those of its intents whose agents are known to have died.
  package mutating func executionStarted(
    _ settings: ExecutionSettings, loaded: LoadedReplica.Execution, deadAgents: Set<MessageID>,
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    let context = connection.corrected(context)
    let sessions = Set(replica.workspace.sessions().map(\.id))
    let recovery = execution.started(
      settings, loaded: loaded, deadAgents: deadAgents, over: &connection, at: context,
      store: store)
    return recovery
      + tasks.recovered(
        loaded.intents, with: execution, over: &connection, at: context, store: store)
      + execution.decide(over: &connection, at: context, store: store) {
        executor, workspace, context in
        executor.queuesChanged(sessions, in: workspace, at: context)
      }
  }

  /// The settings for agents changed.
  package mutating func executionSettingsChanged(
    _ settings: ExecutionSettings, at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    let sessions = Set(replica.workspace.sessions().map(\.id))
    return deciding(at: context, store: store) { executor, workspace, context in
      executor.settings = settings
      return executor.queuesChanged(sessions, in: workspace, at: context)
    }
  }

  /// An agent ended, or could not be started.
  package mutating func agentEnded(
    _ session: SessionID, attempt: UInt16, with result: TurnResult, at context: EventContext,
    store: some ReplicaStore
  ) -> [Action] {
    deciding(at: context, store: store) { executor, workspace, context in
      executor.ended(session, attempt: attempt, with: result, in: workspace, at: context)
    }
  }

  /// A user works in a session, or has finished.
  package mutating func sessionBusyChanged(
    _ session: SessionID, isBusy: Bool, at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    deciding(at: context, store: store) { executor, workspace, context in
      executor.busyChanged(session, isBusy, in: workspace, at: context)
    }
  }

  /// The agent of a session waits for a prompt, or no longer does.
  package mutating func sessionGateChanged(
    _ session: SessionID, isOpen: Bool, at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    deciding(at: context, store: store) { executor, workspace, context in
      executor.gateChanged(session, isOpen: isOpen, in: workspace, at: context)
    }
  }

  /// A user wants to stop the agent of a session. It is stopped even if the store cannot record
  /// that its message must not be tried again.
  ///
  /// - Returns: nil if none works here.
  package mutating func agentStopRequested(
    _ session: SessionID, of message: MessageID? = nil, at context: EventContext,
    store: some ReplicaStore
  ) -> [Action]? {
    guard let order = running[session], message ?? order.message == order.message else {
      return nil
    }
    let attempt = AttemptName(message: order.message, number: order.attempt)
    let withdrawal = (try? connection.withdraw(attempt, at: context, store: store)) ?? []
    return withdrawal
      + deciding(at: context, store: store) { executor, _, _ in executor.stopRequested(session) }
  }

  /// The program is about to end: nothing new starts. `drained` reports when nothing runs.
  package mutating func drainRequested(
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    execution.drainRequested(over: &connection, at: context, store: store)
  }

  /// The time for a graceful end has passed.
  package mutating func drainGraceEnded(
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    deciding(at: context, store: store) { executor, _, _ in executor.graceEnded() }
  }

  private mutating func deciding(
    at context: EventContext, store: some ReplicaStore,
    _ event: (inout Executor, Workspace, EventContext) -> [Executor.Action]
  ) -> [Action] {
    execution.decide(over: &connection, at: context, store: store, event)
  }

  /// Asks the authority a question for a user, after all earlier changes; the answer comes as
  /// `answered`.
  ///
  /// - Returns: nil if it cannot be asked now.
  /// - Throws: the store's fault if a stop cannot be stored; nothing is asked then.
  package mutating func questionAsked(
    _ request: AuthorityRequest, id: UInt64, at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action]? {
    try connection.questionAsked(request, id: id, at: context, store: store)
  }

  /// The consequences for the agents of an event that led to `actions`. Call it after every event.
  package mutating func executionFollowing(
    _ actions: [Action], at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    let corrected = connection.corrected(context)
    var next = takeResponses(at: corrected, store: store)
    if let id = connection.ready {
      next +=
        execution.connected(id, over: &connection, at: corrected, store: store) ?? []
      next += connection.sendHeld()
    } else if connection.current == nil {
      next += connection.abandonQuestions()
    }
    next += tasks.following(with: execution, over: &connection, at: context, store: store)
    var touched = TouchedQueues()
    for case .changed(let queues) in actions { touched.formUnion(queues) }
    next += execution.following(touched, over: &connection, at: corrected, store: store)
    return next
  }

  private mutating func takeResponses(
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    let responses = connection.authority.responses
    connection.authority.responses = []
    var actions: [Action] = []
    for response in responses {
      if let question = connection.authority.ofPersons[response.id] {
        actions += connection.take(response, to: question, executor: execution.executor)
      } else if let taken = tasks.take(
        response, with: execution, over: &connection, at: context, store: store)
      {
        actions += taken
      } else {
        actions += execution.take(response, over: &connection, at: context, store: store)
      }
    }
    return actions
  }
}

// MARK: - Tasks and answers

extension ClientCore {
  /// Uses the store's answers that were given and not sent.
  package mutating func answersLoaded(_ answers: [PendingAnswer], at context: EventContext) {
    tasks.answersLoaded(answers, at: context)
  }

  /// An agent that works here reported something.
  package mutating func taskHeard(
    _ news: TaskEvent, in session: SessionID, at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    if isViewer { return [] }
    return tasks.heard(
      news, in: session, with: execution, over: &connection, at: context, store: store)
  }

  /// An agent here makes a request; `.decided` comes once.
  package mutating func askRaised(
    _ ask: Ask, at context: EventContext, store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    if isViewer { return [.decided(ask.id, .init(ending: .withdrawn))] }
    return try tasks.askRaised(ask, with: execution, over: &connection, at: context, store: store)
  }

  /// The agent no longer waits for it.
  package mutating func askWithdrawn(
    _ request: RequestID, at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    tasks.askWithdrawn(request, with: execution, over: &connection, at: context, store: store)
  }
}

// MARK: - Notifications

extension ClientCore {
  /// The store's notifications.
  package mutating func notificationsLoaded(_ loaded: LoadedNotifications) {
    inbox.loaded(loaded)
  }

  /// The user dismisses notifications.
  package mutating func notificationsDismissed(
    _ names: [OperationID], store: some ReplicaStore
  ) throws(Replica.Fault) -> [Action] {
    try inbox.dismissed(names, connection, store: store)
  }

  /// A program of this device showed a notification.
  package mutating func notificationAnnounced(
    _ name: OperationID, store: some ReplicaStore
  ) throws(Replica.Fault) {
    try inbox.announced(name, connection, store: store)
  }

  /// Reports how long the user looks at the device; nil: no longer.
  package mutating func visibilityChanged(
    forMilliseconds duration: Int64?, at context: EventContext
  ) -> [Action] {
    inbox.visibilityChanged(forMilliseconds: duration, over: connection, at: context)
  }

  /// The device's notification preferences were set.
  package mutating func notificationPreferencesChanged(
    _ preferences: NotificationPreferences, at context: EventContext
  ) -> [Action] {
    inbox.preferencesChanged(preferences, over: connection, at: context)
  }

  /// Notifies this device's user of the requests and ends of its own agents; the server notifies
  /// all other devices. A driver whose device has a user calls it after every event.
  package mutating func ownNewsFollowing(
    at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    gatherNews(at: context)
    guard !tasks.news.isEmpty else { return [] }
    do throws(Replica.Fault) {
      let actions = try inbox.received(tasks.news, connection, at: context, store: store)
      tasks.news = []
      return actions
    } catch {
      // A full disk stores nothing now; they follow with the next event.
      return []
    }
  }

  /// The consequences for notifications of an event that led to `actions`. Call it after every
  /// event.
  package mutating func notificationsFollowing(
    _ actions: [Action], at context: EventContext, store: some ReplicaStore
  ) -> [Action] {
    inbox.following(
      actions, isRunning: !running.isEmpty, over: connection, at: context, store: store)
  }
}
