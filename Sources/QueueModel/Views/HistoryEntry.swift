public import SequenceCRDT

/// One event in a workspace, as this device's log records it.
public struct HistoryEntry: Hashable, Sendable {
  /// The operations of the event.
  public var operations: OperationRange
  /// The device that caused it; nil if its announcement is unknown.
  public var device: DeviceView?
  /// When it happened on that device's clock, in milliseconds since 1970, to within a second; nil
  /// if it is unknown.
  public var milliseconds: Int64?
  /// The event.
  public var action: HistoryAction
  /// The session of the event. For a message, the queue that it was put in, else its present queue.
  public var session: SessionID?
  /// The message of the event.
  public var message: MessageID?
  /// Whether it put a thread into the thread queue, took it out, or moved or locked it there. A
  /// prompt that was sent while the queue was on counts, too.
  public var touchesThreadQueue: Bool { action.isOfThreadQueue || queuesThread }
  /// When the latest part of it was made, if that is known.
  var latestMilliseconds: Int64?
  /// Whether it includes the requeue of the session's thread.
  var queuesThread = false
  /// Whether a session that was already known got a tag that keeps it alive.
  var isSignOfLife = false

  /// The replica that caused it, as 16 hexadecimal digits.
  public var replicaName: String { hexadecimalText(operations.replica.rawValue) }
  /// The sequence number of the first operation.
  public var firstSeq: UInt32 { operations.first }
  /// The sequence number of the last operation.
  public var lastSeq: UInt32 { operations.last }
}

/// The events that can happen in a workspace.
public enum HistoryAction: Hashable, Sendable {
  /// A device joined, or was renamed to this.
  case joined(name: String)
  /// The session was added.
  case addedSession
  /// The session got this name.
  case renamedSession(String)
  /// The session got this project path.
  case setProject(String)
  /// The session was deleted.
  case deletedSession
  /// The session was archived.
  case archived
  /// The archived session was listed again.
  case unarchived
  /// The prompt was queued; its first characters.
  case queued(text: String, priority: Priority)
  /// The prompt was edited: the number of scalars added and removed.
  case edited(inserted: Int, deleted: Int)
  /// A user checked a merged text and chose one.
  case savedText
  /// A user changed its text without seeing another change, and both were merged.
  case merged(inserted: Int, deleted: Int)
  /// The message was moved within its queue, or into this queue.
  case moved
  /// The message was cancelled.
  case cancelled
  /// The agent that has the message was stopped.
  case stopped
  /// The message was restored.
  case restored
  /// The message got this priority.
  case setPriority(Priority)
  /// The session's queue was paused.
  case paused(reason: String)
  /// The session's queue was resumed.
  case resumed
  /// A file was attached, with this name.
  case attached(name: String)
  /// Files were removed.
  case detached
  /// An import recorded earlier attempts to run the message.
  case notedAttempts(Int)
  /// An import recorded the error of the latest attempt.
  case notedError(String)
  /// The thread was queued, or requeued at the end.
  case queuedThread
  /// The thread was moved.
  case movedThread
  /// The thread was taken out of the queue.
  case removedThread
  /// The thread was locked.
  case lockedThread
  /// The thread was unlocked.
  case unlockedThread
  /// The session's agent now runs on this device; empty for none.
  case setHost(device: String)
  /// Whether the session's agent continues or is stopped if its host loses the server.
  case setOnLostServer(String)
  /// Whether messages of the session with merged texts start, or wait for a check.
  case setOnMerge(String)
  /// An attempt at the message reached this phase; a note has the reason or the result.
  case ran(RunPhase, attempt: Int, note: String)
  /// A user decided to retry a failed message.
  case retried
  /// The queue continues without a failed message.
  case skipped
  /// The message waits for a time, or for an edit; 0 if it no longer waits.
  case postponed(until: Int64)
  /// The message waits for this number of others; 0 if it no longer waits.
  case setNeeds(Int)
  /// The session's agent reached this state, given by its name for people: a failed task is not
  /// called completed. A note has its operation, request or result.
  case task(TaskStatus.Kind, words: String, note: String)
  /// A newer version made a change that this version does not know.
  case unknown

  /// A stable name for scripts.
  public var name: String {
    switch self {
    case .joined: "joined"
    case .addedSession: "addedSession"
    case .renamedSession: "renamedSession"
    case .setProject: "setProject"
    case .deletedSession: "deletedSession"
    case .archived: "archived"
    case .unarchived: "unarchived"
    case .queued: "queued"
    case .edited: "edited"
    case .savedText: "savedText"
    case .merged: "merged"
    case .moved: "moved"
    case .cancelled: "cancelled"
    case .stopped: "stopped"
    case .restored: "restored"
    case .setPriority: "setPriority"
    case .paused: "paused"
    case .resumed: "resumed"
    case .attached: "attached"
    case .detached: "detached"
    case .notedAttempts: "notedAttempts"
    case .notedError: "notedError"
    case .queuedThread: "queuedThread"
    case .movedThread: "movedThread"
    case .removedThread: "removedThread"
    case .lockedThread: "lockedThread"
    case .unlockedThread: "unlockedThread"
    case .setHost: "setHost"
    case .setOnLostServer: "setOnLostServer"
    case .setOnMerge: "setOnMerge"
    case .ran(let phase, _, _): phase.name
    case .retried: "retried"
    case .skipped: "skipped"
    case .postponed: "postponed"
    case .setNeeds: "setNeeds"
    case .task: "task"
    case .unknown: "unknown"
    }
  }
}

