/// How far each replica's operations are known: every id from 1 to the entry, without gaps.
public struct VersionVector: Hashable, Sendable {
  private var entries: [ReplicaID: UInt32]

  /// Knows nothing.
  public init() {
    entries = [:]
  }

  /// Knows the given number of operations of each replica; zeros are left out.
  public init(_ counts: [ReplicaID: UInt32]) {
    entries = counts.filter { $0.value > 0 }
  }

  /// The last known sequence number of a replica, 0 where nothing is known.
  public subscript(replica: ReplicaID) -> UInt32 {
    get { entries[replica] ?? 0 }
    set { entries[replica] = newValue == 0 ? nil : newValue }
  }

  /// The number of replicas with at least one known operation.
  public var count: Int { entries.count }

  /// Whether nothing is known.
  public var isEmpty: Bool { entries.isEmpty }

  /// The entries in the order of the replica ids.
  public var sorted: [(replica: ReplicaID, seq: UInt32)] {
    entries.sorted { $0.key < $1.key }.map { (replica: $0.key, seq: $0.value) }
  }

  /// Whether `id` is known.
  public func contains(_ id: OperationID) -> Bool {
    id.seq <= self[id.replica]
  }

  /// Whether everything that `other` knows is known here.
  public func includes(_ other: VersionVector) -> Bool {
    other.entries.allSatisfy { self[$0.key] >= $0.value }
  }

  /// Adds all that `other` knows.
  public mutating func formUnion(_ other: VersionVector) {
    entries.merge(other.entries) { max($0, $1) }
  }

  /// What is known here and not by `other`, in the order of the replica ids.
  public func ranges(missingFrom other: VersionVector) -> [OperationRange] {
    sorted.compactMap { entry in
      let known = other[entry.replica]
      guard known < entry.seq else { return nil }
      return OperationRange(replica: entry.replica, first: known + 1, last: entry.seq)
    }
  }

  /// The number of operations known here and not by `other`.
  public func operationCount(missingFrom other: VersionVector) -> Int {
    ranges(missingFrom: other).reduce(0) { $0 + $1.count }
  }
}
