/// The status of a session's agent (S4-20 to S4-25).
public enum TaskStatus: Hashable, Sendable {
  /// It has no work.
  case idle
  /// It works on the operation, if it reported one.
  case processing(operation: String?)
  /// It waits until a user allows or denies an action.
  case awaitingApproval(ApprovalRequest)
  /// It waits until a user answers a question.
  case awaitingAnswer(UserQuestion)
  /// It ended by itself or was stopped.
  case completed(TaskResult)
  /// It stopped without a result.
  case error(message: String)

  /// A status without its content; the raw values are those of files and answers.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// See `TaskStatus`.
    case idle, processing, awaitingApproval, awaitingAnswer, completed, error
  }

  /// The status without its content.
  public var kind: Kind {
    switch self {
    case .idle: .idle
    case .processing: .processing
    case .awaitingApproval: .awaitingApproval
    case .awaitingAnswer: .awaitingAnswer
    case .completed: .completed
    case .error: .error
    }
  }

  /// The open request, or the first one; nil if there is none.
  public var request: TaskRequest? {
    switch self {
    case .awaitingApproval(let request): .approval(request)
    case .awaitingAnswer(let question): .question(question)
    case .idle, .processing, .completed, .error: nil
    }
  }

  /// All open requests of a task in this status, with `others` in addition to the first.
  func requests(beside others: [TaskRequest]) -> [TaskRequest] {
    request.map { [$0] + others } ?? []
  }

  /// The name that users read. It shows how a task ended, because a failed task did not complete.
  public var words: String {
    switch self {
    case .completed(.failure): "failed"
    case .completed(.cancelled): "cancelled"
    case .idle, .processing, .awaitingApproval, .awaitingAnswer, .completed(.success), .error:
      kind.words
    }
  }

  /// The text beside the name: the operation, the request or the result.
  public var note: String {
    switch self {
    case .idle: ""
    case .processing(let operation): operation ?? ""
    case .awaitingApproval, .awaitingAnswer: request?.note ?? ""
    case .completed(.success(let summary)): summary ?? ""
    case .completed(.failure(let error)): error
    case .completed(.cancelled): "cancelled"
    case .error(let message): message
    }
  }
}

extension TaskStatus.Kind {
  /// The name that users read.
  public var words: String {
    switch self {
    case .idle: "idle"
    case .processing: "processing"
    case .awaitingApproval: "awaiting approval"
    case .awaitingAnswer: "awaiting an answer"
    case .completed: "completed"
    case .error: "error"
    }
  }

  /// Whether the agent works or waits for its user.
  package var isUnderWay: Bool {
    switch self {
    case .processing, .awaitingApproval, .awaitingAnswer: true
    case .idle, .completed, .error: false
    }
  }

  /// The states that may follow (S4-39 to S4-47); SPECIFICATION.md, section "Tasks".
  public var successors: Set<TaskStatus.Kind> {
    switch self {
    case .idle: [.processing]
    case .processing: [.processing, .awaitingApproval, .awaitingAnswer, .completed, .error]
    case .awaitingApproval, .awaitingAnswer:
      [.awaitingApproval, .awaitingAnswer, .processing, .completed]
    case .completed, .error: [.processing, .idle]
    }
  }

  /// Refuses a change of status that no writer makes.
  public func checkMove(to next: TaskStatus.Kind) throws(TaskMoveError) {
    guard successors.contains(next) else { throw TaskMoveError(from: self, to: next) }
  }
}

/// A change between two statuses of a task that is not allowed.
public struct TaskMoveError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The previous status.
  public var from: TaskStatus.Kind
  /// The refused new status.
  public var to: TaskStatus.Kind

  /// Creates a value from its parts.
  public init(from: TaskStatus.Kind, to: TaskStatus.Kind) {
    self.from = from
    self.to = to
  }

  /// Both names, and the statuses that may follow.
  public var description: String {
    let names = from.successors.map(\.rawValue).sorted().joined(separator: ", ")
    return "\(to.rawValue) cannot follow \(from.rawValue); choose from \(names)."
  }
}

/// How a task ended (S4-30).
public enum TaskResult: Hashable, Sendable {
  /// It did its work; a summary, if it gave one.
  case success(summary: String?)
  /// It failed, with this error.
  case failure(error: String)
  /// A user stopped it.
  case cancelled
}

extension TaskStatus.Kind: Codable {}
