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
    for (name, merge) in merges.sorted(by: { $0.key < $1.key }) {
      news.append(
        InboxNotification(
          position: 0, name: name, event: .messageMerged(text: merge.text), isMissed: false,
          session: merge.session, request: nil, message: merge.message,
          milliseconds: connection.time(at: context)))
    }
    news = Array(news.suffix(TaskMachine.newsMax))
  }
}
