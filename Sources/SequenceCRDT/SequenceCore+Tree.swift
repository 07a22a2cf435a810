/// The tree of leaves and inner nodes, a B+tree: inserts entries and splits full nodes.
extension SequenceCore {
  @discardableResult
  mutating func addLeaf(_ leaf: Leaf) -> UInt32 {
    leaves.append(leaf)
    // The first leaf grows with its entries: most sequences have only a few runs.
    if leaves.count > 1 {
      let total = leaves.count * SequenceCore.fanout
      leafRuns.append(repeating: 0, count: total - leafRuns.count)
      leafWeights.append(repeating: 0, count: total - leafWeights.count)
    }
    return leaves.count - 1
  }

  private mutating func addNode(_ node: Node) -> UInt32 {
    nodes.append(node)
    nodeChildren.append(repeating: 0, count: SequenceCore.fanout)
    nodeWeights.append(repeating: 0, count: SequenceCore.fanout)
    return nodes.count - 1
  }

  /// Inserts a run into a leaf before the entry at a place, which may be one past the last.
  ///
  /// - Returns: its place; the leaf may have been split.
  @discardableResult
  mutating func insertEntry(_ run: UInt32, weight: UInt64, at wanted: Place) -> Place {
    var place = wanted
    if leaves[place.leaf].count == SequenceCore.fanout { place = splitLeaf(at: place) }
    let base = place.leaf * SequenceCore.fanout
    let count = leaves[place.leaf].count
    if base + count == leafRuns.count {
      leafRuns.append(0)
      leafWeights.append(0)
    }
    leafRuns.move(base + place.entry..<base + count, to: base + place.entry + 1)
    leafWeights.move(base + place.entry..<base + count, to: base + place.entry + 1)
    leafRuns[base + place.entry] = run
    leafWeights[base + place.entry] = weight
    leaves[place.leaf].count = count + 1
    runs[run].leaf = place.leaf
    runs[run].entryHint = UInt8(truncatingIfNeeded: place.entry)
    changeWeight(ofLeaf: place.leaf, by: weight)
    return place
  }

  /// Removes an entry and its weight from its leaf.
  mutating func removeEntry(at place: Place) {
    let base = place.leaf * SequenceCore.fanout
    let count = leaves[place.leaf].count
    let weight = leafWeights[base + place.entry]
    leafRuns.move(base + place.entry + 1..<base + count, to: base + place.entry)
    leafWeights.move(base + place.entry + 1..<base + count, to: base + place.entry)
    leaves[place.leaf].count = count - 1
    if weight != 0 { changeWeight(ofLeaf: place.leaf, by: 0 &- weight) }
  }

  /// Splits a full leaf. If the new entry goes after the very last one, the new leaf is empty.
  ///
  /// - Returns: the new position of the wanted place.
  private mutating func splitLeaf(at place: Place) -> Place {
    let leaf = place.leaf
    let fanout = SequenceCore.fanout
    let isAppend = leaf == lastLeaf && place.entry == fanout
    let kept = isAppend ? fanout : fanout / 2
    let next = leaves[leaf].next
    let fresh = addLeaf(
      Leaf(count: fanout - kept, next: next, previous: leaf))
    leaves[leaf].next = fresh
    leaves[leaf].count = kept
    if next == SequenceCore.none { lastLeaf = fresh } else { leaves[next].previous = fresh }

    var moved: UInt64 = 0
    leafRuns.move(leaf * fanout + kept..<(leaf + 1) * fanout, to: fresh * fanout)
    leafWeights.move(leaf * fanout + kept..<(leaf + 1) * fanout, to: fresh * fanout)
    for index in fresh * fanout..<fresh * fanout + fanout - kept {
      moved &+= leafWeights[index]
      runs[leafRuns[index]].leaf = fresh
      runs[leafRuns[index]].entryHint = UInt8(truncatingIfNeeded: index - fresh * fanout)
    }
    if root == SequenceCore.none { addRoot(above: leaf, isBottom: true) }
    insertChild(fresh, weight: moved, behind: leaf, isLeaf: true)
    return place.entry <= kept && !isAppend
      ? place : Place(leaf: fresh, entry: place.entry - kept)
  }

  private mutating func addRoot(above child: UInt32, isBottom: Bool) {
    root = addNode(Node(isBottom: isBottom))
    nodes[root].count = 1
    nodeChildren[root * SequenceCore.fanout] = child
    nodeWeights[root * SequenceCore.fanout] = weight
    adopt(by: root, from: 0)
  }

  /// Inserts a child after the one that it was split from, from which it takes its weight.
  private mutating func insertChild(
    _ child: UInt32, weight: UInt64, behind sibling: UInt32, isLeaf: Bool
  ) {
    let fanout = SequenceCore.fanout
    let full = isLeaf ? leaves[sibling].parent : nodes[sibling].parent
    if nodes[full].count == fanout { splitNode(full) }
    let parent = isLeaf ? leaves[sibling].parent : nodes[sibling].parent
    let slot = isLeaf ? leaves[sibling].slot : nodes[sibling].slot
    let base = parent * fanout
    let count = nodes[parent].count
    nodeWeights[base + slot] &-= weight
    nodeChildren.move(base + slot + 1..<base + count, to: base + slot + 2)
    nodeWeights.move(base + slot + 1..<base + count, to: base + slot + 2)
    nodeChildren[base + slot + 1] = child
    nodeWeights[base + slot + 1] = weight
    nodes[parent].count = count + 1
    adopt(by: parent, from: slot + 1)
  }

  /// Moves the second half of a full node's children to a new node after it.
  private mutating func splitNode(_ node: UInt32) {
    let fanout = SequenceCore.fanout
    if nodes[node].parent == SequenceCore.none { addRoot(above: node, isBottom: false) }
    let fresh = addNode(Node(count: fanout / 2, isBottom: nodes[node].isBottom))
    let kept = fanout / 2
    nodeChildren.move(node * fanout + kept..<(node + 1) * fanout, to: fresh * fanout)
    nodeWeights.move(node * fanout + kept..<(node + 1) * fanout, to: fresh * fanout)
    nodes[node].count = kept
    var moved: UInt64 = 0
    for index in fresh * fanout..<fresh * fanout + kept { moved &+= nodeWeights[index] }
    adopt(by: fresh, from: 0)
    insertChild(fresh, weight: moved, behind: node, isLeaf: false)
  }

  /// Updates the parent and slot of a node's children, from a slot on.
  private mutating func adopt(by node: UInt32, from slot: UInt32) {
    let base = node * SequenceCore.fanout
    for index in slot..<nodes[node].count {
      let child = nodeChildren[base + index]
      if nodes[node].isBottom {
        leaves[child].parent = node
        leaves[child].slot = index
      } else {
        nodes[child].parent = node
        nodes[child].slot = index
      }
    }
  }
}
