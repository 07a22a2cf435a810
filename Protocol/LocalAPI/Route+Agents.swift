/// The requests that an agent's turn may send to the daemon that started it; everything else is
/// reserved for the user.
extension Route {
  package enum AgentAccess: Hashable, Sendable {
    /// Never.
    case refused
    /// Always: the answer does not mention sessions, or the handler omits other sessions.
    case free
    /// In the agent's own session; in others, too, if `agentMessages` is `any`.
    case session
    /// Only in the agent's own session, whatever the settings are: it speaks for the agent.
    case ownSession
    /// Reads of messages in these sessions.
    case message
    /// Changes to messages that agents queued in them.
    case agentsMessage
    /// The handler checks the named elements, by the same rules.
    case body
    /// If `agentMessages` is `any`, because the answer concerns all sessions.
    case everywhere
  }

  package var agentAccess: AgentAccess { Route.agentAccesses[id] ?? .refused }

  private static let agentAccesses: [String: AgentAccess] = [
    "describe": .free, "readStatus": .free,
    "readSession": .session, "listQueue": .session, "send": .body, "pause": .session,
    "readTask": .session, "readActivity": .session,
    "readMessage": .message, "edit": .agentsMessage, "setPriority": .agentsMessage,
    "setLater": .agentsMessage, "setNeeds": .agentsMessage,
    "cancel": .body, "move": .body,
    "ask": .ownSession, "setProgress": .ownSession, "setPrompt": .ownSession,
    "signal": .ownSession,
    "listSessions": .body, "listQueues": .body, "listThreads": .everywhere,
  ]
}
