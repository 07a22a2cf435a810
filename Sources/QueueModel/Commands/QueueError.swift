public import SequenceCRDT

/// Why a command was refused; nothing changed.
public enum QueueError: Error, Hashable, Sendable {
  /// The session's queue is at its cap (S0-57).
  case queueFull(current: Int, max: Int)
  /// No message has this id, or it is not where the command needs it (S0-58).
  case messageNotFound(id: String)
  /// The device could not save the change (S0-59).
  case persistenceFailed(underlying: PersistenceFault)
  /// The agent failed on a message; its session waits for a user (S0-60).
  case executionFailed(message: String)
  /// A shortened message id fits several messages.
  case messageAmbiguous(prefix: String, candidates: [MessageCandidate])
  /// No session has this id.
  case sessionNotFound(id: String)
  /// The session is not in the thread queue.
  case threadNotQueued(session: String)
  /// The session cannot be archived: messages wait in it, or, if none does, its agent works or asks.
  case sessionInUse(session: String, waiting: Int)
  /// The message's id is in use, with other content.
  case messageIDTaken(id: String)
  /// The text is empty or blank (S2-43).
  case blankText
  /// The text is longer than one message may be.
  case contentTooLong(bytes: Int, max: Int)
  /// The session id cannot be used.
  case invalidSessionID(name: String, reason: String)
  /// A name, path or reason is too long or empty.
  case invalidName(field: String, reason: String)
  /// A place in a queue that does not exist.
  case invalidPosition(position: Int, count: Int)
  /// The command names itself as its own neighbour, or nothing at all.
  case invalidMove(reason: String)
  /// The message is cancelled; `restore` brings it back.
  case messageCancelled(id: String)
  /// The message is not cancelled, so it cannot be restored.
  case messageNotCancelled(id: String)
  /// The message ended so long ago that its content is gone.
  case messageForgotten(id: String)
  /// The agent has the message already, so it can no longer be changed or cancelled. `isStopping`: a
  /// user stopped the agent, so the message cannot be restored yet.
  case alreadyStarted(id: String, isStopping: Bool = false)
  /// The message was done already.
  case messageFinished(id: String)
  /// The latest attempt at the message did not fail, so there is nothing to retry or skip.
  case messageNotFailed(id: String)
  /// A message cannot wait for a time that has come.
  case timePassed
  /// A message cannot wait for one that waits for it, or for itself.
  case needsEachOther(id: String, need: String)
  /// The message's text was not merged, or a user has checked it, so there is nothing to choose.
  case messageNotMerged(id: String)
  /// A merged message has no version of this number; `takesMerged`: whether the merged text can be chosen.
  case versionNotFound(number: Int, count: Int, takesMerged: Bool = true)
  /// A version of a merged message is too long to be kept, so it cannot be chosen.
  case versionTooLong(number: Int, bytes: Int, id: String)
  /// Nothing is left of a merged text, so it cannot be chosen.
  case mergedTextBlank(id: String)
  /// A task cannot come from its present state into the one reported (S4-47).
  case illegalTaskMove(session: String, move: TaskMoveError)
  /// A stretch of a message's text that is not there.
  case invalidTextRange(first: Int, last: Int, count: Int)
  /// The document to import cannot be used.
  case invalidDocument(reason: String)
  /// Nothing of this device is left to undo.
  case nothingToUndo
  /// Nothing was undone since the latest change.
  case nothingToRedo
  /// The change is not undone, or not done again.
  case notUndoable(UndoLabel, UndoObstacle)
  /// This device remembers no change of this number that could be undone, or done again.
  case changeUnknown(Int64)
  /// A file cannot be an attachment.
  case invalidAttachment(reason: String)
  /// The message has no such attachment.
  case attachmentNotFound(hash: String, message: String)
  /// A documented maximum is reached.
  case limitReached(what: String, max: Int)
  /// A stored session cannot be read: its file was changed by something else.
  case stateDamaged(reason: String)

