public import QueueModel

/// A thread that its user looked at.
public struct ThreadVisit: Hashable, Sendable {
  /// The thread, as it was in the queue.
  public var thread: ThreadView
  /// The number of waiting messages in its session.
  public var waiting: Int
  /// Whether looking at it removed it from the thread queue.
  public var removed: Bool
}

/// The thread queue: the sessions that need their user next.
///
/// ```swift
/// for await view in client.threads.updates() { show(view.ready) }
/// if let visit = try await client.threads.viewNext() { open(visit.thread.session) }
/// ```
public struct ClientThreads: Sendable {
  let client: QueueClient

  /// The thread queue: as it is now, then after every change to it. A slow reader gets only the
  /// newest value.
  public func updates() -> AsyncStream<ThreadQueueView> {
    client.engine.observe(.bufferingNewest(1)) { observers, continuation, id, workspace, _ in
      observers.addThreads(continuation, as: id, workspace)
    }
  }

  /// Views a thread. With the setting `autoRemoveOnView`, that removes it from the thread queue,
  /// unless it is locked: then it does not need its user yet (S2-93).
  ///
  /// - Throws: `.queue` if the session does not exist or is not queued; else as
  ///   `QueueClient.perform(_:)`.
  public func view(_ session: SessionID) async throws(ClientError) -> ThreadVisit {
    let workspace = client.workspace()
    guard let summary = workspace.session(session) else {
      throw .queue(.sessionNotFound(id: session.rawValue))
    }
    guard let thread = try await queue().threads.first(where: { $0.session == session })
    else { throw .queue(.threadNotQueued(session: session.rawValue)) }
    // A device that may not change anything may still look.
    let mayChange = (try? client.requireAccess()) != nil
    let removes = client.settings.autoRemoveOnView && !thread.locked && mayChange
    if removes { try await client.perform(.removeThreads([session])) }
    return ThreadVisit(thread: thread, waiting: summary.waiting, removed: removes)
  }

  /// Views the first thread that needs its user; nil if none does.
  ///
  /// - Parameter project: only the threads of this project.
  /// - Throws: as `view`.
  public func viewNext(project: String? = nil) async throws(ClientError) -> ThreadVisit? {
    var view = try await queue()
    if let project { view = view.inProject(project) }
    guard let first = view.ready.first else { return nil }
    return try await self.view(first.session)
  }

  /// The number of history entries of the thread queue that an estimate uses.
  private static let reviewEntriesMax = 500

  /// The thread queue in numbers, with the time that it will take, estimated from the latest
  /// reviews in this device's log.
  ///
  /// - Parameter project: only the threads of this project, as for `ThreadQueueView.inProject`.
  /// - Throws: `.queue(.persistenceFailed)` if the log cannot be read, `.closed`.
  public func statistics(project: String? = nil) async throws(ClientError) -> ThreadStatistics {
    var view = try await queue()
    if let project { view = view.inProject(project) }
    var page = HistoryPage()
    repeat {
      let part = try await client.history(
        of: .threadQueue, before: page.next,
        limit: ClientThreads.reviewEntriesMax - page.entries.count)
      page.entries += part.entries
      page.next = part.next
    } while page.next != nil && page.entries.count < ClientThreads.reviewEntriesMax
    return ThreadStatistics(of: view, history: page.entries)
  }
}
