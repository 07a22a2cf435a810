import AgentFormats
import LocalAPI
import QueueModel

/// Asks every device for an approval if an agent is about to ask at its own prompt.
///
/// The first answer of all devices is written in the agent's own format. Without one, or after any
/// failure, nothing is written, and the agent asks at its prompt.
enum HookApproval {
  /// Seconds beyond the patience that the daemon may take to close a request.
  static let closingSeconds: Double = 8
  /// The longest that a hook waits for an answer.
  static let patienceSecondsMax: Double = 600

  /// - Returns: nil if the event asks for nothing.
  ///
  /// - Parameter patience: seconds; nil: as long as the daemon's setting.
  static func request(
    of event: HookEvent, session: String, patience: Double?
  ) throws -> APIRequest? {
    guard event.name == .permissionRequest, let tool = event.toolName,
      // A permission would be its answer, and the agent would treat that as an empty one.
      tool != ClaudeQuestions.toolName,
      // A request that is too long for another device is shown there as one at the agent's own
      // prompt.
      event.toolInput.map({ canBeShown($0, of: tool) }) ?? true
    else { return nil }
    var request = try APIRequest(
      .post, ["sessions", session, "asks"],
      body: AskRequest(
        ofTool: tool, event.toolInput, patience: patience, promptsItself: true))
    request.timeoutSeconds = (patience ?? patienceSecondsMax) + closingSeconds
    return request
  }

  /// Whether the daemon can ask users for it: they read the tool, a line and the details, which
  /// have a limit.
  fileprivate static func canBeShown(_ input: JSONTree, of tool: String) -> Bool {
    let text =
      tool.utf8.count + ToolInput(input).details.utf8.count
      + 2 * Limits.taskNameBytesMax
    return max(text, input.line.utf8.count) <= Limits.taskInputBytesMax
  }

  /// Notifies the daemon that an agent asks at its own prompt, so that other devices show it.
  ///
  /// - Returns: nil if the event reports no such request.
  static func prompt(of event: HookEvent, session: String) throws -> APIRequest? {
    let body: PromptRequest
    switch (event.name, event.notification) {
    case (.permissionRequest, _):
      guard let tool = event.toolName else { return nil }
      let questions = tool == ClaudeQuestions.toolName ? ClaudeQuestions(event.toolInput) : nil
      body = questions.map { PromptRequest($0) } ?? PromptRequest(ofTool: tool, event.toolInput)
    case (.notification, .permission):
      // "Claude needs your permission to use Bash"
      let text = event.message ?? ""
      let tool = text.firstMatch(of: /permission to use (\S+)/).map { String($0.1) }
      body = PromptRequest(ofTool: tool ?? "permission", summary: tool == nil ? text : "")
    case (.notification, .question):
      body = PromptRequest(question: event.message ?? "The agent has a question.")
    default: return nil
    }
    return try APIRequest(.put, ["sessions", session, "task", "prompt"], body: body)
  }

  /// The agent's input from its hook: empty without an answer.
  static func answer(_ answer: Answer) -> String {
    let answered = try? answer.decoded(DecisionAnswer.self)
    var decision: [String: JSONTree]
    switch answered?.ending {
    case .allowed: decision = ["behavior": "allow"]
    case .denied:
      let reason = answered?.text ?? "Denied by \(answered?.deviceName ?? "a person")."
      decision = ["behavior": "deny", "message": .string(reason)]
    default: return ""
    }
    return JSONTree.object([
      "hookSpecificOutput": .object([
        "hookEventName": "PermissionRequest", "decision": .object(decision),
      ])
    ]).line
  }
}

/// The request to the daemon.
extension AskRequest {
  init(
    ofTool tool: String, _ input: JSONTree?, patience: Double? = nil, promptsItself: Bool? = nil
  ) {
    self.init(kind: "approval")
    toolName = tool
    self.input = input?.line
    patienceSeconds = patience
    self.promptsItself = promptsItself
  }

  init(_ questions: ClaudeQuestions, patience: Double? = nil) {
    self.init(PromptRequest(questions))
    patienceSeconds = patience
  }
}

/// The report to the daemon that the agent asks at its own prompt.
extension PromptRequest {
  init(ofTool tool: String, _ input: JSONTree?) {
    self.init(kind: "approval")
    toolName = tool
    guard let input else { return }
    guard !HookApproval.canBeShown(input, of: tool) else {
      self.input = input.line
      return
    }
    let shown = ToolInput(input)
    summary = shown.subject.cut(toUTF8Bytes: Limits.taskNameBytesMax) + shown.remainder
    // Longer than the shown text, so that it counts as cut.
    details = shown.details.cut(toUTF8Bytes: 2 * Limits.taskDetailsBytesMax)
  }

  init(ofTool tool: String, summary: String) {
    self.init(kind: "approval")
    toolName = tool
    self.summary = String(summary.prefix(200))
  }

  init(question: String) {
    self.init(kind: "question")
    self.question = String(question.prefix(400))
  }

  init(_ questions: ClaudeQuestions) {
    self.init(question: questions.text)
    let most = questions.options.prefix(Limits.taskOptionsMax)
    options = most.isEmpty ? nil : most.map { $0.cut(toUTF8Bytes: Limits.taskNameBytesMax) }
  }
}
