public import SequenceCRDT

/// One thing that happened in a workspace, as this device's log tells it.
public struct HistoryEntry: Hashable, Sendable {
  /// The operations that did it.
  public var operations: OperationRange
  /// The device that did it; nil before its announcement is known.
  public var device: DeviceView?
  /// When, on that device's clock, in milliseconds since 1970, a second more or less; nil where nothing
  /// tells.
  public var milliseconds: Int64?
  /// What happened.
  public var action: HistoryAction
  /// The session it happened in; for a message, the queue it was put in, else where it is now.
  public var session: SessionID?
  /// The message it happened to.
  public var message: MessageID?
  /// Whether it put a thread into the thread queue, took it out, or moved or locked it there; a
  /// prompt that was sent with the queue on did.
  public var touchesThreadQueue: Bool { action.isOfThreadQueue || queuesThread }
  /// When the latest part of it was made, where that tells.
  var latestMilliseconds: Int64?
  /// Whether the requeue of the session's thread is a part of it.
  var queuesThread = false
  /// Whether a session that was known already got a tag that keeps it.
  var isSignOfLife = false

  /// The replica that did it, as 16 hexadecimal digits.
  public var replicaName: String { hexadecimalText(operations.replica.rawValue) }
  /// The sequence number of the first operation.
  public var firstSeq: UInt32 { operations.first }
  /// The sequence number of the last operation.
  public var lastSeq: UInt32 { operations.last }
}

/// What can happen in a workspace.
public enum HistoryAction: Hashable, Sendable {
  /// A device joined, or took this name.
  case joined(name: String)
  /// The session was made known.
  case addedSession
  /// The session got this name.
  case renamedSession(String)
  /// The session got this project path.
  case setProject(String)
  /// The session was deleted.
  case deletedSession
  /// The prompt was queued; its first characters.
  case queued(text: String, priority: Priority)
  /// The prompt was edited: so many scalars came, so many went.
  case edited(inserted: Int, deleted: Int)
  /// A merged text was looked at, and one was chosen.
  case savedText
  /// Its text was changed by a person who had not seen another one, and both were merged.
  case merged(inserted: Int, deleted: Int)
  /// The message was moved, in its queue or into this one.
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
  /// Files were taken away.
  case detached
  /// Attempts to run the message were noted.
  case notedAttempts(Int)
  /// What the latest attempt failed with was noted.
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
  /// The session's agent runs on this device now; empty: on none.
  case setHost(device: String)
  /// The session's agent goes on, or is stopped, where its host has no server.
  case setOnLostServer(String)
  /// Messages of the session whose text was merged start, or wait for a look.
  case setOnMerge(String)
  /// An attempt at the message came so far; a note says why, or what came of it.
  case ran(RunPhase, attempt: Int, note: String)
  /// A failed message is to be tried again.
  case retried
  /// The queue goes on without a failed message.
  case skipped
  /// The message waits for a time, or for an edit; nothing more to wait for where it is 0.
  case postponed(until: Int64)
  /// The session's agent came into this state, by its name for people: what failed did not complete. A
  /// note says what it does, asks, or ended with.
  case task(TaskStatus.Kind, words: String, note: String)
  /// A newer version did something that this one does not know.
  case unknown

  /// A stable name for scripts.
  public var name: String {
    switch self {
    case .joined: "joined"
    case .addedSession: "addedSession"
    case .renamedSession: "renamedSession"
    case .setProject: "setProject"
    case .deletedSession: "deletedSession"
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
    case .task: "task"
    case .unknown: "unknown"
    }
  }
}

extension HistoryAction: CustomStringConvertible {
  /// What happened, as the end of a sentence that begins with the device.
  public var description: String {
    switch self {
    case .joined(let name): "joined as \(name)"
    case .addedSession: "added the session"
    case .renamedSession(let name):
      name.isEmpty ? "took the session's name away" : "named the session \"\(name)\""
    case .setProject(let path):
      path.isEmpty ? "took the project path away" : "set the project path to \(path)"
    case .deletedSession: "deleted the session"
    case .queued(let text, let priority):
      "queued \(priority == .urgent ? "urgently " : "")\"\(text)\""
    case .edited(let inserted, let deleted): "edited the text, +\(inserted) −\(deleted)"
    case .savedText: "looked at the merged text and saved it"
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
        ? "had the agent stopped when its host has no server"
        : "let the agent finish when its host has no server"
    case .setOnMerge(let policy):
      policy == MergePolicy.run.rawValue
        ? "had messages start whose texts were merged"
        : "had messages wait whose texts were merged"
    case .ran(let phase, let attempt, let note):
      "attempt \(attempt): \(phase.name)" + Self.appended(note)
    case .retried: "had the message tried again"
    case .skipped: "went on without the message"
    case .postponed(let time):
      time == 0 ? "let the message go" : "let the message wait for its time"
    case .task(_, let words, let note):
      "task: \(words)" + (note.isEmpty || note == words ? "" : ", \(note)")
    case .unknown: "did something that this version does not know"
    }
  }
}

extension HistoryAction {
  /// A note behind a phrase: most are sentences of their own.
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

/// Whose history is asked for.
public enum HistorySubject: Hashable, Sendable {
  /// Everything.
  case workspace
  /// A session: its settings, its thread, and the messages it holds or was given.
  case session(SessionID)
  /// One message.
  case message(MessageID)
  /// What came into the thread queue, left it, or changed in it (S2-97).
  case threadQueue
  /// The same of one thread.
  case thread(SessionID)

  /// Whether an entry belongs to it.
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

/// A place in this device's log; what is asked for before it is older.
public struct HistoryPosition: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The log entry.
  public var entry: Int64
  /// The number of the thing within the entry, from 0.
  public var index: Int

  /// Names a place.
  public init(entry: Int64, index: Int) {
    self.entry = entry
    self.index = index
  }

  /// Reads `entry.index`; nil for anything else, and for an entry with none behind it.
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

/// Some of a history, the newest first.
public struct HistoryPage: Hashable, Sendable {
  /// What happened, the newest first.
  public var entries: [HistoryEntry]
  /// Where to go on; nil where the log reaches no further back.
  public var next: HistoryPosition?

  /// Puts a page together.
  public init(entries: [HistoryEntry] = [], next: HistoryPosition? = nil) {
    self.entries = entries
    self.next = next
  }
}

extension HistoryEntry: Codable {}
extension HistoryAction: Codable {}
