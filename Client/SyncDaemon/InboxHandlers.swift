import Basics
import Hummingbird
import LocalAPI
import QueueModel
import SyncClient

/// The list of what needs its user: the page shows the same list in the same order (inbox.js), without the prompts
/// that wait in vain for others.
struct InboxHandlers: RouteHandlers {
  var api: APIHandlers

  var client: QueueClient { api.client }

  func addRoutes(to api: RouterGroup<Context>) {
    api.get("inbox") { _, _ in CanonicalJSON.response(try await inbox()) }
  }

  private func inbox() async throws -> InboxListAnswer {
    let sessions = client.workspace().sessions()
    let unconsented = Set(await client.execution.unconsented())
    let answerable = Set(await client.tasks.awaitedRequests().map(\.request.id))
    var first: [(since: Int64, line: InboxListAnswer.Line)] = []
    for session in sessions {
      let asked = unconsented.contains(session.id) ? [] : asks(in: session, answerable)
      let queue = session.waiting > 0 ? try client.workspace().messageQueue(session.id) : nil
      let stuck = queue?.messages.filter(needsDecision) ?? []
      var since = stuck.map { self.since($0, session) }
      if unconsented.contains(session.id) {
        since.append(queue?.messages.first { $0.status == .queued }?.createdAt ?? client.time)
      } else if !asked.isEmpty {
        since.append(session.task?.lastUpdateTime ?? client.time)
      }
      guard let oldest = since.min() else { continue }
      let line =
        unconsented.contains(session.id)
        ? consentLine(session, oldest)
        : asked.isEmpty ? stuckLine(session, stuck[0], oldest) : askLine(session, asked, oldest)
      first.append((oldest, line))
    }
    first.sort { ($0.since, $0.line.sessionName) < ($1.since, $1.line.sessionName) }
    let shown = Set(first.map(\.line.session))
    let notices = await client.notifications.all().filter(\.isOfOwnChange)
    return InboxListAnswer(
      lines: first.map(\.line) + (try await threadLines(without: shown)),
      threadQueue: client.settings.queueEnabled, notices: notices.map(NotificationAnswer.init))
  }

  /// The open requests, including those that only the agent's own prompt can answer.
  private func asks(in session: SessionView, _ answerable: Set<QueueModel.RequestID>)
    -> [TaskRequest]
  {
    session.task?.requests.filter {
      answerable.contains($0.id) || client.tasks.isAskedAtHost($0)
    } ?? []
  }

  private func needsDecision(_ message: MessageView) -> Bool {
    message.status.isStopped || client.workspace().waitsForChoice(message.id)
      || vainNeed(of: message) != nil
  }

  private func vainNeed(of message: MessageView) -> UnmetNeed? {
    guard message.status == .queued, !message.needs.isEmpty else { return nil }
    return client.workspace().unmetNeeds(of: message.id).first { !$0.isPending }
  }

  private func since(_ message: MessageView, _ session: SessionView) -> Int64 {
    guard message.status.isStopped, let task = session.task else { return message.createdAt }
    return task.lastUpdateTime
  }

  private func consentLine(_ session: SessionView, _ since: Int64) -> InboxListAnswer.Line {
    InboxListAnswer.Line(
      .asks, session, since: since, note: "it needs your consent to run on this device",
      command: "cospool session host \(api.quoted(session)) this")
  }

  private func askLine(
    _ session: SessionView, _ asked: [TaskRequest], _ since: Int64
  ) -> InboxListAnswer.Line {
    let open = asked.filter { !client.tasks.isAskedAtHost($0) }
    guard let request = open.first else {
      let place = session.host.map { " on \(api.name(of: $0))" } ?? ""
      return InboxListAnswer.Line(
        .asks, session, since: since, note: "at its own prompt\(place): \(asked[0].note)",
        command: nil)
    }
    guard open.count == 1 else {
      return InboxListAnswer.Line(
        .asks, session, since: since, note: "\(request.note) (and \(open.count - 1) more)",
        command: "cospool task show \(api.quoted(session))")
    }
    // The request that is shown, not the one that the session has when the command runs.
    let quoted = Shell.quoted(String(request.id.description.prefix(8)))
    var line = InboxListAnswer.Line(
      .asks, session, since: since, note: request.note,
      command: request.isApproval ? "cospool approve \(quoted)" : "cospool answer \(quoted) TEXT")
    line.request = request.id
    return line
  }

