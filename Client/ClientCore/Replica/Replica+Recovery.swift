import QueueModel
import SequenceCRDT

/// Recovers if the server's state contradicts this device's: a memory was copied, both copies
/// wrote under one replica, and the server was restored in the meantime, so that its log has the
/// operations of only one of them. SPECIFICATION.md, section "Copies of a memory".
extension Replica {
  /// Whether a state of the server has other operations under ids that are here and were logged.
  ///
  /// - Complexity: O(both states · log); O(1) if nothing here was ever logged.
  func isContradicted(by base: Base, store: some ReplicaStore) throws(Fault) -> Bool {
    guard !logged.sorted.isEmpty else { return false }
    let state = try loggedState(store: store)
    // Damaged local data proves nothing, and is replaced.
    guard let whole = try? state.thawed() else { return false }
    return whole.image().contradicts(base.image)
  }

  /// Replaces all local data with the server's state, and repeats in it what is missing there, in
  /// one transaction.
  ///
  /// - Throws: `Fault.queue` if the state has no room for it, `.store`, without changing anything.
  mutating func beginAnew(
    on base: Base, _ state: Workspace, at context: EventContext, store: some ReplicaStore
  ) throws(Fault) -> TouchedQueues {
    var next = self
    next.workspace = state
    next.record.outbox = Outbox()
    next.record.prefix = base.prefix
    next.record.repairs += 1
    next.receipts = BatchReceipts()
    next.clock = HybridClock(latest: state.latestStamp)
    next.retireWriter()
    var entries = try next.entries(bringingBack: workspace, at: context)
    for range in entries.flatMap(\.operations).ranges { next.record.outbox.add(range) }
    var transaction = StoreTransaction(record: next.record)
    transaction.base = .install(base.image)
    transaction.forgetsReceipts = true
    transaction.prunedThrough = lastEntry
    transaction.journal.added = (try? history(by: store, without: record.outbox)) ?? []
    next.number(&entries)
    transaction.appended = entries
    transaction.undo = next.undo.noteOtherState(from: workspace, to: next.workspace)
    try commit(transaction, to: store)
    let touched = TouchedQueues.all(of: workspace, next.workspace)
    self = next
    return touched
  }

  /// Repeats what another state shows and this one lacks, with ordinary commands of a fresh writer.
  private mutating func entries(
    bringingBack other: Workspace, at context: EventContext
  ) throws(Fault) -> [StoredOperations] {
    var entries: [StoredOperations] = []
    let commands = StateRecovery(of: other, in: workspace).commands()
    guard !commands.isEmpty else { return [] }
    let start = self
    let (author, announcement) = preparedWriter(at: context)
    var operations = announcement
    for command in commands {
      let stamp = clock.tick(milliseconds: context.wall)
      do throws(QueueError) {
        operations += try workspace.perform(
          command,
          in: CommandContext(
            replica: author.replica, stamp: stamp, time: context.deviceWall, recordsUndo: false)
        ).operations
      } catch {
        // Messages that have started in the meantime are no longer stopped.
        guard case .importDocument = command else { continue }
        throw .queue(error)
      }
      if !operations.isEmpty {
        entries.append(StoredOperations(id: 0, isLocal: true, operations: operations))
      }
      operations = []
    }
    // Without operations there is no announcement.
    if entries.isEmpty { self = start }
    return entries
  }
}

extension Replica.Fault {
  /// Whether operations do not fit the state to which they were applied.
  var isMisfit: Bool {
    switch self {
    case .merge, .outOfOrder: true
    case .queue, .store, .history, .access: false
    }
  }
}
