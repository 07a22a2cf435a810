/// A text whose Unicode scalars are units of a sequence, so that concurrent edits merge.
package struct TextContent: Sendable {
  /// The order of the scalars, deleted ones too.
  package private(set) var sequence = RunSequence()
  /// The scalars in order of arrival; runs point into it. Restored deleted ones hold a stand-in.
  private var scalars: [Unicode.Scalar] = []

  /// The most scalars a text holds, deleted ones counted.
  package static let unitsMax = 1 << 24

  package init() {}

  /// Restores a text from its runs in order and the text of the visible ones.
  ///
  /// Deleted scalars come back without their content, which nobody needs for merging.
  ///
  /// - Parameter runs: `contentStart` is ignored.
  /// - Throws: `SequenceFault` where the runs are wrong or do not fit the text.
  package init(runs: [RunSequence.Run], text: String) throws(SequenceFault) {
    var source = text.unicodeScalars.makeIterator()
    var restored = runs
    for (index, run) in runs.enumerated() {
      guard run.length >= 1, run.length <= TextContent.unitsMax - scalars.count else {
        throw .invalidRun(run.id)
      }
      restored[index].contentStart = scalars.count
      for _ in 0..<run.length {
        if run.isVisible {
          guard let scalar = source.next() else { throw .wrongCount }
          scalars.append(scalar)
        } else {
          scalars.append(TextContent.deletedStandIn)
        }
      }
    }
    guard source.next() == nil else { throw .wrongCount }
    sequence = try RunSequence(runs: restored)
  }

  private static let deletedStandIn: Unicode.Scalar = "\u{FFFD}"

  /// The visible text.
  ///
  /// - Complexity: O(runs + scalars).
  package var text: String {
    var view = String.UnicodeScalarView()
    for run in sequence.runs where run.isVisible {
      view.append(contentsOf: scalars[run.contentStart..<run.contentStart + run.length])
    }
    return String(view)
  }

  /// Inserts scalars with consecutive ids.
  ///
  /// - Throws: `SequenceFault`; nothing changes then.
  package mutating func insert(
    id: OperationID, text: String, left: OperationID?, right: OperationID?
  ) throws(SequenceFault) {
    let inserted = Array(text.unicodeScalars)
    guard inserted.count >= 1, inserted.count <= TextContent.unitsMax - scalars.count else {
      throw .invalidRun(id)
    }
    try sequence.integrate(
      id: id, length: inserted.count, left: left, right: right, contentStart: scalars.count)
    scalars.append(contentsOf: inserted)
  }

  /// Deletes the scalars `first … first + count − 1`.
  ///
  /// - Throws: `SequenceFault` where one of them is not here; nothing changes then.
  package mutating func delete(first: OperationID, count: Int) throws(SequenceFault) {
    try sequence.hide(first: first, count: count)
  }

  /// The ids of the visible scalars in order, as stretches of consecutive ids.
  package var visibleRanges: [OperationRange] {
    sequence.runs.filter(\.isVisible).map { run in
      OperationRange(
        replica: run.id.replica, first: run.id.seq, last: run.unitID(at: run.length - 1).seq)
    }
  }
}
