import QueueModel
import SequenceCRDT
import WireProtocol

/// The differences between the log and operations in the outbox.
struct OutboxChange {
  /// Different operations are logged under these ids, so a copy of this program's memory wrote
  /// under the same replica. The local ones from there on get fresh ids.
  var cuts: [OperationID] = []
  /// The same operations are logged with other stamps.
  var replaced: [OperationID: Operation] = [:]
}

/// Rebuilds the state if the log differs from the outbox; SPECIFICATION.md, section "Replicas". No
/// logged operation changes.
extension Replica {
  /// Compares operations of the log with those in the outbox under the same ids.
  ///
  /// - Returns: nil if they are the same.
  func changeOfOutbox(
    by operations: [Operation], store: some ReplicaStore
  ) throws(Fault) -> OutboxChange? {
    let shared = operations.ranges.compactMap(record.outbox.overlap)
    guard !shared.isEmpty else { return nil }
    let mine = try entries(of: store, in: shared).flatMap(\.operations)
    var change = OutboxChange()
    for range in shared {
      let theirs = operations.units(in: range)
      for (own, other) in zip(mine.units(in: range), theirs) where own != other {
        guard own.isSame(as: other) else {
          change.cuts.append(own.id)
          break
        }
        change.replaced[own.id] = other
      }
    }
    return change.cuts.isEmpty && change.replaced.isEmpty ? nil : change
  }

  /// Rebuilds the log and the state, in one transaction. Logged operations replace those of the
  /// outbox with the same ids; replaced operations that differ get fresh ids, together with all
  /// that name them.
  ///
  /// - Parameters:
  ///   - base: the state to begin with; nil is the store's.
  ///   - delivery: the cause of the change.
  /// - Complexity: O(the log).
  mutating func rebuild(
    _ change: OutboxChange, on base: Base? = nil, with delivery: Delivery? = nil,
    at context: EventContext, store: some ReplicaStore
  ) throws(Fault) -> TouchedQueues {
    var next = self
    var log = RebuiltLog(try startingState(base, store))
    var renaming = Renaming(from: change.cuts)
    for entry in try base == nil ? allEntries(of: store) : outgoingEntries(store: store) {
      var kept: [Operation] = []
      for operation in entry.operations {
        let (logged, waiting) = record.outbox.parts(of: operation)
        if let logged { kept.append(logged) }
        if let left = waiting.flatMap({ renaming.kept(of: $0) }) {
          kept.append(change.replaced[left.id] ?? left)
        }
      }
      try log.append(kept, isLocal: entry.isLocal)
    }
    for (replica, first) in renaming.cuts { next.record.outbox.drop(replica, from: first) }
    if let delivery {
      try log.append(delivery.operations, isLocal: false)
      next.confirm(delivery)
    }
    if !renaming.taken.isEmpty {
      let writer = Writer(device: record.device, nonce: nonce, at: context)
      let fresh = renaming.operations(
        of: writer.replica, announcing: record.device, name: record.deviceName)
      try log.append(fresh, isLocal: true)
      for range in fresh.ranges { next.record.outbox.add(range) }
      next.record.repairs += 1
      next.writer = nil
    }
    if let base {
      for range in record.outbox.ranges {
        next.record.outbox.confirm(range.replica, through: base.image.vector[range.replica])
      }
      if let writer, base.image.vector[writer.replica] > workspace.vector[writer.replica] {
        next.writer = nil
      }
      // Positions may start again.
      next.record.prefix = base.prefix
      next.receipts = BatchReceipts()
    }
    next.workspace = log.state
    next.clock = HybridClock(latest: next.workspace.latestStamp)
    var transaction = StoreTransaction(record: next.record)
    transaction.forgetsReceipts = base != nil
    transaction.base = .clear
    if let base {
      transaction.base = .install(base.image)
      // An unreadable log has no history, and the snapshot replaces it.
      let outbox = renaming.taken.isEmpty ? next.record.outbox : record.outbox
      transaction.journal.added = (try? history(by: store, without: outbox)) ?? []
    } else if let image = try storedImage(store) {
      transaction.base = .install(image)
    }
    transaction.prunedThrough = lastEntry
    next.number(&log.entries)
    transaction.appended = log.entries
    transaction.undo = next.undo.noteOtherState(from: workspace, to: next.workspace)
    try commit(transaction, to: store)
    let touched = TouchedQueues.all(of: workspace, next.workspace)
    self = next
    return touched
  }

