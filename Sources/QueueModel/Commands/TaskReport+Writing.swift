import SequenceCRDT

extension TaskReport {
  /// Writes what a session's agent does. The session's thread is locked while the agent works, and
  /// visible while it waits for its user or is done. For a deleted session, only the progress and
  /// end of open work and the requests that no longer wait are written. That does not restore the
  /// session.
  func write(by author: inout CommandAuthor) throws(QueueError) -> CommandOutcome.Notice {
    guard let session = author.workspace.sessionStates[self.session],
      session.exists
        || session.task?.state.status.kind.isUnderWay == true
          && self.requests.allSatisfy({ session.task?.state.awaits($0.id) == true })
    else { throw .sessionNotFound(id: self.session.rawValue) }
    let before = session.task
    let current = before?.state
    let from = current?.status.kind ?? .idle
    let to = self.status.kind
    if self.status == current?.status ?? .idle,
      self.todoProgress == nil || self.todoProgress == current?.todoProgress,
      self.outcome == nil || self.outcome == current?.outcome,
      self.status.request == nil
        || self.alsoAwaits == current?.alsoAwaits && self.moreRequests == current?.moreRequests
    {
      return .unchanged
    }
    do {
      try from.checkMove(to: to)
    } catch {
      throw .illegalTaskMove(session: self.session.rawValue, move: error)
    }
    guard let fence = try fence(behind: before, author) else { return .unchanged }
    let begins = to == .processing && [.idle, .completed, .error].contains(from)
    let text = TaskText(
      status: self.status,
      start: begins ? self.milliseconds : current?.startTime ?? self.milliseconds,
      milliseconds: self.milliseconds,
      todo: self.todoProgress ?? (begins ? nil : current?.todoProgress),
      outcome: self.outcome ?? (self.status.request == nil ? current?.outcome : nil),
      alsoAwaits: self.alsoAwaits, moreRequests: self.moreRequests)
    let reference = try author.reference(of: session)
    if to != .idle { Archival.bringBack(self.session, by: &author) }
    // The first piece comes last: a replica that has it has the others.
    for (field, piece) in zip(RegisterField.taskPieces, text.pieces).reversed() {
      author.emit(.setRegister(element: reference, field: field, value: piece, stamp: fence))
    }
    let locks = session.element.tagIDs(.locked)
    if session.exists, to == .processing, from != .processing, locks.isEmpty {
      author.emit(.addTag(element: reference, field: .locked, clears: [], note: ""))
    } else if to != .processing, from == .processing, !locks.isEmpty {
      author.emit(.clearTags(element: reference, field: .locked, clears: locks))
    }
    return .done
  }

  /// The order of the write: one step above the register before it under the same token; nil if a
  /// later lease has fenced off the writer's.
  private func fence(
    behind before: TaskRecord?, _ author: CommandAuthor
  ) throws(QueueError) -> Stamp? {
    let last = before?.token ?? 0
    let token = min(
      self.token ?? max(last, author.workspace.latestToken(of: self.session)), Fence.tokenMax)
    guard token >= last else { return nil }
    let step = token == last ? (before?.step ?? 0) + 1 : 1
    guard step < TaskRecord.stepMax else {
      throw .limitReached(
        what: "states of one task under one lease", max: Int(TaskRecord.stepMax) - 1)
    }
    return Stamp(rawValue: token << 24 | step)
  }
}
