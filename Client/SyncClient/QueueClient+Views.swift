import ClientCore
public import QueueModel
public import SequenceCRDT

extension QueueClient {
  /// The message queues of all sessions.
  public var queues: ClientQueues { ClientQueues(client: self) }

  /// The queue of threads that need their user.
  public var threads: ClientThreads { ClientThreads(client: self) }

  /// The agents' work, their requests, and the answers.
  public var tasks: ClientTasks { ClientTasks(client: self) }

  /// The notifications of this device, and their push addresses.
  public var notifications: ClientNotifications { ClientNotifications(client: self) }

  /// The execution of messages on this device.
  public var execution: ClientExecution { ClientExecution(client: self) }

  /// Files of messages.
  public var attachments: ClientAttachments { ClientAttachments(client: self) }

  /// The whole model, as a consistent value that later changes do not affect.
  public func workspace() -> Workspace { engine.latest.workspace }

  /// The best known time, in milliseconds since 1970: the server's if this device's clock is wrong.
  /// Compare the ends of holds with it.
  public var time: Int64 {
    let context = engine.context()
    return engine.latest.clock?.time(at: context) ?? context.wall
  }

  /// Minimal changes: first those that rebuild the current state, then every further one, local or
  /// remote. None is left out. The sequence ends if its reader falls thousands behind; the reader
  /// then starts again with a new one. `EventFeed` has the limits.
  public func changes() -> WorkspaceChanges { WorkspaceChanges(engine: engine) }

  /// All events, with cursors: after the given one if the feed still holds the later events, else
  /// from the present on. The feed's first event reports which of the two.
  ///
  /// - Throws: `.closed`.
  public func events(after cursor: FeedCursor? = nil) async throws(ClientError) -> EventFeed {
    try await engine.openFeed(after: cursor)
  }

  /// The state of sync.
  public func syncStatus() -> SyncStatus { engine.latest.status }

  /// The state of sync: now, then after every change; only the newest value is kept.
  public func syncStatusUpdates() -> AsyncStream<SyncStatus> {
    engine.observe(.bufferingNewest(1)) { observers, continuation, id, _, status in
      observers.addStatus(continuation, as: id, status)
    }
  }

  /// How far the operations of a command have been synced.
  public func changeState(_ range: OperationRange) async -> ChangeState {
    await engine.read { core in
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
}
