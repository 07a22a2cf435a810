import AgentFormats
import LocalAPI
import QueueModel

/// The tools of `cospool mcp`, each one request to the daemon.
enum MCPTools {
  static let all = queueTools + changeTools + threadTools + approvalTools + askTools

  private static let approvalTools = [
    MCPTool(
      name: "permission_prompt",
      description: "Asks the user for permission to use a tool, on all devices. For Claude Code's "
        + "--permission-prompt-tool.",
      fields: [
        session,
        .init(name: "tool_name", kind: .text, description: "The tool.", isRequired: true),
        .init(name: "input", kind: .object, description: "The tool's input.", isRequired: true),
        .init(name: "tool_use_id", kind: .text, description: "The call."),
      ], changes: false, waits: true,
      // Claude Code passes structured content on in place of the text that it asks this tool for.
      isStructured: false,
      request: { arguments in
        var request = try APIRequest(
          .post, ["sessions", try arguments.sessionID(), "asks"],
          body: try questions(of: arguments).map {
            AskRequest($0, patience: arguments.patienceSeconds)
          }
            ?? AskRequest(
              ofTool: try arguments.needed("tool_name"), arguments.tree("input"),
              patience: arguments.patienceSeconds))
        request.timeoutSeconds = arguments.patienceSeconds + HookApproval.closingSeconds
        return request
      },
      answer: { answer, arguments in
        switch answer["ending"]?.text {
        case "answered":
          return .object([
            "behavior": "allow",
            "updatedInput": ClaudeQuestions.answered(
              arguments.tree("input") ?? .object([:]), with: answer["text"]?.text ?? ""),
          ])
        case "allowed":
          return .object([
            "behavior": "allow", "updatedInput": arguments.tree("input") ?? .object([:]),
          ])
        case "denied":
          let reason = answer["text"]?.text ?? "A person denied it."
          return .object(["behavior": "deny", "message": .string(reason)])
        case "cancelled":
          return .object([
            "behavior": "deny", "interrupt": true,
            "message": "The user cancelled the question and wants this turn to end: stop here.",
          ])
        case "withdrawn":
          return .object([
            "behavior": "deny", "message": "The request was withdrawn before an answer came.",
          ])
        default:
          // An agent without a prompt of its own has no other way to ask.
          return .object([
            "behavior": "deny", "message": "No answer came in time, so the tool was not used.",
          ])
        }
      })
  ]

  /// The questions of the tool, if it is the one for questions: such questions are answered, not
  /// allowed.
  private static func questions(of arguments: MCPTool.Arguments) -> ClaudeQuestions? {
    guard arguments.text("tool_name") == ClaudeQuestions.toolName else { return nil }
    return ClaudeQuestions(arguments.tree("input"))
  }

  private static let session = MCPTool.Field(
    name: "session", kind: .text,
    description: "The session's id. Default: the session that you run in.")
  private static let message = MCPTool.Field(
    name: "id", kind: .text, description: "The message's id, or the first characters of it.",
    isRequired: true)

  /// Characters of a content that a list shows.
  static let previewMax = 400

  private static let queueTools = [
    MCPTool(
      name: "queue_list",
      description:
        "The prompts that are waiting in a session, in the order in which they will run, "
        + "with ids, positions and the outcomes of earlier attempts. Contents are cut to "
        + "\(previewMax) characters unless full is true.",
      fields: [
        session,
        .init(name: "limit", kind: .number, description: "The maximum number, 1 to 1000."),
        .init(name: "after", kind: .text, description: "The \"next\" of the previous page."),
        .init(name: "full", kind: .flag, description: "Whole contents."),
      ], changes: false,
      request: { arguments in
        APIRequest(
          .get, ["sessions", try arguments.sessionID(), "queue"],
          query: [
            ("limit", arguments.number("limit").map(String.init)),
            ("after", arguments.text("after")),
          ])
      }, answer: { answer, arguments in arguments.flag("full") ? answer : previews(answer) }),
    MCPTool(
      name: "task_state",
      description: "The state of a session's agent: whether it is busy, its running tools, its "
        + "current error, and its task with status, open request and progress.",
      fields: [session], changes: false,
      request: { APIRequest(.get, ["sessions", try $0.sessionID(), "activity"]) }),
    MCPTool(
      name: "queue_add",
      description:
        "Queues a prompt in a session, behind the prompts that are waiting. It runs when "
        + "its turn comes.",
      fields: [
        session,
        .init(name: "text", kind: .text, description: "The prompt.", isRequired: true),
        .init(
          name: "urgent", kind: .flag,
          description: "Queue it before all prompts that are not urgent."),
        .init(name: "project", kind: .text, description: "The session's project path."),
        .init(
          name: "later", kind: .text,
          description:
            "The earliest time of its start, ISO 8601 with a zone. Prompts behind it may "
            + "start before."),
        .init(
          name: "needs", kind: .texts,
          description: "The messages that have to succeed before it starts."),
      ], changes: true,
      request: { arguments in
        let session = try arguments.sessionID()
        return try APIRequest(
          .post, ["sessions", session, "queue"],
          body: SendRequest(
            text: try Content.checked(try arguments.needed("text")),
            id: try arguments.idempotencyKey().map { MessageKey.id(for: $0, in: session) },
            priority: arguments.flag("urgent") ? "urgent" : nil,
            project: arguments.text("project"), byAgent: true, later: arguments.text("later"),
            needs: arguments.texts("needs").isEmpty ? nil : arguments.texts("needs")))
      }),
  ]

