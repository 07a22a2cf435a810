import QueueModel
import QueueOracle
import SequenceCRDT

// Comparing
extension SequenceProgram {
  mutating func check(_ index: Int, isFull: Bool) throws(Failure) {
    let (text, model) = (replicas[index].text, replicas[index].model)
    guard text.sequence.unitCount == model.count,
      text.sequence.visibleCount == model.visibleCount
    else {
      throw fail(
        "\(text.sequence.unitCount) units, \(text.sequence.visibleCount) visible: "
          + "not \(model.count), \(model.visibleCount)")
    }
    guard isFull else { return }
    do {
      try text.sequence.checkInvariants()
    } catch {
      throw fail("invariant: \(error)")
    }
    let order = order(of: index)
    let expected = model.tree.order()
    guard order == expected else { throw fail("order \(order), not \(expected)") }
    try checkList(of: index, expected)
    let content = model.text(in: expected)
    guard text.text.unicodeScalars.elementsEqual(content.unicodeScalars) else {
      throw fail("text \(text.text), not \(content)")
    }
    guard !order.isEmpty else { return }
    try checkUnit(at: next(order.count), of: text, model, order)
  }

  private func checkUnit(
    at place: Int, of text: TextContent, _ model: SlowText, _ order: [OperationID]
  ) throws(Failure) {
    let id = order[place]
    let before = place > 0 ? order[place - 1] : nil
    let behind = place + 1 < order.count ? order[place + 1] : nil
    guard text.sequence.contains(id), text.sequence.isVisible(id) == model.isVisible(id) else {
      throw fail("\(id) is not as it should be")
    }
    guard let right = text.sequence.origins(behind: id), right.left == id, right.right == behind
    else { throw fail("the neighbours behind \(id) are wrong") }
    guard let left = text.sequence.origins(before: id), left.left == before, left.right == id
    else { throw fail("the neighbours before \(id) are wrong") }
  }

  /// The list without text: its order, its visibility, and queries by index and by number.
  private func checkList(of index: Int, _ order: [OperationID]) throws(Failure) {
    let (list, model) = (replicas[index].list, replicas[index].model)
    do {
      try list.checkInvariants()
    } catch {
      throw fail("invariant of the list: \(error)")
    }
    guard list.canonicalRuns == replicas[index].text.sequence.canonicalRuns,
      list.runs.flatMap({ run in (0..<run.length).map(run.unitID(at:)) }) == order
    else { throw fail("list and text have other runs") }
    var visible = 0
    for id in order {
      guard let number = list.contentIndex(of: id), list.id(ofContent: number) == id else {
        throw fail("\(id) has no number, or another's")
      }
      guard list.visibleCount(beforeContent: number) == visible else {
        throw fail("\(visible) visible units before \(id), not as the list says")
      }
      guard model.isVisible(id) else { continue }
      guard list.content(atVisible: visible) == number else {
        throw fail("\(id) is not found at \(visible)")
      }
      visible += 1
    }
    guard list.content(atVisible: visible) == nil else { throw fail("a unit behind the last") }
  }

  func check(_ copy: Copy) throws(Failure) {
    let order = copy.text.sequence.runs.flatMap { run in (0..<run.length).map(run.unitID(at:)) }
    guard order == copy.order, copy.text.text == copy.content else {
      throw fail("a copy changed with its original")
    }
    do {
      try copy.text.sequence.checkInvariants()
    } catch {
      throw fail("a copy's invariant: \(error)")
    }
  }

  mutating func settle() throws(Failure) {
    for index in replicas.indices {
      try deliverAll(to: index)
      action = "settling"
      guard replicas[index].isKnown.allSatisfy({ $0 }) else {
        throw fail("replica \(index) cannot take everything")
      }
      try check(index, isFull: true)
      guard order(of: index) == order(of: 0), replicas[index].text.text == replicas[0].text.text
      else { throw fail("replica \(index) disagrees with the first") }
    }
    if let copy { try check(copy) }
  }
}
