import ClientCore
import ClientStore
public import QueueModel
import WireProtocol

/// The execution of messages: this device runs those of the sessions whose host it is.
///
/// The authority is the server, or the device itself if it has none. It grants every attempt once,
/// and a granted attempt is stored as an intent before `start` arrives. So an attempt starts at
/// most once, and after a crash the device knows which ones may have started.
///
/// ```swift
/// for await order in try await client.execution.start(ExecutionSettings(isEnabled: true)) {
///   switch order {
///   case .start(let turn): await client.execution.ended(turn, with: await run(turn))
///   case .stop(let session, _): stop(session)
///   case .drained: return
///   }
/// }
/// ```
public struct ClientExecution: Sendable {
  let client: QueueClient

  /// Prompts that earlier runs of the program handed to agents without learning the outcome.
  public var unfinished: [TurnStart] {
    let workspace = client.engine.latest.workspace
    return client.loadedExecution.intents.map { TurnStart($0, in: workspace, memory: nil) }
  }

  /// Runs messages from now on, until the client closes; the caller carries out the orders.
  ///
  /// - Parameters:
  ///   - settings: for all of that time; nil for the device's settings, including later changes.
  ///   - deadAgents: those of `unfinished` whose agents are known to have died; the state of the
  ///     others is unknown.
  /// - Throws: `.closed`, also if messages are already being run.
  public func start(
    _ settings: ExecutionSettings? = nil, deadAgents: Set<MessageID> = []
  ) async throws(ClientError) -> AsyncStream<TurnOrder> {
    let loaded = client.loadedExecution
    let orders = await client.engine.beginExecuting(isSetOnce: settings != nil) {
      [device = client.device] core, context, store in
      core.executionStarted(
        settings ?? device.settings.execution, loaded: loaded, deadAgents: deadAgents, at: context,
        store: store)
    }
    guard let orders else { throw .closed }
    return orders
  }

  /// Names the device that runs a session; nil for none. Naming this device is the consent to run
  /// the session here; a change to another device withdraws the consent. Both are on the disk when
  /// the call returns.
  ///
  /// - Throws: as `QueueClient.perform`, without changing anything.
  public func setHost(of session: SessionID, to host: DeviceID?) async throws(ClientError) {
    try await client.engine.submit(synchronizes: true) {
      core, context, store throws(Replica.Fault) in
      let (_, actions) = try core.hostChosen(
        session, host, waitsForDisk: false, at: context, store: store)
      return ((), actions)
    }
  }

  /// An attempt ended.
  public func ended(_ start: TurnStart, with result: TurnResult) async {
    await client.engine.note { core, context, store in
      core.agentEnded(
        start.session, attempt: start.attempt, with: result, at: context, store: store)
    }
  }

  /// Reports whether the agent of a session waits for a prompt. A user's own agent gets messages
  /// only while it does.
  ///
  /// - Parameter isOpen: returns whether it waits when this change is processed, because several
  ///   changes may arrive in parallel.
  public func gateChanged(of session: SessionID, isOpen: @Sendable () -> Bool) async {
    await client.engine.note { core, context, store in
      core.sessionGateChanged(session, isOpen: isOpen(), at: context, store: store)
    }
  }

  /// The sessions that would run here with the permission of a user at this device.
  public func unconsented() async -> [SessionID] {
    await client.engine.read { $0.unconsented }
  }

  /// Why nothing starts here although messages wait, by session; without those whose queue itself
  /// shows the reason.
  ///
  /// - Parameter sessions: the requested ones; nil for all.
  public func obstacles(of sessions: [SessionID]? = nil) async -> [SessionID: StartObstacle] {
    await client.engine.read { [engine = client.engine] core in
      core.startObstacles(of: sessions, at: engine.context())
    }
  }

  /// Starts nothing new; `drained` reports when nothing is running.
  public func drain() async {
    await client.engine.note { core, context, store in
      core.drainRequested(at: context, store: store)
    }
  }

  /// Stops everything that still runs.
  public func endDrainGrace() async {
    await client.engine.note { core, context, store in
      core.drainGraceEnded(at: context, store: store)
    }
  }

  /// Stops the agent of a session on this device; its message counts as cancelled.
  ///
  /// - Parameter message: the message that the user means; nil for any.
  /// - Returns: the message that it worked on; nil if no agent worked here, or on another message.
  public func stopAgent(
    of session: SessionID, at message: MessageID? = nil
  ) async throws(ClientError) -> MessageID? {
    try await client.engine.submit { core, context, store throws(Replica.Fault) in
      let running = core.running[session]?.message
      let actions = core.agentStopRequested(
        session, of: message, at: context, store: store)
      return (actions == nil ? nil : running, actions ?? [])
    }
  }

  /// The messages that agents work on here, by session.
  public func running() async -> [SessionID: MessageID] {
    await client.engine.read { $0.running.mapValues(\.message) }
  }

  /// Counts of this device's runs since it was opened.
  public func counts() async -> ExecutionCounts {
    await client.engine.read { $0.executionCounts }
  }

  /// The agent's own id of a session's conversation.
  public func conversation(
    of session: SessionID, with agent: String
  ) async throws(ClientError) -> String? {
    try await client.engine.withStore { store throws(StoreError) in
      try store.conversation(of: session, with: agent)
    }
  }

  /// The ids of one agent's conversations, by session.
  public func conversations(with agent: String) async throws(ClientError) -> [SessionID: String] {
    try await client.engine.withStore { store throws(StoreError) in
      try store.conversations(with: agent)
    }
  }

  /// Stores that id.
  public func setConversation(
    _ conversation: String, of session: SessionID, with agent: String
  ) async throws(ClientError) {
    try await client.engine.withStore { store throws(StoreError) in
      try store.keep(conversation: conversation, of: session, with: agent)
    }
  }
}

extension DeviceSettings {
  /// The settings for running messages.
  var execution: ExecutionSettings {
    ExecutionSettings(
      isEnabled: agents.isComplete, onUnknown: agents.onUnknown,
      skipsFailed: onFailure == .proceed, isGated: agents.kind == .hooks,
      needsConsent: agents.hosts != .any, asksForConsent: agents.hosts == .ask)
  }
}
