/// One waiting message, as people and programs see it.
public struct MessageView: Hashable, Sendable, Identifiable {
  /// The message's permanent name.
  public var id: MessageID
  /// The session whose queue holds it.
  public var session: SessionID
  /// The prompt.
  public var content: String
  /// Its priority; urgent messages precede normal ones.
  public var priority: Priority
  /// Whether it waits, or how it left its queue.
  public var status: MessageStatus
  /// Place in the effective order, from 1; 0 for a message that is in no queue.
  public var position: Int
  /// Milliseconds since 1970 on the clock of the device that queued it.
  public var createdAt: Int64
  /// The device that queued it; nil if its announcement is unknown.
  public var device: DeviceView?
  /// Its own project path, if it has one besides its session's.
  public var project: String?
  /// The number of attempts to run it, here or before it was imported (S0-53).
  public var attempts = 0
  /// Why the latest attempt did not succeed (S0-54, S0-62); nil if it did or there was none.
  public var lastError: String?
  /// The files that go with it, by name.
  public var attachments: [Attachment] = []
  /// Whether an agent queued it, and not its user.
  public var isByAgent = false
  /// The latest attempt to run it; nil before the first.
  public var run: Run?
  /// The earliest time at which it may start, in milliseconds since 1970; nil if it may start at
  /// once.
  public var notBefore: Int64?
  /// The time until which it is held because it is being edited, in milliseconds since 1970.
  public var heldUntil: Int64?
  /// The time before which it is not in line, because a user postponed it, in milliseconds since
  /// 1970; it may have passed.
  public var later: Int64?
  /// The messages that must succeed before it is in line, whether or not they have; see
  /// `Workspace.unmetNeeds(of:)`.
  public var needs: [MessageID] = []
  /// How a user withdrew it while it runs; nil if no user did. Unless the attempt succeeds, it
  /// counts as cancelled.
  public var withdrawal: Withdrawal?
  var saved = SavedTexts()

  /// The texts that were saved independently and merged, the earliest first, until a user has
  /// checked them; otherwise empty. The message does not start until a user chooses one, or edits
  /// it.
  public package(set) var versions: [MessageVersion] {
    get { saved.versions }
    set { saved.versions = newValue }
  }
  /// The texts that were saved for it too late, after its agent got `content`; the earliest first.
  public var lateVersions: [MessageVersion] { saved.late }
  /// Whether it waits for a check of its merged text; `versions` has all texts that can be chosen.
  public var isMerged: Bool { saved.isMerged }
}

/// How a message that an agent has was withdrawn.
public enum Withdrawal: Hashable, Sendable {
  /// It was cancelled as it started; its agent continues.
  case cancelled
  /// Its agent was stopped; it stops within seconds, or when its device is back.
  case stopped
}

/// The properties of a message beside its content.
struct SavedTexts: Hashable, Sendable {
  var isMerged = false
  var versions: [MessageVersion] = []
  var late: [MessageVersion] = []
}

/// The state of a message.
public enum MessageStatus: String, Hashable, Sendable, CaseIterable {
  /// Waits in its queue.
  case queued
  /// Was withdrawn; `restore` brings it back.
  case cancelled
  /// The agent has it, or may have it.
  case running
  /// The agent failed; the queue waits for a user's decision.
  case failed
  /// The agent died; the queue waits for a user's decision.
  case interrupted
  /// It is unknown whether the agent did it; the queue waits for a user's decision.
  case unknown
  /// Done.
  case succeeded
  /// Failed, and a user continued without it.
  case skipped

  /// Whether the message is at the front of its queue, whatever its priority.
  public var standsInFront: Bool {
    switch self {
    case .running, .failed, .interrupted, .unknown: true
    case .queued, .cancelled, .succeeded, .skipped: false
    }
  }
}

/// A device as the workspace knows it.
public struct DeviceView: Hashable, Sendable {
  /// The device's id.
  public var id: DeviceID
  /// Its name at the time of its latest announcement.
  public var name: String
}