  private static let changeTools = [
    MCPTool(
      name: "queue_edit", description: "Gives a waiting prompt new content.",
      fields: [
        message,
        .init(name: "text", kind: .text, description: "The new content.", isRequired: true),
      ], changes: true,
      request: { arguments in
        try APIRequest(
          .put, ["messages", try arguments.needed("id"), "content"],
          body: EditRequest(content: try Content.checked(try arguments.needed("text"))))
      }),
    MCPTool(
      name: "queue_resolve",
      description: "Chooses the text of a waiting prompt that was edited in two places: queue_list "
        + "marks it as merged, and lists its editions, the texts that were saved independently. It "
        + "starts when a text is chosen. Take one of them, or write one that combines them.",
      fields: [
        message,
        .init(name: "text", kind: .text, description: "The whole text.", isRequired: true),
        .init(
          name: "base", kind: .text,
          description: "Its \"base\" in queue_list: a text that was saved later keeps waiting.",
          isRequired: true),
      ], changes: true,
      request: { arguments in
        try APIRequest(
          .put, ["messages", try arguments.needed("id"), "content"],
          body: EditRequest(
            content: try Content.checked(try arguments.needed("text")),
            base: try arguments.needed("base")))
      }),
    MCPTool(
      name: "queue_move",
      description:
        "Moves waiting prompts to a position, counted from 1, or before or after another "
        + "message, which may be in another session's queue. Give one of to, before and "
        + "after.",
      fields: [
        .init(name: "ids", kind: .texts, description: "The messages.", isRequired: true),
        .init(name: "to", kind: .number, description: "The position of the first one, from 1."),
        .init(name: "before", kind: .text, description: "Before this message."),
        .init(name: "after", kind: .text, description: "After this message."),
      ], changes: true,
      request: { arguments in
        try APIRequest(
          .post, ["messages", "move"],
          body: MoveRequest(
            ids: arguments.texts("ids"), to: arguments.number("to"),
            before: arguments.text("before"), after: arguments.text("after")))
      }),
    MCPTool(
      name: "queue_later",
      description:
        "Makes a waiting prompt wait for a time. It keeps its place, and the prompts behind "
        + "it may start earlier.",
      fields: [
        message,
        .init(
          name: "later", kind: .text, description: "The time, ISO 8601 with a zone.",
          isRequired: true),
      ], changes: true,
      request: { arguments in
        try APIRequest(
          .put, ["messages", try arguments.needed("id"), "later"],
          body: LaterRequest(later: try arguments.needed("later")))
      }),
    MCPTool(
      name: "queue_after",
      description:
        "Lets a waiting prompt wait until other messages have succeeded. It keeps its place, and the "
        + "prompts behind it may start before.",
      fields: [
        message,
        .init(
          name: "needs", kind: .texts, description: "The messages before it, of any session.",
          isRequired: true),
      ], changes: true,
      request: { arguments in
        try APIRequest(
          .put, ["messages", try arguments.needed("id"), "needs"],
          body: NeedsRequest(needs: arguments.texts("needs")))
      }),
    MCPTool(
      name: "queue_cancel",
      description:
        "Cancels waiting prompts. It does not stop a prompt that has started: its outcome "
        + "is invoked, or unconfirmed if the server did not confirm it.",
      fields: [.init(name: "ids", kind: .texts, description: "The messages.", isRequired: true)],
      changes: true,
      request: {
        try APIRequest(.post, ["messages", "cancel"], body: MessagesRequest(ids: $0.texts("ids")))
      }),
    MCPTool(
      name: "queue_pause",
      description: "Pauses a session: none of its prompts starts until it is resumed.",
      fields: [
        session, .init(name: "reason", kind: .text, description: "A reason, which users see."),
      ], changes: true,
      request: { arguments in
        let path = ["sessions", try arguments.sessionID(), "pause"]
        guard let reason = arguments.text("reason") else { return APIRequest(.put, path) }
        return try APIRequest(.put, path, body: PauseRequest(reason: reason))
      }),
    MCPTool(
      name: "queue_resume", description: "Resumes a paused session.", fields: [session],
      changes: true,
      request: { APIRequest(.delete, ["sessions", try $0.sessionID(), "pause"]) }),
    MCPTool(
      name: "queue_retry",
      description: "Retries a prompt that failed or has an unknown outcome.",
      fields: [message], changes: true,
      request: { APIRequest(.post, ["messages", try $0.needed("id"), "retry"]) }),
    MCPTool(
      name: "queue_skip",
      description: "Skips a prompt that failed or has an unknown outcome, so that the next one can "
        + "run.",
      fields: [message], changes: true,
      request: { APIRequest(.post, ["messages", try $0.needed("id"), "skip"]) }),
  ]

