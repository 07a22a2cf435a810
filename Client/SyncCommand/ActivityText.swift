import Basics
import QueueModel

/// The activity of agents, for users.
enum ActivityText {
  static func list(_ tasks: [TaskState], style: TextStyle) -> String {
    guard !tasks.isEmpty else { return "no agent has reported anything yet" }
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
        .init(note(of: task) + others(of: task)),
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
      fields.append(.init("started", age(task.startTime, style)))
      fields.append(.init("last update", age(task.lastUpdateTime, style)))
    }
    if let todo = task.todoProgress {
      let current = todo.currentTask.map { ", \($0)" } ?? ""
      fields.append(.init("done", "\(todo.completed) of \(todo.total)\(current)"))
    }
    let note = note(of: task)
    if task.status.request == nil {
      if !note.isEmpty { fields.append(.init("what", note)) }
      if let outcome = task.outcome {
        fields.append(.init("last request", outcome.ending.rawValue))
      }
      return FieldText.text(of: fields, style: style)
    }
    if let outcome = task.outcome { fields.append(.init("last request", outcome.ending.rawValue)) }
    var text = FieldText.text(of: fields, style: style)
    for request in task.requests { text += "\n\n" + show(request, style: style) }
    if task.moreRequests > 0 {
      let more = ReceiptText.counted(task.moreRequests, "more request")
      text += "\n\n\(more) will appear when you answer one of these"
    }
    return text
  }

  private static func show(_ request: TaskRequest, style: TextStyle) -> String {
    let note = request.note.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
    var fields: [FieldText.Field] = [.init("asks", note)]
    if case .question(let question) = request {
      for option in question.options { fields.append(.init("option", option)) }
    }
    fields.append(.init("request", request.id.description))
    if request.isCut { fields.append(.init("shown", "not all of it: it is too long", .yellow)) }
    // By its id: a session's name means the request that is open later.
    let quoted = Shell.quoted(String(request.id.description.prefix(8)))
    let command =
      if case .approval = request {
        "cospool approve \(quoted), cospool deny \(quoted)"
      } else {
        "cospool answer \(quoted) TEXT"
      }
    fields.append(
      request.isAskedAtHost(style)
        ? .init("answer at", "the agent's own prompt, on its device")
        : .init("answer with", command))
    let text = FieldText.text(of: fields, style: style)
    // A form is a question of several lines.
    if case .question(let question) = request, question.question.contains(where: \.isNewline) {
      return text + "\n\n" + TextStyle.block(question.question)
    }
    guard case .approval(let approval) = request, let details = approval.details, !details.isEmpty
    else { return text }
    return text + "\n\n" + TextStyle.block(details)
  }

  /// The text that a user reads before an approval or an answer: the whole request, as far as this
  /// device has it.
  static func question(
    of request: TaskRequest, in session: SessionID, closing: String
  ) -> String {
    var text = TextStyle.line("\(session): \(request.note)") + "\n"
    switch request {
    case .approval(let approval):
      if let details = approval.details, !details.isEmpty {
        text += "\n" + TextStyle.block(details) + "\n\n"
      }
    case .question(let question):
      if question.question.contains(where: \.isNewline) {
        text += "\n" + TextStyle.block(question.question) + "\n\n"
      }
      for option in question.options { text += TextStyle.line("  \(option)") + "\n" }
    }
    if request.isCut { text += "Not all of it is shown: it is too long.\n" }
    return text + closing
  }

  /// The number of requests beside the first.
  private static func others(of task: TaskState) -> String {
    let count = task.requests.count - 1 + task.moreRequests
    return count > 0 ? " (and \(count) more)" : ""
  }

  private static func age(_ time: Int64, _ style: TextStyle) -> String {
    let age = style.age(milliseconds: time)
    return age == "now" ? "now" : "\(age) ago"
  }

  private static func words(of task: TaskState) -> String {
    switch task.status {
    case .awaitingApproval: "needs approval"
    case .awaitingAnswer: "needs an answer"
    case .idle, .processing, .completed, .error: task.status.words
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

  /// A state that needs no explanation has no note.
  private static func note(of task: TaskState) -> String {
    if case .completed(.cancelled) = task.status { "" } else { task.status.note }
  }
}

extension TaskRequest {
  /// Only the agent's own prompt still accepts an answer.
  func isAskedAtHost(_ style: TextStyle) -> Bool {
    expiresAt.map(style.hasPassed) ?? false
  }
}
