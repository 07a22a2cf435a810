import ClientCore
import ClientStore
public import QueueModel

/// Which agent a session has on this device.
extension ClientExecution {
  /// What stands in the place of an agent's name where a session's choice is kept.
  fileprivate static let choice = ""

  /// The session's own agent, else the device's.
  ///
  /// - Throws: `.queue(.persistenceFailed)` where it cannot be read, `.closed`.
  public func agentKind(of session: SessionID) async throws(ClientError) -> AgentKind {
    let own = try await conversation(of: session, with: ClientExecution.choice)
    return own.flatMap(AgentKind.init) ?? client.settings.agents.kind
  }

  /// Gives a session an agent of its own on this device; nil is the device's. Holds for what starts
  /// from now on, once `apply` was told.
  ///
  /// - Throws: `.queue` with `sessionNotFound` or `persistenceFailed`, `.closed`.
  public func setAgentKind(_ kind: AgentKind?, of session: SessionID) async throws(ClientError) {
    guard client.workspace().session(session) != nil else {
      throw .queue(.sessionNotFound(id: session.rawValue))
    }
    try await setConversation(kind?.rawValue ?? "", of: session, with: ClientExecution.choice)
  }

  /// The sessions that have an agent of their own.
  ///
  /// - Throws: `.queue(.persistenceFailed)` where they cannot be read, `.closed`.
  public func agentKinds() async throws(ClientError) -> [SessionID: AgentKind] {
    let choices = try await client.engine.withStore { store throws(StoreError) in
      try store.conversations(with: ClientExecution.choice)
    }
    var kinds: [SessionID: AgentKind] = [:]
    for (session, name) in choices { kinds[session] = AgentKind(rawValue: name) }
    return kinds
  }
}

extension AgentMemory {
  /// nil where it cannot be read.
  init?(of session: SessionID, in store: ClientStore) {
    guard let kept = try? store.conversations(of: session) else { return nil }
    kind = kept[ClientExecution.choice].flatMap(AgentKind.init)
    conversations = [:]
    for (name, conversation) in kept where !conversation.isEmpty {
      if let agent = AgentKind(rawValue: name) { conversations[agent] = conversation }
    }
  }
}