  private static let askTools = [
    MCPTool(
      name: "ask_person",
      description:
        "Asks the user a question, on all devices, and waits for the answer. If none comes "
        + "in time, the result says so: continue as well as you can, or stop.",
      fields: [
        session,
        .init(name: "question", kind: .text, description: "The question.", isRequired: true),
        .init(name: "options", kind: .texts, description: "Answers to choose from, if any."),
      ], changes: false, waits: true,
      request: { arguments in
        var body = AskRequest(kind: "question")
        body.question = try arguments.needed("question")
        let options = arguments.texts("options")
        body.options = options.isEmpty ? nil : options
        body.patienceSeconds = arguments.patienceSeconds
        var request = try APIRequest(
          .post, ["sessions", try arguments.sessionID(), "asks"], body: body)
        request.timeoutSeconds = arguments.patienceSeconds + HookApproval.closingSeconds
        return request
      },
      answer: { answer, _ in
        switch answer["ending"]?.text {
        case "answered": .object(["answer": .string(answer["text"]?.text ?? "")])
        case "cancelled":
          .object(["answer": .null, "why": "The user cancelled the question: stop here."])
        case "withdrawn": .object(["answer": .null, "why": "The question was withdrawn."])
        default: .object(["answer": .null, "why": "No answer came in time."])
        }
      })
  ]

  private static let threadTools = [
    MCPTool(
      name: "session_list",
      description:
        "The sessions that you may see, with their names, projects and numbers of waiting "
        + "prompts.",
      fields: [
        .init(
          name: "archived", kind: .flag,
          description: "Whether to list the archived sessions instead of the others."),
        .init(name: "limit", kind: .number, description: "The maximum number, 1 to 1000."),
        .init(name: "after", kind: .text, description: "The \"next\" of the previous page."),
      ], changes: false,
      request: { arguments in
        APIRequest(
          .get, ["sessions"],
          query: [
            ("archived", arguments.flag("archived") ? "true" : "false"),
            ("limit", arguments.number("limit").map(String.init)),
            ("after", arguments.text("after")),
          ])
      }),
    MCPTool(
      name: "thread_list", description: "The sessions that need the user next, in order.",
      fields: [
        .init(
          name: "project", kind: .text,
          description: "Only sessions in this folder and its subfolders."),
        .init(name: "limit", kind: .number, description: "The maximum number, 1 to 1000."),
        .init(name: "after", kind: .text, description: "The \"next\" of the previous page."),
      ], changes: false,
      request: { arguments in
        APIRequest(
          .get, ["threads"],
          query: [
            ("project", arguments.text("project")),
            ("limit", arguments.number("limit").map(String.init)),
            ("after", arguments.text("after")),
          ])
      }),
    MCPTool(
      name: "thread_remove", description: "Removes sessions from the thread queue.",
      fields: [
        .init(name: "sessions", kind: .texts, description: "The sessions.", isRequired: true)
      ], changes: true,
      request: {
        try APIRequest(
          .post, ["threads", "remove"], body: ThreadsRequest(sessions: $0.texts("sessions")))
      }),
  ]

  /// The same list with short contents; `cut` marks those that were longer.
  private static func previews(_ answer: JSONTree) -> JSONTree {
    guard case .object(var members) = answer, let messages = members["messages"]?.elements else {
      return answer
    }
    members["messages"] = .array(
      messages.map { message in
        guard case .object(var fields) = message, let content = fields["content"]?.text,
          content.count > previewMax
        else { return message }
        fields["content"] = .string(String(content.prefix(previewMax)))
        fields["cut"] = true
        return .object(fields)
      })
    return .object(members)
  }
}

/// The id of a message that is added under a key: the same forever, on every device.
enum MessageKey {
  /// A UUID of version 8 from two independent hashes of the session and the key; a key that is a
  /// UUID is the id itself.
  static func id(for key: String, in session: String) -> String {
    if let id = MessageID(key) { return id.description }
    let bytes = Array(session.lowercased().utf8) + [0] + Array(key.utf8)
    let high = hash(bytes, start: 0xCBF2_9CE4_8422_2325)
    let low = hash(bytes.reversed(), start: 0x9E37_79B9_7F4A_7C15)
    return MessageID(
      high: high & ~0xF000 | 0x8000, low: low & ~(0b11 << 62) | 0b10 << 62
    ).description
  }

  /// FNV-1a, followed by the output function of SplitMix64.
  private static func hash(_ bytes: some Sequence<UInt8>, start: UInt64) -> UInt64 {
    var mixed = bytes.reduce(start) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
