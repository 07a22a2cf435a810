/// A text whose Unicode scalars are units of a sequence, so that concurrent edits merge.
package struct TextContent: Sendable {
  /// The order of the scalars, deleted ones included.
  package private(set) var sequence = RunSequence()
  /// The scalars by their numbers. Restored deleted scalars have a placeholder.
  private var arena = TextArena()

  /// The maximum number of scalars in a text, deleted ones included.
  package static let unitsMax = 1 << 24

  package init() {}

  /// Restores a text from its runs in order and the text of the visible ones.
  ///
  /// Deleted scalars come back without their content, which merging does not need.
  ///
  /// - Throws: `SequenceFault` if the runs are wrong or do not fit the text.
  package init(runs: [RunSequence.Run], text: String) throws(SequenceFault) {
    var total = 0
    var visible = 0
    for run in runs {
      guard run.length >= 1, run.length <= TextContent.unitsMax - total else {
        throw .invalidRun(run.id)
      }
      total += run.length
      visible += run.isVisible ? run.length : 0
    }
    var text = text
    let wide: [Int]? = text.withUTF8 { utf8 in
      unsafe restoreArena(runs, utf8, visible: visible)
    }
    guard let wide else { throw .wrongCount }
    sequence = try RunSequence(runs: runs)
    try sequence.markWide(wide)
  }

  /// Stores the scalars of all runs in order.
  ///
  /// - Returns: the numbers of those that take two UTF-16 code units, or nil if the text is longer
  ///   or shorter than the visible runs.
  private mutating func restoreArena(
    _ runs: [RunSequence.Run], _ utf8: UnsafeBufferPointer<UInt8>, visible: Int
  ) -> [Int]? {
    guard unsafe TextArena.scalarCount(utf8) == visible else { return nil }
    let isASCII = visible == utf8.count
    var wide: [Int] = []
    var offset = 0
    for run in runs {
      guard run.isVisible else {
        let placeholders = [UInt8](repeating: TextContent.deletedPlaceholder, count: run.length)
        unsafe placeholders.withUnsafeBufferPointer {
          unsafe arena.append($0, scalarCount: run.length) { _ in }
        }
        continue
      }
      var end = offset + run.length
      if !isASCII {
        end = offset
        for _ in 0..<run.length {
          end += 1
          while end < utf8.count, unsafe utf8[end] & 0xC0 == 0x80 { end += 1 }
        }
      }
      let piece = unsafe UnsafeBufferPointer(rebasing: utf8[offset..<end])
      unsafe arena.append(piece, scalarCount: run.length) { wide.append($0) }
      offset = end
    }
    return wide
  }

  private static let deletedPlaceholder = UInt8(ascii: "?")

  /// The visible text.
  ///
  /// - Complexity: O(runs + scalars).
  package var text: String {
    var stretches: [Range<Int>] = []
    sequence.forEachVisible { stretch in
      if let last = stretches.last, last.upperBound == stretch.lowerBound {
        stretches[stretches.count - 1] = last.lowerBound..<stretch.upperBound
      } else {
        stretches.append(stretch)
      }
    }
    return arena.text(of: stretches)
  }

  /// The text of the visible scalars at some indexes; invalid indexes are skipped.
  ///
  /// - Complexity: O(log runs + runs from the first to the last + scalars).
  package func text(ofVisible indexes: Range<Int>) -> String {
    var stretches: [Range<Int>] = []
    sequence.forEachVisible(in: indexes) { stretches.append($1) }
    return arena.text(of: stretches)
  }

  /// The ids of the visible scalars in order, as ranges of consecutive ids.
  package var visibleRanges: [OperationRange] {
    var ranges: [OperationRange] = []
    sequence.forEachRun { run in
      guard run.isVisible else { return }
      let last = run.unitID(at: run.length - 1).seq
      if let before = ranges.last, before.replica == run.id.replica,
        UInt64(before.last) + 1 == UInt64(run.id.seq)
      {
        ranges[ranges.count - 1].last = last
      } else {
        ranges.append(OperationRange(replica: run.id.replica, first: run.id.seq, last: last))
      }
    }
    return ranges
  }

  /// The UTF-8 of scalars with consecutive numbers.
  package func utf8(of scalars: Range<Int>) -> ArraySlice<UInt8> {
    arena.utf8(of: scalars)
  }
}

// MARK: Merging

extension TextContent {
  /// Inserts scalars with consecutive ids.
  ///
  /// - Throws: `SequenceFault`, without changing anything.
  package mutating func insert(
    id: OperationID, text: String, left: OperationID?, right: OperationID?
  ) throws(SequenceFault) {
    var text = text
    let result = text.withUTF8 { utf8 in
      Result<Void, SequenceFault> { () throws(SequenceFault) in
        try unsafe insert(id: id, utf8: utf8, left: left, right: right)
      }
    }
    try result.get()
  }

  @inline(__always)
  private mutating func insert(
    id: OperationID, utf8: UnsafeBufferPointer<UInt8>, left: OperationID?, right: OperationID?
  ) throws(SequenceFault) {
    let count = unsafe TextArena.scalarCount(utf8)
    guard count >= 1, count <= TextContent.unitsMax - arena.count else { throw .invalidRun(id) }
    try sequence.integrate(id: id, length: count, left: left, right: right)
    var wide: [Int] = []
    unsafe arena.append(utf8, scalarCount: count) { wide.append($0) }
    if !wide.isEmpty { try sequence.markWide(wide) }
  }

  /// Deletes the scalars `first … first + count − 1`.
  ///
  /// - Throws: `SequenceFault` if one of them is unknown; in that case, nothing changes.
  package mutating func delete(first: OperationID, count: Int) throws(SequenceFault) {
    try sequence.hide(first: first, count: count)
  }
}
