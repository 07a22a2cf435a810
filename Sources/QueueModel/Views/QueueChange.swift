import SequenceCRDT

/// An item of a view list that has a derived place there.
public protocol PositionedView: Identifiable, Hashable, Sendable where ID: Sendable {
  /// Place from 1.
  var position: Int { get set }
}

extension MessageView: PositionedView {}
extension ThreadView: PositionedView {}

/// One step from an old list to a new one. All steps, applied in order to a mirror of the old list,
/// give the new list. Indexes count from 0 in the mirror at that moment.
public enum QueueChange<Item: PositionedView>: Hashable, Sendable {
  /// `Item` appears at the index.
  case insert(Item, at: Int)
  /// The item at the index was removed.
  case remove(Item.ID, at: Int)
  /// The item leaves index `from`, and then has index `to`.
  case move(Item.ID, from: Int, to: Int)
  /// The item at the index has new values.
  case update(Item, at: Int)

  /// The fewest steps from `old` to `new`: as few moves as a longest increasing subsequence allows,
  /// and no update for a mere change of position.
  ///
  /// - Complexity: O(*n* log *n*) and O(*n*) a moved or inserted item.
  public static func changes(from old: [Item], to new: [Item]) -> [QueueChange] {
    var steps: [QueueChange] = []
    let newIndex = Dictionary(new.enumerated().map { ($1.id, $0) }) { first, _ in first }
    var mirror = old
    for index in old.indices.reversed() where newIndex[old[index].id] == nil {
      steps.append(.remove(old[index].id, at: index))
      mirror.remove(at: index)
    }
    let kept = Set(
      longestIncreasingSubsequence(mirror.compactMap { newIndex[$0.id] }).map { new[$0].id })
    let known = Set(mirror.map(\.id))
    var place = 0
    for item in new {
      if kept.contains(item.id) {
        while place < mirror.count, mirror[place].id != item.id { place += 1 }
        place += 1
      } else if known.contains(item.id) {
        guard let from = mirror.firstIndex(where: { $0.id == item.id }) else { continue }
        if from < place { place -= 1 }
        let moved = mirror.remove(at: from)
        mirror.insert(moved, at: place)
        if from != place { steps.append(.move(item.id, from: from, to: place)) }
        place += 1
      } else {
        steps.append(.insert(item, at: place))
        mirror.insert(item, at: place)
        place += 1
      }
    }
    let oldItems = Dictionary(old.map { ($0.id, $0) }) { first, _ in first }
    for (index, item) in new.enumerated() {
      guard var before = oldItems[item.id] else { continue }
      before.position = item.position
      if before != item { steps.append(.update(item, at: index)) }
    }
    return steps
  }

  /// Applies the step to a mirror, and updates the derived positions.
  ///
  /// - Precondition: the mirror is in the state for which the step was made.
  public func apply(to mirror: inout [Item]) {
    switch self {
    case .insert(let item, let index):
      mirror.insert(item, at: index)
    case .remove(_, let index):
      mirror.remove(at: index)
    case .move(_, let from, let to):
      mirror.insert(mirror.remove(at: from), at: to)
    case .update(let item, let index):
      mirror[index] = item
    }
    for index in mirror.indices { mirror[index].position = index + 1 }
  }
}

/// The values of a longest strictly increasing subsequence, by patience sorting.
private func longestIncreasingSubsequence(_ values: [Int]) -> [Int] {
  var tails: [Int] = []
  var previous = [Int?](repeating: nil, count: values.count)
  for (index, value) in values.enumerated() {
    let length = tails.indices.partitioningIndex { values[tails[$0]] >= value }
    previous[index] = length > 0 ? tails[length - 1] : nil
    if length == tails.count { tails.append(index) } else { tails[length] = index }
  }
  var sequence: [Int] = []
  var next = tails.last
  while let index = next {
    sequence.append(values[index])
    next = previous[index]
  }
  return sequence.reversed()
}
