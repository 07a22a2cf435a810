package import QueueModel
package import SequenceCRDT
import WireProtocol

/// Changing what the log holds: other forms, other stamps, other ids. Each is one transaction.
extension Replica {
  /// Gives local operations of own replicas new ids, from certain numbers on, and rebuilds the
  /// state without the old ones. What others of these operations name goes with them.
  ///
  /// Copies of a store author what they have alike under the same new ids; see
  /// `Operation.successorReplica`.
  ///
  /// - Parameters:
  ///   - cuts: the first number of each replica that goes; of other devices' replicas it is just
  ///     dropped.
  ///   - forms: what takes the place of operations with the same ids.
  package mutating func reauthor(
    from cuts: [ReplicaID: UInt32], forms: [ReplicaID: [Operation]] = [:],
    at occasion: Occasion, store: some ReplicaStore
  ) throws(Fault) -> TouchedQueues {
    var next = self
    var cutting = Cutting(cuts: cuts, forms: forms, record: record)
    var entries: [LogEntry] = []
    for entry in try allEntries(of: store) { entries.append(cutting.kept(of: entry)) }
    let waiting = cutting.kept(
      of: LogEntry(id: 0, isLocal: true, operations: workspace.pendingOperations))
    for (replica, first) in cutting.cuts {
      next.record.acknowledged[replica] = min(next.record.acknowledged[replica], first - 1)
    }
    if cutting.cuts.keys.contains(where: { !record.ownReplicas.contains($0) })
      || cutting.taken.isEmpty
    {
      next.record.repairs += 1
    }
    let log: [Chunk]
    let undo: UndoHistory.Changes
    do {
      next.workspace = try storedBase(store)
      var applied = Applied(entries, own: record.ownReplicas)
      let acknowledged = next.record.acknowledged
      applied.add(
        try next.workspace.mergeFitting(entries.flatMap(\.operations) + waiting.operations) {
          $0.lastID.map { $0.seq > acknowledged[$0.replica] } ?? false
        })
      undo = try next.author(cutting.taken, into: &applied, at: occasion)
      if cutting.cuts[record.replica] != nil {
        // Numbers of the present replica may have been seen by others: it is not used again.
        next.record.takeReplica(Replica.replicaID(from: occasion))
        applied.add(
          next.workspace.announce(
            device: record.device, name: record.deviceName, replica: next.record.replica))
      }
      log = applied.chunks
    } catch let error as Fault {
      throw error
    } catch let error as MergeError {
      throw .merge(error)
    } catch {
      preconditionFailure("merging and reading throw nothing else: \(error)")
    }
    return try replaceLog(with: log, undo: undo, in: next, store: store)
  }

  /// Applies operations under new ids.
  private mutating func author(
    _ taken: [Operation], into applied: inout Applied, at occasion: Occasion
  ) throws(MergeError) -> UndoHistory.Changes {
    guard let first = taken.first else { return UndoHistory.Changes() }
    let successor = first.successorReplica
    var rewriter = OperationRewriter(taken, replica: successor, lastSeq: 1)
    // A copy may have been first, and this device may have that already.
    let held = applied.chunks.flatMap(\.operations).inOrder(of: successor)
    let isTaken =
      held.isEmpty
      ? record.ownReplicas.contains(successor)
      : !rewriter.operations.aligned(with: held).allSatisfy { $0.mine.isSameEvent(as: $0.theirs) }
    if isTaken {
      let random = ReplicaID(rawValue: occasion.random(2) | 1)
      rewriter = OperationRewriter(taken, replica: random, lastSeq: 1)
    }
    record.ownReplicas.insert(rewriter.replica)
    if workspace.vector[rewriter.replica] == 0 {
      // Copies of the store must announce alike, whatever they are called now.
      let device = workspace.device(of: first.id.replica)
      applied.add(
        workspace.announce(
          device: device?.id ?? record.device, name: device?.name ?? record.deviceName,
          replica: rewriter.replica))
    }
    applied.own.insert(rewriter.replica)
    // The server may know the replica from a copy; whether it has the same is to be compared.
    record.acknowledged[rewriter.replica] = min(
      record.acknowledged[rewriter.replica], held.isEmpty ? 0 : workspace.vector[rewriter.replica])
    applied.add(try workspace.mergeFitting(rewriter.operations) { _ in true })
    return undo.rename(rewriter.mapped)
  }

  /// Moves stamps behind a limit down to it, in their order, in all operations that the server is
  /// not known to have. Ids stay.
  package mutating func restamp(
    limit: Stamp, store: some ReplicaStore
  ) throws(Fault) -> TouchedQueues {
    var entries = try allEntries(of: store)
    var waiting = workspace.pendingOperations
    let acknowledged = record.acknowledged
    func unsent(_ operation: Operation) -> Bool {
      operation.lastID.map { $0.seq > acknowledged[$0.replica] } ?? false
    }
    let stamps = (entries.flatMap(\.operations) + waiting).filter(unsent).compactMap(\.stamp)
    var lowered: [Stamp: Stamp] = [:]
    for (index, stamp) in Set(stamps).filter({ $0 > limit }).sorted().enumerated() {
      lowered[stamp] = Stamp(rawValue: limit.rawValue &+ UInt64(index))
    }
    func fitting(_ operation: Operation) -> Operation {
      unsent(operation) ? operation.withStamp { lowered[$0] ?? $0 } : operation
    }
    for index in entries.indices {
      entries[index].operations = entries[index].operations.map(fitting)
    }
    waiting = waiting.map(fitting)
    var next = self
    var applied = Applied(entries, own: record.ownReplicas)
    next.workspace = try storedBase(store)
    do {
      applied.add(try next.workspace.merge(entries.flatMap(\.operations) + waiting))
    } catch {
      throw .merge(error)
    }
    return try replaceLog(
      with: applied.chunks, undo: UndoHistory.Changes(), in: next, store: store)
  }

