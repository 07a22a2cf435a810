import SequenceCRDT

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
    emit(
      .setRegister(
        element: reference, field: .resolution,
        value: Resolution(attempt: run.attempt, skips: skips).value, stamp: author.stamp),
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