  /// A stable name for scripts and the local API.
  public var code: String {
    switch self {
    case .queueFull: "queueFull"
    case .messageNotFound: "messageNotFound"
    case .persistenceFailed: "persistenceFailed"
    case .executionFailed: "executionFailed"
    case .messageAmbiguous: "messageAmbiguous"
    case .sessionNotFound: "sessionNotFound"
    case .threadNotQueued: "threadNotQueued"
    case .sessionInUse: "sessionInUse"
    case .messageIDTaken: "messageIDTaken"
    case .blankText: "blankText"
    case .contentTooLong: "contentTooLong"
    case .invalidSessionID: "invalidSessionID"
    case .invalidName: "invalidName"
    case .invalidPosition: "invalidPosition"
    case .invalidMove: "invalidMove"
    case .messageCancelled: "messageCancelled"
    case .messageNotCancelled: "messageNotCancelled"
    case .messageForgotten: "messageForgotten"
    case .alreadyStarted: "alreadyStarted"
    case .messageFinished: "messageFinished"
    case .messageNotFailed: "messageNotFailed"
    case .timePassed: "timePassed"
    case .needsEachOther: "needsEachOther"
    case .messageNotMerged: "messageNotMerged"
    case .versionNotFound: "versionNotFound"
    case .versionTooLong: "versionTooLong"
    case .mergedTextBlank: "mergedTextBlank"
    case .illegalTaskMove: "illegalTaskMove"
    case .invalidTextRange: "invalidTextRange"
    case .invalidDocument: "invalidDocument"
    case .nothingToUndo: "nothingToUndo"
    case .nothingToRedo: "nothingToRedo"
    case .notUndoable: "notUndoable"
    case .changeUnknown: "changeUnknown"
    case .invalidAttachment: "invalidAttachment"
    case .attachmentNotFound: "attachmentNotFound"
    case .limitReached: "limitReached"
    case .stateDamaged: "stateDamaged"
    }
  }
}

extension QueueError: CustomStringConvertible {
  /// What happened and what to do, in one or two sentences.
  public var description: String {
    switch self {
    case .queueFull(let current, let max):
      "Queue full (\(current)/\(max)). Cancel a message or wait for one to complete."
    case .messageNotFound(let id):
      id.count < IdentifierPrefix.digitsMin
        ? "No message \(id). Give at least \(IdentifierPrefix.digitsMin) characters of its id."
        : "No message \(id). List the queue to see the ids."
    case .persistenceFailed(let underlying):
      underlying.isDiskFull
        ? "The disk is full, so nothing was changed: \(underlying). Free space and try again."
        : "The change cannot be saved, so nothing was changed: \(underlying)."
    case .executionFailed(let message):
      "The agent failed: \(message). Retry, skip, edit or cancel the message."
    case .messageAmbiguous(let prefix, let candidates):
      "\(prefix) matches several messages. Give more of the id:"
        + candidates.map { "\n  \($0.beginning)  \($0.session): \($0.text)" }.joined()
    case .sessionNotFound(let id):
      "No session \(id). List the sessions to see their ids, or add it."
    case .threadNotQueued(let session):
      "Session \(session) is not in the thread queue."
    case .sessionInUse(let session, 0):
      "The agent of \(session) is at work, so the session cannot be archived. Wait for its end, or stop it."
    case .sessionInUse(let session, let waiting):
      waiting == 1
        ? "1 message waits in \(session), so it cannot be archived. Let it run, cancel it, or move it to another "
          + "session first."
        : "\(waiting) messages wait in \(session), so it cannot be archived. Let them run, cancel them, or move them "
          + "to another session first."
    case .messageIDTaken(let id):
      "Message \(id) already exists with different content. To get a new id, leave the id out."
    case .blankText:
      "The text is blank. Nothing was queued."
    case .contentTooLong(let bytes, let max):
      "The text has \(bytes) bytes, but a message can have at most \(max). Split it."
    case .invalidSessionID(let name, let reason):
      "\"\(name)\" cannot be a session id: \(reason)."
    case .invalidName(let field, let reason):
      "This \(field) cannot be used: \(reason)."
    case .invalidPosition(let position, let count):
      count == 0
        ? "There is no position \(position): the queue is empty."
        : "There is no position \(position): choose 1 to \(count)."
    case .invalidMove(let reason):
      "This move is not possible: \(reason)."
    case .messageCancelled(let id):
      "Message \(id) is cancelled. Restore it first."
    case .messageNotCancelled(let id):
      "Message \(id) is not cancelled, so there is nothing to restore."
    case .messageForgotten(let id):
      "Message \(id) was deleted, because it ended longer ago than `retention`. Send its "
        + "text again."
    case .alreadyStarted(let id, true):
      "Message \(id) is stopping. Restore it when it has stopped."
    case .alreadyStarted(let id, false):
      "Message \(id) has already started. Wait for it to end, or stop the session's agent."
    case .messageFinished(let id):
      "Message \(id) is already done. To run it again, send its text again."
    case .messageNotFailed(let id):
      "Message \(id) did not fail, so there is nothing to retry or skip."
    case .timePassed:
      "This time has passed, so nothing was changed. Give a later one, or leave it out to start at once."
    case .needsEachOther(let id, let need):
      id == need
        ? "Message \(id) cannot wait for itself."
        : "Message \(id) cannot wait for \(need), which waits for it. To reverse their order, first let "
          + "\(need) start now."
    case .messageNotMerged(let id):
      "Message \(id) has only one text, so there is nothing to choose. Show the message to see it."
    case .versionNotFound(let number, let count, let takesMerged):
      "There is no version \(number): choose 1 to \(count)\(takesMerged ? ", or merged" : "")."
    case .versionTooLong(let number, let bytes, let id):
      "Version \(number) of message \(id) has \(bytes) bytes, and versions of more than "
        + "\(Limits.editionBytesMax) bytes are not kept. Choose merged, or edit the message."
    case .mergedTextBlank(let id):
      "The merged text of message \(id) is blank, and an agent gets no blank prompt. Choose a version by its "
        + "number, or edit the message."
    case .illegalTaskMove(let session, let move):
      "The task of \(session) cannot change this way: \(move)"
    case .invalidTextRange(let first, let last, let count):
      "There is no text from \(first) to \(last): the message has \(count) characters."
    case .invalidDocument(let reason):
      "The document cannot be imported: \(reason)."
    case .nothingToUndo:
      "Nothing to undo: this device has changed nothing that is not undone already."
    case .nothingToRedo:
      "Nothing to redo: nothing was undone since the latest change."
    case .notUndoable(let label, .late(let message, let text, let session)):
      "This came too late: \(label). \(UndoObstacle.late(message, text, session))"
    case .notUndoable(let label, let obstacle):
      "This was left as it is: \(label). \(obstacle)"
    case .changeUnknown(let change):
      "This device remembers no change \(change) to undo or redo. See what comes first: cospool undo --show"
    case .invalidAttachment(let reason):
      "The file cannot be attached: \(reason)."
    case .attachmentNotFound(let hash, let message):
      "Message \(message) has no attachment \(hash). Show the message to see what it has."
    case .limitReached(let what, let max):
      "A workspace can have at most \(max) \(what)."
    case .stateDamaged(let reason):
      "The stored state is damaged (\(reason)). Nothing was changed."
    }
  }
}

