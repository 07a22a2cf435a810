package import DispatchAuthority
package import QueueModel
package import SequenceCRDT

/// The port through which the core reaches durable storage.
///
/// Calls are synchronous and come from one caller at a time.
package protocol ReplicaStore {
  /// Does all of it, durably if the transaction waits for the disk, or nothing.
  func commit(_ transaction: StoreTransaction) throws(StoreError)
  /// Whether a loss of power would leave all that was committed.
  var isSynchronized: Bool { get }
  /// Makes all of it durable.
  func synchronize() throws(StoreError)
  /// Log entries behind `after` that hold operations of the ranges, in order of arrival.
  func entries(
    in ranges: [OperationRange], after: Int64, countMax: Int
  ) throws(StoreError) -> [StoredOperations]
  /// Log entries behind `after`, in order of arrival.
  func entries(after: Int64, countMax: Int) throws(StoreError) -> [StoredOperations]
  /// Log entries in front of `before`, the latest first.
  func entries(before: Int64, countMax: Int) throws(StoreError) -> [StoredOperations]
  /// What the log told before its beginning was removed, in front of a place, the latest first.
  func journal(before: HistoryPosition, countMax: Int) throws(StoreError) -> [JournalEntry]
  /// The snapshot that the log builds on, if there is one.
  func base() throws(StoreError) -> WorkspaceImage?
  /// The same as a state; its sessions may be packed until something touches them.
  func baseState() throws(StoreError) -> Workspace?
}

extension ReplicaStore {
  /// For stores that wait for the disk in every commit.
  package var isSynchronized: Bool { true }
  package func synchronize() throws(StoreError) {}
}

extension ReplicaStore {
  /// For stores that keep none.
  package func journal(
    before: HistoryPosition, countMax: Int
  ) throws(StoreError) -> [JournalEntry] { [] }
}

/// One thing that the log told, at the place where it stood there.
package struct JournalEntry: Hashable, Sendable {
  package var position: HistoryPosition
  package var event: HistoryEntry

  package init(position: HistoryPosition, event: HistoryEntry) {
    self.position = position
    self.event = event
  }
}

/// What changes of what a device can tell of the time before its log begins.
package struct JournalChanges: Sendable {
  /// How many entries a store keeps, the latest.
  package static let entriesMax = 10_000

  package var added: [JournalEntry] = []
  /// What is older than this, in milliseconds since 1970, goes, as it goes from the log.
  package var forgottenBefore: Int64?
}

/// Operations as they were stored together: one local command, or one delta from the server.
package struct StoredOperations: Hashable, Sendable {
  /// Rises with every entry, from 1.
  package var id: Int64
  /// Made on this device, as opposed to received.
  package var isLocal: Bool
  package var operations: [Operation]
  /// The packed form of exactly these operations, if it exists already.
  package var packed: [UInt8]?

  package init(id: Int64, isLocal: Bool, operations: [Operation], packed: [UInt8]? = nil) {
    self.id = id
    self.isLocal = isLocal
    self.operations = operations
    self.packed = packed
  }
}

