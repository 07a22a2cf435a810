/// Changes made elsewhere.
extension MovableList {
  /// Takes an operation after all that it names and all earlier ones of its author. One that is
  /// known already changes nothing; of an insertion that is known in part, the rest is taken.
  ///
  /// - Throws: `ListFault`; nothing changes then.
  package mutating func merge(_ operation: ListOperation) throws(ListFault) {
    try merge(ListLog([operation]))
  }

  /// Takes operations in the order of their log.
  ///
  /// - Throws: `ListFault`; the operations before the one that it speaks of were taken then.
  /// - Complexity: O(log runs) an operation, O(1) a value of an insertion.
  package mutating func merge(_ other: ListLog) throws(ListFault) {
    var indexes: [Int] = []
    for replica in other.replicas {
      indexes.append(log.note(replica))
      if known.count < log.replicas.count { known.append(0) }
    }
    if slots.unitCount == 0 { reserve(for: other) }
    for run in other.runs { try merge(run, of: other, indexes: indexes) }
  }

  /// Makes room at once for what a whole history brings.
  private mutating func reserve(for other: ListLog) {
    var (inserted, moved) = (0, 0)
    for run in other.runs {
      switch run.kind {
      case .insert: inserted += run.count
      case .move: moved += run.count
      case .set, .remove: break
      }
    }
    elementOfSlot.reserveCapacity(inserted + moved)
    idOfSlot.reserveCapacity(inserted + moved)
    idOfElement.reserveCapacity(inserted)
    slotOfElement.reserveCapacity(inserted)
    positionStamps.reserveCapacity(inserted)
    valueWrites.reserveCapacity(inserted)
    elementValues.reserveCapacity(inserted)
  }

  private mutating func merge(
    _ run: ListLog.Run, of other: ListLog, indexes: [Int]
  ) throws(ListFault) {
    let author = indexes[run.id.replica]
    let replica = log.replicas[author]
    let first = OperationID(replica: replica, seq: run.id.seq)
    guard run.id.seq >= 1, run.count >= 1, let last = first.advanced(by: run.count - 1),
      last.seq <= MovableList.sequenceMax, run.stamp < MovableList.stampBound
    else { throw .invalid(first) }
    guard run.id.seq - 1 <= known[author] else {
      throw .missing(
        OperationRange(replica: replica, first: known[author] + 1, last: run.id.seq - 1))
    }
    let skipped = Int(known[author]) - Int(run.id.seq) + 1
    guard skipped < run.count else { return }
    switch run.kind {
    case .insert:
      try mergeInsertion(run, from: skipped, of: other, indexes: indexes)
    case .set:
      for unit in skipped..<run.count { try mergeWrite(run, unit, author: author, of: other) }
    case .move:
      for unit in skipped..<run.count { try mergeMove(run, unit, of: other, indexes: indexes) }
    case .remove:
      for unit in skipped..<run.count { try mergeRemoval(run, unit, author: author, of: other) }
    }
  }

  private mutating func mergeInsertion(
    _ run: ListLog.Run, from skipped: Int, of other: ListLog, indexes: [Int]
  ) throws(ListFault) {
    let id = ListID(
      replica: indexes[run.id.replica], seq: run.id.advanced(by: skipped).seq)
    let values = other.values[run.valueStart + skipped..<run.valueStart + run.count]
    let left = skipped == 0 ? local(run.left, indexes) : id.advanced(by: -1)
    let right = local(run.right, indexes)
    let slot = try integrate(id, length: values.count, left: left, right: right)
    introduce(id, firstSlot: slot, stamp: run.stamp, values: values)
    log.insert(
      id: id, left: left, right: right, stamp: run.stamp, values: values)
    merged(id.advanced(by: values.count - 1), stamp: run.stamp)
  }

  private mutating func mergeWrite(
    _ run: ListLog.Run, _ unit: Int, author: Int, of other: ListLog
  ) throws(ListFault) {
    let id = ListID(replica: author, seq: run.id.advanced(by: unit).seq)
    let number = try self.number(of: other.elements[run.elementStart + unit], in: other)
    let value = other.values[run.valueStart + unit]
    write(value, to: number, Write(stamp: run.stamp, writer: id))
    log.set(id: id, element: elementID(number), stamp: run.stamp, value: value)
    merged(id, stamp: run.stamp)
  }

  private mutating func mergeMove(
    _ run: ListLog.Run, _ unit: Int, of other: ListLog, indexes: [Int]
  ) throws(ListFault) {
    let id = ListID(replica: indexes[run.id.replica], seq: run.id.advanced(by: unit).seq)
    let number = try self.number(of: other.elements[run.elementStart + unit], in: other)
    let left = local(other.lefts[run.originStart + unit], indexes)
    let right = local(other.rights[run.originStart + unit], indexes)
    let slot = try integrate(id, length: 1, left: left, right: right)
    elementOfSlot.append(UInt32(truncatingIfNeeded: number))
    idOfSlot.append(id)
    try place(number, at: slot, Write(stamp: run.stamp, writer: id))
    log.move(
      id: id, element: elementID(number), left: left, right: right, stamp: run.stamp)
    merged(id, stamp: run.stamp)
  }

  private mutating func mergeRemoval(
    _ run: ListLog.Run, _ unit: Int, author: Int, of other: ListLog
  ) throws(ListFault) {
    let id = ListID(replica: author, seq: run.id.advanced(by: unit).seq)
    let number = try self.number(of: other.elements[run.elementStart + unit], in: other)
    try removeElement(number)
    log.remove(id: id, element: elementID(number))
    merged(id, stamp: .zero)
  }

  @inline(__always)
  private mutating func integrate(
    _ id: ListID, length: Int, left: ListID, right: ListID
  ) throws(ListFault) -> Int {
    do {
      return try slots.integrate(
        id: OperationID(replica: log.replicas[id.replica], seq: id.seq), length: length,
        left: log.global(left), right: log.global(right))
    } catch {
      if case .unknownOrigin(let origin) = error { throw .unknown(origin) }
      throw .sequence(error)
    }
  }

  @inline(__always)
  private func number(of element: ListID, in other: ListLog) throws(ListFault) -> Int {
    guard let id = other.global(element) else {
      throw .unknown(OperationID(replica: ReplicaID(rawValue: 0), seq: 0))
    }
    guard let number = number(of: id) else { throw .unknown(id) }
    return number
  }

  @inline(__always)
  func elementID(_ number: Int) -> ListID {
    idOfElement[number]
  }

  /// An id of another log as one of this log.
  @inline(__always)
  private func local(_ id: ListID, _ indexes: [Int]) -> ListID {
    id.isNone ? .none : ListID(replica: indexes[id.replica], seq: id.seq)
  }

  @inline(__always)
  private mutating func merged(_ last: ListID, stamp: Stamp) {
    known[last.replica] = last.seq
    if last.replica == ownIndex {
      nextSeq = last.seq + 1
      latestOwn = max(latestOwn, stamp)
    } else {
      latestForeign = max(latestForeign, stamp)
    }
  }
}