/// The storage's error when it refused a change.
public struct PersistenceFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// The file system's or database's words.
  public var description: String
  /// Whether the reason is a lack of space.
  public var isDiskFull: Bool

  /// Puts the parts together.
  public init(_ description: String, isDiskFull: Bool) {
    self.description = description
    self.isDiskFull = isDiskFull
  }
}

/// Why operations from outside were refused; nothing of the batch was applied.
public enum MergeError: Error, Hashable, Sendable {
  /// An operation refers to an id that is known but is not what the reference needs.
  case invalidReference(operation: OperationID, reference: OperationID, reason: String)
  /// An operation is malformed: an empty text, a field out of range.
  case invalidOperation(operation: OperationID, reason: String)
  /// The right origin is before the left one.
  case originsOutOfOrder(operation: OperationID)
  /// Too many operations wait for others.
  case tooManyPending(max: Int)
  /// A documented maximum would be passed.
  case limitReached(operation: OperationID, what: String, max: Int)
  /// A snapshot's state contradicts itself.
  case invalidImage(reason: String)
}

extension MergeError {
  /// The refused operation, if one was refused.
  package var operation: OperationID? {
    switch self {
    case .invalidReference(let operation, _, _), .invalidOperation(let operation, _),
      .originsOutOfOrder(let operation), .limitReached(let operation, _, _):
      operation
    case .tooManyPending, .invalidImage: nil
    }
  }
}

/// One of the messages that a shortened id fits.
public struct MessageCandidate: Hashable, Sendable {
  /// The message.
  public var id: MessageID
  /// The beginning of its id that no other message has, of eight digits or more.
  public var beginning: String
  /// Its session.
  public var session: SessionID
  /// The beginning of its text, of one line.
  public var text: String

  /// Puts the parts together.
  public init(id: MessageID, beginning: String, session: SessionID, text: String) {
    self.id = id
    self.beginning = beginning
    self.session = session
    self.text = text
  }
}
