/// What a Live Activity of a task is about, as the server's pushes begin it. An app says
/// `extension CospoolTaskAttributes: ActivityAttributes {}`.
public struct CospoolTaskAttributes: Hashable, Sendable {
  /// What changes while it is shown.
  public typealias ContentState = ActivityContent

  /// The session whose task it is.
  public var sessionId: String

  /// Names the session.
  public init(sessionId: String) {
    self.sessionId = sessionId
  }
}

/// The state of one task, as a Live Activity shows it. Elapsed time is derived from `startedAt`
/// where it is shown.
public struct ActivityContent: Hashable, Sendable {
  /// What the agent does.
  public enum Status: String, Hashable, Sendable, CaseIterable {
    /// Nothing.
    case idle
    /// It works.
    case processing
    /// It waits until somebody allows or denies something.
    case awaitingApproval
    /// It waits until somebody answers a question.
    case awaitingAnswer
    /// It came to an end.
    case completed
    /// It stopped without an end.
    case error
  }

  /// How a task ended.
  public enum Outcome: String, Hashable, Sendable, CaseIterable {
    /// It did what it was asked.
    case success
    /// It failed.
    case failure
    /// A person stopped it.
    case cancelled
  }

  /// How far it is.
  public struct Progress: Hashable, Sendable {
    /// Steps that are done.
    public var completed: Int
    /// All steps.
    public var total: Int
    /// What it is at; left out with details off.
    public var currentTask: String?

    /// Puts the parts together.
    public init(completed: Int, total: Int, currentTask: String? = nil) {
      self.completed = completed
      self.total = total
      self.currentTask = currentTask
    }
  }

  /// What the agent does.
  public var status: Status
  /// What it is at, in a few words; left out with details off.
  public var operation: String?
  /// How far it is, if it says so.
  public var progress: Progress?
  /// When it began, in milliseconds since 1970: a number, so that no strategy for dates matters.
  public var startedAt: Int64
  /// How it ended, if it has.
  public var outcome: Outcome?
  /// What it waits for: the name to answer by.
  public var requestId: String?
  /// The tool that it asks leave for; left out with details off.
  public var tool: String?
  /// What it asks, or what the tool is for; left out with details off.
  public var question: String?
  /// Answers to choose from; left out with details off.
  public var options: [String]?

  /// Puts the parts together.
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

/// What an app finds in a push beside `aps`: a notice, or that one is to be taken down.
public struct PushPayload: Hashable, Sendable {
  /// The notice's name, the same in every push of it.
  public var noticeId: String?
  /// The session that it is about.
  public var sessionId: String?
  /// The request that waits for an answer.
  public var requestId: String?
  /// What to open: `cospool://…`.
  public var link: String?
  /// More than the body has; left out with details off.
  public var details: String?
  /// When it was made, in milliseconds since 1970.
  public var createdAt: Int64?
  /// From when on nobody can answer, in milliseconds since 1970.
  public var expiresAt: Int64?
  /// The notice that is to be taken down: somebody saw to it.
  public var clearApprovalId: String?
}

extension CospoolTaskAttributes: Codable {}
extension ActivityContent: Codable {}
extension ActivityContent.Status: Codable {}
extension ActivityContent.Outcome: Codable {}
extension ActivityContent.Progress: Codable {}
extension PushPayload: Codable {}
