/// A description of an undoable command, for people.
public struct UndoLabel: Hashable, Sendable, CustomStringConvertible {
  /// The kind of command.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// Queued a prompt.
    case sent
    /// Changed a prompt's text.
    case edited
    /// Moved messages.
    case moved
    /// Cancelled messages.
    case cancelled
    /// Restored a message.
    case restored
    /// Cancelled all messages of a session.
    case cleared
    /// Set a message's priority.
    case prioritized
    /// Attached files to a message.
    case attached
    /// Took files from a message.
    case detached
    /// Paused a session's queue.
    case paused
    /// Resumed a session's queue.
    case resumed
    /// Added a session.
    case addedSession
    /// Renamed a session.
    case renamedSession
    /// Deleted a session.
    case deletedSession
    /// Archived a session.
    case archived
    /// Listed an archived session again.
    case unarchived
    /// Put threads into the thread queue by hand.
    case addedThreads
    /// Moved threads.
    case movedThread
    /// Took threads out of the thread queue.
    case removedThreads
    /// Emptied the thread queue.
    case clearedThreads
    /// Unlocked a thread.
    case unlockedThread
    /// Imported a document.
    case imported
    /// Set when a message may start.
    case delayed
    /// Set or removed a session's host.
    case hosted
    /// Tried a message again.
    case retried
    /// Continued without an unsuccessful message.
    case skipped
    /// Set the policy of a session's host when its server does not answer.
    case setOnLostServer
    /// Stopped a session's agent.
    case stopped
    /// Changed a setting of the device or of a session's agent; the text names it.
    case setting
    /// Kept a message from starting for a while, or released it.
    case held
    /// Changed a session's draft.
    case drafted
    /// Answered an agent's request; the text has the answer.
    case answered
    /// Set whether messages of a session start if their text was merged.
    case setOnMerge
    /// Chose the text of a merged message.
    case chosen
    /// Forgot the server of this device.
    case unpaired
    /// Turned on push notifications to an address, which the text names.
    case addedPush
    /// Turned off push notifications to an address.
    case removedPush
    /// Paired this device with a server.
    case paired
    /// Changed the address of this device's server.
    case movedServer
    /// Set the messages that must succeed before one starts.
    case needed
  }

  /// The maximum number of Unicode scalars of a message's text in a label.
  static let textScalarsMax = 60

  /// The kind of command.
  public var kind: Kind
  /// The first or only session.
  public var session: SessionID?
  /// The first or only message.
  public var message: MessageID?
  /// How many items the command named.
  public var count: Int
  /// If the change concerns one message, the beginning of its first line, at most 60 characters.
  /// For a setting, its name; for a push address, the address without its secrets.
  public var text: String?

  /// Creates a value from its parts.
  public init(
    kind: Kind, session: SessionID? = nil, message: MessageID? = nil, count: Int = 1,
    text: String? = nil
  ) {
    self.kind = kind
    self.session = session
    self.message = message
    self.count = count
    self.text = text
  }

  /// The action as a noun: `sending "Fix the header" to review`.
  public var description: String {
    let session = session.map { "\($0)" } ?? "a session"
    let message = text.map { "\"\($0)\"" } ?? "a message"
    let messages = count == 1 ? message : "\(count) messages"
    let place = self.session.map { " in \($0)" } ?? ""
    let files = count == 1 ? "a file" : "\(count) files"
    switch kind {
    case .sent: return "sending \(message) to \(session)"
    case .edited: return "editing \(message)" + place
    case .moved: return "moving \(messages)" + place
    case .cancelled: return "cancelling \(messages)" + place
    case .restored: return "restoring \(message)" + place
    case .cleared: return "clearing the queue of \(session)"
    case .prioritized: return "setting the priority of \(message)" + place
    case .attached: return "attaching \(files) to \(message)" + place
    case .detached: return "taking \(files) from \(message)" + place
    case .paused: return "pausing \(session)"
    case .resumed: return "resuming \(session)"
    case .addedSession: return "adding session \(session)"
    case .renamedSession: return "renaming session \(session)"
    case .deletedSession: return "deleting session \(session)"
    case .archived: return "archiving session \(session)"
    case .unarchived: return "bringing session \(session) back from the archive"
    case .addedThreads:
      return count == 1 ? "queueing the thread of \(session)" : "queueing \(count) threads"
    case .movedThread:
      return count == 1 ? "moving the thread of \(session)" : "moving \(count) threads"
    case .removedThreads:
      return count == 1 ? "removing the thread of \(session)" : "removing \(count) threads"
    case .clearedThreads: return "clearing the thread queue"
    case .unlockedThread: return "unlocking the thread of \(session)"
    case .imported: return "importing \(count == 1 ? "1 message" : "\(count) messages")"
    case .delayed: return "setting the time of \(message)" + place
    case .needed: return "setting what \(message) waits for" + place
    case .hosted: return "choosing the host of \(session)"
    case .retried: return "retrying \(message)" + place
    case .skipped: return "skipping \(message)" + place
    case .setOnLostServer: return "setting what \(session) does without its server"
    case .setOnMerge: return "setting what \(session) does with merged texts"
    case .stopped: return "stopping the agent of \(session)"
    case .setting: return "setting \(text ?? "an option")" + place
    case .held: return "holding \(message)" + place
    case .drafted: return "changing the draft of \(session)"
    case .answered: return (text ?? "answering a request") + place
    case .chosen: return "choosing the text of \(message)" + place
    case .unpaired: return "unpairing this device"
    case .paired: return "pairing this device with \(text ?? "a server")"
    case .movedServer: return "following the server to \(text ?? "another address")"
    case .addedPush: return "adding the push address \(text ?? "of this device")"
    case .removedPush: return "removing the push address \(text ?? "of this device")"
    }
  }
}

