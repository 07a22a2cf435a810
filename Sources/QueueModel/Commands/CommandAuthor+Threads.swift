import SequenceCRDT

/// The thread queue: what puts threads in it, moves them and takes them out.
extension CommandAuthor {
  /// Puts a thread at the end and locks it, as a send does.
  mutating func requeueThread(_ id: SessionID, reference: OperationID) {
    let element = workspace.sessionStates[id]?.element ?? ElementState()
    emit(
      .enqueueThread(
        Operation.EnqueueThread(
          session: reference, origins: workspace.threadSlots.originsAtEnd, stamp: stamp,
          clearsQueued: element.tagIDs(.queued), locks: true,
          clearsLocked: element.tagIDs(.locked))))
  }

  mutating func requeueThread(_ id: SessionID) throws(QueueError) -> CommandOutcome.Notice {
    let reference = try reference(of: try existingSession(id))
    Archival.bringBack(id, by: &self)
    requeueThread(id, reference: reference)
    return .done
  }

  /// Puts threads at the end on a user's request. A lock stays, because the work on the thread
  /// continues.
  mutating func addThreads(_ ids: [SessionID]) throws(QueueError) -> CommandOutcome.Notice {
    try checkBatch(ids.count)
    for id in ids { _ = try existingSession(id) }
    var added: Set<SessionID> = []
    for id in ids where added.insert(id).inserted {
      Archival.bringBack(id, by: &self)
      guard let session = workspace.sessionStates[id] else { continue }
      emit(
        .enqueueThread(
          Operation.EnqueueThread(
            session: try reference(of: session), origins: workspace.threadSlots.originsAtEnd,
            stamp: stamp, clearsQueued: session.element.tagIDs(.queued), locks: false,
            clearsLocked: [])))
    }
    return added.isEmpty ? .unchanged : .affected(count: added.count)
  }

  /// Removing a thread that is not queued is no error and changes nothing (S2-49).
  mutating func removeThreads(_ ids: [SessionID]) throws(QueueError) -> CommandOutcome.Notice {
    try checkBatch(ids.count)
    for id in ids { _ = try existingSession(id) }
    var count = 0
    for id in ids {
      guard let session = workspace.sessionStates[id], session.isInThreadQueue else { continue }
      emit(
        .clearTags(
          element: try reference(of: session), field: .queued,
          clears: session.element.tagIDs(.queued)))
      count += 1
    }
    return count == 0 ? .unchanged : .affected(count: count)
  }

  mutating func unlockThread(_ id: SessionID) throws(QueueError) -> CommandOutcome.Notice {
    let session = try existingSession(id)
    guard session.isLocked else { return .unchanged }
    emit(
      .clearTags(
        element: try reference(of: session), field: .locked,
        clears: session.element.tagIDs(.locked)))
    return .done
  }
}
