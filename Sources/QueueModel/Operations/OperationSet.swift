package import SequenceCRDT

/// A set of operation ids, kept as ranges in the order of the ids; adjacent ranges are joined.
package struct OperationSet: Hashable, Sendable {
  /// By replica and sequence number; no two touch or overlap.
  package private(set) var ranges: [OperationRange] = []

  package init() {}

  /// The ids of the ranges, in any order.
  package init(_ ranges: some Sequence<OperationRange>) {
    for range in ranges { insert(range) }
  }

  package var isEmpty: Bool { ranges.isEmpty }

  /// Adds the ids of a range.
  ///
  /// - Complexity: O(log *n*), and O(*n*) if the range is not the last.
  package mutating func insert(_ range: OperationRange) {
    var merged = range
    let start = firstIndex(endingFrom: merged.first &- 1, of: merged.replica)
    var end = start
    while end < ranges.count, ranges[end].replica == merged.replica,
      ranges[end].first <= merged.last &+ 1
    {
      merged = OperationRange(
        replica: merged.replica, first: min(merged.first, ranges[end].first),
        last: max(merged.last, ranges[end].last))
      end += 1
    }
    ranges.replaceSubrange(start..<end, with: CollectionOfOne(merged))
  }

  /// Removes the ids of a range.
  ///
  /// - Returns: those ids of the range that were not in the set.
  package mutating func remove(_ range: OperationRange) -> [OperationRange] {
    let start = firstIndex(endingFrom: range.first, of: range.replica)
    var end = start
    var absent: [OperationRange] = []
    var left: [OperationRange] = []
    var next = Int64(range.first)
    func span(_ first: Int64, _ last: Int64) -> [OperationRange] {
      guard first <= last, let first = UInt32(exactly: first), let last = UInt32(exactly: last)
      else { return [] }
      return [OperationRange(replica: range.replica, first: first, last: last)]
    }
    while end < ranges.count, ranges[end].replica == range.replica,
      ranges[end].first <= range.last
    {
      let known = ranges[end]
      absent += span(next, Int64(known.first) - 1)
      left += span(Int64(known.first), Int64(range.first) - 1)
      left += span(Int64(range.last) + 1, Int64(known.last))
      next = Int64(known.last) + 1
      end += 1
    }
    absent += span(next, Int64(range.last))
    ranges.replaceSubrange(start..<end, with: left)
    return absent
  }

  /// The ids, each once, in their order.
  static func unique(_ ids: [OperationID]) -> [OperationID] {
    guard ids.count > 1 else { return ids }
    var known: Set<OperationID> = []
    return ids.filter { known.insert($0).inserted }
  }

  package func contains(_ id: OperationID) -> Bool {
    let index = firstIndex(endingFrom: id.seq, of: id.replica)
    return index < ranges.count && ranges[index].contains(id)
  }

  /// The first range that ends at or after `seq` of the replica.
  private func firstIndex(endingFrom seq: UInt32, of replica: ReplicaID) -> Int {
    ranges.indices.partitioningIndex {
      (ranges[$0].replica, ranges[$0].last) >= (replica, seq)
    }
  }
}
