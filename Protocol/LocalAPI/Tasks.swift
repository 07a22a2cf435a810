import Basics
package import QueueModel

/// The work of the agents of all sessions.
package struct TasksAnswer: APIValue {
  package var tasks: [TaskStateAnswer]

  package init(tasks: [TaskState]) { self.tasks = tasks.map(TaskStateAnswer.init) }
}

/// The progress of an agent.
package struct ProgressRequest: APIValue {
  package var completed: Int
  package var total: Int
  package var currentTask: String?

  package init(completed: Int, total: Int, currentTask: String?) {
    self.completed = completed
    self.total = total
    self.currentTask = currentTask
  }
}

/// A question of an agent to its user.
package struct AskRequest: APIValue {
  package static let patienceSecondsMax = 3_600
  package static let notes = PromptRequest.notes.merging([
    "patienceSeconds": .range(0...patienceSecondsMax),
    "promptsItself": .text(
      "If no answer comes in time, the agent asks at its own prompt and keeps waiting."),
  ]) { first, _ in first }

  /// `approval` or `question`.
  package var kind: String
  package var toolName: String?
  package var input: String?
  package var summary: String?
  package var details: String?
  package var question: String?
  package var options: [String]?
  /// After this many seconds the request expires; by default, the device's setting applies.
  package var patienceSeconds: Double?
  package var promptsItself: Bool?

  package init(kind: String) { self.kind = kind }

  package init(_ request: PromptRequest) {
    kind = request.kind
    toolName = request.toolName
    input = request.input
    summary = request.summary
    details = request.details
    question = request.question
    options = request.options
  }
}

/// The agent asks its user at its own prompt.
package struct PromptRequest: APIValue {
  package static let notes: [String: Note] = [
    "kind": .choice(["approval", "question"]),
    "input": .text(
      "The whole input of the tool, as JSON in a text: the daemon shows every field of it. "
        + "Without it, `summary` and `details` are shown."),
  ]

  /// `approval` or `question`.
  package var kind: String
  package var toolName: String?
  package var input: String?
  package var summary: String?
  package var details: String?
  package var question: String?
  package var options: [String]?

  package init(kind: String) { self.kind = kind }
}

/// The outcome of a request.
package struct DecisionAnswer: APIValue {
  package var session: SessionID
  package var ending: AskOutcome.Ending
  /// The device that answered, and its name; absent if none did.
  package var device: DeviceID?
  package var deviceName: String?
  /// The answer, or a remark; absent if there is none.
  package var text: String?

  package init(
    session: SessionID, ending: AskOutcome.Ending, device: DeviceID?, deviceName: String?,
    text: String?
  ) {
    self.session = session
    self.ending = ending
    self.device = device
    self.deviceName = deviceName
    self.text = text
  }
}

/// The decision of a user.
package struct DecisionRequest: APIValue {
  package static let notes = [
    "verdict": Note.choice(Verdict.allCases.filter { $0 != .closed }.map(\.name)),
    "digest": .text("The `digest` of the request that was shown; an approval needs it."),
  ]
  package static let schemaName: String? = "AnswerRequest"

  package var verdict: String
  package var text: String?
  package var digest: ContentHash?

  package init(verdict: String, text: String?, digest: ContentHash? = nil) {
    self.verdict = verdict
    self.text = text
    self.digest = digest
  }
}

/// An answer that counts, or waits for a connection.
package struct AnsweredAnswer: APIValue {
  package enum Result: String, Codable, CaseIterable, Sendable {
    case taken, waiting
  }

  package var result: Result
  package var session: SessionID
  package var request: QueueModel.RequestID
  package var verdict: String
  /// The request.
  package var about: String

  package init(
    result: Result, session: SessionID, request: QueueModel.RequestID, verdict: String,
    about: String
  ) {
    self.result = result
    self.session = session
    self.request = request
    self.verdict = verdict
    self.about = about
  }
}
