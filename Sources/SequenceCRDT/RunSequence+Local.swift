/// Edits and questions by index.
extension RunSequence {
  /// What an insertion by index made: the number of the first unit, and those of its origins.
  package struct LocalInsertion: Hashable, Sendable {
    package var first: Int
    /// nil is the start.
    package var left: Int?
    /// nil is the end.
    package var right: Int?
  }

  /// Inserts units so that the first becomes the visible unit at an index. The left origin is the
  /// visible unit before, the right one whatever stands behind that.
  ///
  /// - Throws: `SequenceFault`; nothing changes then.
  /// - Complexity: O(log runs), and O(1) where the last insertion goes on.
  @discardableResult
  package mutating func insert(
    id: OperationID, length: Int, at index: Int
  ) throws(SequenceFault) -> LocalInsertion {
    let made = try insertUnits(id: id, length: length, at: index)
    return LocalInsertion(
      first: Int(made.unit), left: made.left == SequenceCore.none ? nil : Int(made.left),
      right: made.right == SequenceCore.none ? nil : Int(made.right))
  }

  @inline(__always)
  mutating func insertUnits(
    id: OperationID, length: Int, at index: Int
  ) throws(SequenceFault) -> SequenceCore.Insertion {
    try change { core throws(SequenceFault) in
      guard length >= 1, id.seq >= 1, UInt64(id.seq) + UInt64(length) <= 1 << 32,
        length <= Int(SequenceCore.unitsMax - core.unitCount)
      else { throw .invalidRun(id) }
      guard index >= 0, index <= Int(core.visibleCount) else { throw .indexOutOfRange }
      guard let made = core.insert(id: id, length: UInt32(length), at: UInt32(index)) else {
        throw .invalidRun(id)
      }
      return made
    }
  }

  /// Hides visible units from an index on, as many as stand there in one run, at most `count`.
  ///
  /// - Returns: the numbers of the hidden units, at least one.
  /// - Throws: `SequenceFault.indexOutOfRange`; nothing changes then.
  /// - Complexity: O(log runs), and O(1) near the last edit.
  @discardableResult
  package mutating func hideVisible(
    from index: Int, atMost count: Int
  ) throws(SequenceFault) -> Range<Int> {
    try change { core throws(SequenceFault) in
      guard index >= 0, count >= 1, index < Int(core.visibleCount) else { throw .indexOutOfRange }
      let hidden = core.hideVisible(
        from: UInt32(index), atMost: UInt32(min(count, Int(core.visibleCount) - index)))
      return Int(hidden.lowerBound)..<Int(hidden.upperBound)
    }
  }

  /// Hides the unit with a number.
  ///
  /// - Precondition: the number is from 0 and below `unitCount`.
  package mutating func hide(content number: Int) throws(SequenceFault) {
    try change { core throws(SequenceFault) in
      core.hide(units: UInt32(number)..<UInt32(number) + 1)
    }
  }

  /// The number of the visible unit at an index, or nil where there is none.
  ///
  /// - Complexity: O(log runs).
  package func content(atVisible index: Int) -> Int? {
    read(
      { core in
        guard index >= 0, index < Int(core.visibleCount) else { return nil }
        let (found, rest) = core.descend(to: UInt32(index), by: SequenceCore.visible)
        return Int(core.runs[core.run(at: found.place)].unit + rest)
      }, orEmpty: nil)
  }

  /// How many visible units stand before the unit with a number.
  ///
  /// - Precondition: the number is from 0 and below `unitCount`.
  /// - Complexity: O(log runs).
  package func visibleCount(beforeContent number: Int) -> Int {
    read(
      { Int(SequenceCore.visible($0.weight(before: UInt32(number)))) }, orEmpty: 0)
  }

  /// Whether the unit with a number is visible.
  ///
  /// - Precondition: the number is from 0 and below `unitCount`.
  package func isVisible(content number: Int) -> Bool {
    read({ $0.runs[$0.runOfUnit[UInt32(number)]].isVisible }, orEmpty: false)
  }
}

// MARK: UTF-16

extension RunSequence {
  /// Notes which units take two UTF-16 code units.
  mutating func markWide(_ units: [Int]) throws(SequenceFault) {
    guard !units.isEmpty else { return }
    try change { core throws(SequenceFault) in
      for unit in units { core.markWide(UInt32(unit)) }
    }
  }

  /// How many UTF-16 code units the visible units take.
  package var codeUnitCount: Int {
    read({ Int(SequenceCore.codeUnits($0.weight)) }, orEmpty: 0)
  }

  /// The UTF-16 offset of a visible index; that of the end for `visibleCount` and above.
  ///
  /// - Complexity: O(log runs).
  package func codeUnitOffset(ofVisible index: Int) -> Int {
    guard let unit = content(atVisible: index) else { return index <= 0 ? 0 : codeUnitCount }
    return read({ Int(SequenceCore.codeUnits($0.weight(before: UInt32(unit)))) }, orEmpty: 0)
  }

  /// The visible index of a UTF-16 offset; an offset inside a surrogate pair belongs to its scalar.
  ///
  /// - Complexity: O(log runs), and the length of one run where it holds wide units.
  package func visibleIndex(ofCodeUnit offset: Int) -> Int {
    read(
      { core in
        guard offset > 0 else { return 0 }
        guard offset < Int(SequenceCore.codeUnits(core.weight)) else {
          return Int(core.visibleCount)
        }
        var (found, rest) = core.descend(to: UInt32(offset), by: SequenceCore.codeUnits)
        var unit = core.runs[core.run(at: found.place)].unit
        var index = Int(found.entryStart)
        while rest > 0 {
          let width = SequenceCore.codeUnits(core.weight(ofUnits: unit..<unit + 1))
          guard rest >= width else { break }
          rest -= width
          unit += 1
          index += 1
        }
        return index
      }, orEmpty: 0)
  }
}
