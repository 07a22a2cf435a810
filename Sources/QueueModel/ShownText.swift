import SequenceCRDT

/// The visible scalars of a text at one moment, to be looked up by id.
struct ShownText {
  private struct Stretch {
    var range: OperationRange
    /// The offset of the first scalar in the text.
    var offset: Int
  }

  /// In the order of the text.
  private var stretches: [Stretch] = []
  /// The indexes of the stretches in the order of their ids.
  private var byID: [Int] = []
  private let scalars: [Unicode.Scalar]

  /// - Complexity: O(scalars + stretches · log stretches).
  init(of text: TextContent) {
    scalars = Array(text.text.unicodeScalars)
    var offset = 0
    for range in text.visibleRanges {
      stretches.append(Stretch(range: range, offset: offset))
      offset += range.count
    }
    byID = stretches.indices.sorted { left, right in
      let (left, right) = (stretches[left].range, stretches[right].range)
      return (left.replica, left.first) < (right.replica, right.first)
    }
  }

  /// Those scalars of the range that show, as stretches of consecutive ids that stand together.
  func taking(_ range: OperationRange) -> [UndoGroup.DeletedText] {
    var low = 0
    var high = byID.count
    while low < high {
      let middle = (low + high) / 2
      let known = stretches[byID[middle]].range
      if (known.replica, known.last) < (range.replica, range.first) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    var taken: [UndoGroup.DeletedText] = []
    for index in byID[low...] {
      let known = stretches[index].range
      guard known.replica == range.replica, known.first <= range.last else { break }
      let first = max(known.first, range.first)
      let last = min(known.last, range.last)
      let start = stretches[index].offset + Int(first - known.first)
      let end = start + Int(last - first) + 1
      taken.append(
        UndoGroup.DeletedText(
          range: OperationRange(replica: known.replica, first: first, last: last),
          text: String(String.UnicodeScalarView(scalars[start..<end])),
          left: id(at: start - 1, near: index), right: id(at: end, near: index)))
    }
    return taken
  }

  /// The scalar at an offset in or next to a stretch.
  private func id(at offset: Int, near index: Int) -> OperationID? {
    for candidate in max(0, index - 1)...min(stretches.count - 1, index + 1) {
      let stretch = stretches[candidate]
      guard offset >= stretch.offset, offset < stretch.offset + stretch.range.count else {
        continue
      }
      return OperationID(replica: stretch.range.replica, seq: stretch.range.first)
        .advanced(by: offset - stretch.offset)
    }
    return nil
  }
}
