import QueueModel
import QueueOracle
import SequenceCRDT

// Edits by index, as an editor makes them
extension SequenceProgram {
  private func visible(on index: Int) -> [OperationID] {
    order(of: index).filter(replicas[index].model.isVisible)
  }

  /// The left origin is the visible unit before, the right one whatever stands behind that.
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
    do {
      let before = replicas[index].list
      let made = try replicas[index].list.insert(id: id, length: length, at: place)
      let list = replicas[index].list
      let seen = Operation.Origins(
        left: made.left.map(list.id(ofContent:)), right: made.right.map(list.id(ofContent:)))
      guard seen == origins, list.id(ofContent: made.first) == id else {
        throw fail("origins \(seen), not \(origins)")
      }
      try checkTruncation(of: list, to: before)
      try change(&replicas[index].text, by: edit)
    } catch let failure as Failure {
      throw failure
    } catch {
      throw fail("refused with \(error)")
    }
    note(edit, on: index)
    replicas[index].nextSeq += UInt32(length)
    publish([edit], by: index)
  }

  /// What was inserted last can be taken back.
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
    let hidden: Range<Int>
    do {
      hidden = try replicas[index].list.hideVisible(from: place, atMost: count)
    } catch {
      throw fail("refused with \(error)")
    }
    guard !hidden.isEmpty, hidden.count <= count else { throw fail("hid \(hidden)") }
    for (distance, number) in hidden.enumerated() {
      let id = replicas[index].list.id(ofContent: number)
      guard place + distance < visible.count, visible[place + distance] == id else {
        throw fail("hid \(id), which does not stand there")
      }
      let edit = Edit.deletion(first: id, count: 1)
      do {
        try change(&replicas[index].text, by: edit)
      } catch {
        throw fail("refused with \(error)")
      }
      note(edit, on: index)
      replicas[index].nextSeq += 1
      publish([edit], by: index)
    }
  }
}
