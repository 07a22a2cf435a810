import AgentFormats
import LocalAPI
import QueueModel

/// An event that an agent reports to its hooks, and its report to the daemon.
struct HookEvent: Sendable {
  enum Name: String, CaseIterable, Sendable {
    case sessionStart = "SessionStart"
    case userPromptSubmit = "UserPromptSubmit"
    case preToolUse = "PreToolUse"
    case permissionRequest = "PermissionRequest"
    case postToolUse = "PostToolUse"
    /// Reported in place of a tool's end: it ended with an error.
    case postToolUseFailure = "PostToolUseFailure"
    case notification = "Notification"
    case stop = "Stop"
    /// Reported in place of the turn's end: it ended with an error of the provider.
    case stopFailure = "StopFailure"
    case sessionEnd = "SessionEnd"

    /// Whether it shows the state of a fed turn.
    var feeds: Bool {
      [.stop, .stopFailure, .userPromptSubmit, .sessionEnd].contains(self)
    }
  }

  /// The notifications of an agent to its user that are relevant here.
  enum Notification: String, Sendable {
    case permission = "permission_prompt"
    case question = "elicitation_dialog"
    /// It has waited at its prompt for a minute. After its user stopped a turn, no other event
    /// reports its end.
    case idle = "idle_prompt"

    /// - Parameter type: older versions of the agent give none; then the message's text decides.
    init?(_ type: String?, _ message: String) {
      if let type {
        self.init(rawValue: type)
      } else if message.contains("needs your permission") {
        self = .permission
      } else if message.contains("waiting for your input") {
        self = .idle
      } else {
        return nil
      }
    }
  }

  var name: Name
  /// The agent's session.
  var agentSession: String
  /// The subagent that it is about; subagents work in parallel with the agent. nil for the agent
  /// itself.
  var subagent: String?
  /// The folder in which it works.
  var folder: String?
  /// The tool call's id. Codex and older versions give none; then it is the tool's name.
  var tool: String?
  /// The tool's name, and its input.
  var toolName: String?
  var toolInput: JSONTree?
  /// The kind of the notification.
  var notification: Notification?
  /// How a session began: `startup`, `resume`, `clear`, `fork` or `compact`. Or why it ended:
  /// `clear` and `resume` if the agent continues with another one.
  var cause: String?
  /// The kind of the error that ended a turn.
  var error: String?
  /// At the end of a turn: whether subagents are at work, so that the agent will continue. At a
  /// prompt: whether it continues without a user's input.
  var isByItself: Bool
  /// Its text for its user.
  var message: String?
  /// The agent's last text.
  var summary: String?
  /// Whether a Stop hook began the turn that ends.
  var stopHookActive: Bool?
  /// Codex names the turn; Claude Code does not.
  var isCodex: Bool

  /// nil for everything that is not a known kind of event.
  init?(_ bytes: [UInt8]) {
    guard let object = JSONTree(bytes),
      let name = (object["hook_event_name"]?.text).flatMap(Name.init),
      let session = object["session_id"]?.text, !session.isEmpty,
      // A user decides only by the text of such an event.
      name != .permissionRequest || JSONTree(bytes, isShown: true) != nil
    else { return nil }
    self.name = name
    agentSession = session
    folder = (object["cwd"]?.text).flatMap { $0.hasPrefix("/") ? $0 : nil }
    tool = object["tool_use_id"]?.text ?? object["tool_name"]?.text
    toolName = object["tool_name"]?.text
    toolInput = object["tool_input"]
    message = object["message"]?.text.map { String($0.prefix(1_000)) }
    notification = Notification(object["notification_type"]?.text, message ?? "")
    cause = (object["source"] ?? object["reason"])?.text
    subagent = (object["agent_id"]?.text).flatMap { $0.isEmpty ? nil : $0 }
    error = object["error"]?.text
    isByItself =
      name == .stop
      ? (object["background_tasks"]?.elements ?? []).contains(where: Self.isAwaited)
      : cause.map { Self.sourcesOfItsOwn.contains($0) } ?? false
        || object["prompt"]?.text?.hasPrefix("<task-notification>") ?? false
    stopHookActive = object["stop_hook_active"]?.flag
    isCodex = object["turn_id"] != nil
    summary = (object["last_assistant_message"]?.text).map { String($0.prefix(400)) }
  }

  /// The sources of prompts that no user typed.
  private static let sourcesOfItsOwn: Set = [
    "system", "loop_wakeup", "schedule_wakeup", "poll_event",
  ]

