import ClientCore
import ClientStore
public import QueueModel

/// The agents of sessions on this device.
extension ClientExecution {
  /// The session's own agent, else the device's.
  public func agentKind(of session: SessionID) async -> AgentKind {
    await agentKinds()[session] ?? client.settings.agents.kind
  }

  /// Gives a session its own agent on this device; nil for the device's. Applies to starts from now
  /// on.
  ///
  /// - Throws: without changing anything, `.queue` with `sessionNotFound` or `persistenceFailed`,
  ///   `.closed`.
  public func setAgentKind(_ kind: AgentKind?, of session: SessionID) async throws(ClientError) {
    let choice = kind.map { AgentChoice(name: $0.rawValue, mode: $0.startMode) }
    try await client.engine.submit { core, context, store throws(Replica.Fault) in
      ((), try core.agentChosen(session, choice, at: context, store: store))
    }
  }

  /// The sessions with their own agent.
  public func agentKinds() async -> [SessionID: AgentKind] {
    await client.engine.read { core in
      core.sessionChoices.agents.compactMapValues { AgentKind(rawValue: $0.name) }
    }
  }
}

extension SessionChoices {
  /// The store's choices. An agent that this version does not know counts as the device's.
  init(_ loaded: LoadedReplica.Execution) {
    self.init(
      consented: loaded.consented,
      agents: loaded.agents.compactMapValues(AgentKind.init).mapValues {
        AgentChoice(name: $0.rawValue, mode: $0.startMode)
      })
  }
}

extension AgentMemory {
  /// Returns nil if it cannot be read.
  init?(of session: SessionID, in store: ClientStore) {
    guard let kept = try? store.conversations(of: session) else { return nil }
    kind = kept[ClientStore.choiceName].flatMap(AgentKind.init)
    conversations = [:]
    for (name, conversation) in kept where !conversation.isEmpty {
      if let agent = AgentKind(rawValue: name) { conversations[agent] = conversation }
    }
  }
}
