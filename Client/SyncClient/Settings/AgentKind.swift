public import QueueModel

/// What runs the messages of the sessions whose host this device is.
public enum AgentKind: String, Hashable, Sendable, CaseIterable, Codable {
  /// Nothing does: messages wait.
  case none
  /// The command that `command` says.
  case command
  /// Claude Code, a process for each message.
  case claude
  /// Codex, a process for each message.
  case codex
  /// opencode's server.
  case opencode
  /// Agents that a person works with: their Stop hooks ask for the next prompt.
  case hooks

  /// When the messages of a session with this agent may start.
  public var startMode: StartMode {
    switch self {
    case .none: .off
    case .hooks: .gated
    case .command, .claude, .codex, .opencode: .free
    }
  }
}

/// Which of the sessions whose host this device is it runs.
public enum HostPolicy: String, Hashable, Sendable, CaseIterable, Codable {
  /// Those that somebody at this device let it run. What another device gives it waits here.
  case own
  /// The same; what waits asks on all devices, and is allowed at this one.
  case ask
  /// All, whoever says so.
  case any
}

/// Where agents that run here may queue messages.
public enum AgentMessagePolicy: String, Hashable, Sendable, CaseIterable, Codable {
  /// In their own session.
  case own
  /// In others too, when a person allows it each time.
  case ask
  /// In all, which they may look at, too.
  case any
}

/// How agents run on this device.
public struct AgentSettings: Hashable, Sendable {
  /// What runs messages.
  public var kind: AgentKind
  /// The command, for `AgentKind.command`.
  public var command: String?
  /// The folders in or below which projects may be; empty if they may be anywhere. Any device of
  /// the workspace names projects: this says which of them work starts in here.
  public var projectRoots: [String]
  /// Whose word makes a session run here.
  public var hosts: HostPolicy
  /// Where agents that run here may queue messages.
  public var messages: AgentMessagePolicy
  /// What a browser may give a session to run it.
  public var browserKinds: Set<AgentKind>
  /// After so many seconds an agent is stopped and its message has failed; nil for never.
  public var timeoutSeconds: Int?
  /// What to do with an attempt of which nobody knows what became of it.
  public var onUnknown: UnknownPolicy
  /// Seconds that agents may go on for when the daemon is told to stop.
  public var graceSeconds: Int

  /// Puts the settings together.
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
