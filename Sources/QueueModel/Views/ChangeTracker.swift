/// A change, for people and programs that watch a workspace.
public enum WorkspaceChange: Hashable, Sendable {
  /// The thread queue changed by these steps.
  case threads([QueueChange<ThreadView>])
  /// A session's message queue changed by these steps. A message that moves to another queue is
  /// removed from one and inserted into the other, one step in each, the removal first. So a
  /// program can follow a queue without the others.
  case messages(SessionID, [QueueChange<MessageView>])
  /// A session appeared, or its summary (name, project, pause, lock, count) changed. `task` reports
  /// the work of its agent; the view has the present work.
  ///
  /// Changes to its place in the thread queue are not reported here: the steps of `threads` contain
  /// them, and each step shifts the places of all later sessions. The view has the current place.
  case session(SessionView)
  /// A session was deleted.
  case sessionDeleted(SessionID)
  /// The work of a session's agent changed.
  case task(TaskState)
}

/// Keeps the last reported views, and turns touched queues into minimal changes.
public struct ChangeTracker: Sendable {
  private var threads: [ThreadView]
  private var messages: [SessionID: [MessageView]]
  /// Without places in the thread queue, and without tasks.
  private var sessions: [SessionID: SessionView]
  private var tasks: [SessionID: TaskState]

  /// Starts from a workspace as it is now; reports changes from then on.
  public init(workspace: Workspace) {
    threads = workspace.threadQueue().threads
    let known = workspace.sessions()
    sessions = Dictionary(known.map { ($0.id, $0) }) { first, _ in first }
      .mapValues { session in
        var summary = session
        summary.threadPosition = nil
        summary.task = nil
        return summary
      }
    tasks = Dictionary(known.compactMap { view in view.task.map { (view.id, $0) } }) { $1 }
    messages = Dictionary(
      known.map { ($0.id, (try? workspace.messageQueue($0.id))?.messages ?? []) }
    ) { first, _ in first }
  }

  /// The changes since the last call. Only the touched queues are compared.
  ///
  /// - Complexity: O(touched queues).
  public mutating func changes(
    in workspace: Workspace, touched: TouchedQueues
  ) -> [WorkspaceChange] {
    var changes: [WorkspaceChange] = []
    var queues: [(session: SessionID, steps: [QueueChange<MessageView>])] = []
    for session in touched.sessions.sorted() {
      note(session, in: workspace, to: &changes)
      // A deleted session has no queue: its messages leave the mirror one by one.
      let now = (try? workspace.messageQueue(session))?.messages ?? []
      let steps = QueueChange.changes(from: messages[session] ?? [], to: now)
      messages[session] = sessions[session] == nil ? nil : now
      if !steps.isEmpty { queues.append((session, steps)) }
    }
    changes += ChangeTracker.inOrder(queues).map { .messages($0.session, $0.steps) }
    let steps = touched.threads ? threadSteps(in: workspace) : []
    if !steps.isEmpty { changes.append(.threads(steps)) }
    return changes
  }

  /// The steps in an order in which no message is in two queues at a time: steps that move messages
  /// to another queue come first.
  private static func inOrder(
    _ queues: [(session: SessionID, steps: [QueueChange<MessageView>])]
  ) -> [(session: SessionID, steps: [QueueChange<MessageView>])] {
    let arriving = Set(queues.flatMap(\.steps).compactMap(\.insertedID))
    var ordered: [(session: SessionID, steps: [QueueChange<MessageView>])] = []
    var rest: [(session: SessionID, steps: [QueueChange<MessageView>])] = []
    for (session, steps) in queues {
      // Removals are the first steps of each queue.
      let end = steps.lastIndex { $0.removedID.map(arriving.contains) ?? false }
      let leaving = steps.prefix(end.map { $0 + 1 } ?? 0)
      if !leaving.isEmpty { ordered.append((session, Array(leaving))) }
      if leaving.count < steps.count { rest.append((session, Array(steps[leaving.count...]))) }
    }
    return ordered + rest
  }

  private mutating func threadSteps(in workspace: Workspace) -> [QueueChange<ThreadView>] {
    let now = workspace.threadQueue().threads
    defer { threads = now }
    return QueueChange.changes(from: threads, to: now)
  }

  private mutating func note(
    _ session: SessionID, in workspace: Workspace, to changes: inout [WorkspaceChange]
  ) {
    let view = workspace.summary(of: session)
    var summary = view
    summary?.task = nil
    if sessions[session] != summary {
      sessions[session] = summary
      // The place in the thread queue is the current one.
      changes.append(workspace.session(session).map { .session($0) } ?? .sessionDeleted(session))
    }
    guard tasks[session] != view?.task else { return }
    tasks[session] = view?.task
    if let task = view?.task { changes.append(.task(task)) }
  }
}

extension QueueChange {
  fileprivate var insertedID: Item.ID? {
    if case .insert(let item, _) = self { item.id } else { nil }
  }

  fileprivate var removedID: Item.ID? {
    if case .remove(let id, _) = self { id } else { nil }
  }
}
