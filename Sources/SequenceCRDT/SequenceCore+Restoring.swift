/// Builds a sequence from its runs in order, and removes the latest units.
extension SequenceCore {
  /// Restores a sequence; its units are numbered in the order of the list.
  ///
  /// - Throws: `SequenceFault` if runs are empty, repeat an id, name origins that are unknown, out
  ///   of order, or form cycles, or if their order is not the tree's.
  /// - Complexity: O(runs · log runs).
  init(restoring list: [RunSequence.Run]) throws(SequenceFault) {
    self.init()
    var total: UInt64 = 0
    for run in list {
      guard run.length >= 1, run.length <= SequenceCore.unitsMax, run.id.seq >= 1,
        run.id.advanced(by: run.length - 1) != nil
      else { throw .invalidRun(run.id) }
      total += UInt64(run.length)
      guard total <= SequenceCore.unitsMax else { throw .invalidRun(run.id) }
    }
    let stretches = list.map { (id: $0.id, length: UInt32($0.length)) }
    if let double = ids.fill(stretches) { throw .invalidRun(double) }
    runs.reserve(UInt32(list.count))
    runOfUnit.reserve(UInt32(total))
    var unit: UInt32 = 0
    for run in list {
      let length = UInt32(run.length)
      let record = Run(
        unit: unit, length: length, left: try number(of: run.left),
        right: try number(of: run.right), leaf: 0, depth: 0, jump: SequenceCore.none,
        isVisible: run.isVisible, isLeftChild: false)
      guard record.left == SequenceCore.none || record.left < unit,
        record.right == SequenceCore.none || record.right >= unit + length
      else { throw .originsOutOfOrder }
      append(record, time: run.time)
      unit += length
    }
    try findDepths()
    try checkOrder()
  }

  private func number(of origin: OperationID?) throws(SequenceFault) -> UInt32 {
    guard let origin else { return SequenceCore.none }
    let unit = ids.unit(of: origin)
    guard unit != SequenceCore.none else { throw .unknownOrigin(origin) }
    return unit
  }

  /// Appends a run after all others, and assigns its units to it.
  private mutating func append(_ run: Run, time: Int64) {
    let index = addRun(run, time: time)
    runOfUnit.append(repeating: index, count: run.length)
    insertEntry(
      index, weight: run.isVisible ? UInt64(run.length) : 0,
      at: Place(leaf: lastLeaf, entry: leaves[lastLeaf].count))
  }

  /// Finds the parent of every run, after the runs that it depends on.
  private mutating func findDepths() throws(SequenceFault) {
    var isWaiting = [Bool](repeating: false, count: Int(runs.count))
    var waiting: [UInt32] = []
    for start in 0..<runs.count where runs[start].depth == 0 {
      waiting.append(start)
      while let current = waiting.last {
        if let needed = unknownOrigin(of: current) {
          isWaiting[Int(current)] = true
          guard !isWaiting[Int(needed)] else { throw .invalidRun(ids.id(of: runs[needed].unit)) }
          waiting.append(needed)
          continue
        }
        let run = runs[current]
        runs[current].isLeftChild =
          run.right != SequenceCore.none && descends(run.right, from: run.left)
        runs[current].depth = depth(of: runs[current].parent) + 1
        runs[current].jump = jump(under: runs[current].parent)
        isWaiting[Int(current)] = false
        waiting.removeLast()
      }
    }
  }

  /// A run with an origin of `run` that has no place in the tree yet.
  private func unknownOrigin(of run: UInt32) -> UInt32? {
    for origin in [runs[run].left, runs[run].right] where origin != SequenceCore.none {
      let index = runOfUnit[origin]
      if runs[index].depth == 0 { return index }
    }
    return nil
  }

  /// Removes the units that were numbered last.
  ///
  /// - Precondition: no remaining unit has an origin among them. If a remaining unit was hidden
  ///   since then, it stays hidden.
  /// - Complexity: O(runs + units).
  mutating func truncate(to mark: UInt32) {
    guard mark < unitCount else { return }
    var kept: [(run: Run, time: Int64)] = []
    var place = firstPlace
    while let current = place {
      let index = run(at: current)
      var run = runs[index]
      if run.unit < mark {
        run.length = min(run.end, mark) - run.unit
        kept.append((run, time(ofRun: index)))
      }
      place = self.place(behind: current)
    }
    ids.truncate(to: mark)
    dropAllRuns()
    leaves.removeAll()
    leafRuns.removeAll()
    leafWeights.removeAll()
    nodes.removeAll()
    nodeChildren.removeAll()
    nodeWeights.removeAll()
    root = SequenceCore.none
    (firstLeaf, lastLeaf, weight) = (0, 0, 0)
    addLeaf(Leaf())
    runOfUnit.removeAll()
    runOfUnit.append(repeating: 0, count: mark)
    for (run, time) in kept {
      let index = addRun(run, time: time)
      runOfUnit.fill(run.unit..<run.end, with: index)
      insertEntry(
        index, weight: run.isVisible ? weight(ofUnits: run.unit..<run.end) : 0,
        at: Place(leaf: lastLeaf, entry: leaves[lastLeaf].count))
    }
  }
}
