/// Whether a session's agent has work: derived from the reports of agents and their hooks, on the
/// device on which the agent runs, and not replicated.
public struct BusyState: Hashable, Sendable {
  /// The agent works on a message: its response streams (S1-15).
  public private(set) var isProcessing = false
  /// The tools that run, by the agent's ids for them; they overlap (S0-36).
  public private(set) var runningTools: Set<String> = []
  /// The approvals that the agent waits for, by its ids for them; tools that run side by side ask
  /// side by side. An agent that names none asks for one at a time, under the empty id.
  public private(set) var pendingApprovals: Set<String> = []

  /// An agent of which nothing was heard.
  public init() {}

  /// Whether at least one tool runs (S1-16).
  public var isToolExecuting: Bool { !runningTools.isEmpty }

  /// Whether the agent waits for an approval (S1-17).
  public var isPendingApproval: Bool { !pendingApprovals.isEmpty }

  /// Whether a message that is sent now has to wait (S0-20).
  public var isBusy: Bool { isProcessing || isToolExecuting || isPendingApproval }

  /// Both at once: a turn here, and an agent that a user works with, in one session.
  public func union(_ other: BusyState) -> BusyState {
    var both = self
    both.isProcessing = isProcessing || other.isProcessing
    for tool in other.runningTools { BusyState.keep(tool, in: &both.runningTools) }
    for request in other.pendingApprovals { BusyState.keep(request, in: &both.pendingApprovals) }
    return both
  }

  /// Takes a signal in. Ids beyond `Limits.runningToolsMax` are not kept: the agent is busy with
  /// or without them, and `turnEnded` forgets them all.
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
      // Whatever ran in the turn ended with it; an agent that lost an event is not busy for ever.
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
  /// The approval was answered, either way (S0-38).
  case approvalAnswered(id: String = "")
  /// The turn is complete (S0-39).
  case turnEnded
  /// The turn failed (S0-40).
  case turnFailed(message: String)
  /// The agent waits for its user, or has ended, and its work has ended, too: its user may have
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

/// The activity of a session's agent, as far as it was reported on this device.
public struct SessionActivity: Hashable, Sendable {
  /// The session.
  public var session: SessionID
  /// Whether it has work.
  public var busy: BusyState
  /// The failure that no user has handled yet: an `executionFailed` (S0-5, S0-65).
  public var currentError: QueueError?

  /// An agent of which nothing was heard.
  public init(session: SessionID) {
    self.session = session
    busy = BusyState()
  }

  /// Takes a signal in. A turn that begins or ends well ends the error of the one before.
  public mutating func receive(_ signal: AgentSignal) {
    busy.receive(signal)
    switch signal {
    case .turnStarted, .turnEnded: currentError = nil
    case .turnFailed(let message): currentError = .executionFailed(message: message)
    case .toolStarted, .toolEnded, .approvalRequested, .approvalAnswered, .wentIdle: break
    }
  }
}
