package import QueueModel
package import SequenceCRDT
package import WireProtocol

extension Replica {
  /// The operations of a frame.
  package struct Delivery: Sendable {
    package var operations: [Operation]
    /// Their packed form, kept unchanged if all of it applies.
    package var packed: [UInt8]?
    /// The prefix of the server's log that ends with them.
    package var prefix: LogPrefix

    package init(operations: [Operation], packed: [UInt8]? = nil, prefix: LogPrefix) {
      self.operations = operations
      self.packed = packed
      self.prefix = prefix
    }
  }

  /// Stores and applies operations from the server's log.
  ///
  /// - Returns: the changes to the queues.
  /// - Throws: `Fault.merge` if they do not apply, `.store`.
  package mutating func merge(
    _ delivery: Delivery, at context: EventContext, store: some ReplicaStore
  ) throws(Fault) -> TouchedQueues {
    if let writer, delivery.operations.hasUnknown(of: writer.replica, given: workspace.vector) {
      // Another program writes under it: a copy of this program's memory.
      self.writer = nil
    }
    if let change = try changeOfOutbox(by: delivery.operations, store: store) {
      return try rebuild(change, with: delivery, at: context, store: store)
    }
    var next = self
    let outcome: Workspace.MergeOutcome
    do {
      outcome = try next.workspace.merge(delivery.operations)
    } catch {
      throw .merge(error)
    }
    guard outcome.waiting == 0 else { throw .outOfOrder }
    next.clock.observe(next.workspace.latestStamp)
    next.confirm(delivery)
    var transaction = StoreTransaction(record: next.record)
    // The server holds it durably and would send it again.
    transaction.waitsForDisk = false
    if !outcome.applied.isEmpty {
      next.lastEntry += 1
      let isWhole = outcome.applied == delivery.operations
      transaction.appended = [
        StoredOperations(
          id: next.lastEntry, isLocal: false, operations: outcome.applied,
          packed: isWhole ? delivery.packed : nil)
      ]
    }
    transaction.undo = next.undo.noteForeign(
      outcome.applied, from: workspace, to: next.workspace, areOfOthers: true)
    guard !transaction.appended.isEmpty || next.record != record else { return outcome.touched }
    try commit(transaction, to: store)
    self = next
    return outcome.touched
  }

  /// Records that the log holds a delivery's operations, and those that they name: an earlier
  /// confirmation may not have counted. Operations in the log never depend on the outbox.
  mutating func confirm(_ delivery: Delivery) {
    for range in delivery.operations.ranges {
      record.outbox.confirm(range.replica, through: range.last)
    }
    if !record.outbox.isEmpty {
      for name in delivery.operations.flatMap(\.dependencies) where record.outbox.contains(name) {
        record.outbox.confirm(name.replica, through: name.seq)
      }
    }
    advance(to: delivery.prefix)
  }

  /// A repetition on one connection, after a snapshot that includes it, does not reset the prefix.
  private mutating func advance(to prefix: LogPrefix) {
    if prefix.position > record.prefix.position { record.prefix = prefix }
  }

  /// The server stored a batch durably, and everything before it on this connection was stored
  /// here.
  package mutating func acknowledge(
    _ ranges: [OperationRange], prefix: LogPrefix, store: some ReplicaStore
  ) throws(Fault) {
    var next = self
    for range in ranges { next.record.outbox.confirm(range.replica, through: range.last) }
    next.advance(to: prefix)
    guard next.record != record else { return }
    var transaction = StoreTransaction(record: next.record)
    for range in ranges {
      let receipt = Receipt(
        replica: range.replica, lastSeq: range.last, logPosition: prefix.position)
      transaction.receipts.append(receipt)
      next.receipts.add(receipt)
    }
    // If this is lost, the entry arrives again.
    transaction.waitsForDisk = false
    try commit(transaction, to: store)
    self = next
  }
}

extension [Operation] {
  /// Whether they include operations of a replica after the known ones.
  fileprivate func hasUnknown(of replica: ReplicaID, given vector: VersionVector) -> Bool {
    contains { $0.id.replica == replica && $0.lastID.map { !vector.contains($0) } ?? true }
  }
}
