/// Finds the places of concurrent insertions in the FugueMax tree, which it climbs with the help of
/// jumps.
///
/// Source: Weidner and Kleppmann, "The Art of the Fugue: Minimizing Interleaving in Collaborative
/// Text Editing", arXiv:2305.00583 (FugueMax). The jumps are those of Myers, "An applicative
/// random-access stack", Information Processing Letters 17 (1983), on runs instead of cells.
///
/// It holds two slabs of a core for one lookup: each call of a function of the core itself would
/// copy all 400 bytes of the borrowed core to the stack.
struct OriginTree: BitwiseCopyable {
  let runs: Slab<SequenceCore.Run>
  let runOfUnit: Slab<UInt32>

  /// The distance of a unit from the root, which is `none` and has 0.
  @inline(__always)
  func depth(of unit: UInt32) -> UInt32 {
    guard unit != SequenceCore.none else { return 0 }
    let run = runs[runOfUnit[unit]]
    return run.depth + (unit - run.unit)
  }

  /// The ancestor of a unit, or the unit itself, at a depth.
  ///
  /// - Precondition: `depth` is from 1 to the unit's depth.
  /// - Complexity: usually O(log runs).
  func ancestor(of unit: UInt32, atDepth depth: UInt32) -> UInt32 {
    var unit = unit
    while true {
      let run = runs[runOfUnit[unit]]
      if run.depth <= depth { return run.unit + (depth - run.depth) }
      unit =
        run.jump != SequenceCore.none && self.depth(of: run.jump) >= depth ? run.jump : run.parent
    }
  }

  /// Whether a unit descends from another; all descend from `none`, the root.
  func descends(_ unit: UInt32, from ancestor: UInt32) -> Bool {
    guard ancestor != SequenceCore.none else { return true }
    let depth = depth(of: ancestor)
    return self.depth(of: unit) > depth && self.ancestor(of: unit, atDepth: depth) == ancestor
  }

  /// The jump for a child of a unit: twice as far as the parent's if two jumps are equally long.
  func jump(under parent: UInt32) -> UInt32 {
    guard parent != SequenceCore.none else { return SequenceCore.none }
    let run = runs[runOfUnit[parent]]
    guard run.jump != SequenceCore.none else { return parent }
    let middle = runs[runOfUnit[run.jump]]
    let middleDepth = middle.depth + (run.jump - middle.unit)
    return run.depth - middleDepth >= middleDepth - depth(of: middle.jump) ? middle.jump : parent
  }
}

extension SequenceCore {
  @inline(__always)
  private var tree: OriginTree { OriginTree(runs: runs, runOfUnit: runOfUnit) }

  @inline(__always)
  func depth(of unit: UInt32) -> UInt32 { tree.depth(of: unit) }

  @inline(__always)
  func ancestor(of unit: UInt32, atDepth depth: UInt32) -> UInt32 {
    tree.ancestor(of: unit, atDepth: depth)
  }

  @inline(__always)
  func descends(_ unit: UInt32, from ancestor: UInt32) -> Bool {
    tree.descends(unit, from: ancestor)
  }

  @inline(__always)
  func jump(under parent: UInt32) -> UInt32 { tree.jump(under: parent) }

  @inline(__always)
  func parent(of unit: UInt32) -> UInt32 {
    let run = runs[runOfUnit[unit]]
    return unit == run.unit ? run.parent : unit - 1
  }

  @inline(__always)
  func rightOrigin(of unit: UInt32) -> UInt32 {
    runs[runOfUnit[unit]].right
  }

  /// An insertion whose place is being searched.
  struct Newcomer {
    var id: OperationID
    var time: Int64
    var left: UInt32
    var right: UInt32
    /// Whether it is a child of its right origin.
    var isLeftChild: Bool
    /// The depth of its parent.
    var parentDepth: UInt32
  }