extension HistoryAction: CustomStringConvertible {
  /// The event, as the end of a sentence that begins with the device.
  public var description: String {
    switch self {
    case .joined(let name): "joined as \(name)"
    case .addedSession: "added the session"
    case .renamedSession(let name):
      name.isEmpty ? "took the session's name away" : "named the session \"\(name)\""
    case .setProject(let path):
      path.isEmpty ? "took the project path away" : "set the project path to \(path)"
    case .deletedSession: "deleted the session"
    case .archived: "archived the session"
    case .unarchived: "brought the session back from the archive"
    case .queued(let text, let priority):
      "queued \(priority == .urgent ? "urgently " : "")\"\(text)\""
    case .edited(let inserted, let deleted): "edited the text, +\(inserted) −\(deleted)"
    case .savedText: "checked the merged text and saved it"
    case .merged(let inserted, let deleted):
      "edited the text, +\(inserted) −\(deleted), which was merged with another version"
    case .moved: "moved it"
    case .cancelled: "cancelled it"
    case .stopped: "stopped its agent"
    case .restored: "restored it"
    case .setPriority(let priority): "made it \(priority.name)"
    case .paused(let reason): reason.isEmpty ? "paused the queue" : "paused the queue: \(reason)"
    case .resumed: "resumed the queue"
    case .attached(let name): "attached \(name)"
    case .detached: "took attachments away"
    case .notedAttempts(let count): "noted \(count == 1 ? "1 attempt" : "\(count) attempts")"
    case .notedError(let text): "noted the error \"\(text)\""
    case .queuedThread: "queued the thread"
    case .movedThread: "moved the thread"
    case .removedThread: "removed the thread"
    case .lockedThread: "locked the thread"
    case .unlockedThread: "unlocked the thread"
    case .setHost(let device):
      device.isEmpty ? "took the session's host away" : "made \(device) the session's host"
    case .setOnLostServer(let policy):
      policy == LostServerPolicy.stop.rawValue
        ? "set on-lost-server to stop: without its server, the host stops the agent"
        : "set on-lost-server to finish: without its server, the host lets the agent finish"
    case .setOnMerge(let policy):
      policy == MergePolicy.run.rawValue
        ? "set on-merge to run: messages start with their merged texts"
        : "set on-merge to wait: merged messages wait until a user chooses a text"
    case .ran(let phase, let attempt, let note):
      "attempt \(attempt): \(phase.name)" + Self.appended(note)
    case .retried: "had the message tried again"
    case .skipped: "continued without the message"
    case .postponed(let time):
      time == 0 ? "let the message go" : "let the message wait for its time"
    case .setNeeds(0): "let the message go"
    case .setNeeds(let count):
      "let the message wait for \(count == 1 ? "another one" : "\(count) others")"
    case .task(_, let words, let note):
      "task: \(words)" + (note.isEmpty || note == words ? "" : ", \(note)")
    case .unknown: "did something that this version does not know"
    }
  }
}

extension HistoryAction {
  /// A note after a phrase: most are sentences of their own.
  fileprivate static func appended(_ note: String) -> String {
    guard let first = note.first else { return "" }
    return "\(first.isUppercase ? "." : ",") \(note)"
  }

  fileprivate var isOfThreadQueue: Bool {
    switch self {
    case .queuedThread, .movedThread, .removedThread, .lockedThread, .unlockedThread: true
    default: false
    }
  }
}

/// The subject of the requested history.
public enum HistorySubject: Hashable, Sendable {
  /// Everything.
  case workspace
  /// A session: its settings, its thread, and its present and former messages.
  case session(SessionID)
  /// One message.
  case message(MessageID)
  /// Everything that entered or left the thread queue, or changed in it (S2-97).
  case threadQueue
  /// As `threadQueue`, for one thread.
  case thread(SessionID)

  /// Whether an entry belongs to the subject.
  package func includes(_ entry: HistoryEntry) -> Bool {
    switch self {
    case .workspace: true
    case .session(let session): entry.session == session
    case .message(let message): entry.message == message
    case .threadQueue: entry.touchesThreadQueue
    case .thread(let session): entry.touchesThreadQueue && entry.session == session
    }
  }
}

/// A place in this device's log; entries before it are older.
public struct HistoryPosition: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The log entry.
  public var entry: Int64
  /// The number of the event within the log entry, from 0.
  public var index: Int

  /// Creates a place.
  public init(entry: Int64, index: Int) {
    self.entry = entry
    self.index = index
  }

  /// Reads `entry.index`; nil for anything else, and for the greatest entry, which has no
  /// successor.
  public init?(_ text: some StringProtocol) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let entry = Int64(parts[0]), let index = Int(parts[1]),
      (0..<Int64.max).contains(entry), index >= 0
    else { return nil }
    self.init(entry: entry, index: index)
  }

  /// `entry.index`.
  public var description: String { "\(entry).\(index)" }

  /// Orders by age.
  public static func < (left: HistoryPosition, right: HistoryPosition) -> Bool {
    (left.entry, left.index) < (right.entry, right.index)
  }
}

/// A page of a history, the newest first.
public struct HistoryPage: Hashable, Sendable {
  /// The events, the newest first.
  public var entries: [HistoryEntry]
  /// Where the next page continues; nil if the log has nothing older.
  public var next: HistoryPosition?

  /// Creates a page.
  public init(entries: [HistoryEntry] = [], next: HistoryPosition? = nil) {
    self.entries = entries
    self.next = next
  }
}

extension HistoryEntry: Codable {}
extension HistoryAction: Codable {}
