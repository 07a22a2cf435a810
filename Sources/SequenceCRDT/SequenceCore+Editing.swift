/// Inserting and hiding units.
extension SequenceCore {
  /// Inserts new units at their place in FugueMax order; `none` is the start (left) or the end
  /// (right).
  ///
  /// - Throws: `SequenceFault`, without changing anything.
  mutating func integrate(
    id: OperationID, length: UInt32, left: UInt32, right: UInt32, time: Int64
  ) throws(SequenceFault) {
    let neighbour = unit(behind: left)
    let successor: UInt32
    let isLeftChild: Bool
    if neighbour == right {
      isLeftChild = right != SequenceCore.none && descends(right, from: left)
      successor = right
    } else {
      guard left == SequenceCore.none || stands(left, before: right) else {
        throw .originsOutOfOrder
      }
      isLeftChild = right != SequenceCore.none && descends(right, from: left)
      let newcomer = Newcomer(
        id: id, time: time, left: left, right: right, isLeftChild: isLeftChild,
        parentDepth: depth(of: isLeftChild ? right : left))
      successor = self.successor(of: newcomer)
    }
    let unit = unitCount
    guard ids.append(id, length: length) else { throw .invalidRun(id) }
    insert(
      Run(
        unit: unit, length: length, left: left, right: right, leaf: 0, depth: 0,
        jump: SequenceCore.none, isVisible: true, isLeftChild: isLeftChild),
      time: time, before: successor)
  }

  /// Inserts a run of new units before a unit, joining it to the run that ends there if it
  /// continues that run.
  private mutating func insert(_ run: Run, time: Int64, before successor: UInt32) {
    var run = run
    let place: Place
    if successor == SequenceCore.none {
      place = Place(leaf: lastLeaf, entry: leaves[lastLeaf].count)
    } else {
      let index = runOfUnit[successor]
      let found = self.place(ofRun: index)
      let offset = successor - runs[index].unit
      place = offset == 0 ? found : split(found, at: offset)
    }
    if place.entry > 0 {
      let before = Place(leaf: place.leaf, entry: place.entry - 1)
      if extend(before, with: run, time: time) { return }
    }
    run.depth = depth(of: run.parent) + 1
    run.jump = jump(under: run.parent)
    insertEntry(number(run, time: time), weight: UInt64(run.length), at: place)
  }

  /// Makes the record of a new run; its units are the last ones.
  private mutating func number(_ run: Run, time: Int64) -> UInt32 {
    let index = addRun(run, time: time)
    if run.length == 1 {
      runOfUnit.append(index)
    } else {
      runOfUnit.append(repeating: index, count: run.length)
    }
    return index
  }

  /// Adds new units to the run at a place, if they continue it.
  @inline(__always)
  private mutating func extend(_ place: Place, with run: Run, time: Int64) -> Bool {
    let index = self.run(at: place)
    let before = runs[index]
    guard before.end == run.unit, run.left == run.unit &- 1, before.right == run.right,
      before.isVisible, !run.isLeftChild, self.time(ofRun: index) == time,
      ids.areConsecutive(run.left, run.unit)
    else { return false }
    runs[index].length += run.length
    if run.length == 1 {
      runOfUnit.append(index)
    } else {
      runOfUnit.append(repeating: index, count: run.length)
    }
    changeWeight(at: place, by: UInt64(run.length))
    return true
  }

  /// Splits the run at a place, before an offset above 0 and below its length.
  ///
  /// - Returns: the place of the second part.
  /// - Complexity: O(log runs), and the length of the shorter part, whose units change their run.
  @discardableResult
  mutating func split(_ place: Place, at offset: UInt32) -> Place {
    let index = run(at: place)
    let whole = runs[index]
    let cut = whole.unit + offset
    var tail = whole
    tail.unit = cut
    tail.length = whole.length - offset
    tail.left = cut - 1
    tail.depth = whole.depth + offset
    tail.isLeftChild = false
    let tailWeight = whole.isVisible ? weight(ofUnits: cut..<whole.end) : 0
    var head = whole
    head.length = offset
    if tail.length <= offset {
      runs[index] = head
      let fresh = addRun(tail, time: time(ofRun: index))
      runOfUnit.fill(cut..<whole.end, with: fresh)
      changeWeight(at: place, by: 0 &- tailWeight)
      return insertEntry(
        fresh, weight: tailWeight, at: Place(leaf: place.leaf, entry: place.entry + 1))
    }
    runs[index] = tail
    let fresh = addRun(head, time: time(ofRun: index))
    runOfUnit.fill(whole.unit..<cut, with: fresh)
    let headWeight = whole.isVisible ? weight(ofUnits: whole.unit..<cut) : 0
    changeWeight(at: place, by: 0 &- headWeight)
    insertEntry(fresh, weight: headWeight, at: place)
    return self.place(ofRun: index)
  }

