package import SequenceCRDT

/// What takes back one command, or one stretch of typing: what it found, and what it wrote.
///
/// A step says what was before and names what the command itself wrote; undoing does it only as far
/// as that is still what counts. So nothing that somebody else did later is taken back. Elements are
/// named by their keys, slots, scalars and tags by operation ids.
package struct UndoGroup: Hashable, Sendable {
  /// What the command did, for people.
  package var label: UndoLabel
  /// When, by the device's hybrid clock, in milliseconds since 1970.
  package var milliseconds: Int64
  package var tags: [TagStep] = []
  package var registers: [RegisterStep] = []
  package var messagePlaces: [PlaceStep<MessageID>] = []
  package var threadPlaces: [PlaceStep<SessionID>] = []
  package var queuedAt: [QueuedAtStep] = []
  package var texts: [TextStep] = []
  /// Tags that gave way to others while the property stayed as it was: nothing to take back, but
  /// older groups that put the one speak of the other from now on.
  package var replacements: [TagReplacement] = []

  package init(label: UndoLabel, milliseconds: Int64) {
    self.label = label
    self.milliseconds = milliseconds
  }

  /// A property that tags carry.
  package struct TagStep: Hashable, Sendable {
    package var element: ElementName
    package var field: TagField
    /// The tags the command put; undoing clears those that are left.
    package var put: [OperationID]
    /// The tags the command cleared.
    package var cleared: [OperationID]
    /// The notes of the tags there were, to be put again; nil where there were none.
    package var restored: [String]?
    /// Whether somebody else has put and cleared the property since.
    package var isOvertaken = false
  }

  /// A tag that carries on a property in place of another one.
  package struct TagReplacement: Hashable, Sendable {
    package var field: TagField
    package var old: OperationID
    package var new: OperationID
  }

  /// A register; undoing writes the old value while the command's is the latest.
  package struct RegisterStep: Hashable, Sendable {
    package var element: ElementName
    package var field: RegisterField
    /// nil where the register had never been written.
    package var before: RegisterValue?
    package var beforeWriter: OperationID?
    package var writer: OperationID
  }

  /// A place in a queue; undoing moves back while the command's is the latest.
  package struct PlaceStep<Key: Hashable & Sendable>: Hashable, Sendable {
    package var key: Key
    /// The session whose queue it was; nil for the thread queue.
    package var session: SessionID?
    /// The slot it had.
    package var slot: OperationID
    /// Who stood next to that slot, for a time when it is forgotten.
    package var left: Key?
    package var right: Key?
    /// The slot the command made.
    package var writer: OperationID
  }

  /// A thread's time of queueing.
  package struct QueuedAtStep: Hashable, Sendable {
    package var session: SessionID
    package var before: Int64
    package var beforeWriter: OperationID
    package var writer: OperationID
  }

  /// The text of one message.
  package struct TextStep: Hashable, Sendable {
    package var message: MessageID
    /// The `addMessage` that introduced the content.
    package var content: OperationID
    /// The scalars the command inserted and did not delete itself; undoing deletes what is left.
    package var inserted: [OperationRange]
    /// What the command deleted, in its order; undoing inserts it where the deleted scalars stand.
    package var deleted: [DeletedText]
  }

  /// Deleted scalars with consecutive ids.
  package struct DeletedText: Hashable, Sendable {
    package var range: OperationRange
    package var text: String
    /// The scalars that showed before and behind, for a time when the deleted ones are forgotten.
    package var left: OperationID?
    package var right: OperationID?
  }

  /// Whether there is nothing to take back.
  package var isEmpty: Bool {
    tags.isEmpty && registers.isEmpty && messagePlaces.isEmpty && threadPlaces.isEmpty
      && queuedAt.isEmpty && texts.isEmpty
  }

  /// The group without its steps on some messages.
  func without(_ messages: Set<MessageID>) -> UndoGroup {
    func isLeft(_ element: ElementName) -> Bool {
      if case .message(let id) = element { !messages.contains(id) } else { true }
    }
    var group = self
    group.tags.removeAll { !isLeft($0.element) }
    group.registers.removeAll { !isLeft($0.element) }
    group.messagePlaces.removeAll { messages.contains($0.key) }
    group.texts.removeAll { messages.contains($0.message) }
    return group
  }

  /// The operations that the group speaks of: of texts, those that introduced them.
  func forEachName(_ body: (OperationID) -> Void) {
    for step in tags {
      step.put.forEach(body)
      step.cleared.forEach(body)
    }
    for step in registers {
      body(step.writer)
      step.beforeWriter.map(body)
    }
    for step in messagePlaces {
      body(step.slot)
      body(step.writer)
    }
    for step in threadPlaces {
      body(step.slot)
      body(step.writer)
    }
    for step in queuedAt {
      body(step.writer)
      body(step.beforeWriter)
    }
    for step in texts { body(step.content) }
  }

  /// Whether the group speaks of any of these.
  func speaks(of names: Set<OperationID>) -> Bool {
    var isOne = false
    forEachName { isOne = isOne || names.contains($0) }
    return isOne
  }

  /// About how many bytes the group takes.
  package var cost: Int {
    let steps = tags.count + registers.count + messagePlaces.count + threadPlaces.count
    return texts.reduce(128 + 96 * (steps + queuedAt.count)) { sum, step in
      step.deleted.reduce(sum + 48 + 16 * step.inserted.count) { $0 + 64 + $1.text.utf8.count }
    }
  }

  /// Whether the group is nothing but typing in one message.
  var typedMessage: MessageID? {
    guard let step = texts.first, texts.count == 1, tags.isEmpty, registers.isEmpty,
      messagePlaces.isEmpty, threadPlaces.isEmpty, queuedAt.isEmpty
    else { return nil }
    return step.message
  }
}

