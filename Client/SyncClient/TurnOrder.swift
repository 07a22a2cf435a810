import ClientCore
import ClientStore
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
  /// What is kept of the session's agents; nil where it cannot be read.
  public var memory: AgentMemory?

  init(_ order: StartOrder, in workspace: Workspace, memory: AgentMemory?) {
    session = order.session
    message = order.message
    attempt = order.attempt
    prompt = order.text
    (project, attachments) = workspace.surroundings(of: order.message, in: order.session)
    self.memory = memory
  }

  init(_ order: StartOrder, in workspace: Workspace, store: ClientStore) {
    self.init(order, in: workspace, memory: AgentMemory(of: order.session, in: store))
  }
}

/// What this device keeps of a session's agents.
public struct AgentMemory: Hashable, Sendable {
  /// The session's own agent; nil where it is the device's.
  public var kind: AgentKind?
  /// The agents' own ids of the session's conversation.
  public var conversations: [AgentKind: String]
}

/// What whoever runs agents has to do.
public enum TurnOrder: Hashable, Sendable {
  /// Hand the prompt to the session's agent, and say with `executionEnded` what became of it. That it
  /// starts is on the disk.
  case start(TurnStart)
  /// Stop the agent at work on this attempt, and say that it ended: `notStarted` where it had not begun.
  case stop(SessionID, attempt: UInt16)
  /// Nothing runs any more, and nothing will begin.
  case drained
}

/// How an attempt ended.
public enum ExecutionResult: Hashable, Sendable {
  /// The agent did it; a line of what.
  case succeeded(summary: String)
  /// The agent says, or its exit code does, that it did not.
  case failed(String)
  /// The agent's process died, or ended without a word.
  case died(String)
  /// The agent cannot work before a time, in milliseconds since 1970.
  case tryLater(Int64, reason: String)
  /// The agent cannot work for so long, in milliseconds.
  case tryAfter(Int64, reason: String)
  /// There was no agent that could have got the prompt.
  case notStarted(String)

  var core: RunResult {
    switch self {
    case .succeeded(let summary): .succeeded(summary: summary)
    case .failed(let error): .failed(error)
    case .died(let how): .died(how)
    case .tryLater(let time, let reason): .tryLater(time, reason: reason)
    case .tryAfter(let wait, let reason): .tryAfter(wait, reason: reason)
    case .notStarted(let reason): .notStarted(reason)
    }
  }
}

/// What to do with an attempt of which nobody knows what became of it.
public enum UnknownPolicy: String, Hashable, Sendable, CaseIterable, Codable {
  /// A person decides.
  case ask
  /// Go on without it.
  case skip
  /// Try it again, at the risk that the agent did it already.
  case retry

  var core: ExecutorSettings.UnknownPolicy {
    switch self {
    case .ask: .ask
    case .skip: .skip
    case .retry: .retry
    }
  }
}

/// How a device runs messages.
public struct ExecutionSettings: Hashable, Sendable {
  /// Whether there is an agent; without one nothing is claimed.
  public var isEnabled: Bool
  /// What to do with an attempt of which nobody knows what became of it.
  public var onUnknown: UnknownPolicy
  /// Whether the queue goes on without a message that failed.
  public var skipsFailed: Bool

  /// Whether messages start only while their agent waits for them: see `setGate`.
  public var isGated: Bool
  /// Sessions whose agent is another than the device's.
  public var agents: [SessionID: AgentKind]

  /// Puts the settings together.
  public init(
    isEnabled: Bool, onUnknown: UnknownPolicy = .ask, skipsFailed: Bool = false,
    isGated: Bool = false, agents: [SessionID: AgentKind] = [:]
  ) {
    self.isEnabled = isEnabled
    self.isGated = isGated
    self.agents = agents
    self.onUnknown = onUnknown
    self.skipsFailed = skipsFailed
  }

  var core: ExecutorSettings {
    var settings = ExecutorSettings()
    settings.isEnabled = isEnabled
    settings.isGated = isGated
    settings.modes = agents.mapValues { kind in
      switch kind {
      case .none: .off
      case .hooks: .gated
      case .command, .claude, .codex, .opencode: .free
      }
    }
    settings.onUnknown = onUnknown.core
    settings.skipsFailed = skipsFailed
    return settings
  }
}
