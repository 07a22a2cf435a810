/// Changes made here.
extension MovableList {
  /// Inserts values, the first at an index.
  ///
  /// - Parameters:
  ///   - index: from 0 to `count`.
  ///   - stamp: the time; where others' stamps are ahead of it, one past the latest takes its
  ///     place. Changes with equal stamps take the least room.
  /// - Throws: `ListFault`; nothing changes then.
  /// - Complexity: O(log runs + values), and O(values) where the last insertion goes on.
  package mutating func insert(
    _ values: [ListValue], at index: Int, stamp: Stamp
  ) throws(ListFault) {
    guard index >= 0, index <= count else { throw .noSuchIndex(index) }
    guard !values.isEmpty else { return }
    let id = try nextID(for: values.count)
    let stamp = advanced(stamp)
    let made = try insertSlots(id, count: values.count, at: index)
    let ids = (left: idOfSlot(made.left), right: idOfSlot(made.right))
    introduce(id, firstSlot: made.first, stamp: stamp, values: values[...])
    log.insert(id: id, left: ids.left, right: ids.right, stamp: stamp, values: values[...])
    used(values.count)
  }

  /// Inserts a value at the end.
  package mutating func append(_ value: ListValue, stamp: Stamp) throws(ListFault) {
    let id = try nextID(for: 1)
    let stamp = advanced(stamp)
    let made = try insertSlots(id, count: 1, at: count)
    let ids = (left: idOfSlot(made.left), right: idOfSlot(made.right))
    introduce(id, slot: made.first, stamp: stamp, value: value)
    log.insert(id: id, left: ids.left, right: ids.right, stamp: stamp, value: value)
    used(1)
  }

  /// Writes the value at an index.
  ///
  /// - Complexity: O(log runs).
  package mutating func set(_ value: ListValue, at index: Int, stamp: Stamp) throws(ListFault) {
    guard let slot = slots.content(atVisible: index) else { throw .noSuchIndex(index) }
    let id = try nextID(for: 1)
    let stamp = advanced(stamp)
    let number = Int(elementOfSlot[slot])
    // Nothing is later than what is written here now.
    valueWrites[number] = Write(stamp: stamp, writer: id)
    elementValues[number] = value
    log.set(id: id, element: idOfElement[number], stamp: stamp, value: value)
    used(1)
  }

  /// Moves an element.
  ///
  /// - Parameter target: the index it has afterwards.
  /// - Complexity: O(log runs).
  package mutating func move(from index: Int, to target: Int, stamp: Stamp) throws(ListFault) {
    guard index >= 0, index < count else { throw .noSuchIndex(index) }
    try move(index..<index + 1, to: target, stamp: stamp)
  }

  /// Moves elements that stand side by side; they stay so.
  ///
  /// - Parameter target: the index that the first of them has afterwards.
  /// - Throws: `ListFault`; nothing changes then.
  /// - Complexity: O(elements · log runs).
  package mutating func move(
    _ range: Range<Int>, to target: Int, stamp: Stamp
  ) throws(ListFault) {
    guard range.lowerBound >= 0, range.upperBound <= count else {
      throw .noSuchIndex(range.lowerBound < 0 ? range.lowerBound : range.upperBound - 1)
    }
    guard target >= 0, target <= count - range.count else { throw .noSuchIndex(target) }
    guard !range.isEmpty, target != range.lowerBound else { return }
    _ = try nextID(for: range.count)
    let stamp = advanced(stamp)
    for offset in 0..<range.count {
      // Those that have moved stand before or behind the rest.
      let source = target < range.lowerBound ? range.lowerBound + offset : range.lowerBound
      let goal = target < range.lowerBound ? target + offset : target + range.count - 1
      try moveOne(from: source, to: goal, stamp: stamp)
    }
  }

  private mutating func moveOne(
    from index: Int, to target: Int, stamp: Stamp
  ) throws(ListFault) {
    let id = ListID(replica: ownIndex, seq: nextSeq)
    let number = Int(elementOfSlot[try hideVisible(index)])
    let made = try insertSlots(id, count: 1, at: target)
    elementOfSlot.append(UInt32(truncatingIfNeeded: number))
    idOfSlot.append(id)
    // Nothing is later than what is written here now.
    slotOfElement[number] = UInt32(truncatingIfNeeded: made.first)
    positionStamps[number] = stamp
    log.move(
      id: id, element: idOfElement[number], left: idOfSlot(made.left),
      right: idOfSlot(made.right), stamp: stamp)
    used(1)
  }

  /// Removes elements that stand side by side.
  ///
  /// - Throws: `ListFault`; nothing changes then.
  /// - Complexity: O(elements · log runs).
  package mutating func remove(_ range: Range<Int>) throws(ListFault) {
    guard range.lowerBound >= 0, range.upperBound <= count else {
      throw .noSuchIndex(range.lowerBound < 0 ? range.lowerBound : range.upperBound - 1)
    }
    _ = try nextID(for: range.count)
    for _ in range {
      let number = Int(elementOfSlot[try hideVisible(range.lowerBound)])
      forget(number)
      log.remove(id: ListID(replica: ownIndex, seq: nextSeq), element: idOfElement[number])
      used(1)
    }
  }

  /// Hides the slot at an index.
  ///
  /// - Returns: its number.
  private mutating func hideVisible(_ index: Int) throws(ListFault) -> Int {
    do {
      return try slots.hideVisible(from: index, atMost: 1).lowerBound
    } catch {
      throw .sequence(error)
    }
  }

  // Inlined: the compiler copies the whole list to the stack for a call.
  @inline(__always)
  private func nextID(for count: Int) throws(ListFault) -> ListID {
    guard count <= Int(MovableList.sequenceMax) - Int(nextSeq) + 1,
      count <= RunSequence.unitsMax - slots.unitCount
    else { throw .full }
    return ListID(replica: ownIndex, seq: nextSeq)
  }

  /// Stamps are below it, so that a write here can always be later than all before.
  static let stampBound = Stamp(rawValue: .max)
  /// The largest sequence number.
  static let sequenceMax: UInt32 = 1 << 31

  private mutating func used(_ count: Int) {
    nextSeq += UInt32(truncatingIfNeeded: count)
    known[ownIndex] = nextSeq - 1
  }

  @inline(__always)
  private mutating func advanced(_ stamp: Stamp) -> Stamp {
    // There is a later one: merging refuses the last stamp.
    latestOwn = max(
      min(stamp, Stamp(rawValue: MovableList.stampBound.rawValue - 1)), latestOwn,
      Stamp(rawValue: latestForeign.rawValue + 1))
    return latestOwn
  }

  @inline(__always)
  private func idOfSlot(_ slot: Int?) -> ListID {
    slot.map { idOfSlot[$0] } ?? .none
  }

  private mutating func insertSlots(
    _ id: ListID, count: Int, at index: Int
  ) throws(ListFault) -> RunSequence.LocalInsertion {
    do {
      return try slots.insert(
        id: OperationID(replica: replica, seq: id.seq), length: count, at: index)
    } catch {
      throw .sequence(error)
    }
  }
}
