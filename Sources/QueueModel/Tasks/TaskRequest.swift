/// What an agent waits for: leave for something, or the answer to a question (S4-28, S4-29).
public enum TaskRequest: Hashable, Sendable {
  /// It asks for leave.
  case approval(ApprovalRequest)
  /// It asks a question.
  case question(UserQuestion)

  /// The request's name for ever.
  public var id: RequestID {
    switch self {
    case .approval(let request): request.id
    case .question(let question): question.id
    }
  }

  /// From when on nobody can answer from another device, in milliseconds since 1970; nil: it waits
  /// for ever.
  public var expiresAt: Int64? {
    switch self {
    case .approval(let request): request.expiresAt
    case .question(let question): question.expiresAt
    }
  }

  /// What is asked, in a line.
  public var note: String {
    switch self {
    case .approval(let request):
      request.summary.isEmpty ? request.toolName : "\(request.toolName): \(request.summary)"
    case .question(let question): question.question
    }
  }

  /// Whether something of it was too long for the register, and is not shown.
  public var isCut: Bool {
    switch self {
    case .approval(let request): request.isCut
    case .question(let question): question.isCut
    }
  }

  /// The task's status where this is what it waits for first.
  public var status: TaskStatus {
    switch self {
    case .approval(let request): .awaitingApproval(request)
    case .question(let question): .awaitingAnswer(question)
    }
  }
}

/// Something that an agent asks leave for (S4-28).
public struct ApprovalRequest: Hashable, Sendable {
  /// The request's name for ever.
  public var id: RequestID
  /// The tool that the agent wants to use.
  public var toolName: String
  /// What for, in a line.
  public var summary: String
  /// What exactly, where there is more to say.
  public var details: String?
  /// From when on nobody can answer, in milliseconds since 1970; nil: it waits for ever.
  public var expiresAt: Int64?
  /// Whether something of it was too long for the register, and is not shown.
  public var isCut: Bool

  /// Puts the parts together.
  public init(
    id: RequestID, toolName: String, summary: String, details: String? = nil,
    expiresAt: Int64? = nil, isCut: Bool = false
  ) {
    self.id = id
    self.toolName = toolName
    self.summary = summary
    self.details = details
    self.expiresAt = expiresAt
    self.isCut = isCut
  }
}

/// Something that an agent wants to know (S4-29).
public struct UserQuestion: Hashable, Sendable {
  /// The question's name for ever.
  public var id: RequestID
  /// The question.
  public var question: String
  /// Answers to choose from; another text may be given as well.
  public var options: [String]
  /// From when on nobody can answer, in milliseconds since 1970; nil: it waits for ever.
  public var expiresAt: Int64?
  /// Whether something of it was too long for the register, and is not shown.
  public var isCut: Bool

  /// Puts the parts together.
  public init(
    id: RequestID, question: String, options: [String] = [], expiresAt: Int64? = nil,
    isCut: Bool = false
  ) {
    self.id = id
    self.question = question
    self.options = options
    self.expiresAt = expiresAt
    self.isCut = isCut
  }
}
