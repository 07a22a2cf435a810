package import QueueModel

/// An observer's copy: arrays that follow only change events, never read from the workspace.
package struct QueueMirror {
  private var tracker: ChangeTracker
  private var threads: [ThreadView]
  private var messages: [SessionID: [MessageView]]
  /// Without tasks, which are compared separately.
  private var sessions: [SessionID: SessionView]
  private var tasks: [SessionID: TaskState] = [:]
  /// The session of each message.
  private var places: [MessageID: SessionID] = [:]
  /// Events, as text, that inserted a message into a queue while another queue showed it.
  private var doubles: [String] = []

  package init(workspace: Workspace) {
    tracker = ChangeTracker(workspace: workspace)
    threads = workspace.threadQueue().threads
    messages = [:]
    sessions = [:]
    for session in workspace.sessions() {
      sessions[session.id] = session
      sessions[session.id]?.task = nil
      tasks[session.id] = session.task
      messages[session.id] = (try? workspace.messageQueue(session.id))?.messages
      for message in messages[session.id] ?? [] { places[message.id] = session.id }
    }
  }

  /// Applies the events of one change.
  package mutating func follow(_ workspace: Workspace, touched: TouchedQueues) {
    for change in tracker.changes(in: workspace, touched: touched) {
      switch change {
      case .threads(let steps):
        for step in steps { step.apply(to: &threads) }
      case .messages(let session, let steps):
        for step in steps { apply(step, to: session) }
      case .session(let view):
        sessions[view.id] = view
        sessions[view.id]?.task = nil
      case .sessionDeleted(let session):
        sessions[session] = nil
        tasks[session] = nil
      case .task(let task): tasks[task.sessionId] = task
      }
    }
  }

  private mutating func apply(_ step: QueueChange<MessageView>, to session: SessionID) {
    if case .insert(let message, _) = step, let shown = places[message.id] {
      doubles.append("\(message.id) came to \(session) while \(shown) showed it")
    }
    switch step {
    case .insert(let message, _): places[message.id] = session
    case .remove(let id, _): places[id] = nil
    case .move, .update: break
    }
    step.apply(to: &messages[session, default: []])
  }

  /// Differences between the mirrored queues of some sessions and the views.
  package func differences(
    from workspace: Workspace, in sessions: Set<SessionID>
  ) -> [String] {
    var report = DifferenceReport()
    for session in sessions.sorted() {
      let queue = (try? workspace.messageQueue(session))?.messages ?? []
      report.check("mirrored queue of \(session)", queue, messages[session] ?? [])
    }
    return report.lines + doubles
  }

  /// Differences between the mirror and the views, as text; empty if there are none.
  package func differences(from workspace: Workspace) -> [String] {
    var report = DifferenceReport()
    report.check("mirrored threads", workspace.threadQueue().threads, threads)
    let known = workspace.sessions()
    let positions = Dictionary(threads.map { ($0.session, $0.position) }) { first, _ in first }
    let mirrored = sessions.values.sorted { $0.id < $1.id }.map { session in
      var session = session
      session.threadPosition = positions[session.id]
      session.task = tasks[session.id]
      return session
    }
    report.check("mirrored sessions", known, mirrored)
    for (session, mirrored) in messages {
      let queue = (try? workspace.messageQueue(session))?.messages ?? []
      report.check("mirrored queue of \(session)", queue, mirrored)
    }
    for session in known where messages[session.id] == nil {
      let queue = (try? workspace.messageQueue(session.id))?.messages ?? []
      report.check("unmirrored queue of \(session.id)", queue, [])
    }
    return report.lines + doubles
  }
}
