/// The whole state of a list without its history, canonical: equal states give equal images.
package struct ListImage: Hashable, Sendable {
  /// An element that is in the list.
  package struct Element: Hashable, Sendable {
    package var value: ListValue
    package var valueStamp: Stamp
    package var valueWriter: OperationID
    /// The id of the slot it is at, which is that of its position's writer.
    package var slot: OperationID
    package var positionStamp: Stamp

    package init(
      value: ListValue, valueStamp: Stamp, valueWriter: OperationID, slot: OperationID,
      positionStamp: Stamp
    ) {
      self.value = value
      self.valueStamp = valueStamp
      self.valueWriter = valueWriter
      self.slot = slot
      self.positionStamp = positionStamp
    }
  }

  /// What is known of each replica, ascending by id.
  package var replicas: [OperationID]
  /// The slots in order; visible ones are the list.
  package var runs: [RunSequence.Run]
  /// The id of the element of each slot, in the order of the runs.
  package var owners: [OperationID]
  /// What is in the list, in the order of the list.
  package var elements: [Element]
  /// The latest stamp that any operation had.
  package var latestStamp: Stamp

  package init(
    replicas: [OperationID], runs: [RunSequence.Run], owners: [OperationID], elements: [Element],
    latestStamp: Stamp
  ) {
    self.replicas = replicas
    self.runs = runs
    self.owners = owners
    self.elements = elements
    self.latestStamp = latestStamp
  }
}

extension MovableList {
  /// The whole state.
  ///
  /// - Complexity: O(slots).
  package var image: ListImage {
    var image = ListImage(
      replicas: vector.sorted.map { OperationID(replica: $0.replica, seq: $0.seq) },
      runs: slots.canonicalRuns, owners: [], elements: [],
      latestStamp: max(latestOwn, latestForeign))
    for index in image.runs.indices { image.runs[index].contentStart = 0 }
    slots.forEachRun { run in
      for slot in run.contentStart..<run.contentStart + run.length {
        let number = Int(elementOfSlot[slot])
        image.owners.append(id(of: idOfElement[number]))
        guard run.isVisible else { continue }
        image.elements.append(
          ListImage.Element(
            value: elementValues[number], valueStamp: valueWrites[number].stamp,
            valueWriter: id(of: valueWrites[number].writer), slot: id(ofSlot: slot),
            positionStamp: positionStamps[number]))
      }
    }
    return image
  }

  private func id(ofSlot slot: Int) -> OperationID { id(of: idOfSlot[slot]) }

  private func id(of id: ListID) -> OperationID {
    OperationID(replica: log.replicas[id.replica], seq: id.seq)
  }

  /// Restores a list; its log begins empty.
  ///
  /// - Parameter firstSeq: the least sequence number of the first operation made here.
  /// - Throws: `ListFault` where the image contradicts itself.
  /// - Complexity: O(slots).
  package init(
    image: ListImage, replica: ReplicaID, firstSeq: UInt32 = 1
  ) throws(ListFault) {
    self.init(replica: replica, firstSeq: firstSeq)
    try restoreReplicas(image.replicas)
    do {
      slots = try RunSequence(runs: image.runs)
    } catch {
      throw .sequence(error)
    }
    guard image.latestStamp < MovableList.stampBound else {
      throw .invalid(OperationID(replica: replica, seq: 0))
    }
    latestForeign = image.latestStamp
    guard slots.unitCount == image.owners.count, slots.visibleCount == image.elements.count else {
      throw .sequence(.wrongCount)
    }
    try restoreSlots(image)
    try restoreElements(image)
  }

  private mutating func restoreReplicas(_ replicas: [OperationID]) throws(ListFault) {
    for entry in replicas {
      let index = log.note(entry.replica)
      guard entry.seq >= 1, entry.seq <= MovableList.sequenceMax else { throw .invalid(entry) }
      if index == ownIndex {
        known[index] = max(known[index], entry.seq)
        nextSeq = known[index] + 1
      } else {
        guard index == known.count else { throw .invalid(entry) }
        known.append(entry.seq)
      }
    }
  }

  /// Numbers the elements in the order in which their slots come first.
  private mutating func restoreSlots(_ image: ListImage) throws(ListFault) {
    var numbers: [OperationID: UInt32] = [:]
    var slot = 0
    for run in image.runs {
      guard let replica = log.index(of: run.id.replica), run.id.seq >= 1,
        run.length >= 1, Int(run.id.seq) + run.length - 1 <= Int(known[replica])
      else { throw .invalid(run.id) }
      for offset in 0..<run.length {
        idOfSlot.append(ListID(replica: replica, seq: run.id.seq).advanced(by: offset))
        let owner = image.owners[slot]
        if let number = numbers[owner] {
          elementOfSlot.append(number)
        } else {
          guard slots.contains(owner), let author = log.index(of: owner.replica) else {
            throw .unknown(owner)
          }
          let number = UInt32(truncatingIfNeeded: idOfElement.count)
          numbers[owner] = number
          elementOfSlot.append(number)
          idOfElement.append(ListID(replica: author, seq: owner.seq))
        }
        slot += 1
      }
    }
    for (number, element) in idOfElement.enumerated() {
      let id = id(of: element)
      guard self.number(of: id) == number else { throw .unknown(id) }
    }
  }

  private mutating func restoreElements(_ image: ListImage) throws(ListFault) {
    let nothing = Write(stamp: .zero, writer: .none)
    slotOfElement = Array(repeating: MovableList.removed, count: idOfElement.count)
    positionStamps = Array(repeating: .zero, count: idOfElement.count)
    valueWrites = Array(repeating: nothing, count: idOfElement.count)
    elementValues = Array(repeating: .integer(0), count: idOfElement.count)
    var visible: [Int] = []
    visible.reserveCapacity(image.elements.count)
    slots.forEachVisible { visible.append(contentsOf: $0) }
    for (slot, element) in zip(visible, image.elements) {
      let number = Int(elementOfSlot[slot])
      guard slotOfElement[number] == MovableList.removed, id(ofSlot: slot) == element.slot,
        let author = log.index(of: element.valueWriter.replica), element.valueWriter.seq >= 1,
        element.valueWriter.seq <= known[author], element.valueStamp <= image.latestStamp,
        element.positionStamp <= image.latestStamp
      else { throw .invalid(element.slot) }
      slotOfElement[number] = UInt32(truncatingIfNeeded: slot)
      positionStamps[number] = element.positionStamp
      valueWrites[number] = Write(
        stamp: element.valueStamp,
        writer: ListID(replica: author, seq: element.valueWriter.seq))
      elementValues[number] = element.value
    }
  }
}