  /// Stores a new log on the same base; what waits for others is pending.
  private mutating func replaceLog(
    with log: [Chunk], undo: UndoHistory.Changes, in changed: Replica, store: some ReplicaStore
  ) throws(Fault) -> TouchedQueues {
    var next = changed
    var transaction = StoreTransaction(record: next.record)
    do {
      transaction.base = try store.base().map { .install($0) } ?? .clear
    } catch {
      throw .store(error)
    }
    transaction.prunedThrough = lastEntry
    for chunk in log {
      next.lastEntry += 1
      transaction.appended.append(
        LogEntry(id: next.lastEntry, isLocal: chunk.isLocal, operations: chunk.operations))
    }
    transaction.pending = .replace(next.workspace.pendingOperations)
    transaction.undo = undo
    next.clock = HybridClock(latest: next.workspace.latestStamp)
    try commit(transaction, to: store)
    let touched = TouchedQueues.all(of: workspace, next.workspace)
    self = next
    return touched
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

/// Operations that were stored together.
struct Chunk {
  var isLocal: Bool
  var operations: [Operation]
}

/// Puts a log together in the order in which its operations applied.
///
/// An operation in another form may name what came after it in the old log; the new one has an
/// order in which it can be sent.
struct Applied {
  private(set) var chunks: [Chunk] = []
  /// The replicas whose operations are local where they were in no entry.
  var own: Set<ReplicaID>
  private var sources: [OperationID: Int] = [:]
  private var isLocal: [Bool]
  private var last: Int?

  init(_ entries: [LogEntry], own: Set<ReplicaID>) {
    self.own = own
    isLocal = entries.map(\.isLocal)
    for (index, entry) in entries.enumerated() {
      for operation in entry.operations { sources[operation.id] = index }
    }
  }

  mutating func add(_ outcome: Workspace.MergeOutcome) {
    for operation in outcome.applied {
      let source = sources[operation.id]
      if let last, source == last {
        chunks[chunks.count - 1].operations.append(operation)
      } else {
        chunks.append(
          Chunk(
            isLocal: source.map { isLocal[$0] } ?? own.contains(operation.id.replica),
            operations: [operation]))
      }
      last = source
    }
    last = nil
  }

  /// Operations made just now.
  mutating func add(_ operations: [Operation]) {
    guard !operations.isEmpty else { return }
    chunks.append(Chunk(isLocal: true, operations: operations))
  }
}

/// Tells the operations of a log apart into what stays and what gets new ids or goes.
struct Cutting {
  private(set) var cuts: [ReplicaID: UInt32]
  private let forms: [ReplicaID: [Operation]]
  private let record: ReplicaRecord
  /// Local operations that get new ids, in the order of the log.
  private(set) var taken: [Operation] = []
  private var names: OperationSet = OperationSet()

  init(cuts: [ReplicaID: UInt32], forms: [ReplicaID: [Operation]], record: ReplicaRecord) {
    self.cuts = cuts.filter { $0.value > 0 }
    self.forms = forms
    self.record = record
  }

  /// What stays of an entry, in the form it is to have.
  mutating func kept(of entry: LogEntry) -> LogEntry {
    var left = entry
    left.packed = nil
    left.operations = []
    for operation in entry.operations {
      let replica = operation.id.replica
      let isOwn = record.ownReplicas.contains(replica)
      if isOwn, operation.id.seq > record.acknowledged[replica],
        cuts[replica] ?? .max > operation.id.seq,
        operation.dependencies.contains(where: names.contains)
      {
        cuts[replica] = operation.id.seq
      }
      let count = cuts[replica].map { Int($0) - Int(operation.id.seq) } ?? operation.length
      if let front = operation.keepingFirst(count) {
        left.operations += reformed(front)
      }
      guard isOwn, entry.isLocal, let rest = operation.droppingFirst(max(0, count)) else {
        continue
      }
      if let range = rest.range { names.insert(range) }
      taken.append(rest)
    }
    return left
  }

  /// The operation with those units in the server's form of which there is one.
  private func reformed(_ operation: Operation) -> [Operation] {
    guard let forms = forms[operation.id.replica], let own = operation.range else {
      return [operation]
    }
    var parts: [Operation] = []
    var rest: Operation? = operation
    for form in forms {
      guard let range = form.range, range.last >= own.first, range.first <= own.last,
        let left = rest
      else { continue }
      if let front = left.keepingFirst(Int(range.first) - Int(left.id.seq)) {
        parts.append(front)
      }
      let cut = form.droppingFirst(max(0, Int(left.id.seq) - Int(range.first)))?
        .keepingFirst(Int(own.last) - Int(max(left.id.seq, range.first)) + 1)
      if let cut { parts.append(cut) }
      rest = left.droppingFirst(max(0, Int(range.last) - Int(left.id.seq) + 1))
    }
    if let rest { parts.append(rest) }
    return parts
  }
}
