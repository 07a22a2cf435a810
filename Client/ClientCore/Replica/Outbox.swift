import QueueModel
package import SequenceCRDT

/// The operations of this store that the server's log is not known to hold.
///
/// Of each replica they are one range, since a server takes them in their order. Unsent operations
/// keep their ids, whichever process goes on with them.
package struct Outbox: Hashable, Sendable {
  /// By replica; no empty ranges.
  package private(set) var ranges: [OperationRange] = []

  package init(_ ranges: [OperationRange] = []) {
    for range in ranges { add(range) }
  }

  package var isEmpty: Bool { ranges.isEmpty }
  /// How many operations there are.
  package var count: Int { ranges.reduce(0) { $0 + $1.count } }

  package func contains(_ id: OperationID) -> Bool {
    range(of: id.replica).map { $0.first <= id.seq && id.seq <= $0.last } ?? false
  }

  /// What there is of a replica.
  package func range(of replica: ReplicaID) -> OperationRange? {
    ranges.first { $0.replica == replica }
  }

  /// What both have.
  package func overlap(with other: OperationRange) -> OperationRange? {
    guard let own = range(of: other.replica), own.first <= other.last, other.first <= own.last
    else { return nil }
    return OperationRange(
      replica: own.replica, first: max(own.first, other.first), last: min(own.last, other.last))
  }

  /// An operation without what of it waits here, and that. The log may hold the beginning of one that
  /// has several units.
  func parts(of operation: Operation) -> (logged: Operation?, waiting: Operation?) {
    guard let range = operation.range.flatMap(overlap) else { return (operation, nil) }
    let count = Int(range.first - operation.id.seq)
    return (operation.keepingFirst(count), operation.droppingFirst(count))
  }

  /// Adds operations made here.
  ///
  /// - Precondition: they follow on those of the same replica.
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

  /// The replica's operations from a number on are nobody's any more.
  mutating func drop(_ replica: ReplicaID, from first: UInt32) {
    guard let index = ranges.firstIndex(where: { $0.replica == replica }) else { return }
    if first <= ranges[index].first {
      ranges.remove(at: index)
    } else {
      ranges[index].last = min(ranges[index].last, first - 1)
    }
  }

  /// Whether nothing is left of what another outbox has: everything of it was confirmed.
  package func isBeyond(_ other: Outbox) -> Bool {
    other.ranges.allSatisfy { overlap(with: $0) == nil }
  }
}
