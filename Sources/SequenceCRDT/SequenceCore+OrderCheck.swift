/// Checks that a list is in the order of its tree. A snapshot must have the same order as all other
/// copies, or later insertions would search for a place that does not exist.
extension SequenceCore {
  /// Compares each run with the next one. A list is in order if all neighbours are. Right children
  /// are compared by places in the list that is being checked. That is safe, because their right
  /// origins come after all descendants of their parent.
  ///
  /// - Throws: `SequenceFault.originsOutOfOrder` if two neighbours are in the wrong order.
  /// - Complexity: O(runs) for what one author typed, else O(runs · log² runs).
  func checkOrder() throws(SequenceFault) {
    guard var place = firstPlace else { return }
    while let next = self.place(behind: place) {
      guard goesBefore(runs[run(at: place)].end - 1, runs[run(at: next)]) else {
        throw .originsOutOfOrder
      }
      place = next
    }
  }

  /// Whether a unit precedes the first unit of a run in the tree.
  private func goesBefore(_ unit: UInt32, _ next: Run) -> Bool {
    if next.parent == unit { return !next.isLeftChild }
    let (depth, nextDepth) = (self.depth(of: unit), next.depth)
    if nextDepth > depth {
      let child = ancestor(of: next.unit, atDepth: depth + 1)
      if parent(of: child) == unit { return !isLeftChild(child) }
    } else if depth > nextDepth {
      let child = ancestor(of: unit, atDepth: nextDepth + 1)
      if parent(of: child) == next.unit { return isLeftChild(child) }
    }
    let (first, second) = siblings(above: unit, next.unit)
    guard isLeftChild(first) == isLeftChild(second) else { return isLeftChild(first) }
    if isLeftChild(first) || rightOrigin(of: first) == rightOrigin(of: second) {
      return precedes(first, time: time(of: second), id: ids.id(of: second))
    }
    return stands(rightOrigin(of: second), before: rightOrigin(of: first))
  }

  private func isLeftChild(_ unit: UInt32) -> Bool {
    let run = runs[runOfUnit[unit]]
    return unit == run.unit && run.isLeftChild
  }

  /// The nearest ancestors of two units that have the same parent.
  ///
  /// - Precondition: neither unit descends from the other.
  private func siblings(above first: UInt32, _ second: UInt32) -> (UInt32, UInt32) {
    // At most the lesser depth, because neither descends from the other.
    let depth = (1..<min(depth(of: first), depth(of: second))).partitioningIndex {
      ancestor(of: first, atDepth: $0) != ancestor(of: second, atDepth: $0)
    }
    return (ancestor(of: first, atDepth: depth), ancestor(of: second, atDepth: depth))
  }
}
