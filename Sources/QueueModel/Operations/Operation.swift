public import SequenceCRDT

/// One replicated change: its id and its effect.
///
/// An operation takes as many ids as it has units. A text insertion takes one for each Unicode
/// scalar, a text deletion one for each deleted scalar, everything else one. `id` names the first
/// unit. All references are operation ids: an *element reference* names an `openSession` or
/// `addMessage`, an *origin* names a slot or scalar (nil is the start or the end of the list), a
/// *tag* names the operation that put it. An operation waits until every id that it names is known.
public struct Operation: Hashable, Sendable {
  /// The id of the first unit.
  public var id: OperationID
  /// The effect.
  public var body: Body

  /// Creates an operation.
  public init(id: OperationID, body: Body) {
    self.id = id
    self.body = body
  }

  /// The kinds of operations; the specification numbers them in this order, from 1.
  public enum Body: Hashable, Sendable {
    /// The replica belongs to this device; this is the first operation of every replica.
    case announceDevice(device: DeviceID, name: String)
    /// Introduces a session (or names it again) and adds an `exists` tag.
    case openSession(session: SessionID, clears: [OperationID])
    /// Introduces a message; adds its `live` tag, its slot and its session's `exists` tag.
    case addMessage(AddMessage)
    /// Inserts text into the content introduced by `message`.
    case insertText(InsertText)
    /// Deletes scalars of the content introduced by `message`.
    case deleteText(DeleteText)
    /// Inserts a fresh slot into a session's queue and moves the message there.
    case placeMessage(
      message: OperationID, session: OperationID, origins: Origins, stamp: Stamp)
    /// Inserts a fresh slot into the thread queue and moves the thread there.
    case placeThread(session: OperationID, origins: Origins, stamp: Stamp)
    /// Requeues a thread: fresh slot, `queued` tag, `locked` tag if it locks, new `queuedAt`.
    case enqueueThread(EnqueueThread)
    /// Adds a tag (this operation's id) and clears the tags that its author saw.
    case addTag(element: OperationID, field: TagField, clears: [OperationID], note: String)
    /// Clears the tags that its author saw.
    case clearTags(element: OperationID, field: TagField, clears: [OperationID])
    /// Writes a register; the latest stamp wins.
    case setRegister(
      element: OperationID, field: RegisterField, value: RegisterValue, stamp: Stamp)
  }

  /// The place of an insertion: the neighbours that its author saw, nil for the start (left) or the
  /// end (right) of the list, and its order among others at the same place.
  public struct Origins: Hashable, Sendable {
    /// The slot or scalar to the left.
    public var left: OperationID?
    /// The slot or scalar to the right.
    public var right: OperationID?
    /// When a slot was made, by its author's own clock, in milliseconds since 1970. Slots at one
    /// place are ordered by this time, then by id. The time never changes, even if the stamp does.
    /// Scalars have 0, so they are ordered by id.
    public var time: Int64

    /// Between `left` and `right`.
    public init(left: OperationID?, right: OperationID?, time: Int64 = 0) {
      self.left = left
      self.right = right
      self.time = time
    }
  }

  /// Introduces a message at the place of its slot.
  public struct AddMessage: Hashable, Sendable {
    /// The message's permanent name, the same in every operation that adds it.
    public var message: MessageID
    /// The session whose queue takes it.
    public var session: OperationID
    /// The place of its slot in that queue.
    public var origins: Origins
    /// Orders position and priority writes; its milliseconds are the time of creation.
    public var stamp: Stamp
    /// The first value of the priority register.
    public var priority: Priority
    /// The `exists` tags of the session that the author saw.
    public var clears: [OperationID]

    /// Creates a value from its parts.
    public init(
      message: MessageID, session: OperationID, origins: Origins, stamp: Stamp,
      priority: Priority, clears: [OperationID]
    ) {
      self.message = message
      self.session = session
      self.origins = origins
      self.stamp = stamp
      self.priority = priority
      self.clears = clears
    }
  }

