/// Why a message that is to interrupt an agent stops nothing. It is queued all the same, as the first of
/// its priority.
public enum InterruptObstacle: Hashable, Sendable {
  /// The turn that its user saw has ended, or none ran.
  case over
  /// The agent is to stop already.
  case stopping
  /// Others sent what runs, and this device was paired only to queue messages.
  case ofOthers
  /// The message is no longer in the queue.
  case withdrawn
  /// The session is paused.
  case paused
  /// The message waits for this time, in milliseconds since 1970.
  case later(Int64)
  /// The message waits for another one.
  case needs(UnmetNeed)
  /// The message, or one before it, waits for a user or for the rest of a change.
  case undecided
}

extension InterruptObstacle {
  /// Why a turn is not stopped for a message; nil if the message could start once that turn has ended.
  ///
  /// A turn that is stopped for a message that cannot start would be lost for nothing.
  ///
  /// - Parameters:
  ///   - turn: the message on which the agent works, and the number of the attempt.
  ///   - time: in milliseconds since 1970.
  /// - Complexity: as for `dispatchState`.
  package static func found(
    for message: MessageID, stopping turn: (message: MessageID, attempt: UInt16),
    in workspace: Workspace, by time: Int64
  ) -> InterruptObstacle? {
    guard let running = workspace.shownMessage(turn.message),
      let next = workspace.dispatchState(of: message), running.runState.isInFlight,
      running.runState.run?.attempt == turn.attempt, running.session == next.session,
      turn.message != message
    else { return .over }
    guard running.withdrawal != .stopped else { return .stopping }
    guard next.stands else { return .withdrawn }
    guard workspace.head(of: next.session)?.isPaused != true else { return .paused }
    if let due = next.due, due > time { return .later(due) }
    if let need = next.unmetNeeds.mostPressing { return .needs(need) }
    let others = workspace.triedMessages(of: next.session).filter { $0.id != turn.message }
    let isBlocked =
      next.isIncomplete || next.isMerged || next.runState.isHalted
      || others.contains { $0.runState.isHalted || $0.runState.isInFlight }
    return isBlocked ? .undecided : nil
  }
}
