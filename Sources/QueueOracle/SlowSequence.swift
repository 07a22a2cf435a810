package import QueueModel
package import SequenceCRDT

/// FugueMax as the explicit tree of Weidner and Kleppmann, "The Art of the Fugue" (arXiv
/// 2305.00583), with one node for each slot or scalar; slow and direct on purpose.
///
/// A node is a left child of its right origin if that is a descendant of its left origin; otherwise
/// it is a right child of its left origin. The root is the start, and the ancestor of all nodes.
/// The time of the origins breaks ties in the tree, and then the id.
package struct SlowSequence {
  private struct Node {
    var id: OperationID?
    var origins: Operation.Origins
    var parent: Int
    var leftChildren: [Int] = []
    var rightChildren: [Int] = []
  }

  private static let root = 0
  private var nodes: [Node]
  private var indexes: [OperationID: Int] = [:]

  package init() {
    let nowhere = Operation.Origins(left: nil, right: nil)
    nodes = [Node(id: nil, origins: nowhere, parent: SlowSequence.root)]
  }

  package func contains(_ id: OperationID) -> Bool { indexes[id] != nil }

  package func origins(of id: OperationID) -> Operation.Origins? {
    indexes[id].map { nodes[$0].origins }
  }

  /// Adds a node whose origins are in the tree.
  ///
  /// - Precondition: `id` is new, its origins are not.
  package mutating func insert(_ id: OperationID, origins: Operation.Origins) {
    precondition(indexes[id] == nil, "\(id) is in the tree already")
    let left = index(ofOrigin: origins.left) ?? SlowSequence.root
    let right = index(ofOrigin: origins.right)
    let added = nodes.count
    indexes[id] = added
    let node = Node(id: id, origins: origins, parent: left)
    if let right, isDescendant(right, of: left) {
      nodes.append(Node(id: id, origins: origins, parent: right))
      let siblings = nodes[right].leftChildren
      let place = siblings.firstIndex { isLater(nodes[$0], than: node) } ?? siblings.count
      nodes[right].leftChildren.insert(added, at: place)
    } else {
      let place = placeAmongRightChildren(of: left, node, rightOrigin: right)
      nodes.append(node)
      nodes[left].rightChildren.insert(added, at: place)
    }
  }

  /// All nodes in the order of the list: left children, the node, right children.
  package func order() -> [OperationID] {
    traversal().compactMap { nodes[$0].id }
  }

  private func isLater(_ node: Node, than other: Node) -> Bool {
    guard node.origins.time == other.origins.time else {
      return node.origins.time > other.origins.time
    }
    guard let id = node.id, let otherID = other.id else {
      preconditionFailure("the root has no parent")
    }
    return id > otherID
  }

  /// Later right origins come first, and the end of the list before all. The time breaks ties, then
  /// the id.
  private func placeAmongRightChildren(of left: Int, _ node: Node, rightOrigin: Int?) -> Int {
    let siblings = nodes[left].rightChildren
    guard !siblings.isEmpty else { return 0 }
    let rank = positions()
    let own = rightOrigin.map { rank[$0] } ?? nodes.count
    return siblings.firstIndex { sibling in
      let other = index(ofOrigin: nodes[sibling].origins.right).map { rank[$0] } ?? nodes.count
      return other == own ? isLater(nodes[sibling], than: node) : other < own
    } ?? siblings.count
  }

  private func positions() -> [Int] {
    var positions = Array(repeating: 0, count: nodes.count)
    for (position, index) in traversal().enumerated() { positions[index] = position }
    return positions
  }

  private func traversal() -> [Int] {
    var visited: [Int] = []
    visited.reserveCapacity(nodes.count)
    // The flag records whether the left children were already pushed. Texts make trees that are too
    // deep for recursion.
    var stack: [(index: Int, isOpened: Bool)] = [(SlowSequence.root, false)]
    while let (index, isOpened) = stack.popLast() {
      if isOpened {
        visited.append(index)
        for child in nodes[index].rightChildren.reversed() { stack.append((child, false)) }
      } else {
        stack.append((index, true))
        for child in nodes[index].leftChildren.reversed() { stack.append((child, false)) }
      }
    }
    return visited
  }

  private func isDescendant(_ index: Int, of ancestor: Int) -> Bool {
    var current = index
    while current != ancestor {
      if current == SlowSequence.root { return false }
      current = nodes[current].parent
    }
    return true
  }

  private func index(ofOrigin id: OperationID?) -> Int? {
    guard let id else { return nil }
    guard let index = indexes[id] else { preconditionFailure("origin \(id) is not in the tree") }
    return index
  }
}
