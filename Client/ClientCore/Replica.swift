package import QueueModel
package import SequenceCRDT
import WireProtocol

/// The device's copy of the workspace, with what it must remember to sync it.
///
/// Every change goes to the store first and shows in memory only after the store has it, so that
/// memory and disk agree whatever fails.
package struct Replica: Sendable {
  package internal(set) var workspace: Workspace
  package internal(set) var record: ReplicaRecord
  package internal(set) var receipts: ReceiptBook
  /// What this device can undo and redo.
  package internal(set) var undo: UndoHistory
  /// The id of the latest log entry.
  package internal(set) var lastEntry: Int64
  /// What merges did since this opening.
  package internal(set) var imports = ImportStatus()
  var clock: HybridClock
  /// The latest entry where it is a local one, packed as it is stored and sent.
  var latestLocal: LogEntry?

  /// Why a replica could not do something; nothing changed.
  package enum Fault: Error, Hashable, Sendable {
    case queue(QueueError)
    case store(StoreError)
    case merge(MergeError)
    /// A snapshot lacks operations that this device holds only as state.
    case snapshotBehind
    /// The log does not tell what was asked.
    case history(HistoryError)
  }

  /// What the opener gives a replica.
  package struct Opening: Sendable {
    package var loaded: LoadedReplica
    package var device: DeviceID
    package var deviceName: String
    /// The store is a restored or cloned copy, or may have lost what was sent: new operations need a
    /// new author.
    package var needsFreshReplica: Bool

    package init(
      loaded: LoadedReplica, device: DeviceID, deviceName: String, needsFreshReplica: Bool
    ) {
      self.loaded = loaded
      self.device = device
      self.deviceName = deviceName
      self.needsFreshReplica = needsFreshReplica
    }
  }

  /// Takes up what a store held, or starts anew; announces the device where that is due.
  package init(
    _ opening: Opening, at occasion: Occasion, store: some ReplicaStore
  ) throws(Fault) {
    let loaded = opening.loaded
    do {
      workspace = loaded.workspace ?? Workspace()
      // In one call: every merge keeps the state before it, to go back to.
      _ = try workspace.merge(loaded.tail.flatMap(\.operations) + loaded.pending)
    } catch {
      throw .merge(error)
    }
    let fresh = Replica.replicaID(from: occasion)
    record =
      loaded.record
      ?? ReplicaRecord(device: opening.device, deviceName: opening.deviceName, replica: fresh)
    receipts = ReceiptBook(loaded.receipts)
    undo = UndoHistory(loaded.undo)
    lastEntry = loaded.lastEntry
    clock = HybridClock(latest: workspace.latestStamp)
    let isOtherDevice = record.device != opening.device
    record.device = opening.device
    record.deviceName = opening.deviceName
    if loaded.record != nil, opening.needsFreshReplica || isOtherDevice {
      record.takeReplica(fresh)
    }
    try announceIfNeeded(store: store, mustCommit: loaded.record != record)
  }

  /// A replica id from an event's randomness; 0 is reserved.
  static func replicaID(from occasion: Occasion) -> ReplicaID {
    let value = occasion.random(0)
    return ReplicaID(rawValue: value == 0 ? occasion.random(1) | 1 : value)
  }

  /// Operations that the server is not known to have, as ranges by replica.
  package var outgoing: [OperationRange] {
    workspace.vector.ranges(missingFrom: record.acknowledged)
  }

  package var outgoingCount: Int {
    workspace.vector.operationCount(missingFrom: record.acknowledged)
  }

  private mutating func announceIfNeeded(
    store: some ReplicaStore, mustCommit: Bool
  ) throws(Fault) {
    let announced = workspace.device(of: record.replica)
    let isDue = announced?.id != record.device || announced?.name != record.deviceName
    guard isDue || mustCommit else { return }
    var next = self
    let operations =
      isDue
      ? next.workspace.announce(
        device: record.device, name: record.deviceName, replica: record.replica)
      : []
    try commitLocal(operations, next: &next, store: store)
    self = next
  }

  func commitLocal(
    _ operations: [Operation], undo: UndoHistory.Changes = .init(), endedDraft: SentText? = nil,
    sent: QueuedMessage? = nil, intents: IntentChanges = .init(), waitsForDisk: Bool = true,
    next: inout Replica, store: some ReplicaStore
  ) throws(Fault) {
    var transaction = StoreTransaction(record: next.record)
    transaction.waitsForDisk = waitsForDisk
    transaction.undo = undo
    transaction.endedDraft = endedDraft
    transaction.sent = sent
    transaction.intents = intents
    if !operations.isEmpty {
      next.lastEntry += 1
      let parts = PackedDelta.pack(operations, bytesMax: .max)
      let entry = LogEntry(
        id: next.lastEntry, isLocal: true, operations: operations,
        packed: parts.count == 1 ? parts[0] : nil)
      transaction.appended = [entry]
      next.latestLocal = entry
    }
    try commit(transaction, to: store)
  }

  /// The only entry behind `cursor`, where it was made here a moment ago: nothing has to be read.
  func onlyEntry(after cursor: Int64) -> LogEntry? {
    guard let latestLocal, latestLocal.id == lastEntry, cursor == lastEntry - 1 else { return nil }
    return latestLocal
  }

  func commit(_ transaction: StoreTransaction, to store: some ReplicaStore) throws(Fault) {
    do {
      try store.commit(transaction)
    } catch {
      throw .store(error)
    }
  }

  /// Remembers other settings.
  package mutating func remember(
    store: some ReplicaStore, _ change: (inout ReplicaRecord) -> Void
  ) throws(Fault) {
    var next = record
    change(&next)
    guard next != record else { return }
    try commit(StoreTransaction(record: next), to: store)
    record = next
  }

  /// Does a local command and what follows from it, in one transaction; the operations are durable
  /// when this returns.
  ///
  /// - Parameters:
  ///   - following: done where the command changed something; what the queues refuse of it is left
  ///     out. None of it can be undone.
  ///   - wall: the best known time, milliseconds since 1970.
  ///   - recordsUndo: whether the command itself can be undone; what no person asked for cannot.
  ///   - intents: what is stored in the same transaction of what agents have.
  package mutating func perform(
    _ command: Command, then following: [Command] = [], queueSizeMax: Int, wall: Int64,
    recordsUndo: Bool = true, intents: IntentChanges = .init(), waitsForDisk: Bool = true,
    at occasion: Occasion, store: some ReplicaStore
  ) throws(Fault) -> CommandOutcome {
    // The margin is more than any few commands take.
    if workspace.vector[record.replica] >= Limits.sequenceMax {
      try takeFreshReplica(at: occasion, store: store)
    }
    var next = self
    next.clock.observe(workspace.latestStamp)
    var context = CommandContext(
      replica: record.replica, stamp: next.clock.tick(milliseconds: wall),
      queueSizeMax: queueSizeMax, recordsUndo: recordsUndo)
    var outcome: CommandOutcome
    let undo: UndoHistory.Changes
    do {
      (outcome, undo) = try next.workspace.perform(
        command, in: context, history: &next.undo)
    } catch {
      throw .queue(error)
    }
    context.recordsUndo = false
    for command in following where !outcome.operations.isEmpty {
      context.stamp = next.clock.tick(milliseconds: wall)
      do throws(QueueError) {
        let more = try next.workspace.perform(command, in: context)
        outcome.operations += more.operations
        outcome.touched.formUnion(more.touched)
      } catch {
        // The queues changed meanwhile.
        continue
      }
    }
    guard !outcome.operations.isEmpty || !undo.isEmpty || !intents.isEmpty else {
      return outcome
    }
    var ended: SentText?
    var sent: QueuedMessage?
    if case .send(let send) = command {
      ended = SentText(session: send.session, text: send.text)
      // The text is in the log; the store gives it its number.
      let message = OutgoingMessage(id: send.id, session: send.session, content: "")
      sent = QueuedMessage(message: message, sequence: 0, queuedAt: wall)
    }
    try commitLocal(
      outcome.operations, undo: undo, endedDraft: ended, sent: sent, intents: intents,
      waitsForDisk: waitsForDisk, next: &next, store: store)
    self = next
    return outcome
  }

  /// Continues under a new replica id; earlier operations keep theirs.
  package mutating func takeFreshReplica(
    at occasion: Occasion, store: some ReplicaStore
  ) throws(Fault) {
    var next = self
    next.record.takeReplica(Replica.replicaID(from: occasion))
    try next.announceIfNeeded(store: store, mustCommit: true)
    self = next
  }
}
