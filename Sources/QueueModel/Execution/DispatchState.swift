package import SequenceCRDT

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
  /// Milliseconds since 1970 before which it must not start; nil where nothing says so.
  package var earliest: Int64?
  /// Whether its queue is paused, waits for a decision, for the rest of a change of this message or for
  /// a look at its merged text, or another message of it is in flight.
  package var queueStands: Bool
  /// Whether a part of a change of it has not come yet.
  package var isIncomplete: Bool
  /// Whether its text was merged of several that were saved apart, and waits for a look: in a session
  /// whose `onMerge` is `run` only if nothing is left of the text.
  package var isMerged: Bool
}

extension DispatchState {
  fileprivate init(of message: ShownMessage, in workspace: Workspace) {
    // Whatever is in flight or halted was tried, so it stands in front of the rest.
    let others = workspace.triedMessages(of: message.session)
      .filter { $0.id != message.id }
    let session = workspace.head(of: message.session)
    let isMerged = message.waitsForChoice(under: session?.onMerge)
    let earliest = max(message.notBefore ?? 0, message.heldUntil ?? 0)
    self.init(
      session: message.session, stands: message.stands && session?.exists == true,
      runState: message.runState, tags: message.liveTags, text: message.text(),
      earliest: earliest == 0 ? nil : earliest,
      queueStands: session?.isPaused == true || message.runState.isHalted || message.isIncomplete
        || isMerged || others.contains { $0.runState.isInFlight || $0.runState.isHalted },
      isIncomplete: message.isIncomplete, isMerged: isMerged)
  }
}

extension Workspace {
  /// What there is to know of a message before it goes to an agent; nil where it is not known.
  ///
  /// - Complexity: O(messages that were tried + log slots); O(messages of the session) if it is packed.
  package func dispatchState(of id: MessageID) -> DispatchState? {
    shownMessage(id).map { DispatchState(of: $0, in: self) }
  }

  /// The message at the head of a queue, whether or not it may start.
  ///
  /// - Complexity: O(log slots); O(messages of the session) if it is packed.
  package func firstMessage(of session: SessionID) -> MessageID? {
    effectiveOrder(of: session, at: 0..<1).first
  }

  /// The message that a session's host may start next: the first of its queue; nil where it is empty
  /// or stands still, because it is paused, waits for a decision, for the rest of a change or for a look
  /// at a merged text, or has a message in flight.
  ///
  /// - Complexity: O(log slots); O(messages of the session) if it is packed.
  package func startable(
    in session: SessionID
  ) -> (message: MessageID, state: DispatchState)? {
    guard let head = firstMessage(of: session), let state = dispatchState(of: head),
      !state.queueStands, !state.runState.isInFlight
    else { return nil }
    return (head, state)
  }

  /// The sessions that exist and that a device is the host of, by id. O(sessions).
  package func sessions(hostedBy device: DeviceID) -> [SessionID] {
    heads.filter { $0.exists && $0.host == device }.map(\.key).sorted()
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
