/// The number of known operations of each replica: every id from 1 to the entry, without gaps.
public struct VersionVector: Hashable, Sendable {
  private struct Entry: Hashable, Sendable {
    var replica: ReplicaID
    var seq: UInt32
  }

  /// Sorted by replica id; entries are never 0. There are usually few replicas, so a binary search
  /// is faster than hashing.
  private var entries: [Entry]

  /// Creates an empty vector.
  public init() {
    entries = []
  }

  /// Creates a vector with the given number of operations of each replica, without zeros.
  public init(_ counts: [ReplicaID: UInt32]) {
    entries = counts.filter { $0.value > 0 }.map { Entry(replica: $0.key, seq: $0.value) }
    entries.sort { $0.replica < $1.replica }
  }

  /// The last known sequence number of a replica, 0 if nothing is known.
  ///
  /// - Complexity: O(log replicas); O(replicas) if one is added or removed.
  public subscript(replica: ReplicaID) -> UInt32 {
    get {
      let index = index(of: replica)
      return index < entries.count && entries[index].replica == replica ? entries[index].seq : 0
    }
    set {
      let index = index(of: replica)
      let isKnown = index < entries.count && entries[index].replica == replica
      if isKnown, newValue > 0 {
        entries[index].seq = newValue
      } else if isKnown {
        entries.remove(at: index)
      } else if newValue > 0 {
        entries.insert(Entry(replica: replica, seq: newValue), at: index)
      }
    }
  }

  /// The first index whose replica is not below this one.
  private func index(of replica: ReplicaID) -> Int {
    entries.indices.partitioningIndex { entries[$0].replica >= replica }
  }

  /// The number of replicas with at least one known operation.
  public var count: Int { entries.count }

  /// Whether nothing is known.
  public var isEmpty: Bool { entries.isEmpty }

  /// The entries in the order of the replica ids.
  public var sorted: [(replica: ReplicaID, seq: UInt32)] {
    entries.map { (replica: $0.replica, seq: $0.seq) }
  }

  /// Whether `id` is known.
  public func contains(_ id: OperationID) -> Bool {
    id.seq <= self[id.replica]
  }

  /// Whether this vector knows everything that `other` knows.
  public func includes(_ other: VersionVector) -> Bool {
    other.entries.allSatisfy { self[$0.replica] >= $0.seq }
  }

  /// Adds all that `other` knows.
  public mutating func formUnion(_ other: VersionVector) {
    for entry in other.entries where self[entry.replica] < entry.seq {
      self[entry.replica] = entry.seq
    }
  }

  /// The operations that this vector knows and `other` does not, in the order of the replica ids.
  public func ranges(missingFrom other: VersionVector) -> [OperationRange] {
    entries.compactMap { entry in
      let known = other[entry.replica]
      guard known < entry.seq else { return nil }
      return OperationRange(replica: entry.replica, first: known + 1, last: entry.seq)
    }
  }

  /// The number of operations that this vector knows and `other` does not.
  public func operationCount(missingFrom other: VersionVector) -> Int {
    ranges(missingFrom: other).reduce(0) { $0 + $1.count }
  }
}
