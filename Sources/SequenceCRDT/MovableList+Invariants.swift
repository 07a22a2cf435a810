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
        idOfElement.indices.contains(Int(elementOfSlot[slot]))
      else { throw .unknown(id) }
      let isCurrent = slotOfElement[Int(elementOfSlot[slot])] == UInt32(slot)
      guard slots.isVisible(content: slot) == isCurrent else { throw .invalid(id) }
    }
    let latest = max(latestOwn, latestForeign)
    for (number, first) in idOfElement.enumerated() {
      let id = OperationID(replica: log.replicas[first.replica], seq: first.seq)
      guard self.number(of: id) == number else { throw .invalid(id) }
      let slot = slotOfElement[number]
      guard slot != MovableList.removed else { continue }
      guard Int(elementOfSlot[Int(slot)]) == number, positionStamps[number] <= latest,
        valueWrites[number].stamp <= latest
      else { throw .invalid(id) }
    }
  }
}
