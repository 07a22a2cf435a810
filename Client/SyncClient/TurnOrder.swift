import ClientCore
public import QueueModel

/// A prompt to hand to an agent, exactly once.
public struct TurnStart: Hashable, Sendable {
  /// The session of its queue.
  public var session: SessionID
  /// The message.
  public var message: MessageID
  /// The number of the attempt, from 1.
  public var attempt: UInt16
  /// The prompt, exactly as it was granted.
  public var prompt: String
  /// The message's own project, else the session's.
  public var project: String?
  /// The message's files, by name.
  public var attachments: [Attachment]
  /// The stored data about the session's agents; nil if it cannot be read.
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

/// This device's stored data about a session's agents.
public struct AgentMemory: Hashable, Sendable {
  /// The session's own agent; nil if it is the device's.
  public var kind: AgentKind?
  /// The agents' own ids of the session's conversation.
  public var conversations: [AgentKind: String]
}

/// An order to the code that runs agents.
public enum TurnOrder: Hashable, Sendable {
  /// Hand the prompt to the session's agent, and report its result with `ClientExecution.ended`.
  /// The start is recorded on the disk.
  case start(TurnStart)
  /// Stop the agent at work on this attempt, and report its end: `notStarted` if it had not begun.
  case stop(SessionID, attempt: UInt16)
  /// Ask, on all devices, whether the session may run here.
  case askConsent(SessionID)
  /// Stop asking: the session may run here, or must not run here any longer.
  case consentSettled(SessionID)
  /// Nothing runs, and nothing will start.
  case drained
}
