extension MovableList {
  /// Checks the structure: the sequence, and that slots and elements name each other.
  ///
  /// - Throws: `ListFault` naming what is wrong.
  /// - Complexity: O(slots · log slots).
  package func checkInvariants() throws(ListFault) {
    do {
      try slots.checkInvariants()
    } catch {
      throw .sequence(error)
    }
    guard slots.unitCount == elementOfSlot.count, slots.unitCount == idOfSlot.count,
      known.count == log.replicas.count, known[ownIndex] == nextSeq - 1
    else { throw .sequence(.wrongCount) }
    for slot in elementOfSlot.indices {
      let id = OperationID(
        replica: log.replicas[idOfSlot[slot].replica], seq: idOfSlot[slot].seq)
      guard slots.contentIndex(of: id) == slot, id.seq <= known[idOfSlot[slot].replica],
        elements.indices.contains(Int(elementOfSlot[slot]))
      else { throw .unknown(id) }
      let isCurrent = elements[Int(elementOfSlot[slot])].slot == UInt32(slot)
      guard slots.isVisible(content: slot) == isCurrent else { throw .invalid(id) }
    }
    for (number, element) in elements.enumerated() {
      let first = idOfSlot[Int(element.firstSlot)]
      let id = OperationID(replica: log.replicas[first.replica], seq: first.seq)
      guard Int(elementOfSlot[Int(element.firstSlot)]) == number else { throw .invalid(id) }
      guard element.slot != Element.removed else { continue }
      guard Int(elementOfSlot[Int(element.slot)]) == number,
        element.position.writer == idOfSlot[Int(element.slot)],
        element.position.stamp <= max(latestOwn, latestForeign),
        element.valueWrite.stamp <= max(latestOwn, latestForeign)
      else { throw .invalid(id) }
    }
  }
}
