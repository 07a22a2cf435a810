/// What agents do, for people.
enum TaskText {
  static func list(_ tasks: [TaskAnswer], style: TextStyle) -> String {
    guard !tasks.isEmpty else { return "no agent was heard of yet" }
    var table = TextTable([
      .init(title: "SESSION", isName: true), .init(title: "STATE"),
      .init(title: "SINCE", isNumber: true, goes: 1), .init(title: "DONE", goes: 2),
      .init(title: "WHAT"),
    ])
    table.rows = tasks.map { task in
      [
        .init(task.sessionId), .init(words(of: task), colour(of: task)),
        .init(style.age(milliseconds: task.startTime)),
        .init(task.todoProgress.map { "\($0.completed)/\($0.total)" } ?? ""),
        .init(note(of: task)),
      ]
    }
    return table.text(style: style)
  }

  static func show(_ task: TaskAnswer, style: TextStyle) -> String {
    var fields: [FieldText.Field] = [
      .init("session", task.sessionId),
      .init("state", words(of: task), colour(of: task)),
    ]
    if !task.projectPath.isEmpty { fields.append(.init("project", task.projectPath)) }
    if task.startTime > 0 {
      fields.append(.init("began", age(task.startTime, style)))
      fields.append(.init("heard of", age(task.lastUpdateTime, style)))
    }
    if let todo = task.todoProgress {
      let current = todo.currentTask.map { ", \($0)" } ?? ""
      fields.append(.init("done", "\(todo.completed) of \(todo.total)\(current)"))
    }
    let note = note(of: task)
    if !note.isEmpty { fields.append(.init(task.request == nil ? "what" : "asks", note)) }
    for option in task.question?.options ?? [] { fields.append(.init("option", option)) }
    if let request = task.request?.id ?? task.question?.id {
      fields.append(.init("request", request))
      let command =
        task.request != nil
        ? "cospool approve \(task.sessionId), cospool deny \(task.sessionId)"
        : "cospool answer \(task.sessionId) TEXT"
      fields.append(
        task.isAskedAtHost(style)
          ? .init("answer at", "the agent's own prompt, on its device")
          : .init("answer with", command))
    }
    if let outcome = task.outcome {
      fields.append(.init("last request", outcome.ending))
    }
    let text = FieldText.text(of: fields, style: style)
    guard let details = task.request?.details, !details.isEmpty else { return text }
    return text + "\n\n" + TextStyle.block(details)
  }

  private static func age(_ time: Int64, _ style: TextStyle) -> String {
    let age = style.age(milliseconds: time)
    return age == "now" ? "now" : "\(age) ago"
  }

  private static func words(of task: TaskAnswer) -> String {
    switch task.status {
    case "awaitingApproval": "asks leave"
    case "awaitingAnswer": "asks"
    case "completed" where task.result?.kind == "failure": "failed"
    case "completed" where task.result?.kind == "cancelled": "cancelled"
    default: task.status
    }
  }

  private static func colour(of task: TaskAnswer) -> TextStyle.Colour? {
    switch task.status {
    case "awaitingApproval", "awaitingAnswer": .yellow
    case "error": .red
    case "completed": task.result?.kind == "failure" ? .red : .green
    default: nil
    }
  }

  private static func note(of task: TaskAnswer) -> String {
    if let request = task.request {
      return request.summary.isEmpty
        ? request.toolName : "\(request.toolName): \(request.summary)"
    }
    return task.question?.question ?? task.operation ?? task.error ?? task.result?.error
      ?? task.result?.summary ?? ""
  }
}

struct TaskListAnswer: Decodable {
  var tasks: [TaskAnswer]
}

struct TaskAnswer: Decodable {
  struct Request: Decodable {
    var id: String
    var toolName: String
    var summary: String
    var details: String?
    var expiresAt: Int64?
  }

  struct Question: Decodable {
    var id: String
    var expiresAt: Int64?
    var question: String
    var options: [String]?
  }

  struct Result: Decodable {
    var kind: String
    var summary: String?
    var error: String?
  }

  struct Progress: Decodable {
    var completed: Int
    var total: Int
    var currentTask: String?
  }

  struct Outcome: Decodable {
    var ending: String
  }

  var sessionId: String
  var projectPath: String
  var status: String
  var startTime: Int64
  var lastUpdateTime: Int64
  var operation: String?
  var error: String?
  var request: Request?
  var question: Question?
  var result: Result?
  var todoProgress: Progress?
  var outcome: Outcome?

  /// Only the agent's own prompt takes an answer any more.
  func isAskedAtHost(_ style: TextStyle) -> Bool {
    (request?.expiresAt ?? question?.expiresAt).map(style.hasPassed) ?? false
  }
}

struct AnsweredAnswer: Decodable {
  var result: String
  var session: String
  var verdict: String
  var about: String
}
