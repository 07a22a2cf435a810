import QueueModel

/// Turns changes to the workspace into events of the feed; used only on the engine's queue. Idle
/// and empty until there is a reader.
struct FeedSource {
  let log: FeedLog

  private struct Mirror {
    var tracker: ChangeTracker
    var waiting: [SessionID: Int] = [:]
    var ready: Set<SessionID> = []
    var status: SyncStatus
  }

  private var mirror: Mirror?

  init(log: FeedLog) {
    self.log = log
  }

  /// A feed that continues after the cursor, or reports why it cannot and begins with the present.
  mutating func open(
    after cursor: FeedCursor?, _ workspace: Workspace, _ status: SyncStatus
  ) -> EventFeed {
    let gap: FeedGap? = if let cursor { log.gap(after: cursor) } else { .start }
    if let cursor, gap == nil, mirror != nil {
      return EventFeed(
        log: log, after: cursor, beginning: [FeedItem(event: .resumed(.ok))])
    }
    var events = [FeedEvent.resumed(.gap(gap ?? .unknown))]
    var tracker = ChangeTracker(workspace: Workspace())
    var everything = TouchedQueues(threads: true)
    everything.sessions.formUnion(workspace.sessions().map(\.id))
    let changes = tracker.changes(in: workspace, touched: everything)
    events += changes.map { .changed($0) }
    events.append(.sync(status))
    if mirror == nil {
      mirror = Mirror(tracker: tracker, status: status)
      _ = notices(of: changes, queueSizeMax: nil)
    }
    let present = log.cursor
    let beginning =
      events.map { FeedItem(event: $0) } + [FeedItem(cursor: present, event: .present)]
    return EventFeed(log: log, after: present, beginning: beginning)
  }

  mutating func show(_ workspace: Workspace, touched: TouchedQueues, queueSizeMax: Int) {
    guard let changes = mirror?.tracker.changes(in: workspace, touched: touched) else { return }
    log.append(
      changes.map { .changed($0) } + notices(of: changes, queueSizeMax: queueSizeMax))
  }

  /// A new time of the last sync is not an event by itself: every message of another device would
  /// cause one.
  mutating func show(_ status: SyncStatus) {
    guard var shown = mirror?.status else { return }
    shown.lastSyncedAt = status.lastSyncedAt
    guard shown != status else { return }
    mirror?.status = status
    log.append([.sync(status)])
  }

  /// The events for users that follow from changes: queues that became nearly full (nil if not
  /// requested), threads that became ready.
  private mutating func notices(
    of changes: [WorkspaceChange], queueSizeMax: Int?
  ) -> [FeedEvent] {
    var notices: [FeedEvent] = []
    for change in changes {
      switch change {
      case .session(let view):
        let before = mirror?.waiting.updateValue(view.waiting, forKey: view.id) ?? 0
        guard view.waiting > before, let queueSizeMax,
          Limits.isNearlyFull(view.waiting, of: queueSizeMax)
        else { continue }
        notices.append(
          .warning(QueueWarning(session: view.id, count: view.waiting, max: queueSizeMax)))
      case .sessionDeleted(let id):
        mirror?.waiting[id] = nil
      case .threads(let steps):
        for step in steps { note(step, in: &notices) }
      case .messages, .task:
        break
      }
    }
    return notices
  }

  private mutating func note(_ step: QueueChange<ThreadView>, in notices: inout [FeedEvent]) {
    switch step {
    case .insert(let view, _), .update(let view, _):
      if view.locked {
        mirror?.ready.remove(view.session)
      } else if mirror?.ready.insert(view.session).inserted == true {
        notices.append(.threadReady(view))
      }
    case .remove(let session, _):
      mirror?.ready.remove(session)
    case .move:
      break
    }
  }
}
