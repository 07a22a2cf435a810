/// A request that an agent waits for: permission for an action, or the answer to a question (S4-28,
/// S4-29).
public enum TaskRequest: Hashable, Sendable {
  /// A request for permission.
  case approval(ApprovalRequest)
  /// A question.
  case question(UserQuestion)

  /// The request's permanent name.
  public var id: RequestID {
    switch self {
    case .approval(let request): request.id
    case .question(let question): question.id
    }
  }

  /// When answers from other devices end, in milliseconds since 1970; nil if they do not.
  public var expiresAt: Int64? {
    switch self {
    case .approval(let request): request.expiresAt
    case .question(let question): question.expiresAt
    }
  }

  /// The request in one line.
  public var note: String {
    switch self {
    case .approval(let request):
      request.summary.isEmpty ? request.toolName : "\(request.toolName): \(request.summary)"
    case .question(let question): question.question
    }
  }

  /// Whether a part of it was too long for the register, and is not shown.
  public var isCut: Bool {
    switch self {
    case .approval(let request): request.isCut
    case .question(let question): question.isCut
    }
  }

  /// The digest that an approval must name; see `ApprovalRequest.digest`.
  public var digest: ContentHash? {
    if case .approval(let request) = self { request.digest } else { nil }
  }

  /// The task's status if this is its first request.
  public var status: TaskStatus {
    switch self {
    case .approval(let request): .awaitingApproval(request)
    case .question(let question): .awaitingAnswer(question)
    }
  }
}

/// An action for which an agent asks permission (S4-28).
public struct ApprovalRequest: Hashable, Sendable {
  /// The request's permanent name.
  public var id: RequestID
  /// The tool that the agent wants to use.
  public var toolName: String
  /// The purpose, in one line.
  public var summary: String
  /// The exact action, if there is more than the summary.
  public var details: String?
  /// When answers end, in milliseconds since 1970; nil if they do not.
  public var expiresAt: Int64?
  /// Whether a part of it was too long for the register, and is not shown.
  public var isCut: Bool
  /// The SHA-256 of `text` with all of the details, which an approval must name; nil if its host
  /// did not report it.
  public var digest: ContentHash?

  /// Creates a value from its parts.
  public init(
    id: RequestID, toolName: String, summary: String, details: String? = nil,
    expiresAt: Int64? = nil, isCut: Bool = false, digest: ContentHash? = nil
  ) {
    self.id = id
    self.toolName = toolName
    self.summary = summary
    self.details = details
    self.expiresAt = expiresAt
    self.isCut = isCut
    self.digest = digest
  }

  /// The text that a user reads and allows, as it is stored here: tool, line and details.
  public var text: String { ApprovalRequest.text(toolName, summary, details ?? "") }

  /// The text that a user reads and allows. The tool and the line take one line each, so that no
  /// two requests have the same text.
  public static func text(_ tool: String, _ summary: String, _ details: String) -> String {
    "\(line(tool))\n\(line(summary))\n\(details)"
  }

  /// The request with the whole content of a text. nil if that is not the text of a request,
  /// because a different text would be shown.
  package func whole(_ text: String) -> ApprovalRequest? {
    let parts = text.unicodeScalars.split(
      separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    let texts = parts.map { String(String.UnicodeScalarView($0)) }
    var whole = self
    (whole.toolName, whole.summary) = (texts[0], texts[1])
    (whole.details, whole.isCut) = (texts[2].isEmpty ? nil : texts[2], false)
    return whole.text.utf8.elementsEqual(text.utf8) ? whole : nil
  }

  private static func line(_ text: String) -> String {
    let isBreak: (Unicode.Scalar) -> Bool = { $0 == "\n" || $0 == "\r" }
    guard text.unicodeScalars.contains(where: isBreak) else { return text }
    return String(String.UnicodeScalarView(text.unicodeScalars.map { isBreak($0) ? " " : $0 }))
  }
}

/// A question that an agent asks its user (S4-29).
public struct UserQuestion: Hashable, Sendable {
  /// The question's permanent name.
  public var id: RequestID
  /// The question.
  public var question: String
  /// Answers to choose from; any other text is allowed, too.
  public var options: [String]
  /// When answers end, in milliseconds since 1970; nil if they do not.
  public var expiresAt: Int64?
  /// Whether a part of it was too long for the register, and is not shown.
  public var isCut: Bool

  /// Creates a value from its parts.
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
