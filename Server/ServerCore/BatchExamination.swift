import QueueModel
import SequenceCRDT

/// What a batch of operations is to a server that knows `vector`: known, new, or not ready.
struct BatchExamination: Hashable, Sendable {
  /// Operations, or their first parts, that the server has under the same ids already.
  var known: [Operation] = []
  /// Operations, or their last parts, that it has not, in the order of the batch.
  var fresh: [Operation] = []
  /// What has to come first, by replica.
  var missing: [OperationRange] = []

  /// Why a batch is beyond repair.
  struct Defect: Error, Hashable, Sendable {
    var code: Code
    var message: String

    enum Code: Hashable, Sendable {
      case invalid
      case limit
    }
  }

  /// Sorts the operations of a batch.
  ///
  /// - Complexity: O(operations + references).
  init(_ operations: [Operation], given vector: VersionVector) throws(Defect) {
    var reached: [ReplicaID: UInt32] = [:]
    var needed: [ReplicaID: UInt32] = [:]
    func known(_ replica: ReplicaID) -> UInt32 { reached[replica] ?? vector[replica] }
    func need(_ id: OperationID) {
      needed[id.replica] = max(needed[id.replica] ?? 0, id.seq)
    }
    for operation in operations {
      let id = operation.id
      guard id.replica.rawValue != 0, let range = operation.range else {
        throw Defect(code: .invalid, message: "an operation has no usable id or length")
      }
      guard range.last <= Limits.sequenceMax else {
        throw Defect(code: .limit, message: "a replica has used up its sequence numbers")
      }
      let base = vector[id.replica]
      if range.last <= base {
        self.known.append(operation)
        continue
      }
      var rest = operation
      if range.first <= base {
        let count = Int(base - range.first) + 1
        guard let first = operation.keepingFirst(count), let last = operation.droppingFirst(count)
        else { throw Defect(code: .invalid, message: "operation \(id) cannot be cut") }
        self.known.append(first)
        rest = last
      }
      let place = known(id.replica)
      guard rest.id.seq > place else {
        throw Defect(code: .invalid, message: "operation \(id) is twice in the batch")
      }
      if rest.id.seq > place + 1 {
        need(OperationID(replica: id.replica, seq: rest.id.seq - 1))
      }
      for reference in rest.dependencies {
        guard reference.replica.rawValue != 0, reference.seq >= 1,
          reference.replica != id.replica || reference.seq < rest.id.seq
        else {
          throw Defect(code: .invalid, message: "operation \(id) refers to what cannot be known")
        }
        if reference.seq > known(reference.replica) { need(reference) }
      }
      reached[id.replica] = range.last
      fresh.append(rest)
    }
    missing = needed.sorted { $0.key < $1.key }.compactMap { replica, last in
      let first = vector[replica] + 1
      return first <= last ? OperationRange(replica: replica, first: first, last: last) : nil
    }
  }
}
