public import SequenceCRDT

/// A request of a user or program to the queues; `Workspace.perform` turns it into operations.
public enum Command: Hashable, Sendable {
  /// Makes a session known, or renames it; a deleted session comes back empty.
  case addSession(SessionID, name: String?, project: String?)
  /// Sets a session's display name.
  case renameSession(SessionID, name: String)
  /// Deletes a session and cancels the messages it holds now.
  case deleteSession(SessionID)
  /// Takes a session with nothing to do out of the lists; its content, settings and history stay.
  case archive(SessionID)
  /// Lists an archived session again.
  case unarchive(SessionID)
  /// Queues a prompt, and requeues the session's thread at the end.
  case send(Send)
  /// Gives a message new content, by the fewest text changes to what the editor saw.
  case edit(MessageID, content: String, base: EditBase?)
  /// Inserts text into a message, before its scalar number `at`, counted from 0.
  case insertText(MessageID, at: Int, text: String)
  /// Deletes the scalars of a message whose numbers, counted from 0, are in the range.
  case deleteText(MessageID, Range<Int>)
  /// Moves messages, in the order given, to one place of their session's queue.
  case move([MessageID], to: MoveTarget)
  /// Takes messages out of their queues; their content is kept.
  case cancel([MessageID])
  /// Brings a cancelled message back to its old place.
  case restore(MessageID)
  /// Cancels all messages of a session.
  case clear(SessionID)
  /// Makes a message urgent or normal.
  case setPriority(MessageID, Priority)
  /// Attaches files to a waiting message; files that it already has are left alone.
  case attach(MessageID, [Attachment])
  /// Takes files from a message.
  case detach(MessageID, [ContentHash])
  /// Pauses a session's queue.
  case pause(SessionID, reason: String?)
  /// Resumes a session's queue.
  case resume(SessionID)
  /// Puts threads at the end of the thread queue, in the order given, ready unless they are locked.
  case addThreads([SessionID])
  /// Moves threads, in the order given, to one place of the thread queue.
  case moveThreads([SessionID], to: ThreadTarget)
  /// Takes threads out of the thread queue.
  case removeThreads([SessionID])
  /// Empties the thread queue.
  case clearThreads
  /// Puts a thread at the end of the thread queue and locks it, as a send does: its user typed at
  /// the agent's own prompt.
  case requeueThread(SessionID)
  /// Shows a thread again that was left locked.
  case unlockThread(SessionID)
  /// Sets the device on which a session's agent runs; nil removes it.
  case setHost(SessionID, DeviceID?)
  /// Sets what a session's host does with an agent at work when its server does not answer.
  case setOnLostServer(SessionID, LostServerPolicy)
  /// Sets whether a session's messages start if their text was merged from versions that were saved
  /// apart.
  case setOnMerge(SessionID, MergePolicy)
  /// Tries a message again whose latest attempt did not succeed.
  case retry(MessageID)
  /// Continues without a message whose latest attempt did not succeed.
  case skip(MessageID)
  /// Keeps a message from starting before this time, in milliseconds since 1970; nil lets it start
  /// at once, even if a user set a time or it waits for other messages.
  case setNotBefore(MessageID, Int64?)
  /// Takes a message out of line until this time, in milliseconds since 1970, while it keeps its place; nil
  /// puts it back.
  case setLater(MessageID, Int64?)
  /// Takes a message out of line until these have succeeded, while it keeps its place; none puts it back.
  case setNeeds(MessageID, [MessageID])
  /// Keeps a message from starting until this time, while it is edited; nil releases it.
  case hold(MessageID, until: Int64?)
  /// Takes a message out of its queue because a user stops this attempt at it: unless the attempt
  /// succeeds, the message counts as cancelled. If the attempt has ended, nothing changes.
  case stopAttempt(MessageID, attempt: UInt16)
  /// Reports the host's progress with a message. Only the holder of the session's lease reports it.
  case reportRun(MessageID, Run)
  /// Reports the work of a session's agent. Only the session's host reports it or, if it has none,
  /// the device on which its agent works.
  case reportTask(TaskReport)
  /// Adds what a document holds and the workspace lacks.
  case importDocument(WorkspaceDocument)
  /// Undoes this device's change with this number, or its latest change that is not undone.
  ///
  /// With `skip`, forgets the change instead, so that the one before it becomes the latest.
  case undo(change: Int64?, skip: Bool)
  /// Redoes what the undo with this number, or the latest undo, took back.
  case redo(change: Int64?)

  /// The parts of a `send`.
  public struct Send: Hashable, Sendable {
    /// The session of the prompt; it is made known if it is new.
    public var session: SessionID
    /// The prompt's permanent name; sending the same id and content again changes nothing.
    public var id: MessageID
    /// The prompt; white space at its ends is trimmed, and blank text is refused.
    public var text: String
    /// Urgent prompts go before normal ones.
    public var priority: Priority
    /// The session's project path, if it is to be set.
    public var project: String?
    /// The files that go with it.
    public var attachments: [Attachment] = []
    /// Whether the thread queue is on; if it is off, it is left alone (S2-45).
    public var requeuesThread: Bool
    /// Whether an agent sends it, not a user; every device shows that.
    public var byAgent = false
    /// The time before which it is not in line, in milliseconds since 1970; nil if it is in line at
    /// once.
    public var later: Int64?
    /// The messages that have to succeed before it is in line.
    public var needs: [MessageID] = []
    /// Whether it goes before the waiting messages of its priority, not behind them.
    public var goesFirst = false