  /// Whether a unit between the origins of a newcomer comes before it. From left to right the
  /// answer is true up to some unit, then false.
  private func goesBefore(_ unit: UInt32, _ newcomer: Newcomer) -> Bool {
    let parent = newcomer.isLeftChild ? newcomer.right : newcomer.left
    let childDepth = newcomer.parentDepth + 1
    // Units with another parent are left of all left children, and right of all right children.
    guard depth(of: unit) >= childDepth else { return newcomer.isLeftChild }
    let sibling = ancestor(of: unit, atDepth: childDepth)
    guard self.parent(of: sibling) == parent else { return newcomer.isLeftChild }
    let right = rightOrigin(of: sibling)
    if newcomer.isLeftChild || right == newcomer.right {
      return precedes(sibling, time: newcomer.time, id: newcomer.id)
    }
    // The later the right origin, the earlier the sibling; the end of the list is the latest.
    return stands(newcomer.right, before: right)
  }

  /// Whether a unit comes before another unit at the same place: by time, then by id.
  @inline(__always)
  func precedes(_ unit: UInt32, time: Int64, id: @autoclosure () -> OperationID) -> Bool {
    let own = self.time(of: unit)
    return own == time ? ids.id(of: unit) < id() : own < time
  }

  /// The unit that follows a newcomer: the first unit between its origins that does not come before
  /// it, or its right origin.
  ///
  /// - Complexity: usually O(log² runs), whatever the number of units between the origins.
  func successor(of newcomer: Newcomer) -> UInt32 {
    var unit = unit(behind: newcomer.left)
    guard unit != newcomer.right, goesBefore(unit, newcomer) else { return unit }
    var place = place(ofRun: runOfUnit[unit])
    let rightPlace =
      newcomer.right == SequenceCore.none ? nil : self.place(ofRun: runOfUnit[newcomer.right])
    // Usually few units compete for one place.
    for _ in 0..<8 {
      guard place != rightPlace, let next = self.place(behind: place) else {
        return newcomer.right
      }
      place = next
      unit = runs[run(at: place)].unit
      guard place != rightPlace || unit != newcomer.right, goesBefore(unit, newcomer) else {
        return unit
      }
    }
    return place == rightPlace
      ? newcomer.right : successor(of: newcomer, behind: place, before: rightPlace)
  }

  /// Searches, from the root down, for the first entry after a place whose first unit does not come
  /// before the newcomer.
  private func successor(
    of newcomer: Newcomer, behind low: Place, before high: Place?
  ) -> UInt32 {
    let isBefore = { (core: borrowing SequenceCore, place: Place) -> Bool in
      if place == low || core.stands(place, before: low) { return true }
      if let high, !core.stands(place, before: high) { return false }
      return core.goesBefore(core.runs[core.run(at: place)].unit, newcomer)
    }
    var leaf = firstLeaf
    var node = root
    while node != SequenceCore.none {
      // The last child whose first entry comes before; the first child if there is none.
      let child = (1..<nodes[node].count).partitioningIndex { child in
        let first = firstPlace(below: nodeChildren[node * SequenceCore.fanout + child], of: node)
        return !isBefore(self, first)
      }
      leaf = nodeChildren[node * SequenceCore.fanout + child - 1]
      if nodes[node].isBottom { break }
      node = leaf
    }
    let entry = (1..<max(1, leaves[leaf].count)).partitioningIndex {
      !isBefore(self, Place(leaf: leaf, entry: $0))
    }
    guard let found = place(behind: Place(leaf: leaf, entry: entry - 1)) else {
      return newcomer.right
    }
    let unit = runs[run(at: found)].unit
    guard found == high else { return unit }
    // The right origin's run may begin before it, with units that were not compared yet.
    return unit != newcomer.right && !goesBefore(unit, newcomer) ? unit : newcomer.right
  }

  private func firstPlace(below child: UInt32, of node: UInt32) -> Place {
    var (child, node) = (child, node)
    while !nodes[node].isBottom {
      node = child
      child = nodeChildren[node * SequenceCore.fanout]
    }
    return Place(leaf: child, entry: 0)
  }
}