  /// Inserts a run of scalars; scalar *k* has the id `id + k` and, for *k* > 0, the left origin
  /// `id + k − 1` and the same right origin.
  public struct InsertText: Hashable, Sendable {
    /// The `addMessage` that introduced the content.
    public var message: OperationID
    /// The neighbours of the whole run.
    public var origins: Origins
    /// At least one scalar.
    public var text: String

    /// Creates a value from its parts.
    public init(message: OperationID, origins: Origins, text: String) {
      self.message = message
      self.origins = origins
      self.text = text
    }
  }

  /// Deletes scalars with consecutive ids: unit *k* deletes `first + k`, or, backwards,
  /// `first + count − 1 − k`.
  public struct DeleteText: Hashable, Sendable {
    /// The `addMessage` that introduced the content.
    public var message: OperationID
    /// The lowest deleted id.
    public var first: OperationID
    /// How many, at least 1.
    public var count: Int
    /// Whether the units run from the highest id down, as backspaces do.
    public var backwards: Bool

    /// Creates a value from its parts.
    public init(message: OperationID, first: OperationID, count: Int, backwards: Bool = false) {
      self.message = message
      self.first = first
      self.count = count
      self.backwards = backwards
    }
  }

  /// Puts a thread at a place of the thread queue because something was sent in it.
  public struct EnqueueThread: Hashable, Sendable {
    /// The session.
    public var session: OperationID
    /// The place of its slot.
    public var origins: Origins
    /// Orders position writes; its milliseconds become `queuedAt`.
    public var stamp: Stamp
    /// The `queued` tags the author saw.
    public var clearsQueued: [OperationID]
    /// Whether the operation also puts a `locked` tag.
    public var locks: Bool
    /// The `locked` tags the author saw.
    public var clearsLocked: [OperationID]

    /// Creates a value from its parts.
    public init(
      session: OperationID, origins: Origins, stamp: Stamp, clearsQueued: [OperationID],
      locks: Bool, clearsLocked: [OperationID]
    ) {
      self.session = session
      self.origins = origins
      self.stamp = stamp
      self.clearsQueued = clearsQueued
      self.locks = locks
      self.clearsLocked = clearsLocked
    }
  }

  /// How many ids the operation takes.
  ///
  /// - Complexity: O(1), O(*n*) in the text of an insertion.
  public var length: Int {
    switch body {
    case .insertText(let insertion): insertion.text.unicodeScalars.count
    case .deleteText(let deletion): deletion.count
    default: 1
    }
  }

  /// The id of the last unit; nil if the count would leave the range of sequence numbers.
  package var lastID: OperationID? { id.advanced(by: length - 1) }
}

/// The observed-remove tag set of an element that an operation changes.
public struct TagField: RawRepresentable, Hashable, Sendable {
  /// The number on the wire.
  public var rawValue: UInt8

  /// Wraps a number; unknown ones are kept and passed on.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// A session is not deleted; the note says whether a user archived it, see `Archival`.
  public static let exists = TagField(rawValue: 1)
  /// A thread is in the thread queue.
  public static let queued = TagField(rawValue: 2)
  /// A thread is being worked on and therefore hidden.
  public static let locked = TagField(rawValue: 3)
  /// A session's queue is paused; the note is the reason.
  public static let paused = TagField(rawValue: 4)
  /// A message is not cancelled.
  public static let live = TagField(rawValue: 5)
  /// A message has an attachment; the note describes it.
  public static let attachment = TagField(rawValue: 6)
  /// A change to a message has not arrived completely: it is too long for one delta, and ends when
  /// it clears the tag.
  public static let incomplete = TagField(rawValue: 7)
  /// An agent queued a message, and not its user.
  public static let byAgent = TagField(rawValue: 8)
  /// A whole text that was saved for a message, until an author who saw it saves another one; the
  /// note is its time and text.
  public static let edition = TagField(rawValue: 9)

  /// UTF-8 bytes of the longest note of a tag.
  package var noteBytesMax: Int {
    self == .edition ? Limits.editionBytesMax + 320 : Limits.nameBytesMax
  }
}

/// The last-writer-wins register of an element that an operation writes.
public struct RegisterField: RawRepresentable, Hashable, Comparable, Sendable {
  /// The number on the wire.
  public var rawValue: UInt8