  /// Whether the agent waits for this work of its own. A command in the background, or a watcher,
  /// may be a server that never ends.
  private static func isAwaited(_ task: JSONTree) -> Bool {
    !["shell", "monitor"].contains(task["type"]?.text) && task["status"]?.text != "completed"
  }

  /// Whether its report of a turn's end is wrong: a subagent reports its end, or the agent reports
  /// while subagents work.
  var isNoEnd: Bool { name == .stop && (subagent != nil || isByItself) }

  /// Whether a turn ended because of a limit, and must be tried later.
  var isLimit: Bool { error == "rate_limit" || error == "overloaded" }

  /// The error that ended a turn, for users.
  var failure: String {
    summary ?? error.map { "The agent's turn ended by an error: \($0)." }
      ?? "The agent's turn ended by an error."
  }

  /// The requests that report it, for the session of this id.
  func requests(for session: String) throws -> [APIRequest] {
    if isNoEnd { return [] }
    switch name {
    case .sessionStart:
      // The process that worked in it before has ended, possibly without a report.
      let isAnew = cause == "startup" || cause == "resume"
      return [try known(session)] + (isAnew ? [try signal("idle", session)] : [])
    case .userPromptSubmit:
      return [
        try signal("turn_start", session, byItself: isByItself ? true : nil),
        APIRequest(.post, ["threads", session, "requeue"]),
      ]
    case .preToolUse:
      // The tool before this one was denied, if an approval of the same agent is still pending.
      return [
        try signal("permission_response", session),
        try signal("tool_use", session, id: toolID, name: toolName),
      ] + (subagent == nil ? try progress(session) : [])
    case .postToolUse, .postToolUseFailure:
      return [
        try signal("permission_response", session, name: toolName),
        try signal("tool_result", session, id: toolID, name: toolName),
      ]
    case .permissionRequest:
      return [try signal("permission_request", session, name: toolName)]
    case .notification:
      switch notification {
      case .permission, .question: return [try signal("permission_request", session)]
      case .idle: return [try signal("idle", session)]
      case nil: return []
      }
    case .stop: return [try signal("result", session)]
    case .stopFailure: return [try signal("error", session, message: failure)]
    case .sessionEnd:
      // A turn that did not end before it was cut off.
      return [try signal("idle", session), try signal("result", session)]
    }
  }

  /// Adds the session, named after its folder if it has no name yet.
  func known(_ session: String) throws -> APIRequest {
    let name = folder?.split(separator: "/").last.map(String.init)
    return try APIRequest(
      .post, ["sessions"],
      body: SessionRequest(id: session, name: name, project: folder, byAgent: true))
  }

  /// The data for the daemon about the conversation itself.
  ///
  /// - Parameter named: the session that a user named for it.
  func conversation(named: String?, caller: HookCaller?) -> ConversationRequest {
    var body = ConversationRequest()
    switch name {
    // A compaction is in the middle of it.
    case .sessionStart where cause != "compact":
      body.type = ConversationRequest.Event.started.rawValue
      body.isContinued = cause == "clear" || cause == "fork"
    case .sessionEnd:
      body.type = ConversationRequest.Event.ended.rawValue
      body.isContinued = cause == "clear" || cause == "resume"
    default: return body
    }
    body.session = named
    body.folder = folder
    body.agentProcess = (caller?.agent).map(Int.init)
    body.agentStart = caller?.agentStart
    return body
  }

  /// The progress of the agent, if it reports any with this call.
  private func progress(_ session: String) throws -> [APIRequest] {
    guard toolName == ClaudeTodos.toolName, let todos = toolInput.flatMap({ ClaudeTodos($0) })
    else { return [] }
    return [
      try APIRequest(
        .put, ["sessions", session, "task", "progress"],
        body: ProgressRequest(
          completed: todos.completed, total: todos.total, currentTask: todos.current))
    ]
  }

  private var toolID: String {
    let id = tool ?? "tool"
    guard id.utf8.count > Limits.toolIDBytesMax else { return id }
    return String(decoding: id.utf8.prefix(Limits.toolIDBytesMax - 8), as: UTF8.self)
  }

  private func signal(
    _ type: String, _ session: String, id: String? = nil, name: String? = nil,
    message: String? = nil, byItself: Bool? = nil
  ) throws -> APIRequest {
    var body = SignalRequest(type: type, id: id, name: name, message: message)
    body.agent = subagent
    body.byItself = byItself
    return try APIRequest(.post, ["sessions", session, "signals"], body: body)
  }

  /// Reports that a user answered the event's request.
  func answered(_ session: String) throws -> APIRequest {
    try signal("permission_response", session, name: toolName)
  }
}
