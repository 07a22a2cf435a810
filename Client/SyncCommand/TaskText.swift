import QueueModel

/// What agents do, for people.
enum TaskText {
  static func list(_ tasks: [TaskState], style: TextStyle) -> String {
    guard !tasks.isEmpty else { return "no agent was heard of yet" }
    var table = TextTable([
      .init(title: "SESSION", isName: true), .init(title: "STATE"),
      .init(title: "SINCE", isNumber: true, goes: 1), .init(title: "DONE", goes: 2),
      .init(title: "WHAT"),
    ])
    table.rows = tasks.map { task in
      [
        .init(task.sessionId.rawValue), .init(words(of: task), colour(of: task)),
        .init(style.age(milliseconds: task.startTime)),
        .init(task.todoProgress.map { "\($0.completed)/\($0.total)" } ?? ""),
        .init(note(of: task)),
      ]
    }
    return table.text(style: style)
  }

  static func show(_ task: TaskState, style: TextStyle) -> String {
    var fields: [FieldText.Field] = [
      .init("session", task.sessionId.rawValue),
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
    if !note.isEmpty { fields.append(.init(task.approval == nil ? "what" : "asks", note)) }
    for option in task.question?.options ?? [] { fields.append(.init("option", option)) }
    if let request = task.status.request {
      fields.append(.init("request", request.description))
      let command =
        task.approval != nil
        ? "cospool approve \(task.sessionId), cospool deny \(task.sessionId)"
        : "cospool answer \(task.sessionId) TEXT"
      fields.append(
        task.isAskedAtHost(style)
          ? .init("answer at", "the agent's own prompt, on its device")
          : .init("answer with", command))
    }
    if let outcome = task.outcome {
      fields.append(.init("last request", outcome.ending.rawValue))
    }
    let text = FieldText.text(of: fields, style: style)
    guard let details = task.approval?.details, !details.isEmpty else { return text }
    return text + "\n\n" + TextStyle.block(details)
  }

  private static func age(_ time: Int64, _ style: TextStyle) -> String {
    let age = style.age(milliseconds: time)
    return age == "now" ? "now" : "\(age) ago"
  }

  private static func words(of task: TaskState) -> String {
    switch task.status {
    case .awaitingApproval: "asks leave"
    case .awaitingAnswer: "asks"
    case .completed(.failure): "failed"
    case .completed(.cancelled): "cancelled"
    case .idle, .processing, .completed(.success), .error: task.status.kind.rawValue
    }
  }

  private static func colour(of task: TaskState) -> TextStyle.Colour? {
    switch task.status {
    case .awaitingApproval, .awaitingAnswer: .yellow
    case .error, .completed(.failure): .red
    case .completed: .green
    case .idle, .processing: nil
    }
  }

  /// A state that says all has no note.
  private static func note(of task: TaskState) -> String {
    if case .completed(.cancelled) = task.status { "" } else { task.status.note }
  }
}

extension TaskState {
  fileprivate var approval: ApprovalRequest? {
    if case .awaitingApproval(let request) = status { request } else { nil }
  }

  fileprivate var question: UserQuestion? {
    if case .awaitingAnswer(let question) = status { question } else { nil }
  }

  /// Only the agent's own prompt takes an answer any more.
  func isAskedAtHost(_ style: TextStyle) -> Bool {
    status.expiresAt.map(style.hasPassed) ?? false
  }
}