/// One atomic change of a store.
package struct StoreTransaction: Sendable {
  package enum BaseChange: Sendable {
    case none
    case install(WorkspaceImage)
    case clear
  }

  /// Entries up to here are removed first: the base holds what they held, or `appended` holds it
  /// again. The base stands for the log up to here.
  package var prunedThrough: Int64?
  package var appended: [StoredOperations] = []
  package var base = BaseChange.none
  /// What to remember from now on.
  package var record: ReplicaRecord
  package var receipts: [Receipt] = []
  package var forgetsReceipts = false
  /// A message that a local command sends, and when, milliseconds since 1970. A draft of its session that is
  /// in it ends with it (S2-44), and it gets a number among what this device sent.
  package var sent: (message: Command.Send, milliseconds: Int64)?
  /// What changed of what can be undone and redone.
  package var undo = UndoHistory.Changes()
  /// What the entries told that are removed.
  package var journal = JournalChanges()
  /// What changed of what agents work on here.
  package var intents = IntentChanges()
  /// What a person at this device says of a session.
  package var choice: SessionChoice?
  /// What the device granted, if it is its own authority.
  package var authority = AuthorityRecords()
  /// What changed of the answers that wait to be sent.
  package var answers = AnswerChanges()
  /// What changed of the device's notifications.
  package var notifications = NotificationChanges()
  /// Whether the commit returns only once the disk has it. One that does not wait may be taken by a
  /// loss of power, with what came behind it and did not wait either, until a later commit waits or
  /// `synchronize` is called. The end of the process takes nothing.
  package var waitsForDisk = true

  package init(record: ReplicaRecord) {
    self.record = record
  }

  /// The base takes the place of entries that it was made of, and nothing else changes.
  package var shortensHistory: Bool { journal.forgottenBefore != nil }

  /// Whether a state derived from the log before does not follow by appending alone.
  package var rewritesHistory: Bool {
    if case .none = base { return false }
    return !shortensHistory
  }
}

/// What changed of the messages that agents have here.
package struct IntentChanges: Hashable, Sendable {
  /// Handed to an agent from now on; takes the place of an earlier one of the same message.
  package var begun: StartOrder?
  /// What became of this attempt is known. A later attempt of its message that began meanwhile stays.
  package var ended: StartOrder?

  package init(begun: StartOrder? = nil, ended: StartOrder? = nil) {
    self.begun = begun
    self.ended = ended
  }

  package var isEmpty: Bool { begun == nil && ended == nil }
}

/// What a store holds when it is opened.
package struct LoadedReplica: Sendable {
  /// nil in a new store.
  package var record: ReplicaRecord?
  /// The stored state; nil if there is none.
  package var workspace: Workspace?
  /// The entries behind the state.
  package var tail: [StoredOperations]
  package var lastEntry: Int64
  package var receipts: [Receipt]
  /// What can be undone and redone, in whatever order.
  package var undo: [UndoHistory.Entry]
  package var execution = Execution()
  /// Answers that were given and neither taken nor refused, in whatever order.
  package var answers: [PendingAnswer] = []
  package var notifications = LoadedNotifications()

  /// What there is of executing.
  package struct Execution: Sendable {
    /// What agents had and of which nobody said what became of it, in whatever order.
    package var intents: [StartOrder]
    /// What the device granted while it was its own authority.
    package var authority: AuthorityRecords
    /// The sessions that a person at this device lets it run.
    package var consented: Set<SessionID> = []
    /// The names of the agents of sessions that have one of their own.
    package var agents: [SessionID: String] = [:]

    package init(intents: [StartOrder] = [], authority: AuthorityRecords = .init()) {
      self.intents = intents
      self.authority = authority
    }
  }

  package init(
    record: ReplicaRecord? = nil, workspace: Workspace? = nil, tail: [StoredOperations] = [],
    lastEntry: Int64 = 0, receipts: [Receipt] = [],
    undo: [UndoHistory.Entry] = []
  ) {
    self.record = record
    self.workspace = workspace
    self.tail = tail
    self.lastEntry = lastEntry
    self.receipts = receipts
    self.undo = undo
  }
}

extension LoadedReplica {
  /// What the stored state holds; nothing if there is none.
  package var imageVector: VersionVector { workspace?.vector ?? VersionVector() }
}

/// Why a store could not do something; nothing changed.
package struct StoreError: Error, Hashable, Sendable {
  package enum Code: Hashable, Sendable {
    /// No space is left.
    case full
    /// The file is damaged.
    case corrupt
    /// Anything else the file system or SQLite reports.
    case failed
  }

  package var code: Code
  package var message: String

  package init(code: Code, message: String) {
    self.code = code
    self.message = message
  }
}
