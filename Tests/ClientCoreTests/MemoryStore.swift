import ClientCore
import DispatchAuthority
import QueueModel
import SequenceCRDT
import WireProtocol

/// A store in memory that can be made to fail; it holds what a file would hold.
final class MemoryStore: ReplicaStore {
  private(set) var entries: [StoredOperations] = []
  private(set) var baseImage: WorkspaceImage?
  /// The last entry that the base includes.
  private(set) var prunedThrough: Int64 = 0
  private(set) var record: ReplicaRecord?
  private(set) var receipts: [Receipt] = []
  private(set) var undo: [Int64: UndoHistory.Entry] = [:]
  private(set) var intents: [MessageID: StartOrder] = [:]
  private(set) var authority = AuthorityRecords()
  private(set) var choices = SessionChoices()
  private(set) var answers: [RequestID: PendingAnswer] = [:]
  private(set) var notifications = LoadedNotifications()
  private(set) var journal: [JournalEntry] = []
  private(set) var commits = 0
  /// How many commits waited for the disk.
  private(set) var waits = 0
  /// Thrown by the next commits.
  var failure: StoreError?
  /// The number of commits that succeed before the disk is full; nil if it never is.
  var commitsLeft: Int?
  /// Whether operations that the server has are left to a later synchronization.
  var defers = false
  /// Whether the disk refuses intents.
  var failsAtIntents = false
  private(set) var isSynchronized = true

  init() {}

  init(copying other: MemoryStore) {
    entries = other.entries
    baseImage = other.baseImage
    prunedThrough = other.prunedThrough
    record = other.record
    receipts = other.receipts
    undo = other.undo
    intents = other.intents
    authority = other.authority
    choices = other.choices
    answers = other.answers
    notifications = other.notifications
    journal = other.journal
  }

  func journal(
    before: HistoryPosition, countMax: Int
  ) throws(StoreError) -> [JournalEntry] {
    Array(journal.filter { $0.position < before }.prefix(countMax))
  }

  var loaded: LoadedReplica {
    var loaded = LoadedReplica(
      record: record, workspace: baseImage.map(restored), tail: entries,
      lastEntry: max(entries.last?.id ?? 0, prunedThrough),
      receipts: receipts, undo: Array(undo.values))
    loaded.execution = LoadedReplica.Execution(
      intents: Array(intents.values), authority: authority)
    loaded.answers = Array(answers.values)
    loaded.notifications = notifications
    return loaded
  }

  private func restored(_ image: WorkspaceImage) -> Workspace {
    do {
      return try Workspace(image: image)
    } catch {
      preconditionFailure("the base came from a workspace: \(error)")
    }
  }

  /// Every id in the log, to find one that two operations have.
  var operations: [QueueModel.Operation] { entries.flatMap(\.operations) }

  func synchronize() throws(StoreError) {
    if let failure { throw failure }
    isSynchronized = true
  }

  func commit(_ transaction: StoreTransaction) throws(StoreError) {
    if let failure { throw failure }
    if let left = commitsLeft {
      guard left > 0 else { throw StoreError(code: .full, message: "full") }
      commitsLeft = left - 1
    }
    if failsAtIntents, transaction.intents.begun != nil {
      throw StoreError(code: .failed, message: "the disk does not write")
    }
    isSynchronized = !defers || transaction.waitsForDisk
    commits += 1
    if transaction.waitsForDisk { waits += 1 }
    if let pruned = transaction.prunedThrough {
      entries.removeAll { $0.id <= pruned }
      prunedThrough = pruned
    }
    let all = transaction.journal.added + journal
    journal = all.filter {
      $0.event.milliseconds ?? .max >= transaction.journal.forgottenBefore ?? 0
    }
    for entry in transaction.appended {
      precondition(entry.id > (entries.last?.id ?? 0), "entries rise")
      entries.append(entry)
    }
    switch transaction.base {
    case .none: break
    case .install(let image): baseImage = image
    case .clear: baseImage = nil
    }
    if transaction.forgetsReceipts { receipts = [] }
    receipts += transaction.receipts
    for number in transaction.undo.removed { undo[number] = nil }
    for entry in transaction.undo.written { undo[entry.number] = entry }
    if let begun = transaction.intents.begun { intents[begun.message] = begun }
    if let ended = transaction.intents.ended,
      intents[ended.message]?.isSameAttempt(as: ended) == true
    {
      intents[ended.message] = nil
    }
    if let choice = transaction.choice { choices.apply(choice) }
    for lease in transaction.authority.leases {
      authority.leases.removeAll { $0.session == lease.session }
      authority.leases.append(lease)
    }
    for dispatch in transaction.authority.dispatches {
      authority.dispatches.removeAll { $0.message == dispatch.message }
      authority.dispatches.append(dispatch)
    }
    for verdict in transaction.authority.verdicts {
      authority.verdicts.removeAll { $0.request == verdict.request }
      authority.verdicts.append(verdict)
    }
    if let kept = transaction.answers.kept { answers[kept.answer.request] = kept }
    if let ended = transaction.answers.ended { answers[ended] = nil }
    notifications.apply(transaction.notifications)
    record = transaction.record
  }

  func entries(
    in ranges: [OperationRange], after: Int64, countMax: Int
  ) throws(StoreError) -> [StoredOperations] {
    Array(
      entries.filter { entry in
        entry.id > after
          && entry.operations.ranges.contains { held in
            ranges.contains {
              $0.replica == held.replica && $0.first <= held.last && held.first <= $0.last
            }
          }
      }.prefix(countMax))
  }

  func entries(after: Int64, countMax: Int) throws(StoreError) -> [StoredOperations] {
    Array(entries.filter { $0.id > after }.prefix(countMax))
  }

  func base() throws(StoreError) -> WorkspaceImage? { baseImage }

  func baseState() throws(StoreError) -> Workspace? { baseImage.map(restored) }
}
