/// The value of the register `task`: lines of a name, a space and a value; SPECIFICATION.md, section
/// "Tasks".
///
/// Reading never fails: names that are not known are skipped, values that are none count as absent,
/// and a status that cannot be read is `processing`, so that nobody takes a busy agent for an idle
/// one. What is too long is cut when it is written.
package struct TaskText: Hashable, Sendable {
  package var status: TaskStatus
  /// Milliseconds since 1970.
  package var start: Int64
  /// Milliseconds since 1970.
  package var milliseconds: Int64
  package var todo: TodoProgress?
  package var outcome: AskOutcome?

  package init(
    status: TaskStatus, start: Int64, milliseconds: Int64, todo: TodoProgress? = nil,
    outcome: AskOutcome? = nil
  ) {
    self.status = status
    self.start = start
    self.milliseconds = milliseconds
    self.todo = todo
    self.outcome = outcome
  }
}

// MARK: - Writing

extension TaskText {
  /// The whole text; short lines first, so that the first piece says the most important.
  package var text: String {
    var lines = TaskLines()
    lines.add("status", status.kind.rawValue)
    lines.add("start", String(start))
    lines.add("at", String(milliseconds))
    if let request = status.request { lines.add("request", request.description) }
    if let expiry = status.expiresAt { lines.add("expires", String(expiry)) }
    if let outcome {
      let device = outcome.device.map { " \($0)" } ?? ""
      lines.add("outcome", "\(outcome.request) \(outcome.ending.rawValue)\(device)")
    }
    if let todo {
      let current = todo.currentTask.map { " " + $0.cut(toUTF8Bytes: Limits.taskNameBytesMax) }
      lines.add("todo", "\(todo.completed) \(todo.total)\(current ?? "")")
    }
    addDetails(to: &lines)
    return lines.text
  }

  private func addDetails(to lines: inout TaskLines) {
    switch status {
    case .idle: break
    case .processing(let operation):
      lines.add("operation", operation, max: Limits.taskNameBytesMax)
    case .awaitingApproval(let request):
      lines.add("tool", request.toolName, max: Limits.taskNameBytesMax)
      lines.add("summary", request.summary, max: Limits.taskSummaryBytesMax)
      lines.add("details", request.details, max: Limits.taskDetailsBytesMax)
    case .awaitingAnswer(let question):
      lines.add("question", question.question, max: Limits.taskQuestionBytesMax)
      for option in question.options.prefix(Limits.taskOptionsMax) {
        lines.add("option", option, max: Limits.taskNameBytesMax)
      }
    case .completed(.success(let summary)):
      lines.add("result", "success")
      lines.add("summary", summary, max: Limits.taskSummaryBytesMax)
    case .completed(.failure(let error)):
      lines.add("result", "failure")
      lines.add("error", error, max: Limits.taskSummaryBytesMax)
    case .completed(.cancelled):
      lines.add("result", "cancelled")
    case .error(let message):
      lines.add("error", message, max: Limits.taskSummaryBytesMax)
    }
  }

  /// The values of the registers `RegisterField.taskPieces`, in their order; what does not fit them
  /// is cut off.
  package var pieces: [RegisterValue] {
    var pieces: [String] = []
    var piece = String.UnicodeScalarView()
    var bytes = 0
    for scalar in text.unicodeScalars {
      let count = UTF8.width(scalar)
      if bytes + count > Limits.nameBytesMax {
        pieces.append(String(piece))
        if pieces.count == RegisterField.taskPieces.count { break }
        (piece, bytes) = (String.UnicodeScalarView(), 0)
      }
      piece.append(scalar)
      bytes += count
    }
    if pieces.count < RegisterField.taskPieces.count { pieces.append(String(piece)) }
    return pieces.map(RegisterValue.text)
  }
}

/// Lines as they are written.
private struct TaskLines {
  private(set) var text = ""

