package import QueueModel
package import SequenceCRDT

extension Replica {
  /// Operations as a frame brought them.
  package struct Delivery: Sendable {
    package var operations: [Operation]
    /// Their packed form, kept as it came where all of it applies.
    package var packed: [UInt8]?
    /// The server's log position behind them.
    package var logPosition: UInt64

    package init(operations: [Operation], packed: [UInt8]? = nil, logPosition: UInt64) {
      self.operations = operations
      self.packed = packed
      self.logPosition = logPosition
    }
  }

  /// Stores and applies operations from the server.
  ///
  /// Of events that are here already the server's form counts; where it has something else, what is
  /// here is authored anew.
  package mutating func merge(
    _ delivery: Delivery, at occasion: Occasion, store: some ReplicaStore
  ) throws(Fault) -> TouchedQueues {
    try merge([delivery], at: occasion, store: store)
  }

  /// The same for what came in several frames and is compared as a whole.
  package mutating func merge(
    _ deliveries: [Delivery], at occasion: Occasion, store: some ReplicaStore
  ) throws(Fault) -> TouchedQueues {
    let comparison = try compare(deliveries.flatMap(\.operations), store: store)
    guard comparison.isClean else {
      let divergence = Divergence(
        cuts: comparison.forks, forms: comparison.forms, confirmed: comparison.confirmed,
        arrived: deliveries)
      return try reauthor(divergence, at: occasion, store: store)
    }
    var touched = TouchedQueues()
    for delivery in deliveries {
      touched.formUnion(try merge(delivery, confirmed: comparison.confirmed, store: store))
    }
    return touched
  }

  private mutating func merge(
    _ delivery: Delivery, confirmed: VersionVector, store: some ReplicaStore
  ) throws(Fault) -> TouchedQueues {
    var next = self
    let waitedBefore = !workspace.pendingOperations.isEmpty
    let outcome: Workspace.MergeOutcome
    do {
      outcome = try next.workspace.merge(delivery.operations)
    } catch {
      throw .merge(error)
    }
    next.clock.observe(next.workspace.latestStamp)
    next.noteServerKnows(delivery.operations, confirmed, in: workspace.vector)
    next.record.logPosition = max(record.logPosition, delivery.logPosition)
    var transaction = StoreTransaction(record: next.record)
    next.append(outcome.applied, of: delivery, to: &transaction)
    next.imports.note(outcome)
    transaction.undo = next.undo.noteForeign(outcome.applied, in: next.workspace)
    if waitedBefore {
      transaction.pending = .replace(next.workspace.pendingOperations)
    } else if outcome.waiting > 0 {
      transaction.pending = .append(next.workspace.pendingOperations)
    }
    // The server holds it durably and would send it again. What was rewritten here, and own
    // operations, nobody else may have.
    transaction.waitsForDisk =
      waitedBefore || outcome.waiting > 0
      || outcome.applied.contains { record.ownReplicas.contains($0.id.replica) }
    if transaction.appended.isEmpty, next.record == record, outcome.waiting == 0, !waitedBefore {
      imports = next.imports
      return outcome.touched
    }
    try commit(transaction, to: store)
    self = next
    return outcome.touched
  }

  private mutating func append(
    _ applied: [Operation], of delivery: Delivery, to transaction: inout StoreTransaction
  ) {
    guard !applied.isEmpty else { return }
    if applied == delivery.operations {
      lastEntry += 1
      transaction.appended.append(
        LogEntry(
          id: lastEntry, isLocal: false, operations: applied, packed: delivery.packed))
      return
    }
    // Own operations that waited since they were rewritten count as local when they apply.
    let own = record.ownReplicas
    let delivered = Set(delivery.operations.map(\.id.replica))
    var run: [Operation] = []
    var runIsLocal = false
    func flush(_ lastEntry: inout Int64) {
      guard !run.isEmpty else { return }
      lastEntry += 1
      transaction.appended.append(
        LogEntry(id: lastEntry, isLocal: runIsLocal, operations: run))
      run = []
    }
    for operation in applied {
      let replica = operation.id.replica
      let isLocal = own.contains(replica) && !delivered.contains(replica)
      if isLocal != runIsLocal { flush(&lastEntry) }
      runIsLocal = isLocal
      run.append(operation)
    }
    flush(&lastEntry)
  }

  /// What the server sends, it has: what was here and is the same, and what follows on that.
  private mutating func noteServerKnows(
    _ operations: [Operation], _ confirmed: VersionVector, in vector: VersionVector
  ) {
    for (replica, seq) in confirmed.sorted {
      record.acknowledged[replica] = max(record.acknowledged[replica], seq)
    }
    for range in operations.ranges {
      let known = record.acknowledged[range.replica]
      // Behind what is not acknowledged something else may hide.
      guard known >= vector[range.replica], range.first <= known &+ 1 else { continue }
      record.acknowledged[range.replica] = max(known, range.last)
    }
  }

  /// The server stored a batch durably.
  package mutating func acknowledge(
    _ ranges: [OperationRange], logPosition: UInt64, hasCaughtUp: Bool, store: some ReplicaStore
  ) throws(Fault) {
    var next = self
    for range in ranges where range.first <= next.record.acknowledged[range.replica] &+ 1 {
      next.record.acknowledged[range.replica] = max(
        next.record.acknowledged[range.replica], range.last)
    }
    if hasCaughtUp { next.record.logPosition = max(record.logPosition, logPosition) }
    guard next.record != record else { return }
    var transaction = StoreTransaction(record: next.record)
    for range in ranges where record.ownReplicas.contains(range.replica) {
      let receipt = Receipt(
        replica: range.replica, lastSeq: range.last, logPosition: logPosition)
      transaction.receipts.append(receipt)
      next.receipts.add(receipt)
    }
    // Where this is lost, the batch goes again, and the server says again that it has it.
    transaction.waitsForDisk = false
    try commit(transaction, to: store)
    self = next
  }

  /// The server lacks operations that it was thought to have.
  package mutating func withdrawAcknowledgement(
    of ranges: [OperationRange], store: some ReplicaStore
  ) throws(Fault) {
    try remember(store: store) { record in
      for range in ranges {
        record.acknowledged[range.replica] = min(
          record.acknowledged[range.replica], range.first &- 1)
      }
    }
  }
}
