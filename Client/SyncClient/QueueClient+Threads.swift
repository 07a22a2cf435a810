public import QueueModel

/// A thread that its person looked at.
public struct ThreadVisit: Hashable, Sendable {
  /// The thread, as it stood in the queue.
  public var thread: ThreadView
  /// How many messages wait in its session.
  public var waiting: Int
  /// Whether looking at it took it out of the thread queue.
  public var removed: Bool
}

extension QueueClient {
  /// Looks at a thread. Where the device is set so (`autoRemoveOnView`), that takes it out of the
  /// thread queue, unless it is locked: then it is not its person's turn yet (S2-93).
  ///
  /// - Throws: `.queue` where the session is not there or not queued, `.storage`, `.closed`.
  public func viewThread(_ session: SessionID) async throws(ClientError) -> ThreadVisit {
    let workspace = workspace()
    guard let summary = workspace.session(session) else {
      throw .queue(.sessionNotFound(id: session.rawValue))
    }
    guard let thread = workspace.threadQueue().threads.first(where: { $0.session == session })
    else { throw .queue(.threadNotQueued(session: session.rawValue)) }
    let removes = settings.autoRemoveOnView && !thread.locked
    if removes { try await perform(.removeThreads([session])) }
    return ThreadVisit(thread: thread, waiting: summary.waiting, removed: removes)
  }

  /// Looks at the first thread that needs its person; nil where none does.
  ///
  /// - Parameter project: only the threads of this project.
  /// - Throws: as `viewThread`.
  public func viewNextThread(project: String? = nil) async throws(ClientError) -> ThreadVisit? {
    var view = workspace().threadQueue()
    if let project { view = view.inProject(project) }
    guard let first = view.ready.first else { return nil }
    return try await viewThread(first.session)
  }

  /// History entries of the thread queue that an estimate looks at.
  private static let reviewEntriesMax = 500

  /// The thread queue in numbers, with how long it will take, judged by the latest reviews in this
  /// device's log.
  ///
  /// - Parameter project: only the threads of this project, as `ThreadQueueView.inProject` says.
  /// - Throws: `.storage`, `.closed`.
  public func threadStatistics(project: String? = nil) async throws(ClientError) -> ThreadStatistics
  {
    var view = workspace().threadQueue()
    if let project { view = view.inProject(project) }
    var page = HistoryPage()
    repeat {
      let part = try await history(
        of: .threadQueue, before: page.next,
        limit: QueueClient.reviewEntriesMax - page.entries.count)
      page.entries += part.entries
      page.next = part.next
    } while page.next != nil && page.entries.count < QueueClient.reviewEntriesMax
    return ThreadStatistics(of: view, history: page.entries)
  }
}
