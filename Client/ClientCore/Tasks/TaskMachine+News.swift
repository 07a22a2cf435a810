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
