import QueueModel
import QueueOracle
import SequenceCRDT

// Edits by index, as an editor makes them
extension SequenceProgram {
  private func visible(on index: Int) -> [OperationID] {
    order(of: index).filter(replicas[index].model.isVisible)
  }

  /// The left origin is the visible unit before; the right one is whatever follows it.
  mutating func insertByIndex(on index: Int) throws(Failure) {
    let visible = visible(on: index)
    let length = 1 + next(3)
    guard replicas[index].model.count + length <= bounds.unitsMax else { return }
    let place = next(visible.count + 1)
    let id = OperationID(replica: replicas[index].id, seq: replicas[index].nextSeq)
    action = "replica \(index) inserts \(length) as \(id) at \(place)"
    let order = order(of: index)
    let left = place > 0 ? visible[place - 1] : nil
    let behind = left.flatMap(order.firstIndex).map { $0 + 1 } ?? 0
    let origins = Operation.Origins(
      left: left, right: behind < order.count ? order[behind] : nil)
    let edit = Edit.insertion(id: id, text: text(length), origins: origins)
    let list = replicas[index].list
    let found = place > 0 ? list.content(atVisible: place - 1).map(list.id(ofContent:)) : nil
    guard let seen = list.origins(behind: found),
      Operation.Origins(left: seen.left, right: seen.right) == origins
    else {
      throw fail("other neighbours than \(origins)")
    }
    try apply(edit, to: index)
    try checkTruncation(of: replicas[index].list, to: list)
    replicas[index].nextSeq += UInt32(length)
    publish([edit], by: index)
  }

  /// The latest insertion can be undone.
  private func checkTruncation(
    of list: RunSequence, to before: RunSequence
  ) throws(Failure) {
    var shorter = list
    shorter.truncate(toUnitCount: before.unitCount)
    guard shorter.canonicalRuns == before.canonicalRuns else {
      throw fail("taking an insertion back gives another list")
    }
  }

  mutating func deleteByIndex(on index: Int) throws(Failure) {
    let visible = visible(on: index)
    guard !visible.isEmpty else { return }
    let place = next(visible.count)
    let count = 1 + next(5)
    action = "replica \(index) deletes at most \(count) at \(place)"
    for expected in visible.dropFirst(place).prefix(count) {
      let list = replicas[index].list
      let id = list.content(atVisible: place).map(list.id(ofContent:))
      guard id == expected else { throw fail("not \(expected) stands there") }
      let edit = Edit.deletion(first: expected, count: 1)
      try apply(edit, to: index)
      replicas[index].nextSeq += 1
      publish([edit], by: index)
    }
  }
}