  /// Whether the second run, right after the first, continues it.
  @inline(__always)
  private func continues(_ first: Run, _ second: Run) -> Bool {
    first.end == second.unit && second.left == second.unit &- 1 && first.right == second.right
      && first.isVisible == second.isVisible && !second.isLeftChild
      && time(of: first.unit) == time(of: second.unit)
      && ids.areConsecutive(second.left, second.unit)
  }
}

// MARK: Hiding

extension SequenceCore {
  /// Hides visible units of the run at a place.
  ///
  /// If they continue adjacent hidden units, only the border between the two runs moves.
  mutating func hide(_ units: Range<UInt32>, at place: Place) {
    let index = run(at: place)
    let whole = runs[index]
    let isHead = units.lowerBound == whole.unit
    let isTail = units.upperBound == whole.end
    if isHead, isTail {
      changeWeight(at: place, by: 0 &- weight(ofUnits: units))
      runs[index].isVisible = false
      joinNeighbours(of: place)
    } else if isTail {
      if !moveTail(units, of: place) { hideAlone(split(place, at: units.lowerBound - whole.unit)) }
    } else if isHead {
      if !moveHead(units, of: place) {
        split(place, at: units.upperBound - whole.unit)
        hideAlone(self.place(ofRun: runOfUnit[units.lowerBound]))
      }
    } else {
      split(place, at: units.upperBound - whole.unit)
      let head = self.place(ofRun: runOfUnit[units.lowerBound])
      hideAlone(split(head, at: units.lowerBound - whole.unit))
    }
  }

  private mutating func hideAlone(_ place: Place) {
    let weight = leafWeights[place.leaf * SequenceCore.fanout + place.entry]
    changeWeight(at: place, by: 0 &- weight)
    runs[run(at: place)].isVisible = false
  }

  /// Moves the last units of a visible run to the hidden run after it.
  private mutating func moveTail(_ units: Range<UInt32>, of place: Place) -> Bool {
    guard let next = self.place(behind: place) else { return false }
    let index = run(at: place)
    let nextIndex = run(at: next)
    var hidden = runs[index]
    hidden.isVisible = false
    guard continues(hidden, runs[nextIndex]) else { return false }
    let length = UInt32(units.count)
    changeWeight(at: place, by: 0 &- weight(ofUnits: units))
    runs[index].length -= length
    runs[nextIndex].unit -= length
    runs[nextIndex].length += length
    runs[nextIndex].left = runs[nextIndex].unit - 1
    runs[nextIndex].depth -= length
    runs[nextIndex].jump = runs[index].jump
    runOfUnit.fill(units, with: nextIndex)
    return true
  }

  /// Moves the first units of a visible run to the hidden run before it.
  private mutating func moveHead(_ units: Range<UInt32>, of place: Place) -> Bool {
    guard let previous = self.place(before: place) else { return false }
    let index = run(at: place)
    let previousIndex = run(at: previous)
    var hidden = runs[index]
    hidden.isVisible = false
    guard continues(runs[previousIndex], hidden) else { return false }
    let length = UInt32(units.count)
    changeWeight(at: place, by: 0 &- weight(ofUnits: units))
    runs[previousIndex].length += length
    runs[index].unit += length
    runs[index].length -= length
    runs[index].left = runs[index].unit - 1
    runs[index].depth += length
    runs[index].jump = runs[previousIndex].jump
    runOfUnit.fill(units, with: previousIndex)
    return true
  }

  /// Joins a run with its neighbours in the leaf, if one continues the other.
  private mutating func joinNeighbours(of place: Place) {
    let base = place.leaf * SequenceCore.fanout
    if place.entry + 1 < leaves[place.leaf].count,
      continues(runs[leafRuns[base + place.entry]], runs[leafRuns[base + place.entry + 1]])
    {
      join(place)
    }
    if place.entry > 0,
      continues(runs[leafRuns[base + place.entry - 1]], runs[leafRuns[base + place.entry]])
    {
      join(Place(leaf: place.leaf, entry: place.entry - 1))
    }
  }

  /// Joins the run at a place with the next in its leaf; the record of the longer one stays.
  private mutating func join(_ place: Place) {
    let base = place.leaf * SequenceCore.fanout + place.entry
    let (first, second) = (leafRuns[base], leafRuns[base + 1])
    let (head, tail) = (runs[first], runs[second])
    var whole = head
    whole.length += tail.length
    let kept = head.length >= tail.length ? first : second
    let dropped = kept == first ? second : first
    runOfUnit.fill(kept == first ? tail.unit..<tail.end : head.unit..<head.end, with: kept)
    runs[kept] = whole
    let weight = leafWeights[base + 1]
    leafWeights[base + 1] = 0
    leafWeights[base] &+= weight
    leafRuns[base] = kept
    removeEntry(at: Place(leaf: place.leaf, entry: place.entry + 1))
    dropRun(dropped)
  }
}
