/// An ordered list of values with moves: replicas that know the same operations hold the same
/// list.
///
/// ```text
///   index ── slots (a RunSequence; a moved or removed element's old slots are hidden)
///                │ number of the slot
///            elementOfSlot ── elements: current slot, value, who wrote both and when
/// ```
///
/// A move inserts a fresh slot and writes the element's position; of concurrent moves the one with
/// the latest stamp holds, ties go by replica, then by sequence number, and the other's slot is
/// hidden. Values are written in the same way. A removal is for good: it wins over moves and
/// writes made at the same time, and over removals of the same element there is nothing to decide.
/// Elements are named by dense numbers here, by the id that inserted them elsewhere.
///
/// ```swift
/// var list = MovableList(replica: replica)
/// try list.insert([.text("first"), .text("second")], at: 0, stamp: clock.tick(milliseconds: now))
/// try list.move(from: 1, to: 0, stamp: clock.tick(milliseconds: now))
/// try other.merge(list.log.since(other.vector))
/// ```
package struct MovableList: Sendable {
  /// A last-writer-wins register's winner.
  struct Write: Hashable, Sendable {
    var stamp: Stamp
    var writer: ListID
  }

  /// Whose changes are made here.
  package let replica: ReplicaID
  /// The operations known here, in the order they were applied; after a restore, those since then.
  package internal(set) var log = ListLog()
  /// The slots in order; the visible ones are the list.
  package internal(set) var slots = RunSequence()
  /// The element of each slot, by the number of the slot.
  var elementOfSlot: [UInt32] = []
  /// The id of each slot, by its number.
  var idOfSlot: [ListID] = []
  // By the number of the element; apart, since most operations need one or two of them, each at
  // another place of memory.
  /// The id of the slot that introduced it.
  var idOfElement: [ListID] = []
  /// The number of the slot it is at; `removed` for ever after a removal.
  var slotOfElement: [UInt32] = []
  /// When its position was written, by the operation that inserted its slot.
  var positionStamps: [Stamp] = []
  var valueWrites: [Write] = []
  var elementValues: [ListValue] = []
  static let removed = UInt32.max
  /// The last known sequence number of each replica in the log's table.
  var known: [UInt32] = []
  let ownIndex: Int
  var nextSeq: UInt32
  /// The latest stamp of others, which later writes of one's own pass.
  var latestForeign = Stamp.zero
  var latestOwn = Stamp.zero

  /// An empty list.
  ///
  /// - Parameter firstSeq: the sequence number of the first operation made here, at least 1.
  package init(replica: ReplicaID, firstSeq: UInt32 = 1) {
    self.replica = replica
    nextSeq = max(1, firstSeq)
    ownIndex = log.note(replica)
    known = [nextSeq - 1]
  }

  /// How many elements the list has.
  package var count: Int { slots.visibleCount }

  /// What is known of each replica.
  package var vector: VersionVector {
    VersionVector(
      Dictionary(zip(log.replicas, known), uniquingKeysWith: { first, _ in first }))
  }

  /// The value at an index, or nil where there is none.
  ///
  /// - Complexity: O(log runs).
  package func value(at index: Int) -> ListValue? {
    slots.content(atVisible: index).map { elementValues[Int(elementOfSlot[$0])] }
  }

  /// The id of the element at an index, or nil where there is none.
  package func element(at index: Int) -> OperationID? {
    slots.content(atVisible: index).flatMap { slot in
      log.global(idOfElement[Int(elementOfSlot[slot])])
    }
  }

  /// Where an element is, or nil where it was removed or never was.
  ///
  /// - Complexity: O(log runs).
  package func index(of element: OperationID) -> Int? {
    guard let number = number(of: element), slotOfElement[number] != MovableList.removed else {
      return nil
    }
    return slots.visibleCount(beforeContent: Int(slotOfElement[number]))
  }

  /// All values in order.
  ///
  /// - Complexity: O(slots).
  package var values: [ListValue] {
    var values: [ListValue] = []
    values.reserveCapacity(count)
    slots.forEachVisible { stretch in
      for slot in stretch { values.append(elementValues[Int(elementOfSlot[slot])]) }
    }
    return values
  }

  /// The number of an element, or nil.
  @inline(__always)
  func number(of element: OperationID) -> Int? {
    guard let slot = slots.contentIndex(of: element) else { return nil }
    let number = Int(elementOfSlot[slot])
    // A slot that a move inserted is none that introduced its element.
    let id = idOfElement[number]
    return id.seq == element.seq && log.replicas[id.replica] == element.replica ? number : nil
  }

  /// Whether one write comes after another.
  @inline(__always)
  func isLater(_ write: Write, than other: Write) -> Bool {
    guard write.stamp == other.stamp else { return write.stamp > other.stamp }
    guard write.writer.replica != other.writer.replica else {
      return write.writer.seq > other.writer.seq
    }
    return log.replicas[write.writer.replica] > log.replicas[other.writer.replica]
  }
}

// MARK: What operations do, whoever made them

extension MovableList {
  mutating func hide(_ slot: Int) throws(ListFault) {
    do {
      try slots.hide(content: slot)
    } catch {
      throw .sequence(error)
    }
  }

  /// Makes elements for slots with consecutive numbers and ids, the last slots there are.
  mutating func introduce(
    _ id: ListID, firstSlot: Int, stamp: Stamp, values: ArraySlice<ListValue>
  ) {
    for (offset, value) in values.enumerated() {
      introduce(id.advanced(by: offset), slot: firstSlot + offset, stamp: stamp, value: value)
    }
  }

  @inline(__always)
  mutating func introduce(_ id: ListID, slot: Int, stamp: Stamp, value: ListValue) {
    elementOfSlot.append(UInt32(truncatingIfNeeded: idOfElement.count))
    idOfSlot.append(id)
    idOfElement.append(id)
    slotOfElement.append(UInt32(truncatingIfNeeded: slot))
    positionStamps.append(stamp)
    valueWrites.append(Write(stamp: stamp, writer: id))
    elementValues.append(value)
  }

  @inline(__always)
  mutating func write(_ value: ListValue, to number: Int, _ write: Write) {
    guard slotOfElement[number] != MovableList.removed,
      isLater(write, than: valueWrites[number])
    else { return }
    valueWrites[number] = write
    elementValues[number] = value
  }

  /// Gives the last slot there is to an element: its place from now on, if that write is later
  /// than the one that holds.
  @inline(__always)
  mutating func place(_ number: Int, at slot: Int, _ write: Write) throws(ListFault) {
    let old = slotOfElement[number]
    guard old != MovableList.removed,
      isLater(
        write, than: Write(stamp: positionStamps[number], writer: idOfSlot[Int(old)]))
    else {
      try hide(slot)
      return
    }
    try hide(Int(old))
    slotOfElement[number] = UInt32(truncatingIfNeeded: slot)
    positionStamps[number] = write.stamp
  }

  mutating func removeElement(_ number: Int) throws(ListFault) {
    let slot = slotOfElement[number]
    guard slot != MovableList.removed else { return }
    try hide(Int(slot))
    forget(number)
  }

  /// Drops what a removed element held.
  mutating func forget(_ number: Int) {
    slotOfElement[number] = MovableList.removed
    elementValues[number] = .integer(0)
  }
}
