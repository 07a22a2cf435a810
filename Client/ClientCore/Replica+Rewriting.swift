package import QueueModel
package import SequenceCRDT
import WireProtocol

extension Replica {
  /// Gives every local operation that the server does not have a new id under a fresh replica,
  /// and rebuilds the state without the old ones; one transaction.
  ///
  /// - Parameters:
  ///   - stampLimit: stamps behind it are moved down to it.
  ///   - distrusted: own replicas of which even acknowledged operations differ at the server.
  package mutating func reauthor(
    stampLimit: Stamp?, distrusted: Set<ReplicaID> = [], at occasion: Occasion,
    store: some ReplicaStore
  ) throws(Fault) -> TouchedQueues {
    var next = self
    next.record.takeReplica(Replica.replicaID(from: occasion))
    // What the base holds is there as state alone and cannot be authored anew.
    for replica in distrusted {
      next.record.acknowledged[replica] = record.floor[replica]
    }
    var sorting = try sortLog(keeping: next.record.acknowledged, store: store)
    var transaction = StoreTransaction(record: next.record)
    transaction.replaced = sorting.replaced
    var base: WorkspaceImage?
    do {
      base = try store.base()
    } catch {
      throw .store(error)
    }
    if let image = base, image.replicas.contains(where: { isCut($0, by: next.record) }) {
      // The base holds what must go. It came from the server, and so does everything again.
      base = nil
      transaction.base = .clear
      sorting.dropReceived()
      transaction.replaced = sorting.replaced
      next.record.forgetServer()
    }
    do {
      next.workspace = try base.map(Workspace.init(image:)) ?? Workspace()
      _ = try next.workspace.merge(sorting.kept.flatMap(\.operations))
      let announcement = next.workspace.announce(
        device: record.device, name: record.deviceName, replica: next.record.replica)
      let rewriter = OperationRewriter(
        sorting.rewritten, replica: next.record.replica,
        lastSeq: next.workspace.vector[next.record.replica], limit: stampLimit)
      let waiting = workspace.pendingOperations.filter { operation in
        !record.ownReplicas.contains(operation.id.replica)
          || operation.id.seq <= next.record.acknowledged[operation.id.replica]
      }
      _ = try next.workspace.merge(waiting)
      let outcome = try next.workspace.merge(rewriter.operations)
      transaction.undo = next.undo.rename(rewriter.mapped)
      next.lastEntry += 1
      transaction.appended = [
        LogEntry(
          id: next.lastEntry, isLocal: true, operations: announcement + outcome.applied)
      ]
    } catch {
      throw .merge(error)
    }
    if next.workspace.pendingOperations.contains(where: {
      $0.id.replica == next.record.replica
    }) {
      // Rewritten operations that wait keep their ids; new ones need others.
      next.record.takeReplica(ReplicaID(rawValue: occasion.random(2) | 1))
      let announcement = next.workspace.announce(
        device: record.device, name: record.deviceName, replica: next.record.replica)
      next.lastEntry += 1
      transaction.appended.append(
        LogEntry(id: next.lastEntry, isLocal: true, operations: announcement))
    }
    next.clock = HybridClock(latest: next.workspace.latestStamp)
    transaction.pending = .replace(next.workspace.pendingOperations)
    transaction.record = next.record
    try commit(transaction, to: store)
    let touched = TouchedQueues.all(of: workspace, next.workspace)
    self = next
    return touched
  }

  private func isCut(_ replica: WorkspaceImage.Replica, by record: ReplicaRecord) -> Bool {
    self.record.ownReplicas.contains(replica.id)
      && replica.seq > record.acknowledged[replica.id]
  }

  /// The log, told apart into what stays and what gets new ids.
  private struct Sorting {
    var kept: [LogEntry] = []
    var rewritten: [Operation] = []
    var replaced: [LogEntry] = []

    mutating func dropReceived() {
      for entry in kept where !entry.isLocal {
        replaced.removeAll { $0.id == entry.id }
        replaced.append(LogEntry(id: entry.id, isLocal: false, operations: []))
      }
      kept.removeAll { !$0.isLocal }
    }
  }

  private func sortLog(
    keeping acknowledged: VersionVector, store: some ReplicaStore
  ) throws(Fault) -> Sorting {
    var sorting = Sorting()
    for entry in try allEntries(of: store) {
      var kept: [Operation] = []
      for operation in entry.operations {
        let replica = operation.id.replica
        let known = acknowledged[replica]
        guard record.ownReplicas.contains(replica), let last = operation.lastID,
          last.seq > known
        else {
          kept.append(operation)
          continue
        }
        let keptUnits = max(0, Int(known) - Int(operation.id.seq) + 1)
        if let front = keptUnits > 0 ? operation.keepingFirst(keptUnits) : nil {
          kept.append(front)
        }
        if entry.isLocal, let rest = operation.droppingFirst(keptUnits) {
          sorting.rewritten.append(rest)
        }
      }
      if kept != entry.operations {
        sorting.replaced.append(
          LogEntry(id: entry.id, isLocal: entry.isLocal, operations: kept))
      }
      if !kept.isEmpty {
        sorting.kept.append(LogEntry(id: entry.id, isLocal: entry.isLocal, operations: kept))
      }
    }
    return sorting
  }

  func allEntries(of store: some ReplicaStore) throws(Fault) -> [LogEntry] {
    var all: [LogEntry] = []
    while true {
      do {
        let page = try store.entries(after: all.last?.id ?? 0, countMax: 1_000)
        if page.isEmpty { return all }
        all.append(contentsOf: page)
      } catch {
        throw .store(error)
      }
    }
  }
}

extension ReplicaRecord {
  /// Begins with the server as if nothing had been received from it.
  fileprivate mutating func forgetServer() {
    acknowledged = VersionVector()
    logPosition = 0
    epoch = EpochName.none
    floor = VersionVector()
  }
}