  /// Adds a line; nothing where the value is nil or empty.
  mutating func add(_ name: String, _ value: String?, max: Int = .max) {
    guard let value = value?.cut(toUTF8Bytes: max), !value.isEmpty else { return }
    if !text.isEmpty { text += "\n" }
    text += "\(name) "
    // Scalars, since a line feed behind a carriage return is no character of its own.
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\n": text += "\\n"
      case "\\": text += "\\\\"
      default: text.unicodeScalars.append(scalar)
      }
    }
  }
}

// MARK: - Reading

extension TaskText {
  /// Reads a register; a number counts as an empty text.
  package init(_ value: RegisterValue) {
    if case .text(let text) = value { self.init(text: text) } else { self.init(text: "") }
  }

  /// Reads the text.
  package init(text: String) {
    var values: [String: String] = [:]
    var options: [String] = []
    for line in text.unicodeScalars.split(separator: "\n") {
      guard let space = line.firstIndex(of: " ") else { continue }
      let name = String(String.UnicodeScalarView(line[..<space]))
      let value = TaskText.plain(line[line.index(after: space)...])
      if name == "option" {
        if options.count < Limits.taskOptionsMax { options.append(value) }
      } else if values[name] == nil {
        values[name] = value
      }
    }
    milliseconds = values["at"].flatMap { Int64($0) } ?? 0
    start = values["start"].flatMap { Int64($0) } ?? milliseconds
    todo = values["todo"].flatMap(TodoProgress.init(text:))
    outcome = values["outcome"].flatMap(AskOutcome.init(text:))
    status = TaskText.status(values, options)
  }

  private static func status(_ values: [String: String], _ options: [String]) -> TaskStatus {
    let working = TaskStatus.processing(operation: values["operation"])
    let request = values["request"].flatMap { RequestID($0) }
    let expiry = values["expires"].flatMap { Int64($0) }
    switch values["status"].flatMap(TaskStatus.Kind.init(rawValue:)) {
    case .idle: return .idle
    case .processing, nil: return working
    case .awaitingApproval:
      guard let request else { return working }
      return .awaitingApproval(
        ApprovalRequest(
          id: request, toolName: values["tool"] ?? "", summary: values["summary"] ?? "",
          details: values["details"], expiresAt: expiry))
    case .awaitingAnswer:
      guard let request else { return working }
      return .awaitingAnswer(
        UserQuestion(
          id: request, question: values["question"] ?? "", options: options, expiresAt: expiry))
    case .completed:
      switch values["result"] {
      case "success": return .completed(.success(summary: values["summary"]))
      case "cancelled": return .completed(.cancelled)
      // A result that is not known is no success.
      default: return .completed(.failure(error: values["error"] ?? ""))
      }
    case .error: return .error(message: values["error"] ?? "")
    }
  }

  /// The value without its escapes.
  private static func plain(_ value: Substring.UnicodeScalarView) -> String {
    var scalars = String.UnicodeScalarView()
    var isEscaped = false
    for scalar in value {
      if isEscaped {
        scalars.append(scalar == "n" ? "\n" : scalar)
        isEscaped = false
      } else if scalar == "\\" {
        isEscaped = true
      } else {
        scalars.append(scalar)
      }
    }
    return String(scalars)
  }
}

extension TodoProgress {
  /// Reads `done all` or `done all current`.
  fileprivate init?(text: String) {
    let parts = text.unicodeScalars.split(
      separator: " ", maxSplits: 2, omittingEmptySubsequences: false
    ).map { String(String.UnicodeScalarView($0)) }
    guard parts.count >= 2, let completed = Int(parts[0]), let total = Int(parts[1]),
      completed >= 0, total >= 0
    else { return nil }
    let current = parts.count > 2 ? parts[2] : ""
    self.init(
      completed: completed, total: total, currentTask: current.isEmpty ? nil : current)
  }
}

extension AskOutcome {
  /// Reads `ID ending` or `ID ending DEVICE`.
  fileprivate init?(text: String) {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), let request = RequestID(parts[0]),
      let ending = Ending(rawValue: String(parts[1]))
    else { return nil }
    let device = parts.count > 2 ? DeviceID(parts[2]) : nil
    self.init(request: request, ending: ending, device: device)
  }
}
