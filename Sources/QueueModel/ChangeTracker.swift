/// What changed for people and programs that watch a workspace.
public enum WorkspaceChange: Hashable, Sendable {
  /// The thread queue changed by these steps.
  case threads([QueueChange<ThreadView>])
  /// A session's message queue changed by these steps.
  case messages(SessionID, [QueueChange<MessageView>])
  /// A session appeared, or its summary (name, project, pause, counts) changed.
  case session(SessionView)
  /// A session was deleted.
  case sessionDeleted(SessionID)
}

/// Keeps the views as last reported and turns touched queues into minimal changes.
public struct ChangeTracker: Sendable {
  private var threads: [ThreadView]
  private var messages: [SessionID: [MessageView]]
  private var sessions: [SessionID: SessionView]

  /// Starts from a workspace as it is now; the first changes are those after it.
  public init(workspace: Workspace) {
    threads = workspace.threadQueue().threads
    let known = workspace.sessions()
    sessions = Dictionary(known.map { ($0.id, $0) }) { first, _ in first }
    messages = Dictionary(
      known.map { ($0.id, (try? workspace.messageQueue($0.id))?.messages ?? []) }
    ) { first, _ in first }
  }

  /// The changes since the last call, looking at the touched queues alone.
  public mutating func changes(
    in workspace: Workspace, touched: TouchedQueues
  ) -> [WorkspaceChange] {
    var changes: [WorkspaceChange] = []
    let steps = touched.threads ? threadSteps(in: workspace) : []
    for session in touched.sessions.sorted() {
      note(workspace.session(session), of: session, in: &changes)
      // A deleted session has no queue: its messages leave the mirror one by one.
      let now = (try? workspace.messageQueue(session))?.messages ?? []
      let steps = QueueChange.changes(from: messages[session] ?? [], to: now)
      messages[session] = sessions[session] == nil ? nil : now
      if !steps.isEmpty { changes.append(.messages(session, steps)) }
    }
    guard !steps.isEmpty else { return changes }
    changes.append(.threads(steps))
    // A step shifts the thread positions of sessions that were not touched themselves.
    let positions = Dictionary(threads.map { ($0.session, $0.position) }) { first, _ in first }
    for (session, var view) in sessions.sorted(by: { $0.key < $1.key }) {
      view.threadPosition = positions[session]
      note(view, of: session, in: &changes)
    }
    return changes
  }

  private mutating func threadSteps(in workspace: Workspace) -> [QueueChange<ThreadView>] {
    let now = workspace.threadQueue().threads
    defer { threads = now }
    return QueueChange.changes(from: threads, to: now)
  }

  private mutating func note(
    _ view: SessionView?, of session: SessionID, in changes: inout [WorkspaceChange]
  ) {
    guard sessions[session] != view else { return }
    sessions[session] = view
    changes.append(view.map { .session($0) } ?? .sessionDeleted(session))
  }
}
