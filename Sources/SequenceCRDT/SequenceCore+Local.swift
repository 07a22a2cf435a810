/// Edits by index, as this device's person makes them.
extension SequenceCore {
  /// What an insertion made, in numbers; the origins are `none` at the start and the end.
  struct Insertion: BitwiseCopyable {
    var unit: UInt32
    var left: UInt32
    var right: UInt32
  }

  /// Inserts units so that the first becomes the visible unit at an index.
  ///
  /// The left origin is the visible unit before, the right one whatever stands behind that.
  ///
  /// - Precondition: `index` is at most `visibleCount`.
  /// - Returns: the first unit and the origins, or nil where the id is not new.
  /// - Complexity: O(log runs); O(1) where the last insertion is continued.
  @inline(__always)
  mutating func insert(id: OperationID, length: UInt32, at index: UInt32) -> Insertion? {
    if index == cursor.typingIndex, ids.extendLast(id, by: length) {
      // Typing goes on: no new run, no new entry.
      let place = Place(leaf: cursor.leaf, entry: cursor.entry)
      let run = run(at: place)
      let unit = unitCount
      runs[run].length += length
      runOfUnit.append(repeating: run, count: length)
      changeWeight(at: place, by: UInt64(length))
      cursor.typingIndex += length
      return Insertion(unit: unit, left: unit &- 1, right: runs[run].right)
    }
    return insertElsewhere(id: id, length: length, at: index)
  }

  private mutating func insertElsewhere(
    id: OperationID, length: UInt32, at index: UInt32
  ) -> Insertion? {
    let unit = unitCount
    guard index > 0 else {
      let right = self.unit(behind: SequenceCore.none)
      guard ids.append(id, length: length) else { return nil }
      let isLeftChild = right != SequenceCore.none
      addLocal(
        unit..<unit + length, left: SequenceCore.none, right: right, isLeftChild: isLeftChild,
        at: Place(leaf: firstLeaf, entry: 0), index: 0,
        near: Found(place: Place(leaf: firstLeaf, entry: 0), leafStart: 0, entryStart: 0))
      return Insertion(unit: unit, left: SequenceCore.none, right: right)
    }

    let found = find(index - 1)
    let run = runs[run(at: found.place)]
    let offset = index - found.entryStart
    let left = run.unit + offset - 1
    if offset < run.length {
      // The unit behind is the right child of the left origin.
      guard ids.append(id, length: length) else { return nil }
      addLocal(
        unit..<unit + length, left: left, right: left + 1, isLeftChild: true,
        at: split(found.place, at: offset), index: index, near: found)
      return Insertion(unit: unit, left: left, right: left + 1)
    }

    let next = self.place(behind: found.place)
    let right = next.map { runs[self.run(at: $0)].unit } ?? SequenceCore.none
    let goesOn = run.end == unit && run.right == right && ids.followsLast(id)
    guard ids.append(id, length: length) else { return nil }
    if goesOn {
      let index = self.run(at: found.place)
      runs[index].length += length
      runOfUnit.append(repeating: index, count: length)
      changeWeight(at: found.place, by: UInt64(length))
      cursor = Cursor(
        leaf: found.place.leaf, leafStart: found.leafStart, entry: found.place.entry,
        entryStart: found.entryStart, typingIndex: found.entryStart + runs[index].length)
    } else {
      addLocal(
        unit..<unit + length, left: left, right: right,
        isLeftChild: right != SequenceCore.none && descends(right, from: left),
        at: Place(leaf: found.place.leaf, entry: found.place.entry + 1), index: index, near: found)
    }
    return Insertion(unit: unit, left: left, right: right)
  }

  /// Puts a run of new units at a place, and the cursor there if it is in the leaf that was found.
  private mutating func addLocal(
    _ units: Range<UInt32>, left: UInt32, right: UInt32, isLeftChild: Bool, at place: Place,
    index: UInt32, near found: Found
  ) {
    let parent = isLeftChild ? right : left
    let length = units.upperBound - units.lowerBound
    let run = addRun(
      Run(
        unit: units.lowerBound, length: length, left: left, right: right, leaf: 0,
        depth: depth(of: parent) + 1, jump: jump(under: parent), isVisible: true,
        isLeftChild: isLeftChild))
    runOfUnit.append(repeating: run, count: length)
    let added = insertEntry(run, weight: UInt64(length), at: place)
    cursor =
      added.leaf == found.place.leaf
      ? Cursor(
        leaf: added.leaf, leafStart: found.leafStart, entry: added.entry, entryStart: index,
        typingIndex: index + length) : Cursor()
  }

  /// Hides the visible units from an index on, at most as many as stand there in one run.
  ///
  /// - Precondition: `index` is below `visibleCount`, `count` at least 1.
  /// - Returns: the hidden units.
  mutating func hideVisible(from index: UInt32, atMost count: UInt32) -> Range<UInt32> {
    let found = find(index)
    let run = runs[run(at: found.place)]
    let first = run.unit + (index - found.entryStart)
    let units = first..<min(run.end, first + count)
    let entries = leaves[found.place.leaf].count
    let leafCount = leaves.count
    hide(units, at: found.place)
    // The entry's place is still right where only a border moved.
    if leaves.count == leafCount, leaves[found.place.leaf].count == entries {
      cursor = Cursor(
        leaf: found.place.leaf, leafStart: found.leafStart, entry: found.place.entry,
        entryStart: found.entryStart)
    } else if leaves.count == leafCount {
      cursor = Cursor(
        leaf: found.place.leaf, leafStart: found.leafStart, entry: 0,
        entryStart: found.leafStart)
    } else {
      cursor = Cursor()
    }
    return units
  }
}
