/// Edits by index, as this device's person makes them.
extension SequenceCore {
  /// Inserts units so that the first becomes the visible unit at an index.
  ///
  /// The left origin is the visible unit before, the right one whatever stands behind that.
  ///
  /// - Precondition: `index` is at most `visibleCount`.
  /// - Returns: the first unit and the origins, or nil where the id is not new.
  /// - Complexity: O(log runs); O(1) where the last insertion is continued.
  mutating func insert(
    id: OperationID, length: UInt32, at index: UInt32
  ) -> (unit: UInt32, left: UInt32, right: UInt32)? {
    let unit = unitCount
    guard index > 0 else {
      let right = self.unit(behind: SequenceCore.none)
      guard ids.append(id, length: length) else { return nil }
      cursor.leaf = SequenceCore.none
      let place = addLocal(
        Run(
          unit: unit, length: length, left: SequenceCore.none, right: right, leaf: 0,
          depth: right == SequenceCore.none ? 1 : depth(of: right) + 1,
          jump: right == SequenceCore.none ? right : jump(under: right), isVisible: true,
          isLeftChild: right != SequenceCore.none),
        at: firstPlace ?? Place(leaf: firstLeaf, entry: 0))
      cursor = Cursor(leaf: place.leaf, leafStart: 0, entry: place.entry, entryStart: 0)
      if place.leaf != firstLeaf || place.entry != 0 { cursor.leaf = SequenceCore.none }
      return (unit, SequenceCore.none, right)
    }

    let found = find(index - 1)
    let place = found.place
    let before = run(at: place)
    let run = runs[before]
    let offset = index - found.entryStart
    let left = run.unit + offset - 1
    if offset < run.length {
      guard ids.append(id, length: length) else { return nil }
      // The unit behind is the right child of the left origin.
      let tail = split(place, at: offset)
      cursor.leaf = SequenceCore.none
      let fresh = Run(
        unit: unit, length: length, left: left, right: left + 1, leaf: 0,
        depth: run.depth + offset + 1, jump: jump(under: left + 1), isVisible: true,
        isLeftChild: true)
      let start = found.entryStart + offset
      let place = addLocal(fresh, at: tail)
      noteCursor(at: place, start: start, knowing: found)
      return (unit, left, left + 1)
    }

    let next = self.place(behind: place)
    let right = next.map { runs[self.run(at: $0)].unit } ?? SequenceCore.none
    if run.end == unit, run.right == right, ids.followsLast(id) {
      // Typing goes on: no new run, no new entry.
      guard ids.append(id, length: length) else { return nil }
      runs[before].length += length
      if length == 1 {
        runOfUnit.append(before)
      } else {
        runOfUnit.append(repeating: before, count: length)
      }
      changeWeight(at: place, by: UInt64(length))
      cursor = Cursor(
        leaf: place.leaf, leafStart: found.leafStart, entry: place.entry,
        entryStart: found.entryStart)
      return (unit, left, right)
    }
    guard ids.append(id, length: length) else { return nil }
    let isLeftChild = right != SequenceCore.none && descends(right, from: left)
    let parent = isLeftChild ? right : left
    let fresh = Run(
      unit: unit, length: length, left: left, right: right, leaf: 0, depth: depth(of: parent) + 1,
      jump: jump(under: parent), isVisible: true, isLeftChild: isLeftChild)
    cursor.leaf = SequenceCore.none
    let added = addLocal(fresh, at: Place(leaf: place.leaf, entry: place.entry + 1))
    noteCursor(at: added, start: index, knowing: found)
    return (unit, left, right)
  }

  private mutating func addLocal(_ run: Run, at place: Place) -> Place {
    let index = addRun(run)
    runOfUnit.append(repeating: index, count: run.length)
    return insertEntry(index, weight: UInt64(run.length), at: place)
  }

  /// Notes where the next edit is likely, if the leaf is still the one whose start is known.
  private mutating func noteCursor(at place: Place, start: UInt32, knowing found: Found) {
    guard place.leaf == found.place.leaf else { return }
    cursor = Cursor(
      leaf: place.leaf, leafStart: found.leafStart, entry: place.entry, entryStart: start)
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
      cursor.leaf = SequenceCore.none
    }
    return units
  }
}
