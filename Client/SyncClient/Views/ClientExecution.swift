import ClientCore
import ClientStore
public import QueueModel
import WireProtocol

/// Running messages: this device does, for the sessions whose host it is.
///
/// The authority, the server or the device itself where it has none, lets every attempt out once;
/// what is let out is stored as an intent before `start` comes. So an attempt starts at most once,
/// and after a crash it is known which ones may have started.
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

  /// What earlier runs of the program handed to agents without learning what became of it.
  public var unfinished: [TurnStart] {
    let workspace = client.engine.latest.workspace
    return client.loadedExecution.intents.map { TurnStart($0, in: workspace, memory: nil) }
  }

  /// Runs messages from now on, until the client closes: the caller does what the orders say.
  ///
  /// - Parameters:
  ///   - settings: for all of that time; nil: as the device is set, and at once whenever it is set anew.
  ///   - deadAgents: those of `unfinished` whose agents are known to have died; of the others nobody
  ///     knows anything.
  /// - Throws: `.closed`, also if somebody runs messages already.
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

  /// Names the device that runs a session; nil: none does. Where it is this one, that is the consent to
  /// run the session here, and a change to another one takes the consent back. The disk has both when the
  /// call returns.
  ///
  /// - Throws: as `QueueClient.perform`; nothing changed then.
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

  /// Whether the agent of a session waits for a prompt changed; a person's own agent gets messages only
  /// while it does.
  ///
  /// - Parameter isOpen: tells whether it waits, when the turn of this change comes: several may be told
  ///   side by side.
  public func gateChanged(of session: SessionID, isOpen: @Sendable () -> Bool) async {
    await client.engine.note { core, context, store in
      core.sessionGateChanged(session, isOpen: isOpen(), at: context, store: store)
    }
  }

  /// The sessions that would run here if a person at this device let them.
  public func unconsented() async -> [SessionID] {
    await client.engine.read { $0.unconsented }
  }

  /// Why nothing starts here though messages wait, by session; without those whose queue itself says it.
  ///
  /// - Parameter sessions: those that are asked for; nil: all.
  public func obstacles(of sessions: [SessionID]? = nil) async -> [SessionID: StartObstacle] {
    await client.engine.read { [engine = client.engine] core in
      core.startObstacles(of: sessions, at: engine.context())
    }
  }

  /// Begins nothing any more; `drained` comes when nothing runs.
  public func drain() async {
    await client.engine.note { core, context, store in
      core.drainRequested(at: context, store: store)
    }
  }

  /// Stops what still runs.
  public func endDrainGrace() async {
    await client.engine.note { core, context, store in
      core.drainGraceEnded(at: context, store: store)
    }
  }

  /// Stops the agent of a session on this device; its message counts as cancelled.
  ///
  /// - Returns: whether one was at work here.
  public func stopAgent(of session: SessionID) async throws(ClientError) -> Bool {
    try await client.engine.submit { core, context, store throws(Replica.Fault) in
      let actions = core.agentStopRequested(session, at: context, store: store)
      return (actions != nil, actions ?? [])
    }
  }

  /// What agents work on here, by session.
  public func running() async -> [SessionID: MessageID] {
    await client.engine.read { $0.running.mapValues(\.message) }
  }

  /// What this device ran since it was opened.
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

  /// Remembers it.
  public func setConversation(
    _ conversation: String, of session: SessionID, with agent: String
  ) async throws(ClientError) {
    try await client.engine.withStore { store throws(StoreError) in
      try store.keep(conversation: conversation, of: session, with: agent)
    }
  }
}

extension DeviceSettings {
  /// How the device runs messages.
  var execution: ExecutionSettings {
    ExecutionSettings(
      isEnabled: agents.kind != .none, onUnknown: agents.onUnknown,
      skipsFailed: onFailure == .proceed, isGated: agents.kind == .hooks,
      needsConsent: agents.hosts != .any, asksForConsent: agents.hosts == .ask)
  }
}
