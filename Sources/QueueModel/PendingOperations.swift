import SequenceCRDT

/// Operations that wait until everything they name is known; bounded.
struct PendingOperations: Sendable {
  /// Per replica by sequence number; no empty lists.
  private var lists: [ReplicaID: [Operation]] = [:]
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }
  var replicas: [ReplicaID] { lists.keys.sorted() }
  var operations: [Operation] { replicas.flatMap { lists[$0] ?? [] } }

  func first(of replica: ReplicaID) -> Operation? {
    lists[replica]?.first
  }

  mutating func removeFirst(of replica: ReplicaID) {
    guard var list = lists.removeValue(forKey: replica), !list.isEmpty else { return }
    list.removeFirst()
    count -= 1
    if !list.isEmpty { lists[replica] = list }
  }

  /// Keeps an operation; one that a waiting operation covers already is dropped.
  mutating func insert(_ operation: Operation) throws(MergeError) {
    var list = lists[operation.id.replica] ?? []
    var index = list.count
    while index > 0, list[index - 1].id.seq >= operation.id.seq { index -= 1 }
    if index < list.count, list[index].id == operation.id,
      list[index].length >= operation.length
    {
      return
    }
    guard count < Limits.pendingOperationsMax else {
      throw .tooManyPending(max: Limits.pendingOperationsMax)
    }
    list.insert(operation, at: index)
    lists[operation.id.replica] = list
    count += 1
  }

  /// The ids that must arrive before everything here can be applied: gaps in a replica's count,
  /// and ids that waiting operations name. Whatever waits itself is not missing.
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
      var next = Int(vector[replica]) + 1
      for operation in lists[replica] ?? [] where Int(operation.id.seq) <= Int(last) {
        append(&missing, replica, from: next, to: Int(operation.id.seq) - 1)
        next = max(next, Int(operation.id.seq) + operation.length)
      }
      append(&missing, replica, from: next, to: Int(last))
    }
    return missing
  }

  private func append(
    _ ranges: inout [OperationRange], _ replica: ReplicaID, from first: Int, to last: Int
  ) {
    guard first <= last, let first = UInt32(exactly: first), let last = UInt32(exactly: last)
    else { return }
    ranges.append(OperationRange(replica: replica, first: first, last: last))
  }
}
