import QueueModel
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
}
