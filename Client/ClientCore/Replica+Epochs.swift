package import QueueModel
package import SequenceCRDT
package import WireProtocol

/// Taking over bases; SPECIFICATION.md, section "Compaction".
extension Replica {
  /// A state of the server, and what is known about it.
  package struct Base: Sendable {
    package var image: WorkspaceImage
    package var epoch: UInt64
    package var logPosition: UInt64
    /// Replicas whose stored operations differ from the server's.
    package var mismatched: Set<ReplicaID> = []

    package init(
      image: WorkspaceImage, epoch: UInt64, logPosition: UInt64,
      mismatched: Set<ReplicaID> = []
    ) {
      self.image = image
      self.epoch = epoch
      self.logPosition = logPosition
      self.mismatched = mismatched
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

  private func storedBase(_ store: some ReplicaStore) throws(Fault) -> Workspace {
    let image: WorkspaceImage?
    do {
      image = try store.base()
    } catch {
      throw .store(error)
    }
    do {
      return try image.map(Workspace.init(image:)) ?? Workspace()
    } catch {
      throw .merge(error)
    }
  }

  /// Own replicas of which the server's state holds other operations under the same ids.
  ///
  /// Asked before a base is taken over, since its operations leave the log. At `hello` digests are
  /// compared at equal counts alone, and in one epoch.
  package func forked(
    from base: Base, store: some ReplicaStore
  ) throws(Fault) -> Set<ReplicaID> {
    var forked: Set<ReplicaID> = []
    for replica in base.image.replicas where record.ownReplicas.contains(replica.id) {
      guard replica.seq <= workspace.vector[replica.id] else {
        // This store was set back. What it never heard to have arrived is in the state under the
        // same ids, or something else is: nobody can tell any more, and twice is better than never.
        if record.acknowledged[replica.id] < workspace.vector[replica.id] {
          forked.insert(replica.id)
        }
        continue
      }
      let digest =
        replica.seq == workspace.vector[replica.id]
        ? workspace.digest(of: replica.id)
        : try digest(of: replica.id, upTo: replica.seq, store: store)
      if let digest, digest != replica.digest { forked.insert(replica.id) }
    }
    return forked
  }

  /// - Returns: nil where the base holds operations behind that one.
  private func digest(
    of replica: ReplicaID, upTo seq: UInt32, store: some ReplicaStore
  ) throws(Fault) -> UInt64? {
    let start = try storedBase(store)
    guard start.vector[replica] <= seq else { return nil }
    var digest = OperationDigest(value: start.digest(of: replica))
    var limit = VersionVector()
    limit[replica] = seq
    let own = try allEntries(of: store).flatMap(\.operations)
      .filter { $0.id.replica == replica }.sorted { $0.id < $1.id }
    for operation in own {
      if let part = operation.droppingKnown(to: start.vector)?.keepingKnown(to: limit) {
        digest.add(part)
      }
    }
    return digest.value
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
      var kept = try heldEntries(beyond: known, without: base.mismatched, store: store)
      var waiting = workspace.pendingOperations.filter {
        !base.mismatched.contains($0.id.replica)
          && (!isOther || record.ownReplicas.contains($0.id.replica))
      }.compactMap { $0.droppingKnown(to: known) }
      if isOther {
        let held = kept.flatMap(\.operations)
        let fitting = workspace.reanchored(held + waiting, onto: next.workspace)
        waiting = kept.distribute(fitting)
      }
      for index in kept.indices {
        next.lastEntry += 1
        kept[index].id = next.lastEntry
      }
      let outcome = try next.workspace.merge(kept.flatMap(\.operations) + waiting)
      let late = outcome.applied.filter { applied in
        waiting.contains { $0.id.replica == applied.id.replica && $0.id.seq <= applied.id.seq }
      }
      if !late.isEmpty {
        next.lastEntry += 1
        kept.append(LogEntry(id: next.lastEntry, isLocal: true, operations: late))
      }
      transaction.appended = kept
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
    record.floor = VersionVector(
      Dictionary(base.image.replicas.map { ($0.id, $0.seq) }) { first, _ in first })
    if !base.mismatched.isEmpty { record.repairs += 1 }
    clock.observe(workspace.latestStamp)
  }

  /// The log without what a state knows and without some replicas.
  private func heldEntries(
    beyond known: VersionVector, without mismatched: Set<ReplicaID>, store: some ReplicaStore
  ) throws(Fault) -> [LogEntry] {
    try allEntries(of: store).compactMap { entry in
      let kept = entry.operations.filter { !mismatched.contains($0.id.replica) }
        .compactMap { $0.droppingKnown(to: known) }
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

extension Operation {
  /// The part of the operation that a vector knows; nil where it knows nothing of it.
  fileprivate func keepingKnown(to vector: VersionVector) -> Operation? {
    keepingFirst(Int(vector[id.replica]) - Int(id.seq) + 1)
  }
}
