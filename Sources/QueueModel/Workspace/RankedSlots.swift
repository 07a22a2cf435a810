import SequenceCRDT

/// Some slots of a list in its order, which can be found by rank, and whose rank can be found.
///
/// A slot is named by its number in the list (`RunSequence.contentIndex`), and the list knows its
/// place, so nothing here changes as others are inserted. A B-tree with counts: a change of a copy
/// copies the path from the root to one leaf.
struct RankedSlots: Sendable {
  /// The root; none if there are no slots.
  private var roots: [Node] = []

  init() {}

  /// - Parameter slots: in the order of the list.
  init(inOrder slots: [UInt32]) {
    var level = slots.stretches(of: Node.sizeBuilt).map { Node(slots: Array($0)) }
    while level.count > 1 {
      level = level.stretches(of: Node.sizeBuilt).map { Node(children: Array($0)) }
    }
    roots = level
  }

  var count: Int { roots.first?.count ?? 0 }

  /// - Precondition: the slot is in the list, and not here.
  /// - Complexity: O(log² slots).
  mutating func insert(_ slot: UInt32, in list: RunSequence) {
    guard !roots.isEmpty else {
      roots = [Node(slots: [slot])]
      return
    }
    guard let split = roots[0].insert(slot, in: list) else { return }
    roots.append(split)
    roots = [Node(children: roots)]
  }

  /// Removes a slot that is here.
  ///
  /// - Complexity: O(log² slots).
  mutating func remove(_ slot: UInt32, in list: RunSequence) {
    guard !roots.isEmpty, roots[0].remove(slot, in: list) else { return }
    while let root = roots.first, root.children.count == 1 { roots = root.children }
    if count == 0 { roots = [] }
  }

  /// The number of the slots before one of them; nil if that is not here.
  ///
  /// - Complexity: O(log² slots).
  func rank(of slot: UInt32, in list: RunSequence) -> Int? {
    roots.first?.rank(of: slot, in: list)
  }

  /// The slot with a rank.
  ///
  /// - Precondition: the rank is from 0 and below `count`.
  /// - Complexity: O(log slots).
  subscript(rank: Int) -> UInt32 { roots[0].slot(at: rank) }

  /// Visits the slots at some ranks, in order.
  ///
  /// - Complexity: O(ranks + log slots).
  func forEach(in ranks: Range<Int>, _ body: (UInt32) -> Void) {
    let ranks = ranks.clamped(to: 0..<count)
    if !ranks.isEmpty { roots[0].forEach(in: ranks, body) }
  }
}

/// A leaf with slots, or an inner node with children.
private struct Node: Sendable {
  private var slots: [UInt32] = []
  private(set) var children: [Node] = []
  /// The number of slots.
  private(set) var count = 0
  /// The first slot.
  private var first: UInt32 = 0

  /// The maximum number of slots or children.
  private static let sizeMax = 64
  /// The initial number in a new node, so that the next insertions do not split it.
  static let sizeBuilt = 48

  init(slots: [UInt32]) {
    self.slots = slots
    recount()
  }

  init(children: [Node]) {
    self.children = children
    recount()
  }

  private var isLeaf: Bool { children.isEmpty }
  private var size: Int { isLeaf ? slots.count : children.count }

  private mutating func recount() {
    count = isLeaf ? slots.count : children.reduce(0) { $0 + $1.count }
    first = slots.first ?? children.first?.first ?? 0
  }

  /// The child that holds a slot, or would hold it.
  private func child(for slot: UInt32, in list: RunSequence) -> Int {
    (1..<children.count).partitioningIndex { list.stands(slot, before: children[$0].first) } - 1
  }

  /// The index of the first slot here that is at a slot's place or after it.
  private func place(of slot: UInt32, in list: RunSequence) -> Int {
    slots.indices.partitioningIndex { !list.stands(slots[$0], before: slot) }
  }

  /// - Returns: the second half, if there are too many.
  mutating func insert(_ slot: UInt32, in list: RunSequence) -> Node? {
    count += 1
    var isAtEnd = false
    if isLeaf {
      let place = place(of: slot, in: list)
      isAtEnd = place == slots.count
      slots.insert(slot, at: place)
      first = slots[0]
    } else {
      let index = child(for: slot, in: list)
      if let split = children[index].insert(slot, in: list) {
        isAtEnd = index == children.count - 1
        children.insert(split, at: index + 1)
      }
      first = children[0].first
    }
    return size > Node.sizeMax ? split(at: isAtEnd ? Node.sizeMax : size / 2) : nil
  }

  private mutating func split(at index: Int) -> Node {
    var second = self
    if isLeaf {
      second.slots.removeFirst(index)
      slots.removeLast(slots.count - index)
    } else {
      second.children.removeFirst(index)
      children.removeLast(children.count - index)
    }
    second.recount()
    count -= second.count
    return second
  }

  /// - Returns: whether the slot was here.
  mutating func remove(_ slot: UInt32, in list: RunSequence) -> Bool {
    if isLeaf {
      let place = place(of: slot, in: list)
      guard place < slots.count, slots[place] == slot else { return false }
      slots.remove(at: place)
      first = slots.first ?? 0
    } else {
      let index = child(for: slot, in: list)
      guard children[index].remove(slot, in: list) else { return false }
      join(at: index)
      first = children.first?.first ?? 0
    }
    count -= 1
    return true
  }

  /// Joins a small child with a neighbour that has room.
  private mutating func join(at index: Int) {
    guard children[index].size < Node.sizeMax / 4 else { return }
    guard children[index].size > 0 else {
      children.remove(at: index)
      return
    }
    for left in [index - 1, index] where left >= 0 && left + 1 < children.count {
      guard children[left].size + children[left + 1].size <= Node.sizeBuilt else { continue }
      let right = children.remove(at: left + 1)
      children[left].append(right)
      return
    }
  }

  private mutating func append(_ other: Node) {
    slots += other.slots
    children += other.children
    recount()
  }

  func rank(of slot: UInt32, in list: RunSequence) -> Int? {
    if isLeaf {
      let place = place(of: slot, in: list)
      return place < slots.count && slots[place] == slot ? place : nil
    }
    let index = child(for: slot, in: list)
    guard let rank = children[index].rank(of: slot, in: list) else { return nil }
    return children[..<index].reduce(rank) { $0 + $1.count }
  }

  func slot(at rank: Int) -> UInt32 {
    if isLeaf { return slots[rank] }
    var (index, rest) = (0, rank)
    while rest >= children[index].count {
      rest -= children[index].count
      index += 1
    }
    return children[index].slot(at: rest)
  }

  func forEach(in ranks: Range<Int>, _ body: (UInt32) -> Void) {
    if isLeaf {
      for slot in slots[ranks] { body(slot) }
      return
    }
    var start = 0
    for child in children {
      let here = ranks.clamped(to: start..<start + child.count)
      if !here.isEmpty {
        child.forEach(in: here.lowerBound - start..<here.upperBound - start, body)
      }
      start += child.count
    }
  }
}

extension Array {
  /// The elements in stretches of this length; the last one may be shorter.
  fileprivate func stretches(of length: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: count, by: length).map { self[$0..<Swift.min($0 + length, count)] }
  }
}
