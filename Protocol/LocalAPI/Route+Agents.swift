/// What a turn of an agent may ask the daemon that started it: all else is its person's.
extension Route {
  package enum AgentAccess: Hashable, Sendable {
    /// Nothing of it.
    case refused
    /// It tells nothing of sessions, or the handler leaves out what it would tell of others.
    case free
    /// In the agent's own session; in others too if `agentMessages` is `any`.
    case session
    /// In the agent's own session, whatever is set: it speaks for the agent.
    case ownSession
    /// Messages of these sessions, read.
    case message
    /// Messages that agents queued in them, changed.
    case agentsMessage
    /// The handler looks at what is named, by the same rules.
    case body
    /// Where `agentMessages` is `any`: it tells of all sessions.
    case everywhere
  }

  package var agentAccess: AgentAccess { Route.agentAccesses[id] ?? .refused }

  private static let agentAccesses: [String: AgentAccess] = [
    "describe": .free, "readStatus": .free,
    "readSession": .session, "listQueue": .session, "send": .body, "pause": .session,
    "readTask": .session, "readActivity": .session,
    "readMessage": .message, "edit": .agentsMessage, "setPriority": .agentsMessage,
    "cancel": .body, "move": .body,
    "ask": .ownSession, "setProgress": .ownSession, "setPrompt": .ownSession,
    "signal": .ownSession,
    "listSessions": .body, "listThreads": .everywhere,
  ]
}
