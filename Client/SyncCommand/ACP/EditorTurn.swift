import AgentFormats
import Basics
import LocalAPI
import QueueModel

/// What an editor sees of its prompt: the place in the queue, the work of the agent, its requests and
/// the end.
struct EditorTurn: Sendable {
  let session: String
  let message: String
  let editor: EditorLink
  let ask: ACPServer.Daemon

  private var place = ""
  private var progress: TodoProgress?
  /// The tool call that stands for what the agent does now.
  private var operation: (number: Int, title: String?) = (0, nil)
  private var requests: [String: Task<Void, Never>] = [:]

  init(session: String, message: String, editor: EditorLink, ask: @escaping ACPServer.Daemon) {
    self.session = session
    self.message = message
    self.editor = editor
    self.ask = ask
  }

  /// Shows the turn until it is over.
  ///
  /// - Throws: `CommandFailure` if the message waits for a user's decision, and `CancellationError`
  ///   if the wakes end.
  mutating func stopReason(_ wakes: AsyncStream<Void>) async throws -> String {
    defer { settle(keeping: []) }
    for await _ in wakes {
      do {
        if let reason = try await look() { return reason }
      } catch let failure as CommandFailure where Self.awaitsDaemon.contains(failure.code) {
        // It is asked again when it is back.
      }
    }
    throw CancellationError()
  }

  /// Failures of a daemon that restarts.
  static let awaitsDaemon: Set<String> = [
    "noDaemon", "daemonStopped", "timeout", "busy", "stopping",
  ]
  /// A message that was deleted.
  private static let gone: Set<String> = ["messageNotFound", "messageForgotten", "sessionNotFound"]

  /// The message's id as lists show it.
  private var short: String { String(message.prefix(8)) }

  private mutating func look() async throws -> String? {
    let shown: MessageAnswer
    do {
      shown = try await ask(APIRequest(.get, ["messages", message])).decoded(MessageAnswer.self)
    } catch let failure as CommandFailure where Self.gone.contains(failure.code) {
      return "cancelled"
    }
    switch shown.status {
    case .queued: try await showPlace(shown)
    case .running:
      if shown.withdrawn == .hostAway {
        editor.say(session, "Its device is away and stops it when it is back.\n\n")
        return "cancelled"
      }
      try await showWork()
    case .succeeded:
      work(nil)
      if case .completed(.success(let summary?)) = try await task().status, !summary.isEmpty {
        editor.say(session, summary)
      } else {
        // The next one has begun, or the agent said nothing.
        editor.say(session, "Done. What it wrote: cospool log \(Shell.quoted(short))")
      }
      return "end_turn"
    case .cancelled, .skipped: return "cancelled"
    case .failed, .interrupted, .unknown:
      let reason = shown.lastError.map { "\n\($0)" } ?? ""
      throw CommandFailure(
        code: shown.status.rawValue,
        message: "The prompt is \(shown.status.rawValue) and waits for you: "
          + "cospool queue retry \(Shell.quoted(short)), or skip.\(reason)",
        exitCode: ExitStatus.failed)
    }
    return nil
  }

  private func task() async throws -> TaskState {
    try await ask(APIRequest(.get, ["sessions", session, "task"])).decoded(TaskStateAnswer.self)
      .state
  }

  private mutating func showPlace(_ shown: MessageAnswer) async throws {
    settle(keeping: [])
    work(nil)
    let queue = try await ask(APIRequest(.get, ["sessions", session, "queue"])).decoded(
      QueueAnswer.self)
    var lines: [String] = []
    if queue.messages.first?.id.description != message {
      let place = (queue.messages.firstIndex { $0.id.description == message } ?? 0) + 1
      lines.append("Queued, \(place) of \(queue.messages.count).")
    }
    if queue.paused { lines.append("The session is paused.") }
    lines += [queue.currentError, queue.note].compactMap(\.self).map { "Waits: \($0)" }
    if let time = shown.later ?? shown.notBefore { lines.append("Waits until \(time).") }
    let now = lines.joined(separator: "\n")
    guard now != place else { return }
    place = now
    if !now.isEmpty { editor.say(session, now + "\n\n") }
  }

  // MARK: - The agent's work

  private mutating func showWork() async throws {
    let task = try await task()
    if case .processing(let operation) = task.status { work(operation) }
    if let progress = task.todoProgress, progress != self.progress {
      self.progress = progress
      let count = "\(progress.completed) of \(progress.total)"
      let current = progress.currentTask.map { "\($0) (\(count))" } ?? "\(count) done"
      let isDone = progress.completed >= progress.total
      editor.update(
        session, "plan",
        [
          "entries": [
            [
              "content": .string(TextStyle.line(current)), "priority": "medium",
              "status": isDone ? "completed" : "in_progress",
            ]
          ]
        ])
    }
    let asked = Self.requests(of: task)
    settle(keeping: Set(asked.map { $0.id.description }))
    for request in asked where requests[request.id.description] == nil {
      let dialog = EditorRequest(session: session, request: request, editor: editor, ask: ask)
      requests[request.id.description] = Task { await dialog.run() }
    }
  }

  private static func requests(of task: TaskState) -> [TaskRequest] {
    switch task.status {
    case .awaitingApproval(let request): [.approval(request)] + task.alsoAwaits
    case .awaitingAnswer(let question): [.question(question)] + task.alsoAwaits
    default: task.alsoAwaits
    }
  }

  /// The agent does this now; nil for nothing.
  private mutating func work(_ title: String?) {
    guard title != operation.title else { return }
    if operation.title != nil {
      editor.update(
        session, "tool_call_update",
        ["toolCallId": .string("\(message)-\(operation.number)"), "status": "completed"])
    }
    operation = (operation.number + 1, title)
    guard let title else { return }
    editor.update(
      session, "tool_call",
      [
        "toolCallId": .string("\(message)-\(operation.number)"),
        "title": .string(TextStyle.line(title)), "kind": "other", "status": "in_progress",
      ])
  }

  /// Takes back the requests that are no longer open.
  private mutating func settle(keeping open: Set<String>) {
    for (id, dialog) in requests where !open.contains(id) {
      dialog.cancel()
      requests[id] = nil
    }
  }
}
