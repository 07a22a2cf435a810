import SequenceCRDT

/// The elements for which the slots of a list were made, by content index.
///
/// A snapshot names them only for winning slots, so those of a snapshot are kept sparsely: dead
/// slots, of which a snapshot may claim any number, take no memory. Later slots have an owner each.
struct SlotOwners<Owner: Sendable>: Sendable {
  /// Content indexes of restored slots with an owner, ascending, and the owners.
  private var restoredIndexes: [Int] = []
  private var restoredOwners: [Owner] = []
  private var restoredCount = 0
  private var made: [Owner] = []

  init() {}

  /// `count` slots of which some have owners.
  ///
  /// - Precondition: the indexes ascend and are below `count`.
  init(restored owners: [(index: Int, owner: Owner)], count: Int) {
    restoredIndexes = owners.map(\.index)
    restoredOwners = owners.map(\.owner)
    restoredCount = count
  }

  /// How many slots there are.
  var count: Int { restoredCount + made.count }

  mutating func append(_ owner: Owner) {
    made.append(owner)
  }

  /// Removes the slots that were made last.
  ///
  /// - Precondition: none of the restored slots is among them.
  mutating func truncate(to count: Int) {
    precondition(count >= restoredCount && count <= self.count, "only slots made here go")
    made.removeLast(self.count - count)
  }

  /// The owner of the slot at a content index; nil for a dead slot of a snapshot.
  ///
  /// - Complexity: O(log restored slots).
  subscript(index: Int) -> Owner? {
    if index >= restoredCount { return made[index - restoredCount] }
    let found = firstRestored(from: index)
    return found < restoredIndexes.count && restoredIndexes[found] == index
      ? restoredOwners[found] : nil
  }

  /// Visits the owned slots among those at a range of content indexes, in order.
  ///
  /// - Complexity: O(owners in the range + log restored slots).
  private func forEachOwned(in range: Range<Int>, _ body: (Int, Owner) -> Void) {
    if range.lowerBound < restoredCount {
      var next = firstRestored(from: range.lowerBound)
      while next < restoredIndexes.count, restoredIndexes[next] < range.upperBound {
        body(restoredIndexes[next], restoredOwners[next])
        next += 1
      }
    }
    for index in max(range.lowerBound, restoredCount)..<max(range.upperBound, restoredCount) {
      body(index, made[index - restoredCount])
    }
  }

  private func firstRestored(from index: Int) -> Int {
    restoredIndexes.indices.partitioningIndex { restoredIndexes[$0] >= index }
  }
}

extension SlotOwners {
  /// The owned slots of a list in its order, each with the slot's id.
  ///
  /// - Complexity: O(runs + owners).
  func inOrder(of slots: RunSequence) -> [(slot: OperationID, owner: Owner)] {
    var owned: [(index: Int, owner: Owner)] = []
    // A slot is never hidden.
    slots.forEachVisible { indexes in forEachOwned(in: indexes) { owned.append(($0, $1)) } }
    return owned.map { (slot: slots.id(ofContent: $0.index), owner: $0.owner) }
  }
}
