import SequenceCRDT

/// The thread queue: what puts threads in it, moves them and takes them out.
extension Workspace {
  /// Puts a thread at the end and locks it, as a send does.
  mutating func requeueThread(
    _ id: SessionID, reference: OperationID, by author: inout Author
  ) {
    let element = sessionStates[id]?.element ?? ElementState()
    emit(
      .enqueueThread(
        Operation.EnqueueThread(
          session: reference, origins: .init(threadSlots.originsAtEnd), stamp: author.stamp,
          clearsQueued: element.tagIDs(.queued), locks: true,
          clearsLocked: element.tagIDs(.locked))),
      by: &author)
  }

  mutating func requeueThread(
    _ id: SessionID, by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    requeueThread(id, reference: try reference(of: try existingSession(id)), by: &author)
    return .done
  }

  /// Puts threads at the end by hand. A lock stays as it is: who works on the thread still does.
  mutating func addThreads(
    _ ids: [SessionID], by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    try checkBatch(ids.count)
    for id in ids { _ = try existingSession(id) }
    var added: Set<SessionID> = []
    for id in ids where added.insert(id).inserted {
      guard let session = sessionStates[id] else { continue }
      emit(
        .enqueueThread(
          Operation.EnqueueThread(
            session: try reference(of: session), origins: .init(threadSlots.originsAtEnd),
            stamp: author.stamp, clearsQueued: session.element.tagIDs(.queued), locks: false,
            clearsLocked: [])),
        by: &author)
    }
    return added.isEmpty ? .unchanged : .affected(count: added.count)
  }

  mutating func moveThreads(
    _ ids: [SessionID], to target: ThreadTarget, by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    try checkBatch(ids.count)
    guard !ids.isEmpty else { throw .invalidMove(reason: "it names no thread") }
    guard Set(ids).count == ids.count else {
      throw .invalidMove(reason: "it names a thread twice")
    }
    for id in ids { try requireQueued(id) }
    let order = threadOrder()
    let moved = Set(ids)
    let others = order.filter { !moved.contains($0) }
    let index = try self.index(for: target, in: others, moving: moved, total: order.count)
    var wanted = others
    wanted.insert(contentsOf: ids, at: index)
    guard wanted != order else { return .unchanged }
    var left = index > 0 ? threadSlot(of: others[index - 1]) : nil
    let right = index < others.count ? threadSlot(of: others[index]) : nil
    for id in ids {
      let session = try existingSession(id)
      let origins =
        left.flatMap { threadSlots.origins(behind: $0) }
        ?? right.flatMap { threadSlots.origins(before: $0) } ?? threadSlots.originsAtEnd
      left = emit(
        .placeThread(
          session: try reference(of: session), origins: .init(origins), stamp: author.stamp),
        by: &author)
    }
    return .moved(position: index + 1)
  }

  /// The index among the threads that stay.
  private func index(
    for target: ThreadTarget, in others: [SessionID], moving ids: Set<SessionID>, total: Int
  ) throws(QueueError) -> Int {
    switch target {
    case .position(let position):
      guard position >= 1, position <= total else {
        throw .invalidPosition(position: position, count: total)
      }
      return min(position - 1, others.count)
    case .before(let neighbour), .after(let neighbour):
      guard !ids.contains(neighbour) else {
        throw .invalidMove(reason: "a thread cannot be moved next to itself")
      }
      try requireQueued(neighbour)
      let index = others.firstIndex(of: neighbour) ?? others.count
      if case .before = target { return index }
      return min(index + 1, others.count)
    }
  }

  private func requireQueued(_ id: SessionID) throws(QueueError) {
    guard try existingSession(id).isInThreadQueue else {
      throw .threadNotQueued(session: id.rawValue)
    }
  }

  private func threadSlot(of id: SessionID) -> OperationID? {
    sessionStates[id]?.threadPosition?.value
  }

  /// Removing a thread that is not queued is no error and changes nothing (S2-49).
  mutating func removeThreads(
    _ ids: [SessionID], by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    try checkBatch(ids.count)
    for id in ids { _ = try existingSession(id) }
    var count = 0
    for id in ids {
      guard let session = sessionStates[id], session.isInThreadQueue else { continue }
      emit(
        .clearTags(
          element: try reference(of: session), field: .queued,
          clears: session.element.tagIDs(.queued)),
        by: &author)
      count += 1
    }
    return count == 0 ? .unchanged : .affected(count: count)
  }

  mutating func unlockThread(
    _ id: SessionID, by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    let session = try existingSession(id)
    guard session.isLocked else { return .unchanged }
    emit(
      .clearTags(
        element: try reference(of: session), field: .locked,
        clears: session.element.tagIDs(.locked)),
      by: &author)
    return .done
  }
}
