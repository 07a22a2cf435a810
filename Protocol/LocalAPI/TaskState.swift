package import QueueModel

/// The work of a session's agent: one flat object, whose status determines the present fields.
package struct TaskStateAnswer: APIValue {
  package static let schemaName: String? = "Task"

  package var state: TaskState

  package init(_ state: TaskState) { self.state = state }

  package init(from decoder: any Decoder) throws {
    state = try TaskFields(from: decoder).state()
  }

  package func encode(to encoder: any Encoder) throws { try TaskFields(state).encode(to: encoder) }
}

extension TaskStateAnswer: SchemaShown {
  static var shown: any APIValue.Type { TaskFields.self }
}

/// A task's fields in JSON.
private struct TaskFields: APIValue {
  static let notes: [String: Note] = [
    "alsoAwaits": .text("The other requests for which it waits, beside `request` or `question`."),
    "moreRequests": .text("The number of requests that wait behind those."),
    "startTime": .time.saying("On the host's clock; left out if it never did anything."),
  ]

  struct Result: APIValue {
    static let notes = ["kind": Note.choice(["success", "failure", "cancelled"])]

    var kind: String
    var summary: String?
    var error: String?
  }

  struct Outcome: APIValue {
    var request: QueueModel.RequestID
    var ending: AskOutcome.Ending
    var device: DeviceID?
  }

  var session: SessionID
  var project: String
  var status: TaskStatus.Kind
  var startTime: Timestamp?
  var lastUpdateTime: Timestamp?
  var operation: String?
  var error: String?
  var request: ApprovalFields?
  var question: QuestionFields?
  var result: Result?
  var todoProgress: TodoProgress?
  var outcome: Outcome?
  var alsoAwaits: [TaskRequestFields]?
  var moreRequests: Int?

  init(_ task: TaskState) {
    session = task.sessionId
    project = task.projectPath
    status = task.status.kind
    startTime = task.startTime == 0 ? nil : Timestamp(task.startTime)
    lastUpdateTime = task.lastUpdateTime == 0 ? nil : Timestamp(task.lastUpdateTime)
    todoProgress = task.todoProgress
    outcome = task.outcome.map {
      Outcome(request: $0.request, ending: $0.ending, device: $0.device)
    }
    alsoAwaits = task.alsoAwaits.isEmpty ? nil : task.alsoAwaits.map(TaskRequestFields.init)
    moreRequests = task.moreRequests > 0 ? task.moreRequests : nil
    switch task.status {
    case .idle: break
    case .processing(let operation): self.operation = operation
    case .awaitingApproval(let request): self.request = ApprovalFields(request)
    case .awaitingAnswer(let question): self.question = QuestionFields(question)
    case .completed(.success(let summary)): result = Result(kind: "success", summary: summary)
    case .completed(.failure(let error)): result = Result(kind: "failure", error: error)
    case .completed(.cancelled): result = Result(kind: "cancelled")
    case .error(let message): error = message
    }
  }

  /// - Throws: `IncompleteTask` if a status lacks its required fields.
  func state() throws -> TaskState {
    TaskState(
      sessionId: session, projectPath: project, status: try taskStatus(),
      startTime: startTime?.milliseconds ?? 0, lastUpdateTime: lastUpdateTime?.milliseconds ?? 0,
      todoProgress: todoProgress,
      outcome: outcome.flatMap {
        AskOutcome(request: $0.request, ending: $0.ending, device: $0.device)
      },
      alsoAwaits: try alsoAwaits?.map { try $0.value() } ?? [], moreRequests: moreRequests ?? 0)
  }

  private func taskStatus() throws -> TaskStatus {
    switch (status, request, question, result?.kind) {
    case (.idle, _, _, _): .idle
    case (.processing, _, _, _): .processing(operation: operation)
    case (.awaitingApproval, let request?, _, _): .awaitingApproval(request.value)
    case (.awaitingAnswer, _, let question?, _): .awaitingAnswer(question.value)
    case (.completed, _, _, "success"?): .completed(.success(summary: result?.summary))
    case (.completed, _, _, "failure"?): .completed(.failure(error: result?.error ?? ""))
    case (.completed, _, _, "cancelled"?): .completed(.cancelled)
    case (.error, _, _, _): .error(message: error ?? "")
    default: throw IncompleteTask(status: status)
    }
  }
}

/// A status without its required fields.
private struct IncompleteTask: Error {
  var status: TaskStatus.Kind
}

/// A request: one of the two fields.
private struct TaskRequestFields: APIValue {
  static var schemaName: String? { nil }

  var request: ApprovalFields?
  var question: QuestionFields?

  init(_ asked: TaskRequest) {
    switch asked {
    case .approval(let approval): request = ApprovalFields(approval)
    case .question(let asked): question = QuestionFields(asked)
    }
  }

  func value() throws -> TaskRequest {
    if let question { return .question(question.value) }
    guard let request else { throw IncompleteTask(status: .awaitingApproval) }
    return .approval(request.value)
  }
}

private struct ApprovalFields: APIValue {
  static var schemaName: String? { nil }

  var id: QueueModel.RequestID
  var toolName: String
  var summary: String
  var details: String?
  var digest: ContentHash?
  /// The time from which only the agent's own prompt accepts an answer.
  var expiresAt: Timestamp?
  /// Whether a part of it was too long for a list.
  var isCut: Bool?

  init(_ request: ApprovalRequest) {
    id = request.id
    toolName = request.toolName
    summary = request.summary
    details = request.details
    digest = request.digest
    expiresAt = request.expiresAt.map(Timestamp.init)
    isCut = request.isCut ? true : nil
  }

  var value: ApprovalRequest {
    ApprovalRequest(
      id: id, toolName: toolName, summary: summary, details: details,
      expiresAt: expiresAt?.milliseconds, isCut: isCut ?? false, digest: digest)
  }
}

private struct QuestionFields: APIValue {
  static var schemaName: String? { nil }

  var id: QueueModel.RequestID
  var question: String
  var options: [String]
  /// The time from which only the agent's own prompt accepts an answer.
  var expiresAt: Timestamp?
  /// Whether a part of it was too long for a list.
  var isCut: Bool?

  init(_ question: UserQuestion) {
    id = question.id
    self.question = question.question
    options = question.options
    expiresAt = question.expiresAt.map(Timestamp.init)
    isCut = question.isCut ? true : nil
  }

  var value: UserQuestion {
    UserQuestion(
      id: id, question: question, options: options, expiresAt: expiresAt?.milliseconds,
      isCut: isCut ?? false)
  }
}

extension TodoProgress: APIValue {
  package static var schemaName: String? { nil }
}

/// A task in a document, which keeps its own format.
private struct DocumentTask: APIValue {
  static let notes: [String: Note] = ["startTime": .milliseconds, "lastUpdateTime": .milliseconds]
  static var isOfDocument: Bool { true }

  struct Request: APIValue {
    var request: ApprovalRequest?
    var question: UserQuestion?
  }

  var sessionId: SessionID
  var projectPath: String
  var status: TaskStatus.Kind
  var startTime: Int64
  var lastUpdateTime: Int64
  var operation: String?
  var error: String?
  var request: ApprovalRequest?
  var question: UserQuestion?
  var result: TaskFields.Result?
  var todoProgress: TodoProgress?
  var outcome: TaskFields.Outcome?
  var alsoAwaits: [Request]?
  var moreRequests: Int?
}

extension TaskState: SchemaShown {
  static var shown: any APIValue.Type { DocumentTask.self }
}