    /// Puts the parts together.
    public init(
      session: SessionID, id: MessageID, text: String, priority: Priority = .normal,
      project: String? = nil, requeuesThread: Bool = true
    ) {
      self.session = session
      self.id = id
      self.text = text
      self.priority = priority
      self.project = project
      self.requeuesThread = requeuesThread
    }
  }
}

/// The target of a move of messages.
public enum MoveTarget: Hashable, Sendable {
  /// The first message gets this position, counted from 1.
  case position(Int)
  /// Before this message; moves into its queue if that is a different one.
  case before(MessageID)
  /// After this message; moves into its queue if that is a different one.
  case after(MessageID)
}

extension Command {
  /// Moves a thread to a position of the thread queue, counted from 1 over all threads in it.
  public static func moveThread(_ session: SessionID, to position: Int) -> Command {
    .moveThreads([session], to: .position(position))
  }
}

/// The target of a move of threads.
public enum ThreadTarget: Hashable, Sendable {
  /// The first of them gets this position, counted from 1 over all threads in the queue.
  case position(Int)
  /// In front of this thread.
  case before(SessionID)
  /// Behind this thread.
  case after(SessionID)
}

/// What a device provides for a command: its identity, the time and its settings.
public struct CommandContext: Hashable, Sendable {
  /// The author of the operations.
  public var replica: ReplicaID
  /// The stamp of all register writes of the command.
  public var stamp: Stamp
  /// The author's own clock in milliseconds since 1970, also if the stamp is ahead of it: the time of
  /// the slots that the command makes.
  public let time: Int64
  /// The number of messages in a session at which a local enqueue is refused (S0-6, S1-10).
  public var queueSizeMax: Int
  /// Whether the outcome has the steps that undo the command.
  public var recordsUndo: Bool
  /// What is certain on a device that has a server but does not know the present state; nil
  /// otherwise. If it is set, undo and redo are careful.
  package var apart: Apartness?
  /// The connection over which a device that has caught up sends the operations at once; nil if
  /// there is none. During one connection, users see each other's typing.
  package var connection: UInt64?
  /// The text that an agent gets whose start is reported, as it was granted: the message may have
  /// been changed since.
  package var ranText: String?

  /// Puts the parts together.
  ///
  /// - Parameter time: the stamp's time if nil; a time that no stamp can hold is clamped.
  public init(
    replica: ReplicaID, stamp: Stamp, time: Int64? = nil,
    queueSizeMax: Int = Limits.queueSizeDefault, recordsUndo: Bool = true
  ) {
    self.replica = replica
    self.stamp = stamp
    self.time = Stamp(milliseconds: time ?? stamp.milliseconds).milliseconds
    self.queueSizeMax = queueSizeMax
    self.recordsUndo = recordsUndo
  }
}

/// What a command did.
public struct CommandOutcome: Hashable, Sendable {
  /// The operations to store and send; empty if the command changed nothing.
  public var operations: [Operation]
  /// The queues the command touched.
  public var touched: TouchedQueues
  /// The result for the user.
  public var notice: Notice
  /// The number of the change for an undo; for an undo, the number for its redo. A change that
  /// cannot be undone has a number, too. Nil if there is nothing to undo.
  package var change: Int64?

  /// Puts the parts together.
  public init(operations: [Operation] = [], touched: TouchedQueues = .init(), notice: Notice) {
    self.operations = operations
    self.touched = touched
    self.notice = notice
  }

  /// The answer to a command.
  public enum Notice: Hashable, Sendable {
    /// Done, without further data.
    case done
    /// Nothing had to change; no operation was made.
    case unchanged
    /// A message waits at this effective position among `count`; `warning` if the queue is nearly
    /// full.
    case queued(MessageID, position: Int, count: Int, warning: Bool)
    /// Items were moved; the first now has this effective position.
    case moved(position: Int)
    /// This number of items was affected.
    case affected(count: Int)
    /// These parts of a document were new.
    case imported(ImportCounts)
    /// This was undone.
    case undone(UndoResult)
    /// This was done again.
    case redone(UndoResult)
    /// This change stays, and undo skips it from now on.
    case skipped(UndoLabel)
  }
}

/// Which queues changed, so that observers examine only those.
public struct TouchedQueues: Hashable, Sendable {
  /// The thread queue changed.
  public var threads: Bool
  /// These sessions' message queues or settings changed.
  public var sessions: Set<SessionID>

  /// Names the queues.
  public init(threads: Bool = false, sessions: Set<SessionID> = []) {
    self.threads = threads
    self.sessions = sessions
  }

  /// Whether nothing changed.
  public var isEmpty: Bool { !threads && sessions.isEmpty }

  /// Adds the queues of `other`.
  public mutating func formUnion(_ other: TouchedQueues) {
    threads = threads || other.threads
    sessions.formUnion(other.sessions)
  }
}
