import SequenceCRDT

/// Offsets, ids and text of the visible scalars. Offsets count Unicode scalars from 0.
extension TextContent {
  /// The id of the visible scalar at an offset; nil if there is none.
  ///
  /// - Complexity: O(log runs).
  func visibleID(at offset: Int) -> OperationID? {
    guard offset >= 0, offset < sequence.visibleCount else { return nil }
    return sequence.content(atVisible: offset).map(sequence.id(ofContent:))
  }

  /// The ids of the visible scalars at the offsets, as stretches of consecutive ids.
  ///
  /// - Complexity: O(log runs + runs from the first to the last).
  func visibleRanges(in offsets: Range<Int>) -> [OperationRange] {
    var ranges: [OperationRange] = []
    sequence.forEachVisible(in: offsets) { first, numbers in
      let end = first.seq + UInt32(numbers.count - 1)
      if let last = ranges.last, last.replica == first.replica, last.last &+ 1 == first.seq {
        ranges[ranges.count - 1].last = end
      } else {
        ranges.append(OperationRange(replica: first.replica, first: first.seq, last: end))
      }
    }
    return ranges
  }
}
