import QueueModel
import SequenceCRDT
import WireProtocol

/// A batch of operations, examined by a server that knows `vector`.
struct BatchExamination: Hashable, Sendable {
  /// Whether some of it is already in the log.
  private(set) var hasKnown = false
  /// Operations, or their last parts, that are not in the log, in the order of the batch.
  private(set) var fresh: [Operation] = []

  /// Why a batch is refused.
  struct BatchError: Error, Hashable, Sendable {
    var code: RefusalCode
    var message: String
  }

  /// Sorts the operations of a batch.
  ///
  /// Does not compare known operations. Before the server answers a batch, the device gets every
  /// entry that it did not send on this connection. So it detects whether a copy of it was first.
  ///
  /// - Throws: `BatchError`, also if the batch names unknown operations.
  /// - Complexity: O(operations + references).
  init(_ operations: [Operation], given vector: VersionVector) throws(BatchError) {
    var reached: [ReplicaID: UInt32] = [:]
    func known(_ replica: ReplicaID) -> UInt32 { reached[replica] ?? vector[replica] }
    for operation in operations {
      let id = operation.id
      guard id.replica.rawValue != 0, let range = operation.range else {
        throw BatchError(code: .invalidChanges, message: "an operation has no usable id or length")
      }
      guard range.last <= Limits.sequenceMax else {
        throw BatchError(code: .limitReached, message: "a replica has used up its sequence numbers")
      }
      let base = vector[id.replica]
      if range.last <= base {
        hasKnown = true
        continue
      }
      var rest = operation
      if range.first <= base {
        hasKnown = true
        guard let last = operation.droppingFirst(Int(base - range.first) + 1) else {
          throw BatchError(code: .invalidChanges, message: "operation \(id) cannot be cut")
        }
        rest = last
      }
      let place = known(id.replica)
      guard rest.id.seq > place else {
        throw BatchError(code: .invalidChanges, message: "operation \(id) is twice in the batch")
      }
      guard rest.id.seq == place + 1 else {
        throw BatchError(
          code: .outOfOrder, message: "operation \(id) does not follow number \(place)")
      }
      for reference in rest.dependencies {
        guard reference.replica.rawValue != 0, reference.seq >= 1,
          reference.replica != id.replica || reference.seq < rest.id.seq
        else {
          throw BatchError(
            code: .invalidChanges, message: "operation \(id) has a reference to an impossible id")
        }
        guard reference.seq <= known(reference.replica) else {
          throw BatchError(
            code: .outOfOrder, message: "operation \(id) refers to the unknown \(reference)")
        }
      }
      reached[id.replica] = range.last
      fresh.append(rest)
    }
  }
}
