import QueueModel
import SequenceCRDT
import WireProtocol

extension TaskMachine {
  /// Keeps the events of a write for this device's own user: the server notifies all other devices,
  /// by the same names.
  mutating func noteNews(
    of session: SessionID, since before: TaskRecord?, _ connection: ConnectionMachine
  ) {
    let workspace = connection.replica.workspace
    guard workspace.host(of: session) != nil, let task = workspace.keptTask(of: session),
      task.writer != before?.writer
    else { return }
    let known = Set(before?.state.requests.map(\.id) ?? [])
    let fresh = task.state.requests.filter { !known.contains($0.id) }
    let events = NotificationEvent.events(of: task.state.status, asking: fresh)
    for (index, (request, event)) in events.enumerated() {
      news.append(
        InboxNotification(
          position: 0, name: task.writer.naming(request?.id, at: index), event: event,
          isMissed: false, session: session, request: request?.id,
          milliseconds: task.state.lastUpdateTime))
    }
    news = Array(news.suffix(TaskMachine.newsMax))
  }

  /// Records that a command merged texts: two editors of this device saved, and there may be no
  /// server that would report it.
  mutating func noteMerges(
    by operations: [Operation], since before: Workspace, _ connection: ConnectionMachine,
    at context: EventContext
  ) {
    let changes = MergeChanges(operations, before: before)
    guard !changes.isEmpty else { return }
    let merges = changes.merges(after: connection.replica.workspace)
    for merge in merges.sorted(by: { $0.key < $1.key }).flatMap(\.value) {
      note(
        InboxNotification(
          position: 0, name: merge.name, event: .messageMerged(text: merge.text), isMissed: false,
          session: merge.session, request: nil, message: merge.message,
          milliseconds: connection.time(at: context)))
    }
  }

  /// Stores the choices that messages merged before this device was paired still wait for; the
  /// server notified the other devices of them.
  mutating func noteMergedBefore(_ connection: ConnectionMachine, at context: EventContext) {
    let workspace = connection.replica.workspace
    for (session, message) in Edition.awaitChoice(in: workspace) {
      guard let edition = Edition.live(of: message, in: workspace)?.editions.max() else { continue }
      let subject = RequestID(high: message.high, low: message.low)
      note(
        InboxNotification(
          position: 0, name: edition.naming(subject, at: 1),
          event: .messageMerged(text: workspace.text(of: message) ?? ""), isMissed: false,
          session: session, request: nil, message: message,
          milliseconds: connection.time(at: context)))
    }
  }

  /// Records that texts or cancels of this device's user were too late for an agent. Only this user
  /// needs to learn that, so nothing is sent.
  mutating func noteLate(
    _ texts: [LateText], _ connection: ConnectionMachine, at context: EventContext
  ) {
    for late in texts {
      let subject = RequestID(high: late.message.high, low: ~late.message.low)
      let words = late.words(in: connection.replica.workspace) + (late.text.map { "\n\($0)" } ?? "")
      note(
        InboxNotification(
          position: 0, name: late.edition.naming(subject, at: 1), category: .messageMerged,
          isMissed: false, session: late.session, milliseconds: connection.time(at: context),
          title: late.stopCommand == nil ? "Edit Came Too Late" : "Cancel Came Too Late",
          body: words.cut(toUTF8Bytes: WireLimits.notificationBodyBytesMax)))
    }
  }

  /// Records that an answer of this device's user, which had to wait, does not count. Only this user
  /// needs to learn that, so nothing is sent.
  mutating func noteUnused(
    _ answer: AnswerRequest, _ ending: AnswerEnding, _ connection: ConnectionMachine,
    at context: EventContext
  ) {
    let workspace = connection.replica.workspace
    guard let reason = ending.reason(in: workspace),
      let task = workspace.keptTask(of: answer.session)
    else { return }
    let subject = RequestID(high: answer.request.high, low: ~answer.request.low)
    let isApproval = answer.verdict == .allowed || answer.verdict == .denied
    let asked = task.state.request(answer.request).map { " (\($0.note))" } ?? ""
    let words =
      "Your \(answer.verdict.noun)\(asked) was not used, because \(reason).\n"
      + "To see what the agent does: \(task.state.showCommand)"
      + (answer.text.isEmpty ? "" : "\nYou wrote: \(answer.text)")
    note(
      InboxNotification(
        position: 0, name: task.writer.naming(subject, at: 1),
        category: isApproval ? .approvalRequest : .questionAsked,
        isMissed: false, session: answer.session, milliseconds: connection.time(at: context),
        title: "\(isApproval ? "Approval" : "Answer") Not Used",
        body: words.cut(toUTF8Bytes: WireLimits.notificationBodyBytesMax)))
  }

  private mutating func note(_ notification: InboxNotification) {
    news.append(notification)
    news = Array(news.suffix(TaskMachine.newsMax))
  }
}

extension LateText {
  /// What happened, and the command that continues from there.
  fileprivate func words(in workspace: Workspace) -> String {
    let id = message.description.prefix(8)
    if isFinished(in: workspace) {
      return "The agent of message \(id) had started, and has finished. To see it: \(showCommand)"
    }
    if let stopCommand {
      return "The agent of message \(id) had started, and works on. To stop it: \(stopCommand)"
    }
    return "The agent of message \(id) had started with the earlier text. "
      + "To see both: \(showCommand)"
  }
}

extension AnswerEnding {
  /// Why an answer does not count; nil if it counts.
  fileprivate func reason(in workspace: Workspace) -> String? {
    switch self {
    case .taken: nil
    case .answeredAlready(let verdict, let device):
      "\(workspace.deviceName(device) ?? "another device") answered first (\(verdict.name))"
    case .notAwaited: "the request had ended before the server got it"
    case .tooLate: "the server could not be reached within 2 minutes"
    }
  }
}

extension Verdict {
  fileprivate var noun: String {
    switch self {
    case .allowed: "approval"
    case .denied: "denial"
    case .answered, .cancelled, .closed: "answer"
    }
  }
}

extension Workspace {
  /// The name of a device; nil if it is not known.
  fileprivate func deviceName(_ id: DeviceID) -> String? {
    vector.sorted.lazy.compactMap { self.device(of: $0.replica) }.first { $0.id == id }?.name
  }
}