  private func stuckLine(
    _ session: SessionView, _ message: MessageView, _ since: Int64
  ) -> InboxListAnswer.Line {
    let id = String(message.id.description.prefix(8))
    if let need = vainNeed(of: message) {
      return InboxListAnswer.Line(
        .inVain, session, since: since, message: message.id,
        note: need.words(in: client.workspace()),
        command: "cospool queue start \(Shell.quoted(id))")
    }
    guard message.status.isStopped else {
      return InboxListAnswer.Line(
        .merged, session, since: since, message: message.id, note: "it was edited in two places",
        command: "cospool queue show \(Shell.quoted(id))")
    }
    return InboxListAnswer.Line(
      message.status == .failed ? .failed : .unknown, session, since: since, message: message.id,
      note: message.lastError.map(firstLine) ?? "its outcome is unknown",
      command: "cospool queue retry \(Shell.quoted(id))")
  }

  private func threadLines(without shown: Set<SessionID>) async throws -> [InboxListAnswer.Line] {
    guard client.settings.queueEnabled else { return [] }
    let workspace = client.workspace()
    let threads = try await client.threads.queue().ready.filter { !shown.contains($0.session) }
    let sessions = threads.compactMap { workspace.session($0.session) }
    let queuedAt = Dictionary(threads.map { ($0.session, $0.queuedAt) }) { first, _ in first }
    return try zip(sessions, try await api.described(sessions)).map { session, answer in
      if let task = session.task, case .completed(.success(let summary)) = task.status {
        let words = summary.map(firstLine) ?? ""
        return InboxListAnswer.Line(
          .done, session, since: task.lastUpdateTime,
          note: words.isEmpty ? "its agent is done" : words,
          command: "cospool thread remove \(api.quoted(session))")
      }
      let command = command(for: session, answer.standing)
      let note = answer.note.map(firstLine) ?? ""
      return InboxListAnswer.Line(
        .ready, session, since: queuedAt[session.id] ?? client.time,
        note: note.isEmpty ? try waitingWords(session) : note.removingSuffix(": \(command)"),
        command: command)
    }
  }

  /// The command that resolves a visible thread, or otherwise removes it from the list.
  private func command(
    for session: SessionView, _ standing: SessionAnswer.Standing?
  ) -> String {
    switch standing {
    case .unhosted?: "cospool session host \(api.quoted(session)) this"
    case .agentless?: "cospool session agent \(api.quoted(session)) claude"
    case .paused?: "cospool queue resume -s \(api.quoted(session))"
    default: "cospool thread remove \(api.quoted(session))"
    }
  }

  private func waitingWords(_ session: SessionView) throws -> String {
    guard session.waiting > 0 else { return "" }
    let next = try client.workspace().messageQueue(session.id).messages.first?.content ?? ""
    return "\(session.waiting) waiting: \(firstLine(next))"
  }

  private func firstLine(_ text: String) -> String {
    text.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
  }
}

extension MessageStatus {
  /// Whether its queue is stopped until a user decides.
  fileprivate var isStopped: Bool { standsInFront && self != .running }
}

extension TaskRequest {
  fileprivate var isApproval: Bool {
    if case .approval = self { true } else { false }
  }
}

extension String {
  fileprivate func removingSuffix(_ suffix: String) -> String {
    hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
  }
}

extension InboxListAnswer.Line {
  fileprivate init(
    _ reason: Reason, _ session: SessionView, since: Int64, message: MessageID, note: String,
    command: String
  ) {
    self.init(reason, session, since: since, note: note, command: command)
    self.message = message
  }
}
