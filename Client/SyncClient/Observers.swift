import QueueModel

/// The observers and the values that they watch; used only on the engine's queue.
///
/// State views keep only the newest value. The feed's log holds the events, which its readers
/// fetch.
struct Observers {
  private struct Watcher<Value: Hashable & Sendable> {
    var continuation: AsyncStream<Value>.Continuation
    var latest: Value?

    mutating func show(_ value: Value) {
      guard value != latest else { return }
      latest = value
      continuation.yield(value)
    }
  }

  private var threads: [UInt64: Watcher<ThreadQueueView>] = [:]
  private var messages: [UInt64: (session: SessionID, watcher: Watcher<MessageQueueView>)] = [:]
  private var statuses: [UInt64: Watcher<SyncStatus>] = [:]
  private var feed: FeedSource

  /// The number of observed state views.
  var viewCount: Int { threads.count + messages.count + statuses.count }

  init(log: FeedLog) {
    feed = FeedSource(log: log)
  }

  mutating func addThreads(
    _ continuation: AsyncStream<ThreadQueueView>.Continuation, as id: UInt64,
    _ workspace: Workspace
  ) {
    var watcher = Watcher(continuation: continuation)
    watcher.show(workspace.threadQueue())
    threads[id] = watcher
  }

  mutating func addMessages(
    _ continuation: AsyncStream<MessageQueueView>.Continuation, as id: UInt64,
    of session: SessionID, _ workspace: Workspace
  ) {
    var watcher = Watcher(continuation: continuation)
    Observers.show(session, of: workspace, to: &watcher)
    messages[id] = (session, watcher)
  }

  mutating func addStatus(
    _ continuation: AsyncStream<SyncStatus>.Continuation, as id: UInt64, _ status: SyncStatus
  ) {
    var watcher = Watcher(continuation: continuation)
    watcher.show(status)
    statuses[id] = watcher
  }

  mutating func openFeed(
    after cursor: FeedCursor?, _ workspace: Workspace, _ status: SyncStatus
  ) -> EventFeed {
    feed.open(after: cursor, workspace, status)
  }

  mutating func remove(_ id: UInt64) {
    threads[id] = nil
    messages[id] = nil
    statuses[id] = nil
  }

  mutating func show(_ workspace: Workspace, touched: TouchedQueues, queueSizeMax: Int) {
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
    feed.show(workspace, touched: touched, queueSizeMax: queueSizeMax)
  }

  mutating func show(_ status: SyncStatus) {
    for id in statuses.keys { statuses[id]?.show(status) }
    feed.show(status)
  }

  mutating func finish() {
    for watcher in threads.values { watcher.continuation.finish() }
    for entry in messages.values { entry.watcher.continuation.finish() }
    for watcher in statuses.values { watcher.continuation.finish() }
    feed.log.close()
    self = Observers(log: feed.log)
  }

  /// A session that does not exist has no view; a deleted one appears empty.
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
