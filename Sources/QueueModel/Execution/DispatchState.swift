package import SequenceCRDT

/// The state that decides whether a message goes to an agent.
package struct DispatchState: Hashable, Sendable {
  /// The session whose queue holds it.
  package var session: SessionID
  /// Whether it is in the queue of an existing session.
  package var stands: Bool
  package var runState: RunState
  /// Its `live` tags, by id.
  package var tags: [OperationID]
  package var text: String
  /// The time before which its session starts nothing, in milliseconds since 1970; nil if there is
  /// none.
  package var earliest: Int64?
  /// The time before which it is not in line, in milliseconds since 1970; nil if it always is.
  package var later: Int64?
  /// The messages that it waits for: until they have succeeded, it is not in line.
  package var unmetNeeds: [UnmetNeed]
  /// Whether its queue is blocked: it is paused, has another message in flight, or waits for a
  /// decision, for the rest of a change to this message, for a check of its merged text or for a
  /// text.
  package var queueStands: Bool
  /// Whether a part of a change to it has not arrived yet.
  package var isIncomplete: Bool
  /// Whether its text was merged from several that were saved independently, and waits for a check.
  /// If the session's `onMerge` is `run`, it waits only if nothing is left of the text.
  package var isMerged: Bool
  /// Whether nothing is left of its text, and it has no file: an agent would get an empty prompt.
  package var isBlank: Bool
}

extension DispatchState {
  /// The time before which it must not start, for any reason; nil if it may start at once.
  package var due: Int64? {
    guard let earliest, let later else { return earliest ?? later }
    return max(earliest, later)
  }

  fileprivate init(of message: ShownMessage, in workspace: Workspace) {
    // A message in flight or halted was tried, so it precedes the rest.
    let others = workspace.triedMessages(of: message.session)
      .filter { $0.id != message.id }
    let session = workspace.head(of: message.session)
    let isMerged = message.waitsForChoice(under: session?.onMerge)
    let text = message.text()
    let isBlank = text.trimmedOfWhitespace().isEmpty && message.attachments.isEmpty
    let earliest = max(message.notBefore ?? 0, message.heldUntil ?? 0)
    self.init(
      session: message.session, stands: message.stands && session?.exists == true,
      runState: message.runState, tags: message.liveTags, text: text,
      earliest: earliest == 0 ? nil : earliest, later: message.later,
      unmetNeeds: UnmetNeed.all(of: message, in: workspace),
      queueStands: session?.isPaused == true || message.runState.isHalted || message.isIncomplete
        || isMerged || isBlank
        || others.contains { $0.runState.isInFlight || $0.runState.isHalted },
      isIncomplete: message.isIncomplete, isMerged: isMerged, isBlank: isBlank)
  }
}

/// The message of a queue that is the first in line at a time. A postponed message is skipped until
/// its time, and one that waits for others until these have succeeded; both keep their places. A
/// message that is in flight or waits for a decision is never skipped.
package struct QueueLine: Hashable, Sendable {
  /// The first in line; nil if there is none.
  package private(set) var first: MessageID?
  /// When the first of the skipped messages comes into line, in milliseconds since 1970; nil if
  /// none is skipped.
  package private(set) var next: Int64?
  /// That message; the first one if there are several.
  package private(set) var nextMessage: MessageID?
  /// The first message that is skipped because it waits for others; nil if there is none.
  package private(set) var needy: MessageID?

  /// The maximum number of places that are examined together.
  private static let placesMax = 256

  /// - Parameters:
  ///   - time: in milliseconds since 1970.
  ///   - isPassedOver: whether a message is skipped for another reason.
  /// - Complexity: O(skipped messages + log slots); O(messages of the session) if it is packed.
  package init(
    of session: SessionID, in workspace: Workspace, by time: Int64,
    besides isPassedOver: (MessageID) -> Bool = { _ in false }
  ) {
    var places = 0..<1
    var circles = NeedCircles()
    while true {
      let messages = workspace.effectiveOrder(of: session, at: places)
      for id in messages {
        if !skips(id, in: workspace, by: time, &circles), !isPassedOver(id) {
          first = id
          return
        }
      }
      guard messages.count == places.count else { return }
      places = places.upperBound..<places.upperBound + min(places.count * 4, Self.placesMax)
    }
  }

  /// Whether a message is not in line; records its reason to wait.
  private mutating func skips(
    _ id: MessageID, in workspace: Workspace, by time: Int64, _ circles: inout NeedCircles
  ) -> Bool {
    guard let message = workspace.shownMessage(id), !message.runState.isInFlight,
      !message.runState.isHalted
    else { return false }
    if let later = message.later, later > time {
      if later < next ?? .max { (next, nextMessage) = (later, id) }
      return true
    }
    guard !UnmetNeed.all(of: message, in: workspace, &circles).isEmpty else { return false }
    needy = needy ?? id
    return true
  }

  /// Whether a skipped message may still come into line.
  package var isAwaited: Bool { next != nil || needy != nil }

  /// The first message in line, if its queue may continue.
  package func startable(in workspace: Workspace) -> (message: MessageID, state: DispatchState)? {
    guard let first, let state = workspace.dispatchState(of: first), !state.queueStands,
      !state.runState.isInFlight
    else { return nil }
    return (first, state)
  }

  /// Whether any message of a session may start: now, when its time comes, or when the messages
  /// that it waits for have succeeded.
  ///
  /// - Complexity: as for a line.
  package static func comes(to session: SessionID, in workspace: Workspace) -> Bool {
    guard let head = workspace.head(of: session), !head.isPaused else { return false }
    let line = QueueLine(of: session, in: workspace, by: 0)
    return line.isAwaited || line.startable(in: workspace) != nil
  }
}

extension Workspace {
  /// The state of a message before it goes to an agent; nil if it is unknown.
  ///
  /// - Complexity: O(messages that were tried + log slots); O(messages of the session) if it is
  ///   packed.
  package func dispatchState(of id: MessageID) -> DispatchState? {
    shownMessage(id).map { DispatchState(of: $0, in: self) }
  }

  /// The messages that a message waits for, if it waits in line; empty if it is unknown.
  ///
  /// - Complexity: O(messages that lead to each other by their needs); also O(messages of each
  ///   packed session that holds one).
  public func unmetNeeds(of id: MessageID) -> [UnmetNeed] {
    shownMessage(id).map { UnmetNeed.all(of: $0, in: self) } ?? []
  }

  /// The message at the front of a queue, whether or not it may start.
  ///
  /// - Complexity: O(log slots); O(messages of the session) if it is packed.
  package func firstMessage(of session: SessionID) -> MessageID? {
    effectiveOrder(of: session, at: 0..<1).first
  }

  /// The message that a session's host may start next: the first in line at a time. nil if there is
  /// none or the queue is blocked. A queue is blocked if it is paused, has a message in flight, or
  /// waits for a decision, for the rest of a change, for the check of a merged text or for a text.
  ///
  /// - Parameter time: in milliseconds since 1970, by the clock of the device that decides.
  /// - Complexity: O(messages that are not in line + log slots); O(messages of the session) if it
  ///   is packed.
  package func startable(
    in session: SessionID, by time: Int64
  ) -> (message: MessageID, state: DispatchState)? {
    QueueLine(of: session, in: self, by: time).startable(in: self)
  }

  /// The existing sessions whose host is this device, by id. O(sessions).
  package func sessions(hostedBy device: DeviceID) -> [SessionID] {
    heads.filter { $0.exists && $0.host == device }.map(\.key).sorted()
  }

  /// The host of a session; nil if the session does not exist.
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
