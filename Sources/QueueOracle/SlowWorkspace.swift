package import QueueModel
package import SequenceCRDT

/// The oracle: keeps the plain set of operations and computes everything from scratch at each read.
///
/// It is written from the contract alone, to be compared with the real engine. It expects valid
/// operations; the engine refuses others.
package struct SlowWorkspace {
  /// All received operations, by author and then by number. Overlapping runs stay as they arrived.
  private var received: [ReplicaID: [Operation]] = [:]

  package init() {}

  package init(_ operations: some Sequence<Operation>) {
    add(operations)
  }

  package mutating func add(_ operations: some Sequence<Operation>) {
    for operation in operations {
      var own = received[operation.id.replica] ?? []
      // From the end, because most operations come in order.
      var place = own.count
      while place > 0, own[place - 1].id.seq > operation.id.seq { place -= 1 }
      var same = place
      while same > 0, own[same - 1].id.seq == operation.id.seq, own[same - 1] != operation {
        same -= 1
      }
      if same > 0, own[same - 1] == operation { continue }
      own.insert(operation, at: place)
      received[operation.id.replica] = own
    }
  }

  /// The meaning of the operations.
  package func state() -> SlowState {
    let (known, vector) = knownOperations()
    var state = SlowState(vector: vector)
    for operation in known { state.apply(operation) }
    return state
  }

  /// Operations whose references are known, each after all that it names, without units that an
  /// earlier one already had.
  package func knownOperations() -> (operations: [Operation], vector: VersionVector) {
    var known: [Operation] = []
    var vector = VersionVector()
    var next: [ReplicaID: Int] = [:]
    let replicas = received.keys.sorted()
    var madeProgress = true
    while madeProgress {
      madeProgress = false
      for replica in replicas {
        let own = received[replica] ?? []
        while let operation = nextKnown(among: own, from: &next[replica, default: 0], vector) {
          let count = Int(vector[replica]) + 1 - Int(operation.id.seq)
          if let rest = operation.droppingFirst(count), let last = operation.lastID {
            known.append(rest)
            vector[replica] = last.seq
          }
          madeProgress = true
        }
      }
    }
    return (known, vector)
  }

  private func nextKnown(
    among own: [Operation], from start: inout Int, _ vector: VersionVector
  ) -> Operation? {
    while start < own.count, let last = own[start].lastID, vector.contains(last) { start += 1 }
    var index = start
    while index < own.count, Int(own[index].id.seq) <= Int(vector[own[index].id.replica]) + 1 {
      let operation = own[index]
      index += 1
      guard let last = operation.lastID, !vector.contains(last) else { continue }
      if operation.namedRanges.allSatisfy({ vector.contains($0.last) }) { return operation }
    }
    return nil
  }

  /// The operations that wait for others.
  package func pendingOperations() -> [Operation] {
    let vector = knownOperations().vector
    return received.keys.sorted().flatMap { replica in
      (received[replica] ?? []).filter { $0.lastID.map { !vector.contains($0) } ?? false }
    }
  }

  /// The missing ids that waiting operations need: the ids before them, and those that they name,
  /// with all before these.
  package func missingRanges() -> [OperationRange] {
    let vector = knownOperations().vector
    var needed: [ReplicaID: Set<UInt32>] = [:]
    var waiting: [ReplicaID: Set<UInt32>] = [:]
    func need(upTo last: UInt32, of replica: ReplicaID) {
      guard last > vector[replica] else { return }
      needed[replica, default: []].formUnion((vector[replica] + 1)...last)
    }
    for operation in pendingOperations() {
      guard let last = operation.lastID else { continue }
      let id = operation.id
      waiting[id.replica, default: []].formUnion(id.seq...last.seq)
      need(upTo: id.seq - 1, of: id.replica)
      for range in operation.namedRanges { need(upTo: range.last.seq, of: range.last.replica) }
    }
    return needed.keys.sorted().flatMap { replica -> [OperationRange] in
      let missing = (needed[replica] ?? []).subtracting(waiting[replica] ?? []).sorted()
      var ranges: [OperationRange] = []
      for seq in missing {
        if let last = ranges.last, last.last + 1 == seq {
          ranges[ranges.count - 1] = OperationRange(
            replica: replica, first: last.first, last: seq)
        } else {
          ranges.append(OperationRange(replica: replica, first: seq, last: seq))
        }
      }
      return ranges
    }
  }
}

extension Operation {
  /// A range of ids that an operation names.
  package struct NamedRange {
    package var first: OperationID
    package var last: OperationID
  }

  /// Every id that the operation names, except its own.
  package var namedRanges: [NamedRange] {
    switch body {
    case .announceDevice: []
    case .openSession(_, let clears): Operation.named(clears)
    case .addMessage(let addition):
      Operation.named([addition.session] + addition.clears, addition.origins)
    case .insertText(let insertion): Operation.named([insertion.message], insertion.origins)
    case .deleteText(let deletion):
      Operation.named([deletion.message])
        + [
          NamedRange(
            first: deletion.first,
            last: deletion.first.advanced(by: deletion.count - 1) ?? deletion.first)
        ]
    case .placeMessage(let message, let session, let origins, _):
      Operation.named([message, session], origins)
    case .placeThread(let session, let origins, _): Operation.named([session], origins)
    case .enqueueThread(let enqueuing):
      Operation.named(
        [enqueuing.session] + enqueuing.clearsQueued + enqueuing.clearsLocked, enqueuing.origins)
    case .addTag(let element, _, let clears, _): Operation.named([element] + clears)
    case .clearTags(let element, _, let clears): Operation.named([element] + clears)
    case .setRegister(let element, _, _, _): Operation.named([element])
    }
  }

  private static func named(
    _ ids: [OperationID], _ origins: Origins = Origins(left: nil, right: nil)
  ) -> [NamedRange] {
    (ids + [origins.left, origins.right].compactMap { $0 }).map {
      NamedRange(first: $0, last: $0)
    }
  }
}
