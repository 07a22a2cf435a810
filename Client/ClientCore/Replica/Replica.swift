package import QueueModel
import SequenceCRDT
import WireProtocol

/// The device's copy of the workspace, with the data for syncing it.
///
/// Every change goes to the store first, and to memory only after the store has it, so that
/// memory and disk agree whatever fails.
package struct Replica: Sendable {
  package internal(set) var workspace: Workspace
  package internal(set) var record: ReplicaRecord
  package internal(set) var receipts: BatchReceipts
  /// What this device can undo and redo.
  package internal(set) var undo: UndoHistory
  /// The id of the latest log entry.
  package internal(set) var lastEntry: Int64
  /// How many times the log has been rebuilt since this opening, which gives its entries new ids.
  package internal(set) var rebuilds = 0
  var clock: HybridClock
  /// The author of the next operation; nil if a fresh one must be drawn for it.
  var writer: Writer?
  /// The server's random number for drawing one.
  var nonce: UInt64 = 0
  /// The messages in the outbox; nil before the first request for them.
  var unsent: UnsentMessages?
  /// The latest entry if it is a local one, packed as it is stored and sent.
  var latestLocal: StoredOperations?
  /// When a user last typed; nil if that was before this opening.
  var typedAt: Int64?
  /// Texts of this device's user that came too late for an agent, and have no notification yet.
  var late: [LateText] = []

  /// Why an operation of a replica failed; the replica has not changed.
  package enum Fault: Error, Hashable, Sendable {
    case queue(QueueError)
    case store(StoreError)
    case merge(MergeError)
    /// The server's operations refer to others that it has not sent.
    case outOfOrder
    /// The log does not reach the requested time.
    case history(HistoryError)
    /// The server lets this device change nothing.
    case access(AccessObstacle)
  }

  /// The parameters of an opening.
  package struct Opening: Sendable {
    package var loaded: LoadedReplica
    package var device: DeviceID
    package var deviceName: String

    package init(loaded: LoadedReplica, device: DeviceID, deviceName: String) {
      self.loaded = loaded
      self.device = device
      self.deviceName = deviceName
    }
  }

  /// Continues from a store, or starts a new replica. Nothing is authored before the first command.
  package init(
    _ opening: Opening, at event: EventContext, store: some ReplicaStore
  ) throws(Fault) {
    let loaded = opening.loaded
    do {
      workspace = loaded.workspace ?? Workspace()
      // Merged in one call, because every merge keeps the previous state for a fault.
      _ = try workspace.merge(loaded.tail.flatMap(\.operations))
    } catch {
      throw .merge(error)
    }
    let fresh = StoreID(rawValue: event.random(0))
    record =
      loaded.record
      ?? ReplicaRecord(device: opening.device, deviceName: opening.deviceName, store: fresh)
    receipts = BatchReceipts(loaded.receipts)
    undo = UndoHistory(loaded.undo)
    lastEntry = loaded.lastEntry
    clock = HybridClock(latest: workspace.latestStamp)
    if record.device != opening.device {
      // The files were copied to another device.
      record.device = opening.device
      record.store = fresh
    }
    record.deviceName = opening.deviceName
    if loaded.record != record { try commit(StoreTransaction(record: record), to: store) }
  }

  /// Makes a fresh replica author the next operation.
  mutating func retireWriter() {
    writer = nil
  }

  /// Makes sure that there is an author.
  ///
  /// - Returns: the author, and the operations that it begins with.
  mutating func preparedWriter(at event: EventContext) -> (Writer, [Operation]) {
    // The author uses only half of the numbers: the other half is more than one command can use.
    if var writer, writer.mayWrite(at: event),
      workspace.vector[writer.replica] < Limits.sequenceMax / 2,
      workspace.device(of: writer.replica)?.name == record.deviceName
    {
      writer.wrote(at: event)
      self.writer = writer
      return (writer, [])
    }
    let fresh = Writer(device: record.device, nonce: nonce, at: event)
    writer = fresh
    return (
      fresh,
      workspace.announce(
        device: record.device, name: record.deviceName, replica: fresh.replica)
    )
  }

  /// Makes operations without a user's request, in one transaction.
  mutating func author(
    wall: Int64, at event: EventContext, store: some ReplicaStore,
    _ body: (inout Workspace, CommandContext) throws(QueueError) -> CommandOutcome
  ) throws(Fault) -> CommandOutcome {
    var next = self
    let (author, announcement) = next.preparedWriter(at: event)
    next.clock.observe(workspace.latestStamp)
    let context = CommandContext(
      replica: author.replica, stamp: next.clock.tick(milliseconds: wall), time: event.deviceWall,
      recordsUndo: false)
    var outcome: CommandOutcome
    do {
      outcome = try body(&next.workspace, context)
    } catch {
      throw .queue(error)
    }
    guard !outcome.operations.isEmpty else { return outcome }
    next.noteTime(of: &outcome, in: context)
    let undo = next.undo.noteForeign(
      outcome.operations, from: workspace, to: next.workspace, areOfOthers: false)
    try commitLocal(
      announcement + outcome.operations, undo: undo, waitsForDisk: false, next: &next,
      store: store)
    self = next
    return outcome
  }

  /// Makes sure that the log shows when a command was given.
  mutating func noteTime(of outcome: inout CommandOutcome, in context: CommandContext) {
    let note = TimeNote.write(
      of: outcome.operations, after: writer?.stamp(near: outcome.operations), in: context,
      to: &workspace)
    if let note { outcome.operations.append(note) }
    if let last = outcome.operations.last(where: { $0.stamp != nil }) {
      writer?.stamped(context.stamp.milliseconds, at: last.id.seq)
    }
  }

  func commitLocal(
    _ operations: [Operation], undo: UndoHistory.Changes = .init(),
    sent: (message: Command.Send, milliseconds: Int64)? = nil, intents: IntentChanges = .init(),
    choice: SessionChoice? = nil, waitsForDisk: Bool = true,
    next: inout Replica, store: some ReplicaStore
  ) throws(Fault) {
    var transaction = StoreTransaction(record: next.record)
    transaction.waitsForDisk = waitsForDisk
    transaction.undo = undo
    transaction.sent = sent
    transaction.intents = intents
    transaction.choice = choice
    if !operations.isEmpty {
      next.lastEntry += 1
      let parts = PackedDelta.pack(operations, bytesMax: .max)
      let entry = StoredOperations(
        id: next.lastEntry, isLocal: true, operations: operations,
        packed: parts.count == 1 ? parts[0] : nil)
      transaction.appended = [entry]
      next.latestLocal = entry
      for range in operations.ranges { next.record.outbox.add(range) }
      transaction.record = next.record
    }
    try commit(transaction, to: store)
  }

  /// The only entry after `cursor`, if this device has just made it, so that nothing has to be
  /// read.
  func onlyEntry(after cursor: Int64) -> StoredOperations? {
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

  /// Changes the record, and stores it.
  package mutating func remember(
    store: some ReplicaStore, _ change: (inout ReplicaRecord) -> Void
  ) throws(Fault) {
    var next = record
    change(&next)
    guard next != record else { return }
    try commit(StoreTransaction(record: next), to: store)
    record = next
  }

  /// Performs a local command and its consequences, in one transaction; the operations are durable
  /// when this returns.
  ///
  /// - Parameters:
  ///   - following: performed if the command changed something; commands that the queues refuse are
  ///     left out. None of it can be undone.
  ///   - wall: the best known time, milliseconds since 1970.
  ///   - recordsUndo: whether the command itself can be undone; commands that no user requested
  ///     cannot.
  ///   - intents: changes to agents' intents, stored in the same transaction.
  ///   - choice: a user's choice about a session, stored in the same transaction.
  ///   - apart: what is certain while the device does not know the server's state.
  ///   - connection: the one over which new operations are sent at once; nil while the device is
  ///     apart.
  package mutating func perform(
    _ command: Command, then following: [Command] = [], queueSizeMax: Int, wall: Int64,
    recordsUndo: Bool = true, intents: IntentChanges = .init(), choice: SessionChoice? = nil,
    apart: Apartness? = nil, connection: UInt64? = nil, waitsForDisk: Bool = true,
    at event: EventContext, store: some ReplicaStore
  ) throws(Fault) -> CommandOutcome {
    var next = self
    let author: Writer
    var announcement: [Operation]
    (author, announcement) = next.preparedWriter(at: event)
    next.clock.observe(workspace.latestStamp)
    var context = CommandContext(
      replica: author.replica, stamp: next.clock.tick(milliseconds: wall), time: event.deviceWall,
      queueSizeMax: queueSizeMax, recordsUndo: recordsUndo)
    (context.apart, context.connection) = (apart, connection)
    context.ranText = (intents.begun ?? intents.ended).flatMap { $0.text.isEmpty ? nil : $0.text }
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
    guard !outcome.operations.isEmpty || !undo.isEmpty || !intents.isEmpty || choice != nil
    else { return outcome }
    if outcome.operations.isEmpty {
      // Without operations there is no announcement.
      announcement = []
      (next.workspace, next.writer) = (workspace, writer)
    } else {
      next.noteTime(of: &outcome, in: context)
    }
    var sent: (message: Command.Send, milliseconds: Int64)?
    if case .send(let message) = command { sent = (message, wall) }
    try commitLocal(
      announcement + outcome.operations, undo: undo, sent: sent, intents: intents,
      choice: choice, waitsForDisk: waitsForDisk, next: &next, store: store)
    self = next
    return outcome
  }
}
