/// Whether a session's agent has work, derived from the reports of agents and their hooks. It
/// exists on the device on which the agent runs, and is not replicated.
public struct BusyState: Hashable, Sendable {
  /// The agent works on a message: its response streams (S1-15).
  public private(set) var isProcessing = false
  /// The tools that run, by the agent's ids for them; they overlap (S0-36).
  public private(set) var runningTools: Set<String> = []
  /// The approvals that the agent waits for, by its ids for them. Parallel tools ask in parallel.
  /// An agent that gives no ids asks for one approval at a time, under the empty id.
  public private(set) var pendingApprovals: Set<String> = []

  /// The state of an agent that has reported nothing.
  public init() {}

  /// Whether at least one tool runs (S1-16).
  public var isToolExecuting: Bool { !runningTools.isEmpty }

  /// Whether the agent waits for an approval (S1-17).
  public var isPendingApproval: Bool { !pendingApprovals.isEmpty }

  /// Whether a message that is sent now must wait (S0-20).
  public var isBusy: Bool { isProcessing || isToolExecuting || isPendingApproval }

  /// Combines two states of one session: of a turn here, and of an agent at a user's prompt.
  public func union(_ other: BusyState) -> BusyState {
    var both = self
    both.isProcessing = isProcessing || other.isProcessing
    for tool in other.runningTools { BusyState.keep(tool, in: &both.runningTools) }
    for request in other.pendingApprovals { BusyState.keep(request, in: &both.pendingApprovals) }
    return both
  }

  /// Applies a signal. Ids beyond `Limits.runningToolsMax` are not kept: the agent is busy in any
  /// case, and `turnEnded` removes all ids.
  public mutating func receive(_ signal: AgentSignal) {
    switch signal {
    case .turnStarted:
      isProcessing = true
    case .toolStarted(let id):
      BusyState.keep(id, in: &runningTools)
    case .toolEnded(let id):
      runningTools.remove(id)
    case .approvalRequested(let id):
      BusyState.keep(id, in: &pendingApprovals)
    case .approvalAnswered(let id):
      pendingApprovals.remove(id)
    case .turnEnded, .turnFailed, .wentIdle:
      // Everything that ran in the turn ended with it, so an agent whose event was lost does not
      // stay busy.
      self = BusyState()
    }
  }

  private static func keep(_ id: String, in ids: inout Set<String>) {
    if ids.count < Limits.runningToolsMax { ids.insert(id) }
  }
}

/// A report of an agent or its hook about a session.
public enum AgentSignal: Hashable, Sendable {
  /// The agent began to work on a message.
  case turnStarted
  /// A tool began (S0-35).
  case toolStarted(id: String)
  /// A tool is done (S0-36).
  case toolEnded(id: String)
  /// The agent asks for an approval (S0-37); the empty id if it names none.
  case approvalRequested(id: String = "")
  /// The approval was allowed or denied (S0-38).
  case approvalAnswered(id: String = "")
  /// The turn is complete (S0-39).
  case turnEnded
  /// The turn failed (S0-40).
  case turnFailed(message: String)
  /// The agent waits for its user, or has ended, and its work has ended, too; its user may have
  /// stopped it. Has no effect if the end of the turn was reported.
  case wentIdle

  /// Whether it ends a turn.
  package var endsTurn: Bool {
    switch self {
    case .turnEnded, .turnFailed, .wentIdle: true
    case .turnStarted, .toolStarted, .toolEnded, .approvalRequested, .approvalAnswered: false
    }
  }
}

/// The activity of a session's agent, as it was reported on this device.
public struct SessionActivity: Hashable, Sendable {
  /// The session.
  public var session: SessionID
  /// Whether it has work.
  public var busy: BusyState
  /// The failure that no user has handled yet: an `executionFailed` (S0-5, S0-65).
  public var currentError: QueueError?

  /// The state of an agent that has reported nothing.
  public init(session: SessionID) {
    self.session = session
    busy = BusyState()
  }

  /// Applies a signal. A turn that begins or succeeds clears the error of the previous turn.
  public mutating func receive(_ signal: AgentSignal) {
    busy.receive(signal)
    switch signal {
    case .turnStarted, .turnEnded: currentError = nil
    case .turnFailed(let message): currentError = .executionFailed(message: message)
    case .toolStarted, .toolEnded, .approvalRequested, .approvalAnswered, .wentIdle: break
    }
  }
}