  /// Wraps a number; unknown ones are kept and passed on.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// Orders by number.
  public static func < (left: RegisterField, right: RegisterField) -> Bool {
    left.rawValue < right.rawValue
  }

  /// A session's display name: text.
  public static let name = RegisterField(rawValue: 1)
  /// A session's project path: text; of a message if it has its own.
  public static let project = RegisterField(rawValue: 2)
  /// A message's priority: a number, see `Priority`.
  public static let priority = RegisterField(rawValue: 3)
  /// A thread's time of queueing in milliseconds since 1970, if an undo set it back.
  public static let queuedAt = RegisterField(rawValue: 4)
  /// The number of attempts to run a message before it was imported: a number.
  public static let attempts = RegisterField(rawValue: 5)
  /// The error of the latest attempt at a message before it was imported: text.
  public static let lastError = RegisterField(rawValue: 6)
  /// A session's host, the device on which its agent runs: text, the device's id.
  public static let host = RegisterField(rawValue: 7)
  /// The same as `decision`, ordered only by time; read if it was written before that.
  public static let resolution = RegisterField(rawValue: 8)
  /// When a message may start at the earliest: a number, milliseconds since 1970.
  public static let notBefore = RegisterField(rawValue: 9)
  /// The time before which a message must not start because it is being edited: a number, as
  /// `notBefore`.
  public static let heldUntil = RegisterField(rawValue: 10)
  /// How a session's host runs its messages: text.
  public static let agent = RegisterField(rawValue: 11)
  /// The times of changes in a session that carry no stamp: the register's stamp is the time, and
  /// its number counts the units before it.
  package static let changedAt = RegisterField(rawValue: 12)
  /// What a session's host does with an agent at work when its server does not answer: text, see
  /// `LostServerPolicy`.
  public static let onLostServer = RegisterField(rawValue: 13)
  /// Whether a session's messages start if their text was merged: text, see `MergePolicy`.
  public static let onMerge = RegisterField(rawValue: 14)
  /// The time before which a message is not in line, because a user postponed it: a number, as
  /// `notBefore`. The messages behind it may start meanwhile.
  public static let later = RegisterField(rawValue: 15)
  /// The attempt at a message that a user stopped last: a number.
  public static let stopped = RegisterField(rawValue: 16)
  /// The messages that must succeed before a message is in line: text, their ids with spaces
  /// between them. The messages behind it may start meanwhile.
  public static let needs = RegisterField(rawValue: 17)
  /// How far the latest attempt at a message has come: text, fenced, see `Run`.
  public static let run = RegisterField(rawValue: 128)
  /// A user's decision about a failed attempt at a message: a number, fenced, see `Resolution`.
  public static let decision = RegisterField(rawValue: 135)
  /// What a session's agent does: text, fenced, see `TaskState`.
  public static let task = RegisterField(rawValue: 129)
  /// The further pieces of `task`, in order; each fenced as `task` is.
  package static let taskPieces =
    [task] + (130...134).map(RegisterField.init(rawValue:))
    + (136...153).map(RegisterField.init(rawValue:))
}

/// What a register can hold.
public enum RegisterValue: Hashable, Sendable {
  /// A number.
  case number(UInt64)
  /// Text of at most `Limits.nameBytesMax` bytes.
  case text(String)
}

/// How urgent a message is; the raw value is the wire's.
public enum Priority: UInt8, Hashable, Sendable, CaseIterable {
  /// Waits its turn.
  case normal = 0
  /// Goes before all normal messages and after earlier urgent ones.
  case urgent = 1

  /// `normal` or `urgent`, as in files and answers (S0-50).
  public var name: String {
    switch self {
    case .normal: "normal"
    case .urgent: "urgent"
    }
  }

  /// Reads `normal` or `urgent`.
  public init?(name: some StringProtocol) {
    guard let value = Priority.allCases.first(where: { $0.name == name.lowercased() }) else {
      return nil
    }
    self = value
  }
}

extension TagField: Codable {}
extension RegisterField: Codable {}
extension RegisterValue: Codable {}
extension Priority: Codable {}
