/// Lookups by index.
extension RunSequence {
  /// The number of the visible unit at an index, or nil if there is none.
  ///
  /// - Complexity: O(log runs).
  package func content(atVisible index: Int) -> Int? {
    read(
      { core in
        guard index >= 0, index < Int(core.visibleCount) else { return nil }
        let found = core.descend(to: UInt32(index), by: SequenceCore.visible)
        return Int(core.runs[core.run(at: found.place)].unit + found.rest)
      }, orEmpty: nil)
  }

  /// Visits the visible units at some indexes in order, as stretches with consecutive ids and
  /// numbers: the id of the first unit, and the numbers. Invalid indexes are skipped.
  ///
  /// - Complexity: O(log runs + runs from the first to the last).
  package func forEachVisible(
    in indexes: Range<Int>, _ body: (_ first: OperationID, _ numbers: Range<Int>) -> Void
  ) {
    read(
      { core in
        let indexes = indexes.clamped(to: 0..<Int(core.visibleCount))
        guard !indexes.isEmpty else { return }
        let found = core.descend(to: UInt32(indexes.lowerBound), by: SequenceCore.visible)
        var place: SequenceCore.Place? = found.place
        var (skipped, left) = (found.rest, UInt32(indexes.count))
        while left > 0, let current = place {
          let run = core.runs[core.run(at: current)]
          if run.isVisible {
            let start = run.unit + skipped
            let length = min(run.end - start, left)
            body(core.ids.id(of: start), Int(start)..<Int(start + length))
            left -= length
            skipped = 0
          }
          place = core.place(behind: current)
        }
      }, orEmpty: ())
  }

  /// The number of visible units before the unit with a number.
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

// MARK: Order

extension RunSequence {
  /// The number of the unit directly before or after the unit with a number, hidden or not; nil at
  /// the end.
  ///
  /// - Precondition: the number is from 0 and below `unitCount`.
  package func content(besides number: Int, isLeft: Bool) -> Int? {
    read(
      { core in
        let unit =
          isLeft ? core.unit(before: UInt32(number)) : core.unit(behind: UInt32(number))
        return unit == SequenceCore.none ? nil : Int(unit)
      }, orEmpty: nil)
  }

  /// Whether the unit with one number is before the unit with another.
  ///
  /// - Precondition: the numbers are below `unitCount`.
  /// - Complexity: O(log runs).
  package func stands(_ first: UInt32, before second: UInt32) -> Bool {
    read({ $0.stands(first, before: second) }, orEmpty: false)
  }
}

// MARK: UTF-16

extension RunSequence {
  /// Records which units take two UTF-16 code units.
  mutating func markWide(_ units: [Int]) throws(SequenceFault) {
    guard !units.isEmpty else { return }
    try change { core throws(SequenceFault) in
      for unit in units { core.markWide(UInt32(unit)) }
    }
  }

  /// The number of UTF-16 code units in the visible units.
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
  /// - Complexity: O(log runs), and the length of one run if it has wide units.
  package func visibleIndex(ofCodeUnit offset: Int) -> Int {
    read(
      { core in
        guard offset > 0 else { return 0 }
        guard offset < Int(SequenceCore.codeUnits(core.weight)) else {
          return Int(core.visibleCount)
        }
        let found = core.descend(to: UInt32(offset), by: SequenceCore.codeUnits)
        var rest = found.rest
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