/// What an undoable command did, for people.
public struct UndoLabel: Hashable, Sendable, CustomStringConvertible {
  /// What kind of command.
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
  }

  /// What kind of command.
  public var kind: Kind
  /// The first or only session.
  public var session: SessionID?
  /// The first or only message.
  public var message: MessageID?
  /// How many items the command named.
  public var count: Int

  /// Puts the parts together.
  public init(kind: Kind, session: SessionID? = nil, message: MessageID? = nil, count: Int = 1) {
    self.kind = kind
    self.session = session
    self.message = message
    self.count = count
  }

  /// What was done, as a noun: "sending message 3f2a91c0 to review".
  public var description: String {
    let session = session.map { "session \($0)" } ?? "a session"
    let message = message.map { "message \($0.description.prefix(8))" } ?? "a message"
    let messages = count == 1 ? message : "\(count) messages"
    switch kind {
    case .sent: return "sending \(message)"
    case .edited: return "editing \(message)"
    case .moved: return "moving \(messages)"
    case .cancelled: return "cancelling \(messages)"
    case .restored: return "restoring \(message)"
    case .cleared: return "clearing the queue of \(session)"
    case .prioritized: return "setting the priority of \(message)"
    case .attached: return "attaching \(count == 1 ? "a file" : "\(count) files") to \(message)"
    case .detached: return "taking \(count == 1 ? "a file" : "\(count) files") from \(message)"
    case .paused: return "pausing \(session)"
    case .resumed: return "resuming \(session)"
    case .addedSession: return "adding \(session)"
    case .renamedSession: return "renaming \(session)"
    case .deletedSession: return "deleting \(session)"
    case .addedThreads:
      return count == 1 ? "queueing the thread of \(session)" : "queueing \(count) threads"
    case .movedThread:
      return count == 1 ? "moving the thread of \(session)" : "moving \(count) threads"
    case .removedThreads:
      return count == 1 ? "removing the thread of \(session)" : "removing \(count) threads"
    case .clearedThreads: return "clearing the thread queue"
    case .unlockedThread: return "unlocking the thread of \(session)"
    case .imported: return "importing \(count == 1 ? "1 message" : "\(count) messages")"
    }
  }
}

extension Command {
  /// What the command does, for people; nil for undo and redo themselves.
  package var undoLabel: UndoLabel? {
    switch self {
    case .addSession(let id, _, _): UndoLabel(kind: .addedSession, session: id)
    case .renameSession(let id, _): UndoLabel(kind: .renamedSession, session: id)
    case .deleteSession(let id): UndoLabel(kind: .deletedSession, session: id)
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
    case .undo, .redo, .requeueThread, .setHost, .setOnLostServer, .retry, .skip, .setNotBefore,
      .hold, .reportRun, .reportTask:
      nil
    }
  }
}

extension UndoLabel: Codable {}
extension UndoLabel.Kind: Codable {}
