/// The work of a session's agent and its progress (S4-26). Elapsed time is derived.
public struct TaskState: Hashable, Sendable {
  /// The session.
  public var sessionId: SessionID
  /// Its project path; empty if none was given.
  public var projectPath: String
  /// The status of the agent.
  public var status: TaskStatus
  /// When the task began, in milliseconds since 1970 on the host's clock.
  public var startTime: Int64
  /// When the host last wrote it, in milliseconds since 1970 on the host's clock.
  public var lastUpdateTime: Int64
  /// The progress that the agent reports.
  public var todoProgress: TodoProgress?
  /// The outcome of the latest request that ended; nil before the first one ends, and from the next
  /// request on.
  public var outcome: AskOutcome?
  /// The open requests other than the one in `status`, in the order of asking; at most
  /// `Limits.taskRequestsMax - 1`. Each can be answered.
  public var alsoAwaits: [TaskRequest]
  /// How many further requests wait until there is room for them.
  public var moreRequests: Int

  /// Creates a value from its parts.
  public init(
    sessionId: SessionID, projectPath: String = "", status: TaskStatus, startTime: Int64,
    lastUpdateTime: Int64, todoProgress: TodoProgress? = nil, outcome: AskOutcome? = nil,
    alsoAwaits: [TaskRequest] = [], moreRequests: Int = 0
  ) {
    self.sessionId = sessionId
    self.projectPath = projectPath
    self.status = status
    self.startTime = startTime
    self.lastUpdateTime = lastUpdateTime
    self.todoProgress = todoProgress
    self.outcome = outcome
    self.alsoAwaits = alsoAwaits
    self.moreRequests = moreRequests
  }

  package init(_ text: TaskText, session: SessionID, project: String) {
    self.init(
      sessionId: session, projectPath: project, status: text.status, startTime: text.start,
      lastUpdateTime: text.milliseconds, todoProgress: text.todo, outcome: text.outcome,
      alsoAwaits: text.alsoAwaits, moreRequests: text.moreRequests)
  }

  /// All requests that it waits for and that can be answered, in the order of asking.
  public var requests: [TaskRequest] { status.requests(beside: alsoAwaits) }

  /// The open request with that name; nil if there is none.
  public func request(_ id: RequestID) -> TaskRequest? {
    // This runs for every task after every change, and most tasks wait for nothing.
    guard let first = status.request else { return nil }
    return first.id == id ? first : alsoAwaits.first { $0.id == id }
  }

  /// Whether it waits for the request.
  public func awaits(_ id: RequestID) -> Bool { request(id) != nil }

  /// The command that shows it.
  package var showCommand: String { ShellLine.named("task show", sessionId) }
}

/// The progress of an agent according to its own list (S4-27).
public struct TodoProgress: Hashable, Sendable {
  /// How many steps are done.
  public var completed: Int
  /// How many steps there are.
  public var total: Int
  /// The step that the agent works on.
  public var currentTask: String?

  /// Creates a value from its parts; numbers below 0 count as 0.
  public init(completed: Int, total: Int, currentTask: String? = nil) {
    self.completed = max(completed, 0)
    self.total = max(total, 0)
    self.currentTask = currentTask
  }
}

/// The outcome of a request that a task awaited.
public struct AskOutcome: Hashable, Sendable {
  /// The request.
  public var request: RequestID
  /// Its outcome.
  public var ending: Ending
  /// The device that answered; nil if none did.
  public var device: DeviceID?

  /// The ways a request ends; the raw values are those of the register.
  public enum Ending: String, Hashable, Sendable, CaseIterable {
    /// A device allowed it.
    case allowed
    /// A device denied it.
    case denied
    /// A device answered the question.
    case answered
    /// A device cancelled the question.
    case cancelled
    /// It was not answered in time.
    case expired
    /// The agent continued by itself, or ended.
    case withdrawn

    /// Whether a device caused it.
    public var isByDevice: Bool { self != .expired && self != .withdrawn }
  }

  /// Creates an outcome; nil if the device is missing, or present although none answered.
  public init?(request: RequestID, ending: Ending, device: DeviceID? = nil) {
    guard ending.isByDevice == (device != nil) else { return nil }
    self.request = request
    self.ending = ending
    self.device = device
  }
}

/// A host's report about its agent, as the command that writes it.
public struct TaskReport: Hashable, Sendable {
  /// The session.
  public var session: SessionID
  /// The status of the agent now.
  public var status: TaskStatus
  /// The time, in milliseconds since 1970.
  public var milliseconds: Int64
  /// The progress; nil keeps the reported one of the same task.
  public var todoProgress: TodoProgress?
  /// The outcome of an awaited request; nil keeps the reported one.
  public var outcome: AskOutcome?
  /// The open requests other than the one in `status`; ignored if that has none.
  public var alsoAwaits: [TaskRequest]
  /// How many requests wait after those.
  public var moreRequests: Int
  /// The token of the session's lease, if the writer holds it; nil for the greatest known token.
  public var token: UInt64?

  /// Creates a value from its parts.
  public init(
    session: SessionID, status: TaskStatus, milliseconds: Int64,
    todoProgress: TodoProgress? = nil, outcome: AskOutcome? = nil,
    alsoAwaits: [TaskRequest] = [], moreRequests: Int = 0, token: UInt64? = nil
  ) {
    self.session = session
    self.status = status
    self.milliseconds = milliseconds
    self.todoProgress = todoProgress
    self.outcome = outcome
    self.alsoAwaits = alsoAwaits
    self.moreRequests = moreRequests
    self.token = token
  }

  /// All requests that it waits for, in the order of asking.
  package var requests: [TaskRequest] { status.requests(beside: alsoAwaits) }
}

extension TodoProgress: Codable {}
extension AskOutcome.Ending: Codable {}