  private func storedImage(_ store: some ReplicaStore) throws(Fault) -> WorkspaceImage? {
    do {
      return try store.base()
    } catch {
      throw .store(error)
    }
  }

  /// A base's state, or the store's.
  func startingState(
    _ base: Base?, _ store: some ReplicaStore
  ) throws(Fault) -> Workspace {
    if let base {
      do {
        return try Workspace(image: base.image)
      } catch {
        throw .merge(error)
      }
    }
    do {
      return try store.baseState() ?? Workspace()
    } catch {
      throw .store(error)
    }
  }

  /// Gives ids to entries that replace the log.
  mutating func number(_ entries: inout [StoredOperations]) {
    for index in entries.indices {
      lastEntry += 1
      entries[index].id = lastEntry
    }
    latestLocal = nil
    rebuilds += 1
  }
}

/// A rebuilt log, and the state that it leads to.
struct RebuiltLog {
  private(set) var state: Workspace
  /// The operations without ids.
  var entries: [StoredOperations] = []

  init(_ base: Workspace) {
    state = base
  }

  /// Appends the operations that are not in it yet.
  ///
  /// - Returns: those operations.
  @discardableResult
  mutating func append(
    _ operations: [Operation], isLocal: Bool
  ) throws(Replica.Fault) -> [Operation] {
    let outcome: Workspace.MergeOutcome
    do {
      outcome = try state.merge(operations)
    } catch {
      throw .merge(error)
    }
    guard outcome.waiting == 0 else { throw .outOfOrder }
    if !outcome.applied.isEmpty {
      entries.append(StoredOperations(id: 0, isLocal: isLocal, operations: outcome.applied))
    }
    return outcome.applied
  }
}

/// Gives operations of the outbox fresh ids.
private struct Renaming {
  /// From these numbers on, operations are removed.
  private(set) var cuts: [ReplicaID: UInt32] = [:]
  /// In the order of the log.
  private(set) var taken: [Operation] = []

  init(from first: [OperationID]) {
    for cut in first { cuts[cut.replica] = cut.seq }
  }

  private func isTaken(_ id: OperationID) -> Bool { cuts[id.replica].map { id.seq >= $0 } ?? false }

  /// The remaining part of an operation: nothing of one after a cut, or of one that names such an
  /// operation.
  mutating func kept(of operation: Operation) -> Operation? {
    guard !cuts.isEmpty else { return operation }
    let id = operation.id
    if !isTaken(id), operation.dependencies.contains(where: isTaken) { cuts[id.replica] = id.seq }
    guard let cut = cuts[id.replica] else { return operation }
    let count = max(0, id.count(through: cut - 1))
    if count < operation.length, let rest = operation.droppingFirst(count) { taken.append(rest) }
    return operation.keepingFirst(count)
  }

  /// The removed operations, in their order, as the operations of one replica.
  func operations(of replica: ReplicaID, announcing device: DeviceID, name: String) -> [Operation] {
    var fresh = [
      Operation(
        id: OperationID(replica: replica, seq: 1), body: .announceDevice(device: device, name: name)
      )
    ]
    var names: [OperationID: OperationID] = [:]
    var seq: UInt32 = 2
    for operation in taken {
      // The fresh replica has announced itself; nothing refers to an announcement.
      if case .announceDevice = operation.body { continue }
      for part in operation.renamed({ names[$0] ?? $0 }) {
        fresh.append(Operation(id: OperationID(replica: replica, seq: seq), body: part))
        seq += UInt32(fresh[fresh.count - 1].length)
      }
      let first = seq - UInt32(operation.length)
      for offset in 0..<operation.length {
        if let old = operation.id.advanced(by: offset) {
          names[old] = OperationID(replica: replica, seq: first + UInt32(offset))
        }
      }
    }
    return fresh
  }
}

extension [Operation] {
  /// The single units with ids in a range, in the order of their ids.
  fileprivate func units(in range: OperationRange) -> [Operation] {
    let units = lazy.filter { $0.id.replica == range.replica }.flatMap(\.units)
    return units.filter { range.first <= $0.id.seq && $0.id.seq <= range.last }
      .sorted { $0.id < $1.id }
  }
}
