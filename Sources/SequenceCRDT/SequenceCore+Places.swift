/// Finds places: by unit, by index, before and after others.
extension SequenceCore {
  @inline(__always)
  func run(at place: Place) -> UInt32 {
    leafRuns[place.leaf * SequenceCore.fanout + place.entry]
  }

  /// The entry that holds a run.
  ///
  /// - Complexity: O(fanout); O(1) if little was inserted before it in its leaf.
  @inline(__always)
  func place(ofRun run: UInt32) -> Place {
    let leaf = runs[run].leaf
    let base = leaf * SequenceCore.fanout
    var entry = UInt32(runs[run].entryHint)
    // Unused old entries may follow those in use.
    let count = leaves[leaf].count
    while entry < count {
      if leafRuns[base + entry] == run { return Place(leaf: leaf, entry: entry) }
      entry += 1
    }
    entry = 0
    while leafRuns[base + entry] != run { entry += 1 }
    return Place(leaf: leaf, entry: entry)
  }

  /// The next entry, or nil at the end.
  @inline(__always)
  func place(behind place: Place) -> Place? {
    if place.entry + 1 < leaves[place.leaf].count {
      return Place(leaf: place.leaf, entry: place.entry + 1)
    }
    return SequenceCore.firstPlace(behindLeaf: place.leaf, of: leaves)
  }

  /// The previous entry, or nil at the start.
  @inline(__always)
  func place(before place: Place) -> Place? {
    if place.entry > 0 { return Place(leaf: place.leaf, entry: place.entry - 1) }
    return SequenceCore.lastPlace(beforeLeaf: place.leaf, of: leaves)
  }

  private static func firstPlace(behindLeaf leaf: UInt32, of leaves: Slab<Leaf>) -> Place? {
    var leaf = leaves[leaf].next
    while leaf != SequenceCore.none, leaves[leaf].count == 0 { leaf = leaves[leaf].next }
    return leaf == SequenceCore.none ? nil : Place(leaf: leaf, entry: 0)
  }

  private static func lastPlace(beforeLeaf leaf: UInt32, of leaves: Slab<Leaf>) -> Place? {
    var leaf = leaves[leaf].previous
    while leaf != SequenceCore.none, leaves[leaf].count == 0 { leaf = leaves[leaf].previous }
    return leaf == SequenceCore.none ? nil : Place(leaf: leaf, entry: leaves[leaf].count - 1)
  }

  var firstPlace: Place? {
    leaves[firstLeaf].count > 0
      ? Place(leaf: firstLeaf, entry: 0) : place(behind: Place(leaf: firstLeaf, entry: 0))
  }

  var lastPlace: Place? {
    let count = leaves[lastLeaf].count
    return count > 0
      ? Place(leaf: lastLeaf, entry: count - 1) : place(before: Place(leaf: lastLeaf, entry: 0))
  }

  /// The unit right after another, hidden or not; `none` at the end. The first unit for `none`.
  @inline(__always)
  func unit(behind unit: UInt32) -> UInt32 {
    guard unit != SequenceCore.none else {
      return firstPlace.map { runs[run(at: $0)].unit } ?? SequenceCore.none
    }
    let index = runOfUnit[unit]
    if unit + 1 < runs[index].end { return unit + 1 }
    guard let next = place(behind: place(ofRun: index)) else { return SequenceCore.none }
    return runs[run(at: next)].unit
  }

  /// The unit right before another, hidden or not; `none` at the start.
  func unit(before unit: UInt32) -> UInt32 {
    let index = runOfUnit[unit]
    if unit > runs[index].unit { return unit - 1 }
    guard let previous = place(before: place(ofRun: index)) else { return SequenceCore.none }
    return runs[run(at: previous)].end - 1
  }

  var lastUnit: UInt32 {
    lastPlace.map { runs[run(at: $0)].end - 1 } ?? SequenceCore.none
  }
}

// MARK: Order

extension SequenceCore {
  /// Whether one unit comes before another; `none` comes last.
  ///
  /// - Complexity: O(log runs).
  @inline(__always)
  func stands(_ first: UInt32, before second: UInt32) -> Bool {
    if second == SequenceCore.none { return first != SequenceCore.none }
    if first == SequenceCore.none || first == second { return false }
    let firstRun = runOfUnit[first]
    let secondRun = runOfUnit[second]
    if firstRun == secondRun { return first < second }
    return stands(place(ofRun: firstRun), before: place(ofRun: secondRun))
  }

  @inline(__always)
  func stands(_ first: Place, before second: Place) -> Bool {
    first.leaf == second.leaf
      ? first.entry < second.entry
      : SequenceCore.stands(first, before: second, leaves: leaves, nodes: nodes)
  }

  /// The same for places in two leaves, by their slots below the lowest common node.
  private static func stands(
    _ first: Place, before second: Place, leaves: Slab<Leaf>, nodes: Slab<Node>
  ) -> Bool {
    var (left, right) = (leaves[first.leaf], leaves[second.leaf])
    if left.parent == right.parent { return left.slot < right.slot }
    while true {
      let (leftNode, rightNode) = (nodes[left.parent], nodes[right.parent])
      if leftNode.parent == rightNode.parent { return leftNode.slot < rightNode.slot }
      (left.parent, right.parent) = (leftNode.parent, rightNode.parent)
    }
  }
}

// MARK: Indexes

extension SequenceCore {
  /// The entry that holds an index.
  struct Found {
    var place: Place
    /// The number of visible units before the entry.
    var entryStart: UInt32
    /// The rest of the index, inside the entry.
    var rest: UInt32
  }

  /// Descends from the root to the entry that holds an index, counted by a measure of weights.
  ///
  /// - Complexity: O(log runs).
  func descend(to index: UInt32, by measure: (UInt64) -> UInt32) -> Found {
    let fanout = SequenceCore.fanout
    var rest = index
    var before: UInt32 = 0
    var leaf = firstLeaf
    var node = root
    while node != SequenceCore.none {
      var slot = node * fanout
      while true {
        let weight = nodeWeights[slot]
        if rest < measure(weight) { break }
        rest -= measure(weight)
        before += SequenceCore.visible(weight)
        slot += 1
      }
      leaf = nodeChildren[slot]
      if nodes[node].isBottom { break }
      node = leaf
    }
    var entry: UInt32 = 0
    while true {
      let weight = leafWeights[leaf * fanout + entry]
      if rest < measure(weight) { break }
      rest -= measure(weight)
      before += SequenceCore.visible(weight)
      entry += 1
    }
    return Found(place: Place(leaf: leaf, entry: entry), entryStart: before, rest: rest)
  }

  /// The weight of all units before a unit.
  ///
  /// - Complexity: O(log runs).
  func weight(before unit: UInt32) -> UInt64 {
    let run = runOfUnit[unit]
    let place = place(ofRun: run)
    let base = place.leaf * SequenceCore.fanout
    var sum = runs[run].isVisible ? weight(ofUnits: runs[run].unit..<unit) : 0
    for index in base..<base + place.entry { sum &+= leafWeights[index] }
    var node = leaves[place.leaf].parent
    var slot = leaves[place.leaf].slot
    while node != SequenceCore.none {
      let base = node * SequenceCore.fanout
      for index in base..<base + slot { sum &+= nodeWeights[index] }
      slot = nodes[node].slot
      node = nodes[node].parent
    }
    return sum
  }
}
