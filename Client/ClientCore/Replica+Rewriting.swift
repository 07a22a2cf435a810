package import QueueModel
package import SequenceCRDT
import WireProtocol

/// Changing what the log holds: other forms, other stamps, other ids. Each is one transaction.
extension Replica {
  /// What the server said that makes operations here get new ids.
  struct Divergence {
    /// The first number of each replica that the server has something else for.
    var cuts: [ReplicaID: UInt32] = [:]
    /// What takes the place of operations with the same ids.
    var forms: [ReplicaID: [Operation]] = [:]
    /// The server has the same up to here.
    var confirmed = VersionVector()
    /// What the server has instead, as it came.
    var arrived: [Delivery] = []
  }

  /// Gives operations that the server has something else for new ids, with all that name one of
  /// them and that it lacks, and rebuilds the state with what it has instead.
  ///
  /// Whoever has the operations gives them the same new ids; see `Operation.successorReplica`.
  mutating func reauthor(
    _ divergence: Divergence, at occasion: Occasion, store: some ReplicaStore
  ) throws(Fault) -> TouchedQueues {
    var next = self
    for (replica, seq) in divergence.confirmed.sorted {
      next.record.acknowledged[replica] = max(record.acknowledged[replica], seq)
    }
    let all = try allEntries(of: store)
    let arrivals = divergence.arrived.flatMap(\.operations)
    var cutting = Cutting(
      divergence, ends: ends(of: all, for: divergence.cuts, in: arrivals), record: next.record)
    let entries = all.map { cutting.kept(of: $0) }
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
    var undo: UndoHistory.Changes
    do {
      next.workspace = try storedBase(store)
      var applied = Applied(entries, own: record.ownReplicas)
      let acknowledged = next.record.acknowledged
      applied.add(
        try next.workspace.mergeFitting(entries.flatMap(\.operations) + waiting.operations) {
          $0.lastID.map { $0.seq > acknowledged[$0.replica] } ?? false
        })
      undo = try next.take(divergence.arrived, into: &applied)
      let renamed = try next.author(
        cutting.taken, into: &applied, formerly: workspace, at: occasion)
      undo.written += renamed.written
      undo.removed += renamed.removed
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

  /// From which number on the log holds what the server has as well, of replicas of which the server
  /// has something else before that: it came from there before the fork was found.
  private func ends(
    of entries: [LogEntry], for cuts: [ReplicaID: UInt32], in arrivals: [Operation]
  ) -> [ReplicaID: UInt32] {
    guard !arrivals.isEmpty else { return [:] }
    var ends: [ReplicaID: UInt32] = [:]
    for replica in cuts.keys {
      let held = entries.filter { !$0.isLocal }.flatMap(\.operations).inOrder(of: replica)
      guard let last = held.last?.lastID?.seq, last == workspace.vector[replica] else { continue }
      var end = last &+ 1
      for pair in held.aligned(with: arrivals.inOrder(of: replica)).reversed() {
        guard pair.mine == pair.theirs, pair.mine.lastID?.seq == end - 1 else { break }
        end = pair.mine.id.seq
      }
      ends[replica] = end
    }
    return ends
  }

  /// Applies what came from the server.
  private mutating func take(
    _ deliveries: [Delivery], into applied: inout Applied
  ) throws(MergeError) -> UndoHistory.Changes {
    var undo = UndoHistory.Changes()
    for delivery in deliveries {
      let outcome = try workspace.merge(delivery.operations)
      applied.add(outcome, isLocal: false)
      undo.written += self.undo.noteForeign(outcome.applied, in: workspace).written
      imports.note(outcome)
      record.logPosition = max(record.logPosition, delivery.logPosition)
      for range in delivery.operations.ranges
      where range.first <= record.acknowledged[range.replica] &+ 1 {
        // What is here under these ids is the server's now.
        record.acknowledged[range.replica] = max(
          record.acknowledged[range.replica], range.last)
      }
    }
    return undo
  }

  /// Applies operations under new ids.
  ///
  /// - Parameter former: the state that holds them under the old ones.
  private mutating func author(
    _ taken: [Operation], into applied: inout Applied, formerly former: Workspace,
    at occasion: Occasion
  ) throws(MergeError) -> UndoHistory.Changes {
    guard !taken.isEmpty else { return UndoHistory.Changes() }
    let known = workspace
    let before = record
    var surroundings = OperationRewriter.Surroundings()
    // A copy may have been first, and this device may have that already.
    surroundings.held = Dictionary(
      grouping: applied.chunks.flatMap(\.operations), by: \.id.replica
    ).mapValues { $0.sorted { $0.id < $1.id } }
    let held = surroundings.held
    surroundings.announcement = { begun in
      guard known.vector[begun.replica] == 0 else { return nil }
      // All must announce alike, whatever the device is called now.
      let device = former.device(of: begun.of)
      return .announceDevice(
        device: device?.id ?? before.device, name: device?.name ?? before.deviceName)
    }
    surroundings.substitute = { begun in
      let isUsed = before.ownReplicas.contains(begun.replica)
      guard isUsed, held[begun.replica] == nil else { return nil }
      return ReplicaID(rawValue: occasion.random(begun.of.rawValue) | 1)
    }
    var rewriter = OperationRewriter(taken, in: surroundings)
    var outcome = try workspace.mergeFitting(rewriter.operations) { _ in true }
    if !former.hasOrder(of: taken, in: workspace, under: rewriter.mapped) {
      // Beside what others put there since, other ids would have another order.
      workspace = known
      rewriter = OperationRewriter(former.replaced(taken, in: known), in: surroundings)
      outcome = try workspace.mergeFitting(rewriter.operations) { _ in true }
    }
    for begun in rewriter.successors {
      if before.ownReplicas.contains(begun.of) {
        record.ownReplicas.insert(begun.replica)
        applied.own.insert(begun.replica)
      }
      // The server may know the replica from a copy; whether it has the same is to be compared.
      record.acknowledged[begun.replica] = min(
        record.acknowledged[begun.replica], known.vector[begun.replica])
    }
    applied.add(outcome)
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

  /// Operations that came together.
  mutating func add(_ outcome: Workspace.MergeOutcome, isLocal known: Bool) {
    guard !outcome.applied.isEmpty else { return }
    chunks.append(Chunk(isLocal: known, operations: outcome.applied))
    last = nil
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
  /// From these numbers on the server has what is here.
  private let ends: [ReplicaID: UInt32]
  private let record: ReplicaRecord
  /// What gets new ids, in the order of the log.
  private(set) var taken: [Operation] = []
  private var names: OperationSet = OperationSet()

  init(
    _ divergence: Replica.Divergence, ends: [ReplicaID: UInt32] = [:], record: ReplicaRecord
  ) {
    cuts = divergence.cuts.filter { $0.value > 0 }
    forms = divergence.forms
    self.ends = ends
    self.record = record
  }

  /// What stays of an entry, in the form it is to have.
  mutating func kept(of entry: LogEntry) -> LogEntry {
    var left = entry
    left.packed = nil
    left.operations = []
    for operation in entry.operations {
      let replica = operation.id.replica
      if operation.id.seq > record.acknowledged[replica],
        cuts[replica] ?? .max > operation.id.seq,
        operation.dependencies.contains(where: names.contains)
      {
        cuts[replica] = operation.id.seq
      }
      let count = cuts[replica].map { Int($0) - Int(operation.id.seq) } ?? operation.length
      if let front = operation.keepingFirst(count) {
        left.operations += reformed(front)
      }
      guard let rest = operation.droppingFirst(max(0, count)),
        let lost = rest.keepingFirst(Int(ends[replica] ?? .max) - Int(rest.id.seq))
      else { continue }
      if let range = lost.range { names.insert(range) }
      taken.append(lost)
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
