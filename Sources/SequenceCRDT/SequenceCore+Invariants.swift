extension SequenceCore {
  /// Checks the structure: links, counts, weights, names, origins and depths.
  ///
  /// - Throws: `SequenceFault` with the first fault found.
  /// - Complexity: O(units + runs · log runs).
  func checkInvariants() throws(SequenceFault) {
    var seen: UInt32 = 0
    var total: UInt64 = 0
    var place = firstPlace
    while let current = place {
      let index = run(at: current)
      let run = runs[index]
      try checkRun(run, index, at: current)
      seen += run.length
      total &+= run.isVisible ? weight(ofUnits: run.unit..<run.end) : 0
      place = self.place(behind: current)
    }
    guard seen == unitCount, total == weight, ids.count == unitCount else { throw .wrongCount }
    try checkOrder()
    if root != SequenceCore.none {
      guard nodes[root].parent == SequenceCore.none, try sum(ofNode: root) == weight else {
        throw .wrongCount
      }
    }
  }

  private func checkRun(_ run: Run, _ index: UInt32, at place: Place) throws(SequenceFault) {
    let id = ids.id(of: run.unit)
    guard run.length >= 1, run.leaf == place.leaf, self.place(ofRun: index) == place else {
      throw .invalidRun(id)
    }
    for unit in run.unit..<run.end {
      guard runOfUnit[unit] == index,
        ids.id(of: unit) == id.advanced(by: Int(unit - run.unit)),
        ids.unit(of: ids.id(of: unit)) == unit
      else { throw .invalidRun(id) }
    }
    let weight = leafWeights[place.leaf * SequenceCore.fanout + place.entry]
    guard weight == (run.isVisible ? self.weight(ofUnits: run.unit..<run.end) : 0) else {
      throw .wrongCount
    }
    guard run.left == SequenceCore.none || stands(run.left, before: run.unit),
      stands(run.unit, before: run.right)
    else { throw .originsOutOfOrder }
    let isLeftChild = run.right != SequenceCore.none && descends(run.right, from: run.left)
    guard run.isLeftChild == isLeftChild, run.depth == depth(of: run.parent) + 1,
      run.jump == SequenceCore.none
        || run.jump == ancestor(of: run.unit, atDepth: depth(of: run.jump))
          && depth(of: run.jump) < run.depth
    else { throw .invalidRun(id) }
  }

  /// The weight below a node; also checks every link on the way.
  private func sum(ofNode node: UInt32) throws(SequenceFault) -> UInt64 {
    var sum: UInt64 = 0
    for slot in 0..<nodes[node].count {
      let child = nodeChildren[node * SequenceCore.fanout + slot]
      var weight: UInt64 = 0
      if nodes[node].isBottom {
        guard leaves[child].parent == node, leaves[child].slot == slot else { throw .wrongCount }
        let base = child * SequenceCore.fanout
        for index in base..<base + leaves[child].count { weight &+= leafWeights[index] }
      } else {
        guard nodes[child].parent == node, nodes[child].slot == slot else { throw .wrongCount }
        weight = try self.sum(ofNode: child)
      }
      guard weight == nodeWeights[node * SequenceCore.fanout + slot] else { throw .wrongCount }
      sum &+= weight
    }
    return sum
  }
}
