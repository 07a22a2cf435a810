import SequenceCRDT

/// Attempts at messages: the reports of their hosts, the decisions of their users, and when they
/// may start.
extension CommandAuthor {
  /// Retries or skips a message whose latest attempt waits for a decision.
  mutating func resolve(_ id: MessageID, skips: Bool) throws(QueueError) -> CommandOutcome.Notice {
    let message = try waitingMessage(id)
    guard message.element.runState.isHalted else {
      throw .messageNotFailed(id: id.description)
    }
    decide(id, skips: skips)
    return .done
  }

  /// Writes a decision about the latest attempt.
  mutating func decide(_ id: MessageID, skips: Bool) {
    guard let element = workspace.messageStates[id]?.element,
      let reference = element.references.first,
      let run = element.runState.run
    else { return }
    let fence = Resolution.fence(
      attempt: run.attempt, milliseconds: stamp.milliseconds,
      behind: element.registers[.decision]?.stamp)
    emit(
      .setRegister(
        element: reference, field: .decision,
        value: Resolution(attempt: run.attempt, skips: skips).value, stamp: fence))
  }

  /// Writes one of the times before which a message does not start.
  mutating func setTime(
    _ time: Int64?, _ field: RegisterField, of id: MessageID
  ) throws(QueueError) -> CommandOutcome.Notice {
    let message = try idleMessage(id)
    let time = time.map { max($0, 1) }
    guard message.element.milliseconds(field) != time,
      let reference = message.element.references.first
    else { return .unchanged }
    emit(
      .setRegister(
        element: reference, field: field, value: .number(UInt64(time ?? 0)), stamp: stamp))
    return .done
  }

  /// Removes the time of a limit and that of a user, and what the message waits for.
  mutating func startNow(_ id: MessageID) throws(QueueError) -> CommandOutcome.Notice {
    let limit = try setTime(nil, .notBefore, of: id)
    let later = try setTime(nil, .later, of: id)
    let needs = try MessageNeeds.release(id, by: &self)
    return [limit, later, needs].contains(.done) ? .done : .unchanged
  }

  /// A time that a message can wait for: by the author's own clock, it lies in the future.
  func checkedLater(_ time: Int64) throws(QueueError) -> Int64 {
    guard time > context.time else { throw .timePassed }
    return time
  }

  /// Withdraws a message and says that its agent is to stop, unless this attempt at it has ended or a later one
  /// has begun. If the message was cancelled as the attempt began, only the stop is written.
  mutating func stop(
    _ attempt: UInt16, at id: MessageID
  ) throws(QueueError) -> CommandOutcome.Notice {
    guard let message = workspace.messageStates[id] else {
      throw .messageNotFound(id: id.description)
    }
    let run = message.element.runState.run
    let isInFlight = run?.attempt == attempt && run?.phase.isInFlight == true
    let isOver = run.map { $0.attempt >= attempt } == true && !isInFlight
    let isLive = message.element.has(.live)
    let isKnown = message.element.registers[.stopped]?.value == .number(UInt64(attempt))
    guard isLive ? !isOver : isInFlight && !isKnown,
      let reference = message.element.references.first
    else { return .unchanged }
    emit(
      .setRegister(
        element: reference, field: .stopped, value: .number(UInt64(attempt)), stamp: stamp))
    if isLive { withdraw(id) }
    return .done
  }

  /// Writes how far an attempt has come, and locks the session's thread while the agent works.
  mutating func reportRun(
    _ run: Run, of id: MessageID
  ) throws(QueueError) -> CommandOutcome.Notice {
    guard let message = workspace.messageStates[id],
      let reference = message.element.references.first,
      let session = workspace.sessionStates[message.session]
    else { throw .messageNotFound(id: id.description) }
    if let current = message.element.runState.run, current.fence >= run.fence { return .unchanged }
    let shown = RanText.shown(before: run, of: message, got: context.ranText)
    emit(
      .setRegister(
        element: reference, field: .run, value: run.value, stamp: run.fence.stamp))
    if let shown {
      try RanText.settle(shown, of: id, got: context.ranText, attempt: run.attempt, by: &self)
    }
    if run.phase == .cancelled, message.element.has(.live) {
      emit(
        .clearTags(
          element: reference, field: .live, clears: message.element.tagIDs(.live)))
    }
    let locks = session.element.tagIDs(.locked)
    if run.phase.isInFlight, locks.isEmpty {
      emit(
        .addTag(
          element: try self.reference(of: session), field: .locked, clears: [], note: ""))
    } else if !run.phase.isInFlight, !locks.isEmpty {
      emit(.clearTags(element: try self.reference(of: session), field: .locked, clears: locks))
    }
    return .done
  }
}
