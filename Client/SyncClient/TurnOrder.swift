import ClientCore
public import QueueModel

/// A prompt that an agent is to get, exactly this once.
public struct TurnStart: Hashable, Sendable {
  /// Whose queue it stood in.
  public var session: SessionID
  /// The message.
  public var message: MessageID
  /// Which attempt it is, from 1.
  public var attempt: UInt16
  /// The prompt, exactly as it was let out.
  public var prompt: String
  /// The message's own project, else the session's.
  public var project: String?
  /// The message's files, by name.
  public var attachments: [Attachment]
  /// What is kept of the session's agents; nil if it cannot be read.
  public var memory: AgentMemory?

  init(_ order: StartOrder, in workspace: Workspace, memory: AgentMemory?) {
    session = order.session
    message = order.message
    attempt = order.attempt
    prompt = order.text
    (project, attachments) = workspace.surroundings(of: order.message, in: order.session)
    self.memory = memory
  }
}

/// What this device keeps of a session's agents.
public struct AgentMemory: Hashable, Sendable {
  /// The session's own agent; nil if it is the device's.
  public var kind: AgentKind?
  /// The agents' own ids of the session's conversation.
  public var conversations: [AgentKind: String]
}

/// What whoever runs agents has to do.
public enum TurnOrder: Hashable, Sendable {
  /// Hand the prompt to the session's agent, and say with `ClientExecution.ended` what became of it. That it
  /// starts is on the disk.
  case start(TurnStart)
  /// Stop the agent at work on this attempt, and say that it ended: `notStarted` if it had not
  /// begun.
  case stop(SessionID, attempt: UInt16)
  /// Ask, on all devices, whether the session may run here.
  case askConsent(SessionID)
  /// Ask no more: it may, or it is no longer to run here.
  case consentSettled(SessionID)
  /// Nothing runs any more, and nothing will begin.
  case drained
}
