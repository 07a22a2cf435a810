/// The task of a Live Activity, in the server's first push. An app declares `extension
/// CospoolTaskAttributes: ActivityAttributes {}`.
public struct CospoolTaskAttributes: Hashable, Sendable {
  /// The part that changes while it is shown.
  public typealias ContentState = ActivityContent

  /// The session whose task it is.
  public var sessionId: String

  /// Creates attributes for the session.
  public init(sessionId: String) {
    self.sessionId = sessionId
  }
}

/// The state of one task, as a Live Activity shows it. The device computes the elapsed time from
/// `startedAt`.
public struct ActivityContent: Hashable, Sendable {
  /// The status of the agent.
  public enum Status: String, Hashable, Sendable, CaseIterable {
    /// The agent has no work.
    case idle
    /// It works.
    case processing
    /// It waits until a user allows or denies an action.
    case awaitingApproval
    /// It waits until a user answers a question.
    case awaitingAnswer
    /// It has ended.
    case completed
    /// It stopped without a result.
    case error
  }

  /// How a task ended.
  public enum Outcome: String, Hashable, Sendable, CaseIterable {
    /// The agent did the requested work.
    case success
    /// It failed.
    case failure
    /// A user stopped it.
    case cancelled
  }

  /// The progress of a task.
  public struct Progress: Hashable, Sendable {
    /// Completed steps.
    public var completed: Int
    /// All steps.
    public var total: Int
    /// The current step; left out with details off.
    public var currentTask: String?

    /// Creates a progress value.
    public init(completed: Int, total: Int, currentTask: String? = nil) {
      self.completed = completed
      self.total = total
      self.currentTask = currentTask
    }
  }

  /// The status of the agent.
  public var status: Status
  /// The current work, in a few words; left out with details off.
  public var operation: String?
  /// The progress, if the agent reports it.
  public var progress: Progress?
  /// When it began, in milliseconds since 1970: a number, so that decoders need no strategy for
  /// dates.
  public var startedAt: Int64
  /// The outcome, if it has ended.
  public var outcome: Outcome?
  /// The request that it waits for, by the name to use in an answer.
  public var requestId: String?
  /// The tool that needs permission; left out with details off.
  public var tool: String?
  /// The question, or the purpose of the tool; left out with details off.
  public var question: String?
  /// Answers to choose from; left out with details off.
  public var options: [String]?

  /// Creates the content.
  public init(
    status: Status, operation: String? = nil, progress: Progress? = nil, startedAt: Int64,
    outcome: Outcome? = nil, requestId: String? = nil, tool: String? = nil,
    question: String? = nil, options: [String]? = nil
  ) {
    self.status = status
    self.operation = operation
    self.progress = progress
    self.startedAt = startedAt
    self.outcome = outcome
    self.requestId = requestId
    self.tool = tool
    self.question = question
    self.options = options
  }
}

/// The fields of a push in addition to `aps`: a notice, or the removal of one.
public struct PushPayload: Hashable, Sendable {
  /// The notice's name, the same in every push of it.
  public var noticeId: String?
  /// The session that it concerns.
  public var sessionId: String?
  /// The request that waits for an answer.
  public var requestId: String?
  /// The link to open: `cospool://…`.
  public var link: String?
  /// More text than the body; left out with details off.
  public var details: String?
  /// When it was made, in milliseconds since 1970.
  public var createdAt: Int64?
  /// When the request expires, in milliseconds since 1970.
  public var expiresAt: Int64?
  /// The notice to remove because it was handled.
  public var clearApprovalId: String?
}

extension CospoolTaskAttributes: Codable {}
extension ActivityContent: Codable {}
extension ActivityContent.Status: Codable {}
extension ActivityContent.Outcome: Codable {}
extension ActivityContent.Progress: Codable {}
extension PushPayload: Codable {}
