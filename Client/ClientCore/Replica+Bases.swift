import QueueModel
import SequenceCRDT
import WireProtocol

/// A base of which the server has something else; SPECIFICATION.md, section "Compaction".
extension Replica {
  /// Gives what the base holds as state, and a state of the server contradicts, new ids, with all
  /// that names it and that the server lacks. What came from the server since stays. The whole state
  /// becomes the base, of no server's epoch, so that it is offered.
  ///
  /// - Returns: nil where the state contradicts nothing.
  mutating func giveWay(
    to state: WorkspaceImage, at occasion: Occasion, store: some ReplicaStore
  ) throws(Fault) -> TouchedQueues? {
    let held: WorkspaceImage?
    do {
      held = try store.base()
    } catch {
      throw .store(error)
    }
    guard let held else { return nil }
    let comparison = StateComparison(of: held, with: state)
    guard !comparison.contradictions.isEmpty else { return nil }
    var next = self
    let chained: Workspace
    do {
      chained = try Workspace(image: workspace.image()).compacted()
      let image = chained.image()
      var plan = Renaming(of: image, on: held, contradicted: comparison, by: state)
      plan.addWhatNamesIt()
      let rounds = plan.rounds { replica in
        workspace.vector[replica] == 0
          ? replica : ReplicaID(rawValue: occasion.random(replica.rawValue) | 1)
      }
      let renamed = rounds.reduce(image) { $0.renamed($1) }
      let kept = rounds.first?.compactMapValues(\.kept) ?? [:]
      next.workspace =
        kept.isEmpty
        ? try Workspace(image: renamed)
        : try Workspace(image: state.united(with: renamed, knowing: kept)).compacted()
      for successions in rounds { next.take(successions) }
      var undo = next.undo.reanchor(from: workspace, to: chained)
      let changes = next.undo.rename { id in rounds.reduce(id) { $0.renamed($1) } }
      undo.written += changes.written
      undo.removed += changes.removed
      try next.becomeBase(
        undo: undo, announcesAnew: rounds.contains { $0[record.replica] != nil }, at: occasion,
        store: store)
    } catch let error as Fault {
      throw error
    } catch let error as MergeError {
      throw .merge(error)
    } catch {
      preconditionFailure("merging and storing throw nothing else: \(error)")
    }
    let touched = TouchedQueues.all(of: workspace, next.workspace)
    self = next
    return touched
  }

  private mutating func take(_ successions: [ReplicaID: WorkspaceImage.Succession]) {
    for (replica, succession) in successions {
      record.acknowledged[replica] = min(record.acknowledged[replica], succession.first - 1)
      record.acknowledged[succession.successor] = 0
      if record.ownReplicas.contains(replica) {
        record.ownReplicas.insert(succession.successor)
      }
    }
  }

  /// Stores the state as the base, of no server's epoch, and nothing behind it.
  private mutating func becomeBase(
    undo: UndoHistory.Changes, announcesAnew: Bool, at occasion: Occasion,
    store: some ReplicaStore
  ) throws(Fault) {
    record.repairs += 1
    record.epoch = EpochName.own
    record.floor = workspace.vector
    var transaction = StoreTransaction(record: record)
    transaction.base = .install(workspace.image())
    transaction.prunedThrough = lastEntry
    transaction.pending = .replace([])
    transaction.undo = undo
    if announcesAnew {
      // Numbers of the present replica may have been seen by others: it is not used again.
      record.takeReplica(Replica.replicaID(from: occasion))
      transaction.record = record
      let operations = workspace.announce(
        device: record.device, name: record.deviceName, replica: record.replica)
      lastEntry += 1
      transaction.appended = [LogEntry(id: lastEntry, isLocal: true, operations: operations)]
    }
    clock = HybridClock(latest: workspace.latestStamp)
    try commit(transaction, to: store)
  }
}

/// From which numbers on replicas of a state get other ids.
private struct Renaming {
  private let image: WorkspaceImage
  private let names: [OperationID: StateComparison.Name]
  /// What the base knows, and what the other state does.
  private let held: VersionVector
  private let known: VersionVector
  private var firsts: [ReplicaID: UInt32]

  /// - Parameter image: the whole state.
  init(
    of image: WorkspaceImage, on base: WorkspaceImage, contradicted comparison: StateComparison,
    by state: WorkspaceImage
  ) {
    self.image = image
    names = image.names { _ in true }
    held = base.vector
    known = state.vector
    firsts = comparison.firstUnshown
  }

  private func isRenamed(_ id: OperationID) -> Bool {
    firsts[id.replica] ?? .max <= id.seq && !isKept(id)
  }

  /// What the log holds and the other state knows came from there: it was compared.
  private func isKept(_ id: OperationID) -> Bool {
    held[id.replica] < id.seq && id.seq <= known[id.replica]
  }

  /// Adds what names something that gets other ids, and that the other state does not know.
  mutating func addWhatNamesIt() {
    while true {
      let before = self
      for id in image.naming(before.isRenamed) where id.seq > known[id.replica] {
        firsts[id.replica] = min(firsts[id.replica] ?? .max, id.seq)
      }
      if firsts == before.firsts { return }
    }
  }

  /// What gets other ids, and what of that gets others again.
  ///
  /// Somebody may have found that the server has something else from another number on, or several
  /// did: what they gave is continued.
  ///
  /// - Parameter unused: a replica id in the place of one that is in use for something else.
  /// - Complexity: O(operations of the replicas).
  func rounds(
    _ unused: (ReplicaID) -> ReplicaID
  ) -> [[ReplicaID: WorkspaceImage.Succession]] {
    var rounds: [[ReplicaID: WorkspaceImage.Succession]] = []
    for replica in image.replicas {
      guard let first = firsts[replica.id] else { continue }
      let given = (1...replica.seq).filter { known[successor(of: replica.id, from: $0)] > 0 }
      let begun = given.last { $0 <= first } ?? first
      var last = (replica: replica.id, origin: UInt32(1), numberedFrom: UInt32(1))
      let (from, to) = (max(held[replica.id] &+ 1, first), min(known[replica.id], replica.seq))
      for (round, start) in ([begun] + given.filter { $0 > first }).enumerated() {
        let heir = unused(successor(of: replica.id, from: start))
        let offset = last.numberedFrom &- last.origin
        if round == rounds.count { rounds.append([:]) }
        rounds[round][last.replica] = WorkspaceImage.Succession(
          first: max(start, first) &+ offset, successor: heir, origin: start &+ offset,
          kept: round == 0 && from <= to ? from...to : nil)
        last = (heir, start, WorkspaceImage.Succession.numberedFrom)
      }
    }
    return rounds
  }

  private func successor(of replica: ReplicaID, from first: UInt32) -> ReplicaID {
    let id = OperationID(replica: replica, seq: first)
    return id.successorReplica(beginning: SuccessorBeginning(names[id]))
  }
}

extension SuccessorBeginning {
  /// What a state tells of the first operation.
  fileprivate init(_ name: StateComparison.Name?) {
    self =
      switch name {
      case .message(let message): .message(message)
      case .scalar(let addition, let scalar): .text(addition, scalar)
      case .session, .place, .thread, .tag, .register, nil: .other
      }
  }
}
