import ClientCore
public import QueueModel
public import SequenceCRDT

extension QueueClient {
  /// The whole model: a consistent value of its own.
  public func workspace() -> Workspace { engine.latest.workspace }

  /// The thread queue: as it is now, then after every change that touched it. Only the newest
  /// value is kept for a slow reader.
  public func threadQueueUpdates() -> AsyncStream<ThreadQueueView> {
    engine.observe(.bufferingNewest(1)) { observers, continuation, id, workspace, _ in
      observers.addThreads(continuation, as: id, workspace)
    }
  }

  /// A session's queue: as it is now (nothing, until the session exists), then after every change
  /// that touched it. Only the newest value is kept for a slow reader.
  public func messageQueueUpdates(_ session: SessionID) -> AsyncStream<MessageQueueView> {
    engine.observe(.bufferingNewest(1)) { observers, continuation, id, workspace, _ in
      observers.addMessages(continuation, as: id, of: session, workspace)
    }
  }

  /// Minimal changes: first those that lead from nothing to the present, then every further one,
  /// local or remote. None is left out; the sequence of a reader that falls thousands behind ends,
  /// and the reader starts over with a new one. `EventFeed` has the limits.
  public func changes() -> WorkspaceChanges { WorkspaceChanges(engine: engine) }

  /// Everything that happens, with cursors: behind the one given where the feed still holds what
  /// came since, else from the present on. The feed's first event says which.
  ///
  /// - Throws: `.closed`.
  public func events(after cursor: FeedCursor? = nil) async throws(ClientError) -> EventFeed {
    try await engine.openFeed(after: cursor)
  }

  /// Where sync stands.
  public func syncStatus() -> SyncStatus { engine.latest.status }

  /// Where sync stands: now, then after every change; only the newest value is kept.
  public func syncStatusUpdates() -> AsyncStream<SyncStatus> {
    engine.observe(.bufferingNewest(1)) { observers, continuation, id, _, status in
      observers.addStatus(continuation, as: id, status)
    }
  }

  /// How far the operations of a command have come.
  public func changeState(_ range: OperationRange) -> ChangeState {
    let core = engine.latest.core
    switch core.progress(of: range) {
    case .onThisDevice:
      return .onThisDevice
    case .onServer:
      return .onServer
    case .seen(let devices):
      let workspace = core.replica.workspace
      let views = workspace.vector.sorted.compactMap { workspace.device(of: $0.replica) }
      return .seen(
        by: devices.compactMap { device in views.last { $0.id == device } })
    }
  }
}
