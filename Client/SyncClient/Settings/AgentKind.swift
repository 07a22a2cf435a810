public import QueueModel

/// The agent for the messages of the sessions whose host is this device.
public enum AgentKind: String, Hashable, Sendable, CaseIterable, Codable {
  /// No agent: messages wait.
  case none
  /// The command of the setting `command`.
  case command
  /// Claude Code, a process for each message.
  case claude
  /// Codex, a process for each message.
  case codex
  /// opencode's server.
  case opencode
  /// The command of the setting `command`, which speaks the Agent Client Protocol.
  case acp
  /// Agents that a user works with: their Stop hooks ask for the next prompt.
  case hooks

  /// When the messages of a session with this agent may start.
  public var startMode: StartMode {
    switch self {
    case .none: .off
    case .hooks: .gated
    case .command, .claude, .codex, .opencode, .acp: .free
    }
  }
}

/// The policy for which of the assigned sessions this device runs.
public enum HostPolicy: String, Hashable, Sendable, CaseIterable, Codable {
  /// Sessions that a user at this device allowed. A session that another device assigns waits here.
  case own
  /// The same, but a waiting session asks on all devices. A user at this device allows it.
  case ask
  /// All, whichever device assigned them.
  case any
}

/// The sessions in which agents on this device may queue messages.
public enum AgentMessagePolicy: String, Hashable, Sendable, CaseIterable, Codable {
  /// In their own session.
  case own
  /// In other sessions, too, with a user's permission each time.
  case ask
  /// In all sessions; they may also read these.
  case any
}

/// How agents run on this device.
public struct AgentSettings: Hashable, Sendable {
  /// The agent for messages.
  public var kind: AgentKind
  /// The command, for `AgentKind.command`.
  public var command: String?
  /// The folders in or below which projects may be; empty if they may be anywhere. Any device of
  /// the workspace can name a project, so this limits the folders in which work starts here.
  public var projectRoots: [String]
  /// The policy for sessions that are assigned to this device.
  public var hosts: HostPolicy
  /// The sessions in which agents on this device may queue messages.
  public var messages: AgentMessagePolicy
  /// The agents that a browser may give to a session.
  public var browserKinds: Set<AgentKind>
  /// After this many seconds, an agent is stopped and its message has failed; nil for no limit.
  public var timeoutSeconds: Int?
  /// The policy for an attempt with an unknown outcome.
  public var onUnknown: UnknownPolicy
  /// How many seconds agents may continue after the daemon received the signal to stop.
  public var graceSeconds: Int

  /// Whether the device's agent can be started: an agent that speaks the Agent Client Protocol
  /// needs a command.
  package var isComplete: Bool { kind != .none && !(kind == .acp && command == nil) }

  /// Creates settings.
  public init(
    kind: AgentKind = .none, command: String? = nil, projectRoots: [String] = [],
    hosts: HostPolicy = .own, messages: AgentMessagePolicy = .own,
    browserKinds: Set<AgentKind> = [], timeoutSeconds: Int? = nil,
    onUnknown: UnknownPolicy = .ask, graceSeconds: Int = SettingName.agentGraceDefault
  ) {
    self.kind = kind
    self.command = command
    self.projectRoots = projectRoots
    self.hosts = hosts
    self.messages = messages
    self.browserKinds = browserKinds
    self.timeoutSeconds = timeoutSeconds
    self.onUnknown = onUnknown
    self.graceSeconds = graceSeconds.clamped(to: SettingName.agentGraceRange)
  }
}
