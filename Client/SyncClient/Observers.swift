import QueueModel

/// Who watches what; used on the engine's queue alone.
///
/// State views keep the newest value alone; change events are never dropped: an observer that falls
/// too far behind sees its stream end, and subscribes again.
struct Observers {
  /// Change events that may wait for one observer.
  static let changesMax = 16_384

  private struct Watcher<Value: Hashable & Sendable> {
    var continuation: AsyncStream<Value>.Continuation
    var latest: Value?

    mutating func show(_ value: Value) {
      guard value != latest else { return }
      latest = value
      continuation.yield(value)
    }
  }

  private var nextID: UInt64 = 0
  private var threads: [UInt64: Watcher<ThreadQueueView>] = [:]
  private var messages: [UInt64: (session: SessionID, watcher: Watcher<MessageQueueView>)] = [:]
  private var statuses: [UInt64: Watcher<SyncStatus>] = [:]
  private var changes: [UInt64: AsyncStream<WorkspaceChange>.Continuation] = [:]
  private var tracker: ChangeTracker?

  mutating func addThreads(
    _ continuation: AsyncStream<ThreadQueueView>.Continuation, _ workspace: Workspace
  ) -> UInt64 {
    var watcher = Watcher(continuation: continuation)
    watcher.show(workspace.threadQueue())
    threads[takeID()] = watcher
    return nextID
  }

  mutating func addMessages(
    _ continuation: AsyncStream<MessageQueueView>.Continuation, of session: SessionID,
    _ workspace: Workspace
  ) -> UInt64 {
    var watcher = Watcher(continuation: continuation)
    Observers.show(session, of: workspace, to: &watcher)
    messages[takeID()] = (session, watcher)
    return nextID
  }

  mutating func addStatus(
    _ continuation: AsyncStream<SyncStatus>.Continuation, _ status: SyncStatus
  ) -> UInt64 {
    var watcher = Watcher(continuation: continuation)
    watcher.show(status)
    statuses[takeID()] = watcher
    return nextID
  }

  mutating func addChanges(
    _ continuation: AsyncStream<WorkspaceChange>.Continuation, _ workspace: Workspace
  ) -> UInt64 {
    var everything = TouchedQueues(threads: true)
    everything.sessions.formUnion(workspace.sessions().map(\.id))
    var fresh = ChangeTracker(workspace: Workspace())
    for change in fresh.changes(in: workspace, touched: everything) {
      continuation.yield(change)
    }
    if tracker == nil { tracker = fresh }
    changes[takeID()] = continuation
    return nextID
  }

  private mutating func takeID() -> UInt64 {
    nextID += 1
    return nextID
  }

  mutating func remove(_ id: UInt64) {
    threads[id] = nil
    messages[id] = nil
    statuses[id] = nil
    changes[id] = nil
    if changes.isEmpty { tracker = nil }
  }

  mutating func show(_ workspace: Workspace, touched: TouchedQueues) {
    if touched.threads, !threads.isEmpty {
      let view = workspace.threadQueue()
      for id in threads.keys { threads[id]?.show(view) }
    }
    for (id, entry) in messages where touched.sessions.contains(entry.session) {
      if var watcher = messages[id]?.watcher {
        Observers.show(entry.session, of: workspace, to: &watcher)
        messages[id]?.watcher = watcher
      }
    }
    guard !changes.isEmpty, let news = tracker?.changes(in: workspace, touched: touched) else {
      return
    }
    for (id, continuation) in changes {
      for change in news {
        if case .dropped = continuation.yield(change) {
          continuation.finish()
          changes[id] = nil
          break
        }
      }
    }
  }

  mutating func show(_ status: SyncStatus) {
    for id in statuses.keys { statuses[id]?.show(status) }
  }

  mutating func finish() {
    for watcher in threads.values { watcher.continuation.finish() }
    for entry in messages.values { entry.watcher.continuation.finish() }
    for watcher in statuses.values { watcher.continuation.finish() }
    for continuation in changes.values { continuation.finish() }
    self = Observers()
  }

  /// A session that does not exist has no view; one that was deleted shows as empty.
  private static func show(
    _ session: SessionID, of workspace: Workspace, to watcher: inout Watcher<MessageQueueView>
  ) {
    if let view = try? workspace.messageQueue(session) {
      watcher.show(view)
    } else if var view = watcher.latest {
      view.messages = []
      view.paused = false
      view.pauseReasons = []
      watcher.show(view)
    }
  }
}