/// One session's message queue in effective order.
public struct MessageQueueView: Hashable, Sendable {
  /// The session.
  public var session: SessionID
  /// Whether nothing may start.
  public var paused: Bool
  /// The reasons of the open pauses, in a fixed order.
  public var pauseReasons: [String]
  /// The waiting messages; positions run from 1 without gaps.
  public var messages: [MessageView]
  /// The device on which the session's agent runs; nil if none was named.
  public var host: DeviceID?

  /// Whether the agent has a message of the queue (S0-4).
  public var isExecuting: Bool { messages.contains { $0.status == .running } }
  /// Why the queue is blocked until a user decides (S0-5, S0-65).
  public var currentError: String? {
    messages.first { $0.status.standsInFront && $0.status != .running }?.lastError
  }
}

/// A stretch of one session's message queue in effective order.
public struct MessageWindow: Hashable, Sendable {
  /// The session.
  public var session: SessionID
  /// How many messages wait in the whole queue.
  public var total: Int
  /// The messages of the stretch; each has its place in the whole queue.
  public var messages: [MessageView]
}

/// One entry of the thread queue.
public struct ThreadView: Hashable, Sendable, Identifiable {
  /// The session.
  public var id: SessionID { session }
  /// The session.
  public var session: SessionID
  /// Its display name, or its id if none was given.
  public var name: String
  /// Its project path, empty if none was given.
  public var project: String
  /// Place from 1 over all threads in the queue, including locked ones (S2-34).
  public var position: Int
  /// Milliseconds since 1970 of the latest requeue.
  public var queuedAt: Int64
  /// Whether an agent works on it, so that its user need not look at it now (S2-22).
  public var locked: Bool
}

/// The thread queue.
public struct ThreadQueueView: Hashable, Sendable {
  /// Every thread in the queue in order, locked ones too.
  public var threads: [ThreadView]

  /// Creates a view.
  public init(threads: [ThreadView]) {
    self.threads = threads
  }

  /// The threads that need their user now: not locked, in order.
  public var ready: [ThreadView] { threads.filter { !$0.locked } }

  /// The threads of a project, with their places in the whole queue (S2-91).
  ///
  /// - Parameter project: a path, which includes the folders below it, or the name of any folder on
  ///   the way, without a slash.
  public func inProject(_ project: String) -> ThreadQueueView {
    var wanted = project[...]
    while wanted.count > 1, wanted.hasSuffix("/") { wanted.removeLast() }
    let isName = !wanted.contains("/")
    guard !wanted.isEmpty else {
      return ThreadQueueView(threads: threads.filter(\.project.isEmpty))
    }
    return ThreadQueueView(
      threads: threads.filter { thread in
        thread.project == wanted || thread.project.hasPrefix(wanted == "/" ? "/" : wanted + "/")
          || (isName && thread.project.split(separator: "/").contains(wanted))
      })
  }
}

/// One session.
public struct SessionView: Hashable, Sendable, Identifiable {
  /// The session's id.
  public var id: SessionID
  /// Its display name, or its id if none was given.
  public var name: String
  /// Its project path, empty if none was given.
  public var project: String
  /// Whether its queue is paused.
  public var paused: Bool
  /// Whether lists leave it out: a user archived it, and nothing in it waits, works or asks.
  public var archived: Bool
  /// How many messages wait.
  public var waiting: Int
  /// Its place in the thread queue, nil if it is not in it.
  public var threadPosition: Int?
  /// Whether its thread is locked.
  public var locked: Bool
  /// The device on which its agent runs; nil if none was named.
  public var host: DeviceID?
  /// The policy of that device for an agent at work when its server does not answer.
  public var onLostServer: LostServerPolicy
  /// Whether its messages start if their text was merged.
  public var onMerge: MergePolicy
  /// The work of its agent; nil if it was never reported.
  public var task: TaskState?
}

extension MessageStatus: Codable {}
extension DeviceView: Codable {}
