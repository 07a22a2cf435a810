package import DispatchAuthority
package import QueueModel
package import SequenceCRDT

/// The port from the core to durable storage.
///
/// Calls are synchronous and come from one caller at a time.
package protocol ReplicaStore {
  /// Performs either the whole transaction or nothing; it is durable if the transaction waits for
  /// the disk.
  func commit(_ transaction: StoreTransaction) throws(StoreError)
  /// Whether everything committed would survive a loss of power.
  var isSynchronized: Bool { get }
  /// Makes everything durable.
  func synchronize() throws(StoreError)
  /// Log entries after `after` with operations of the ranges, in order of arrival.
  func entries(
    in ranges: [OperationRange], after: Int64, countMax: Int
  ) throws(StoreError) -> [StoredOperations]
  /// Log entries after `after`, in order of arrival.
  func entries(after: Int64, countMax: Int) throws(StoreError) -> [StoredOperations]
  /// Log entries before `before`, the latest first.
  func entries(before: Int64, countMax: Int) throws(StoreError) -> [StoredOperations]
  /// The history from before the log's removed beginning, before a place, the latest first.
  func journal(before: HistoryPosition, countMax: Int) throws(StoreError) -> [JournalEntry]
  /// The snapshot that the log builds on, if there is one.
  func base() throws(StoreError) -> WorkspaceImage?
  /// The same as a state; its sessions may be packed until they are used.
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

/// One entry of the history, with its place in the log.
package struct JournalEntry: Hashable, Sendable {
  package var position: HistoryPosition
  package var event: HistoryEntry

  package init(position: HistoryPosition, event: HistoryEntry) {
    self.position = position
    self.event = event
  }
}

/// Changes to the history from before the log.
package struct JournalChanges: Sendable {
  /// The maximum number of entries in a store; older ones are removed.
  package static let entriesMax = 10_000

  package var added: [JournalEntry] = []
  /// Entries older than this, in milliseconds since 1970, are removed, as from the log.
  package var forgottenBefore: Int64?
}

/// Operations that were stored together: one local command, or one delta from the server.
package struct StoredOperations: Hashable, Sendable {
  /// Increases with every entry, from 1.
  package var id: Int64
  /// Whether it was made on this device, as opposed to received.
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

/// One atomic change to a store.
package struct StoreTransaction: Sendable {
  package enum BaseChange: Sendable {
    case none
    case install(WorkspaceImage)
    case clear
  }

  /// Entries up to here are removed first: the base holds them, or `appended` has them again. The
  /// base represents the log up to here.
  package var prunedThrough: Int64?
  package var appended: [StoredOperations] = []
  package var base = BaseChange.none
  /// The data to keep from now on.
  package var record: ReplicaRecord
  package var receipts: [Receipt] = []
  package var forgetsReceipts = false
  /// A message that a local command sends, and when, milliseconds since 1970. A draft of its
  /// session that it contains ends with it (S2-44). It gets a number among the messages sent by
  /// this device.
  package var sent: (message: Command.Send, milliseconds: Int64)?
  /// Changes to the undo history.
  package var undo = UndoHistory.Changes()
  /// The history of the removed entries.
  package var journal = JournalChanges()
  /// Changes to the agents' intents.
  package var intents = IntentChanges()
  /// A choice of a user at this device about a session.
  package var choice: SessionChoice?
  /// What the device granted, if it is its own authority.
  package var authority = AuthorityRecords()
  /// Changes to the answers that wait to be sent.
  package var answers = AnswerChanges()
  /// Changes to the device's notifications.
  package var notifications = NotificationChanges()
  /// Whether the commit returns only once the disk has it. Until a later commit waits or
  /// `synchronize` is called, a loss of power may lose a commit that did not wait, and later ones
  /// that did not wait, either. The end of the process loses nothing.
  package var waitsForDisk = true

  package init(record: ReplicaRecord) {
    self.record = record
  }

  /// The base replaces the entries from which it was made, and nothing else changes.
  package var shortensHistory: Bool { journal.forgottenBefore != nil }

  /// Whether a state derived from the earlier log does not follow by appending only.
  package var rewritesHistory: Bool {
    if case .none = base { return false }
    return !shortensHistory
  }
}

/// Changes to the messages that agents have here.
package struct IntentChanges: Hashable, Sendable {
  /// Handed to an agent from now on; replaces an earlier one of the same message.
  package var begun: StartOrder?
  /// The outcome of this attempt is known. A later attempt of its message that began meanwhile
  /// stays.
  package var ended: StartOrder?

  package init(begun: StartOrder? = nil, ended: StartOrder? = nil) {
    self.begun = begun
    self.ended = ended
  }

  package var isEmpty: Bool { begun == nil && ended == nil }
}

/// The contents of a store at its opening.
package struct LoadedReplica: Sendable {
  /// nil in a new store.
  package var record: ReplicaRecord?
  /// The stored state; nil if there is none.
  package var workspace: Workspace?
  /// The entries after the state.
  package var tail: [StoredOperations]
  package var lastEntry: Int64
  package var receipts: [Receipt]
  /// The undo history, in any order.
  package var undo: [UndoHistory.Entry]
  package var execution = Execution()
  /// Answers that were given and neither accepted nor refused, in any order.
  package var answers: [PendingAnswer] = []
  package var notifications = LoadedNotifications()

  /// The data about execution.
  package struct Execution: Sendable {
    /// Intents whose outcome was not reported, in any order.
    package var intents: [StartOrder]
    /// What the device granted while it was its own authority.
    package var authority: AuthorityRecords
    /// The sessions that a user at this device allows to run here.
    package var consented: Set<SessionID> = []
    /// The names of the agents of sessions with their own agent.
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
  /// The vector of the stored state; empty if there is none.
  package var imageVector: VersionVector { workspace?.vector ?? VersionVector() }
}

/// Why a store failed; nothing changed.
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
