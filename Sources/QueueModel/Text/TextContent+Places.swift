import SequenceCRDT

/// Offsets, ids and text of the scalars that show. Offsets count Unicode scalars from 0.
extension TextContent {
  /// The id of the visible scalar at an offset; nil where there is none.
  ///
  /// - Complexity: O(log runs).
  func visibleID(at offset: Int) -> OperationID? {
    guard offset >= 0, offset < sequence.visibleCount else { return nil }
    return sequence.content(atVisible: offset).map(sequence.id(ofContent:))
  }

  /// The ids of the visible scalars at the offsets, as stretches of consecutive ids.
  ///
  /// - Complexity: O(offsets · log runs), or O(runs) where that is less.
  func visibleRanges(in offsets: Range<Int>) -> [OperationRange] {
    if offsets.count > 64 { return visibleRangesByWalking(offsets) }
    var ranges: [OperationRange] = []
    for offset in offsets {
      guard let id = visibleID(at: offset) else { continue }
      if let last = ranges.last, last.replica == id.replica, last.last &+ 1 == id.seq {
        ranges[ranges.count - 1].last = id.seq
      } else {
        ranges.append(OperationRange(replica: id.replica, first: id.seq, last: id.seq))
      }
    }
    return ranges
  }

  private func visibleRangesByWalking(_ offsets: Range<Int>) -> [OperationRange] {
    var ranges: [OperationRange] = []
    var start = 0
    for range in visibleRanges {
      let end = start + range.count
      let (low, high) = (max(start, offsets.lowerBound), min(end, offsets.upperBound))
      if low < high {
        let first = range.first + UInt32(low - start)
        ranges.append(
          OperationRange(
            replica: range.replica, first: first, last: first + UInt32(high - low - 1)))
      }
      start = end
      if start >= offsets.upperBound { break }
    }
    return ranges
  }
}
