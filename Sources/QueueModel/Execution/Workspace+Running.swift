package import SequenceCRDT

/// What executing adds to the queues: hosts, attempts, decisions about them, and waiting times.
extension Workspace {
  /// The message, if it stands in its queue and the agent does not have it.
  func idleMessage(_ id: MessageID) throws(QueueError) -> MessageState {
    let message = try waitingMessage(id)
    try checkIdle(id)
    return message
  }

  /// Refuses what the agent has already.
  func checkIdle(_ id: MessageID) throws(QueueError) {
    guard messageStates[id]?.element.runState.isInFlight != true else {
      throw .alreadyStarted(id: id.description)
    }
  }

  mutating func setHost(
    _ device: DeviceID?, of id: SessionID, by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    let session = try existingSession(id)
    guard session.host != device else { return .unchanged }
    emit(
      .setRegister(
        element: try reference(of: session), field: .host,
        value: .text(device?.description ?? ""), stamp: author.stamp),
      by: &author)
    return .done
  }

  /// Retries or skips a message whose latest attempt waits for a decision.
  mutating func resolve(
    _ id: MessageID, skips: Bool, by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    let message = try waitingMessage(id)
    guard message.element.runState.isHalted else {
      throw .messageNotFailed(id: id.description)
    }
    decide(id, skips: skips, by: &author)
    return .done
  }

  /// Writes a decision about the latest attempt.
  mutating func decide(_ id: MessageID, skips: Bool, by author: inout Author) {
    guard let element = messageStates[id]?.element, let reference = element.references.first,
      let run = element.runState.run
    else { return }
    let fence = Resolution.fence(
      attempt: run.attempt, milliseconds: author.stamp.milliseconds,
      behind: element.registers[.decision]?.stamp)
    emit(
      .setRegister(
        element: reference, field: .decision,
        value: Resolution(attempt: run.attempt, skips: skips).value, stamp: fence),
      by: &author)
  }

  /// Writes one of the times before which a message does not start.
  mutating func setTime(
    _ time: Int64?, _ field: RegisterField, of id: MessageID, by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    let message = try idleMessage(id)
    let time = time.map { max($0, 1) }
    guard message.element.milliseconds(field) != time,
      let reference = message.element.references.first
    else { return .unchanged }
    emit(
      .setRegister(
        element: reference, field: field, value: .number(UInt64(time ?? 0)), stamp: author.stamp),
      by: &author)
    return .done
  }

  /// Writes how far an attempt has come, and locks the session's thread while the agent works.
  mutating func reportRun(
    _ run: Run, of id: MessageID, by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    guard let message = messageStates[id], let reference = message.element.references.first,
      let session = sessionStates[message.session]
    else { throw .messageNotFound(id: id.description) }
    if let current = message.element.runState.run, current.fence >= run.fence { return .unchanged }
    emit(
      .setRegister(
        element: reference, field: .run, value: run.value, stamp: run.fence.stamp), by: &author)
    if run.phase == .cancelled, message.element.has(.live) {
      emit(
        .clearTags(
          element: reference, field: .live, clears: message.element.tagIDs(.live)), by: &author)
    }
    let locks = session.element.tagIDs(.locked)
    if run.phase.isInFlight, locks.isEmpty {
      emit(
        .addTag(
          element: try self.reference(of: session), field: .locked, clears: [], note: ""),
        by: &author)
    } else if !run.phase.isInFlight, !locks.isEmpty {
      emit(
        .clearTags(element: try self.reference(of: session), field: .locked, clears: locks),
        by: &author)
    }
    return .done
  }
}

/// What there is to know of a message before it goes to an agent.
package struct DispatchState: Hashable, Sendable {
  /// The session whose queue holds it.
  package var session: SessionID
  /// Whether it stands in the queue of a session that exists.
  package var stands: Bool
  package var runState: RunState
  /// Its `live` tags, by id.
  package var tags: [OperationID]
  package var text: String
  package var notBefore: Int64?
  package var heldUntil: Int64?
  /// Whether its queue is paused, waits for a decision or for the rest of a change of this message,
  /// or another message of it is in flight.
  package var queueStands: Bool
}

extension Workspace {
  /// What there is to know of a message before it goes to an agent; nil where it is not known.
  ///
  /// - Complexity: O(messages of the session).
  package func dispatchState(of id: MessageID) -> DispatchState? {
    guard let message = shownMessage(id) else { return nil }
    let others = standingMessages(of: message.session).filter { $0.id != id }
    let session = head(of: message.session)
    return DispatchState(
      session: message.session, stands: message.stands && session?.exists == true,
      runState: message.runState, tags: message.tags(), text: message.text(),
      notBefore: message.notBefore, heldUntil: message.heldUntil,
      queueStands: session?.isPaused == true || message.runState.isHalted || message.isIncomplete
        || others.contains { $0.runState.isInFlight || $0.runState.isHalted })
  }

  /// The message that a session's host may start next: the first of its queue; nil where it is empty
  /// or stands still, because it is paused, waits for a decision or for the rest of a change, or has a
  /// message in flight.
  ///
  /// - Complexity: O(standing messages of the session).
  package func startable(
    in session: SessionID
  ) -> (message: MessageID, state: DispatchState)? {
    guard let head = effectiveOrder(of: session).first, let state = dispatchState(of: head),
      !state.queueStands, !state.runState.isInFlight
    else { return nil }
    return (head, state)
  }

  /// The host of a session; nil where the session does not exist.
  package func host(of id: SessionID) -> DeviceID?? {
    guard let session = head(of: id), session.exists else { return nil }
    return .some(session.host)
  }

  /// The greatest token of a lease under which any message of a session was run; 0 for none.
  ///
  /// - Complexity: O(messages of the session).
  package func latestToken(of session: SessionID) -> UInt64 {
    shownMessages(of: session).reduce(0) { max($0, $1.runState.run?.token ?? 0) }
  }
}
