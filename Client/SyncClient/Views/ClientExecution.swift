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
  /// - Parameter deadAgents: those of `unfinished` whose agents are known to have died;
  ///   of the others nobody knows anything.
  /// - Throws: `.closed`, also where somebody runs messages already.
  public func start(
    _ settings: ExecutionSettings, deadAgents: Set<MessageID> = []
  ) async throws(ClientError) -> AsyncStream<TurnOrder> {
    let loaded = client.loadedExecution
    let orders = await client.engine.beginExecuting { core, context, store in
      core.executionStarted(
        settings, loaded: loaded, deadAgents: deadAgents, at: context, store: store)
    }
    guard let orders else { throw .closed }
    return orders
  }

  /// Takes other settings for what begins from now on.
  public func apply(_ settings: ExecutionSettings) async {
    await client.engine.note { core, context, store in
      core.executionSettingsChanged(settings, at: context, store: store)
    }
  }

  /// An attempt ended.
  public func ended(_ start: TurnStart, with result: TurnResult) async {
    await client.engine.note { core, context, store in
      core.agentEnded(
        start.session, attempt: start.attempt, with: result, at: context, store: store)
    }
  }

  /// The agent of a session waits for a prompt from now on, or not any more; where the settings have
  /// its messages start only then.
  public func setGate(of session: SessionID, isOpen: Bool) async {
    await client.engine.note { core, context, store in
      core.sessionGateChanged(session, isOpen: isOpen, at: context, store: store)
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

  /// Remembers it.
  public func setConversation(
    _ conversation: String, of session: SessionID, with agent: String
  ) async throws(ClientError) {
    try await client.engine.withStore { store throws(StoreError) in
      try store.keep(conversation: conversation, of: session, with: agent)
    }
  }

  /// The sessions that somebody at this device let it run.
  ///
  /// - Throws: `.queue(.persistenceFailed)` where they cannot be read, `.closed`.
  public func consents() async throws(ClientError) -> Set<SessionID> {
    try await client.engine.withStore { store throws(StoreError) in
      try store.consents()
    }
  }

  /// Lets a session run here where this device is or becomes its host, or no more. Holds for what
  /// starts from now on, once `apply` was told.
  ///
  /// - Throws: `.queue(.persistenceFailed)` where it cannot be kept, `.closed`.
  public func setConsent(_ isGiven: Bool, to session: SessionID) async throws(ClientError) {
    try await client.engine.withStore { store throws(StoreError) in
      try store.setConsent(isGiven, to: session)
    }
  }
}
