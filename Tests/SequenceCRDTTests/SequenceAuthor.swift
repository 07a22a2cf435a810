import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

/// One insertion of a run, as it would travel.
struct Insertion: Hashable {
  var id: OperationID
  var length: Int
  var left: OperationID?
  var right: OperationID?
  var time: Int64 = 0
}

/// A replica of one sequence: the engine and, beside it, the explicit tree.
struct SequenceAuthor {
  let replica: ReplicaID
  private(set) var sequence = RunSequence()
  private(set) var tree = SlowSequence()
  private(set) var made: [Insertion] = []
  private(set) var received: [Insertion] = []
  private var known: Set<OperationID> = []
  private var waiting: [Insertion] = []
  private var nextSeq: UInt32 = 1

  init(_ number: UInt64) {
    replica = ReplicaID(rawValue: number)
  }

  var order: [OperationID] {
    sequence.runs.flatMap { run in (0..<run.length).map(run.unitID(at:)) }
  }

  /// Inserts a run so that it starts at this index among all units.
  @discardableResult
  mutating func insert(at index: Int, length: Int = 1, time: Int64 = 0) throws -> Insertion {
    let left = index > 0 ? order[index - 1] : nil
    let origins = try #require(sequence.origins(behind: left))
    let insertion = Insertion(
      id: OperationID(replica: replica, seq: nextSeq), length: length, left: origins.left,
      right: origins.right, time: time)
    nextSeq += UInt32(length)
    made.append(insertion)
    try integrate(insertion)
    return insertion
  }

  /// Takes an insertion from another author; one whose origins are unknown waits.
  mutating func receive(_ insertion: Insertion) throws {
    received.append(insertion)
    waiting.append(insertion)
    while let index = waiting.firstIndex(where: isReady) {
      let ready = waiting.remove(at: index)
      if !known.contains(ready.id) { try integrate(ready) }
    }
  }

  var isComplete: Bool { waiting.isEmpty }

  private func isReady(_ insertion: Insertion) -> Bool {
    [insertion.left, insertion.right].compactMap { $0 }.allSatisfy(known.contains)
  }

  /// Hides units of the engine.
  mutating func hide(first: OperationID, count: Int) throws {
    try sequence.hide(first: first, count: count)
  }

  private mutating func integrate(_ insertion: Insertion) throws {
    try sequence.integrate(
      id: insertion.id, length: insertion.length, left: insertion.left, right: insertion.right,
      time: insertion.time)
    var left = insertion.left
    for distance in 0..<insertion.length {
      let id = try #require(insertion.id.advanced(by: distance))
      tree.insert(
        id,
        origins: Operation.Origins(left: left, right: insertion.right, time: insertion.time))
      known.insert(id)
      left = id
    }
  }
}
