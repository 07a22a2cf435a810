package import QueueModel
import SequenceCRDT
package import WireProtocol

/// Taking over bases; SPECIFICATION.md, section "Compaction".
extension Replica {
  /// A state of the server, and what is known about it.
  package struct Base: Sendable {
    package var image: WorkspaceImage
    package var epoch: UInt64
    package var logPosition: UInt64

    package init(image: WorkspaceImage, epoch: UInt64, logPosition: UInt64) {
      self.image = image
      self.epoch = epoch
      self.logPosition = logPosition
    }

    /// Whether the state has all that a vector has.
    func knows(_ vector: VersionVector) -> Bool {
      image.vector.includes(vector)
    }
  }

  /// Makes the base of the next epoch from what is here.
  ///
  /// - Returns: nil where that is not possible, or gives another base than the server's.
  package func base(
    of compaction: Compaction, store: some ReplicaStore
  ) throws(Fault) -> Base? {
    guard workspace.vector.includes(compaction.cut),
      EpochName.count(record.epoch) + 1 == EpochName.count(compaction.epoch)
    else { return nil }
    var state = workspace
    if state.vector != compaction.cut || !state.pendingOperations.isEmpty {
      state = try storedBase(store)
      let covered = try allEntries(of: store).flatMap(\.operations)
        .compactMap { $0.keepingKnown(to: compaction.cut) }
      // What does not apply is somebody's mistake; the snapshot will do.
      guard let outcome = try? state.merge(covered), outcome.waiting == 0,
        state.vector == compaction.cut
      else { return nil }
    }
    let image = state.compacted().image()
    guard EpochName.isName(compaction.epoch, ofBase: image) else { return nil }
    return Base(image: image, epoch: compaction.epoch, logPosition: compaction.logPosition)
  }

  /// Takes the server's whole state and applies again what it does not hold; the log keeps that
  /// alone. One transaction.
  ///
  /// Where the state is of another epoch, what it does not hold is re-anchored: ids stay, places
  /// are found anew in the order that this device shows.
  package mutating func install(
    _ base: Base, store: some ReplicaStore
  ) throws(Fault) -> TouchedQueues {
    var next = self
    var transaction = StoreTransaction(record: record)
    transaction.base = .install(base.image)
    transaction.prunedThrough = lastEntry
    let isOther = base.epoch != record.epoch
    do {
      next.workspace = try Workspace(image: base.image)
      let known = next.workspace.vector
      var kept = try heldEntries(beyond: known, store: store)
      var waiting = workspace.pendingOperations.filter {
        !isOther || record.ownReplicas.contains($0.id.replica)
      }.compactMap { $0.droppingKnown(to: known) }
      if isOther {
        let held = kept.flatMap(\.operations)
        let fitting = workspace.reanchored(held + waiting, onto: next.workspace)
        waiting = kept.distribute(fitting)
      }
      var applied = Applied(kept, own: record.ownReplicas)
      // What the server has behind the base comes in its own form; this is what it may lack.
      applied.add(
        try next.workspace.mergeFitting(kept.flatMap(\.operations) + waiting) { _ in true })
      for chunk in applied.chunks {
        next.lastEntry += 1
        transaction.appended.append(
          LogEntry(id: next.lastEntry, isLocal: chunk.isLocal, operations: chunk.operations))
      }
      if isOther {
        transaction.undo = next.undo.reanchor(from: workspace, to: next.workspace)
      }
    } catch let error as Fault {
      throw error
    } catch let error as MergeError {
      throw .merge(error)
    } catch {
      throw .snapshotBehind
    }
    guard next.workspace.vector.includes(workspace.vector) else { throw .snapshotBehind }
    next.note(base)
    transaction.pending = .replace(next.workspace.pendingOperations)
    transaction.record = next.record
    try commit(transaction, to: store)
    let touched = TouchedQueues.all(of: workspace, next.workspace)
    self = next
    return touched
  }

  private mutating func note(_ base: Base) {
    // Own operations too: `forked` compared them, and the log no longer holds them to be sent.
    for replica in base.image.replicas {
      record.acknowledged[replica.id] = max(record.acknowledged[replica.id], replica.seq)
    }
    record.logPosition = max(record.logPosition, base.logPosition)
    record.epoch = base.epoch
    record.floor = base.image.vector
    clock.observe(workspace.latestStamp)
  }

  /// The log without what a state knows.
  private func heldEntries(
    beyond known: VersionVector, store: some ReplicaStore
  ) throws(Fault) -> [LogEntry] {
    try allEntries(of: store).compactMap { entry in
      let kept = entry.operations.compactMap { $0.droppingKnown(to: known) }
      guard !kept.isEmpty else { return nil }
      return LogEntry(id: entry.id, isLocal: entry.isLocal, operations: kept)
    }
  }
}

extension [LogEntry] {
  /// Gives the entries other operations with as many units, in the same order.
  ///
  /// - Returns: the operations behind those of the entries.
  fileprivate mutating func distribute(_ operations: [Operation]) -> [Operation] {
    var rest = operations[...]
    for index in indices {
      var units = self[index].operations.reduce(0) { $0 + $1.length }
      var taken: [Operation] = []
      while units > 0, let next = rest.popFirst() {
        taken.append(next)
        units -= next.length
      }
      self[index].operations = taken
    }
    return [QueueModel.Operation](rest)
  }
}
