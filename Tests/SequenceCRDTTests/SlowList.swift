import SequenceCRDT

/// A movable list worked out anew from its operations: the tree of the specification is built and
/// read from left to right, every register looks at all its writes.
struct SlowList {
  private struct Slot {
    var id: OperationID
    var left: OperationID?
    var right: OperationID?
    var element: OperationID
    /// What it hangs under, nil for the root, and on which side.
    var parent: OperationID?
    var isLeftChild: Bool
  }

  private struct Write<Value> {
    var stamp: Stamp
    var writer: OperationID
    var value: Value

    func isLater(than other: Write?) -> Bool {
      guard let other else { return true }
      return (stamp, writer) > (other.stamp, other.writer)
    }
  }

  private var slots: [OperationID: Slot] = [:]
  private var order: [OperationID] = []
  private var positions: [OperationID: Write<OperationID>] = [:]
  private var contents: [OperationID: Write<ListValue>] = [:]
  private var removed: Set<OperationID> = []

  /// - Parameter operations: in an order in which each comes after what it names.
  init(_ operations: [ListOperation]) {
    for operation in operations { apply(operation) }
  }

  var values: [ListValue] {
    order.compactMap { id in
      guard let slot = slots[id], positions[slot.element]?.value == id,
        !removed.contains(slot.element)
      else { return nil }
      return contents[slot.element]?.value
    }
  }

  private mutating func apply(_ operation: ListOperation) {
    switch operation {
    case .insert(let id, let left, let right, let stamp, let values):
      var left = left
      for (offset, value) in values.enumerated() {
        let unit = OperationID(replica: id.replica, seq: id.seq + UInt32(offset))
        insert(unit, left: left, right: right, element: unit)
        positions[unit] = Write(stamp: stamp, writer: unit, value: unit)
        contents[unit] = Write(stamp: stamp, writer: unit, value: value)
        left = unit
      }
    case .set(let id, let element, let stamp, let value):
      let write = Write(stamp: stamp, writer: id, value: value)
      if write.isLater(than: contents[element]) { contents[element] = write }
    case .move(let id, let element, let left, let right, let stamp):
      insert(id, left: left, right: right, element: element)
      let write = Write(stamp: stamp, writer: id, value: id)
      if write.isLater(than: positions[element]) { positions[element] = write }
    case .remove(_, let element):
      removed.insert(element)
    }
  }

  private mutating func insert(
    _ id: OperationID, left: OperationID?, right: OperationID?, element: OperationID
  ) {
    let isLeftChild = right.map { descends($0, from: left) } ?? false
    slots[id] = Slot(
      id: id, left: left, right: right, element: element, parent: isLeftChild ? right : left,
      isLeftChild: isLeftChild)
    let places = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1, $0) })
    order = readTree(under: nil, places: places)
  }

  private func descends(_ id: OperationID, from ancestor: OperationID?) -> Bool {
    guard let ancestor else { return true }
    var current = id
    while let parent = slots[current]?.parent {
      if parent == ancestor { return true }
      current = parent
    }
    return false
  }

  private func readTree(
    under root: OperationID?, places: [OperationID: Int]
  ) -> [OperationID] {
    let children = slots.values.filter { $0.parent == root }
    let lefts = children.filter(\.isLeftChild).sorted { $0.id < $1.id }
    let end = places.count
    let rights = children.filter { !$0.isLeftChild }.sorted { first, second in
      let firstPlace = first.right.flatMap { places[$0] } ?? end
      let secondPlace = second.right.flatMap { places[$0] } ?? end
      return firstPlace == secondPlace ? first.id < second.id : firstPlace > secondPlace
    }
    let before = lefts.flatMap { readTree(under: $0.id, places: places) }
    let behind = rights.flatMap { readTree(under: $0.id, places: places) }
    return before + (root.map { [$0] } ?? []) + behind
  }
}
