import QueueModel
package import SequenceCRDT

/// The operations of this store that the server's log is not known to hold.
///
/// For each replica they are one range, since a server accepts them in order. Unsent operations
/// keep their ids, whichever process continues with them.
package struct Outbox: Hashable, Sendable {
  /// By replica; no empty ranges.
  package private(set) var ranges: [OperationRange] = []

  package init(_ ranges: [OperationRange] = []) {
    for range in ranges { add(range) }
  }

  package var isEmpty: Bool { ranges.isEmpty }
  /// The number of operations.
  package var count: Int { ranges.reduce(0) { $0 + $1.count } }

  package func contains(_ id: OperationID) -> Bool {
    range(of: id.replica).map { $0.first <= id.seq && id.seq <= $0.last } ?? false
  }

  /// The range of a replica.
  package func range(of replica: ReplicaID) -> OperationRange? {
    ranges.first { $0.replica == replica }
  }

  /// The common range.
  package func overlap(with other: OperationRange) -> OperationRange? {
    guard let own = range(of: other.replica), own.first <= other.last, other.first <= own.last
    else { return nil }
    return OperationRange(
      replica: own.replica, first: max(own.first, other.first), last: min(own.last, other.last))
  }

  /// An operation split into its logged part and the part that waits here. The log may hold the
  /// beginning of one with several units.
  func parts(of operation: Operation) -> (logged: Operation?, waiting: Operation?) {
    guard let range = operation.range.flatMap(overlap) else { return (operation, nil) }
    let count = Int(range.first - operation.id.seq)
    return (operation.keepingFirst(count), operation.droppingFirst(count))
  }

  /// Adds operations made here.
  ///
  /// - Precondition: they follow those of the same replica.
  mutating func add(_ range: OperationRange) {
    if let index = ranges.firstIndex(where: { $0.replica == range.replica }) {
      precondition(ranges[index].last &+ 1 == range.first, "operations are numbered without gaps")
      ranges[index].last = range.last
    } else {
      ranges.append(range)
      ranges.sort { $0.replica < $1.replica }
    }
  }

  /// The log holds all of the replica up to a number.
  mutating func confirm(_ replica: ReplicaID, through last: UInt32) {
    guard let index = ranges.firstIndex(where: { $0.replica == replica }) else { return }
    if ranges[index].last <= last {
      ranges.remove(at: index)
    } else {
      ranges[index].first = max(ranges[index].first, last &+ 1)
    }
  }

  /// Removes the replica's operations from a number on: they no longer belong to this store.
  mutating func drop(_ replica: ReplicaID, from first: UInt32) {
    guard let index = ranges.firstIndex(where: { $0.replica == replica }) else { return }
    if first <= ranges[index].first {
      ranges.remove(at: index)
    } else {
      ranges[index].last = min(ranges[index].last, first - 1)
    }
  }

  /// Whether all operations of another outbox were confirmed.
  package func isBeyond(_ other: Outbox) -> Bool {
    other.ranges.allSatisfy { overlap(with: $0) == nil }
  }
}
