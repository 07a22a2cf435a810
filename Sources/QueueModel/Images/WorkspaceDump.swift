import SequenceCRDT

/// The whole workspace for people and scripts. It is equal on two devices exactly if they know the
/// same operations. Written with sorted keys, it is canonical JSON.
public struct WorkspaceDump: Hashable, Sendable {
  /// How much of a replica is known, and its device.
  public struct Replica: Hashable, Sendable {
    /// The replica id, 16 hexadecimal digits.
    public var replica: String
    /// The sequence number of its last applied operation.
    public var seq: UInt32
    /// The device's id, nil before its announcement is known.
    public var device: DeviceID?
    /// The device's name, nil before its announcement is known.
    public var deviceName: String?
  }

  /// One thread of the thread queue.
  public struct Thread: Hashable, Sendable {
    /// The session.
    public var session: SessionID
    /// Place from 1.
    public var position: Int
    /// Milliseconds since 1970 of the latest requeue.
    public var queuedAt: Int64
    /// Whether it is hidden because it is being worked on.
    public var locked: Bool
  }

  /// One session with its messages.
  public struct Session: Hashable, Sendable {
    /// The session's id.
    public var session: SessionID
    /// Its display name.
    public var name: String
    /// Its project path.
    public var project: String
    /// Whether its queue is paused.
    public var paused: Bool
    /// The reasons given with its pauses.
    public var pauseReasons: [String]
    /// The waiting messages in effective order.
    public var messages: [Message]
    /// The cancelled messages by id.
    public var cancelled: [Message]
    /// The work of its agent; nil if it was never reported.
    public var task: TaskState?
  }

  /// One message.
  public struct Message: Hashable, Sendable {
    /// The message's id.
    public var id: MessageID
    /// The prompt.
    public var content: String
    /// `normal` or `urgent`.
    public var priority: String
    /// Place from 1, 0 for a cancelled message.
    public var position: Int
    /// Milliseconds since 1970 on the author's clock.
    public var createdAt: Int64
    /// The author's device, nil before its announcement is known.
    public var device: DeviceID?
    /// Its own project path, attempts, last error and files, if it has any.
    public var project: String?
    /// The number of attempts to run it.
    public var attempts: Int?
    /// The error of the latest attempt.
    public var lastError: String?
    /// The files that go with it.
    public var attachments: [Attachment]?
    /// Whether an agent queued it; absent if its user did.
    public var byAgent: Bool?
    /// The time before which it is not in line; absent if it always is.
    public var later: Int64?
    /// The messages that must succeed before it is in line; absent if there are none.
    public var needs: [MessageID]?
  }

  /// By replica id.
  public var replicas: [Replica]
  /// The thread queue in order.
  public var threads: [Thread]
  /// By session id; without deleted ones.
  public var sessions: [Session]
}

extension Workspace {
  /// All visible content, and the version vector.
  ///
  /// - Complexity: O(state).
  public func dump() -> WorkspaceDump { WorkspaceDump(of: self) }
}

extension WorkspaceDump {
  fileprivate init(of workspace: Workspace) {
    replicas = workspace.vector.sorted.map { entry in
      let device = workspace.device(of: entry.replica)
      return Replica(
        replica: hexadecimalText(entry.replica.rawValue), seq: entry.seq, device: device?.id,
        deviceName: device?.name)
    }
    threads = workspace.threadQueue().threads.map {
      Thread(
        session: $0.session, position: $0.position, queuedAt: $0.queuedAt, locked: $0.locked)
    }
    sessions = workspace.sessions().map { Session($0, in: workspace) }
  }
}

extension WorkspaceDump.Session {
  fileprivate init(_ view: SessionView, in workspace: Workspace) {
    let queue = try? workspace.messageQueue(view.id)
    self.init(
      session: view.id, name: view.name, project: view.project, paused: view.paused,
      pauseReasons: queue?.pauseReasons ?? [],
      messages: (queue?.messages ?? []).map(WorkspaceDump.Message.init),
      cancelled: workspace.cancelledMessages(of: view.id).map(WorkspaceDump.Message.init),
      task: view.task)
  }
}

extension WorkspaceDump.Message {
  fileprivate init(_ view: MessageView) {
    self.init(
      id: view.id, content: view.content, priority: view.priority.name, position: view.position,
      createdAt: view.createdAt, device: view.device?.id, project: view.project,
      attempts: view.attempts == 0 ? nil : view.attempts, lastError: view.lastError,
      attachments: view.attachments.isEmpty ? nil : view.attachments,
      byAgent: view.isByAgent ? true : nil, later: view.later,
      needs: view.needs.isEmpty ? nil : view.needs)
  }
}

extension WorkspaceDump: Codable {}
extension WorkspaceDump.Replica: Codable {}
extension WorkspaceDump.Thread: Codable {}
extension WorkspaceDump.Session: Codable {}
extension WorkspaceDump.Message: Codable {}