extension Command {
  /// A description of the command's effect, for people; nil for undo, redo and reports of agents
  /// and hosts.
  package var undoLabel: UndoLabel? {
    switch self {
    case .addSession(let id, _, _): UndoLabel(kind: .addedSession, session: id)
    case .renameSession(let id, _): UndoLabel(kind: .renamedSession, session: id)
    case .deleteSession(let id): UndoLabel(kind: .deletedSession, session: id)
    case .archive(let id): UndoLabel(kind: .archived, session: id)
    case .unarchive(let id): UndoLabel(kind: .unarchived, session: id)
    case .send(let send): UndoLabel(kind: .sent, session: send.session, message: send.id)
    case .edit(let id, _, _), .insertText(let id, _, _), .deleteText(let id, _):
      UndoLabel(kind: .edited, message: id)
    case .move(let ids, _): UndoLabel(kind: .moved, message: ids.first, count: ids.count)
    case .cancel(let ids): UndoLabel(kind: .cancelled, message: ids.first, count: ids.count)
    case .restore(let id): UndoLabel(kind: .restored, message: id)
    case .clear(let id): UndoLabel(kind: .cleared, session: id)
    case .setPriority(let id, _): UndoLabel(kind: .prioritized, message: id)
    case .attach(let id, let files):
      UndoLabel(kind: .attached, message: id, count: files.count)
    case .detach(let id, let files):
      UndoLabel(kind: .detached, message: id, count: files.count)
    case .pause(let id, _): UndoLabel(kind: .paused, session: id)
    case .resume(let id): UndoLabel(kind: .resumed, session: id)
    case .addThreads(let ids):
      UndoLabel(kind: .addedThreads, session: ids.first, count: ids.count)
    case .moveThreads(let ids, _):
      UndoLabel(kind: .movedThread, session: ids.first, count: ids.count)
    case .removeThreads(let ids):
      UndoLabel(kind: .removedThreads, session: ids.first, count: ids.count)
    case .clearThreads: UndoLabel(kind: .clearedThreads)
    case .unlockThread(let id): UndoLabel(kind: .unlockedThread, session: id)
    case .importDocument(let document):
      UndoLabel(kind: .imported, count: document.messageCount)
    case .setNotBefore(let id, _), .setLater(let id, _): UndoLabel(kind: .delayed, message: id)
    case .setNeeds(let id, _): UndoLabel(kind: .needed, message: id)
    case .hold(let id, _): UndoLabel(kind: .held, message: id)
    case .setHost(let id, _): UndoLabel(kind: .hosted, session: id)
    case .setOnLostServer(let id, _): UndoLabel(kind: .setOnLostServer, session: id)
    case .setOnMerge(let id, _): UndoLabel(kind: .setOnMerge, session: id)
    case .retry(let id): UndoLabel(kind: .retried, message: id)
    case .skip(let id): UndoLabel(kind: .skipped, message: id)
    case .undo, .redo, .requeueThread, .stopAttempt, .reportRun, .reportTask: nil
    }
  }
}

extension UndoLabel: Codable {}
extension UndoLabel.Kind: Codable {}
