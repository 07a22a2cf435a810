import SequenceCRDT

/// Operations that wait until everything that they name is known; bounded.
struct PendingOperations: Sendable {
  /// The waiting operations of one replica.
  private struct List: Sendable {
    /// The first sequence numbers, descending, so that the next one to apply is last.
    var seqs: [UInt32] = []
    var operations: [UInt32: Operation] = [:]
  }

  /// Without empty lists.
  private var lists: [ReplicaID: List] = [:]
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }
  var replicas: [ReplicaID] { lists.keys.sorted() }
  /// By replica and sequence number.
  var operations: [Operation] { replicas.flatMap(operations(of:)) }

  private func operations(of replica: ReplicaID) -> [Operation] {
    guard let list = lists[replica] else { return [] }
    return list.seqs.reversed().compactMap { list.operations[$0] }
  }

  func first(of replica: ReplicaID) -> Operation? {
    guard let list = lists[replica], let seq = list.seqs.last else { return nil }
    return list.operations[seq]
  }

  mutating func removeFirst(of replica: ReplicaID) {
    guard let seq = lists[replica]?.seqs.popLast() else { return }
    lists[replica]?.operations[seq] = nil
    count -= 1
    if lists[replica]?.seqs.isEmpty ?? false { lists[replica] = nil }
  }

  /// Removes the operation that holds this id.
  ///
  /// - Returns: false if none does.
  mutating func remove(holding id: OperationID) -> Bool {
    guard
      let operation = operations(of: id.replica).first(where: {
        $0.id.seq <= id.seq && id.seq <= $0.lastID?.seq ?? 0
      })
    else { return false }
    lists[id.replica]?.seqs.removeAll { $0 == operation.id.seq }
    lists[id.replica]?.operations[operation.id.seq] = nil
    if lists[id.replica]?.seqs.isEmpty ?? false { lists[id.replica] = nil }
    count -= 1
    return true
  }

  /// Keeps an operation. If two start at the same id, the longer one is kept.
  mutating func insert(_ operation: Operation) throws(MergeError) {
    let id = operation.id
    if let known = lists[id.replica]?.operations[id.seq] {
      if known.length < operation.length { lists[id.replica]?.operations[id.seq] = operation }
      return
    }
    guard count < Limits.pendingOperationsMax else {
      throw .tooManyPending(max: Limits.pendingOperationsMax)
    }
    let seqs = lists[id.replica]?.seqs ?? []
    let index = seqs.indices.partitioningIndex { seqs[$0] <= id.seq }
    lists[id.replica, default: List()].seqs.insert(id.seq, at: index)
    lists[id.replica]?.operations[id.seq] = operation
    count += 1
  }

  /// The ids that must arrive before everything here can be applied: gaps in a replica's count, and
  /// ids that waiting operations name. Waiting operations themselves are not missing.
  func missingRanges(given vector: VersionVector) -> [OperationRange] {
    var needed: [ReplicaID: UInt32] = [:]
    for operation in operations {
      let id = operation.id
      needed[id.replica] = max(needed[id.replica] ?? 0, id.seq - 1)
      for dependency in operation.dependencies {
        needed[dependency.replica] = max(needed[dependency.replica] ?? 0, dependency.seq)
      }
    }
    var missing: [OperationRange] = []
    for (replica, last) in needed.sorted(by: { $0.key < $1.key }) {
      var next = Int64(vector[replica]) + 1
      for operation in operations(of: replica) where operation.id.seq <= last {
        append(&missing, replica, from: next, to: Int64(operation.id.seq) - 1)
        next = max(next, Int64(operation.id.seq) + Int64(operation.length))
      }
      append(&missing, replica, from: next, to: Int64(last))
    }
    return missing
  }

  private func append(
    _ ranges: inout [OperationRange], _ replica: ReplicaID, from first: Int64, to last: Int64
  ) {
    guard first <= last, let first = UInt32(exactly: first), let last = UInt32(exactly: last)
    else { return }
    ranges.append(OperationRange(replica: replica, first: first, last: last))
  }
}
