package import SequenceCRDT

/// The facts that are certain on a device that does not know the current state.
///
/// Such a device has a server, but is not connected or has not caught up. On another device, its
/// message may have failed, or a session may have got a host or been resumed. So its copy proves
/// nothing about the present.
package struct Apartness: Hashable, Sendable {
  /// Operations that never left this device, so no other device can have acted on them.
  package var unsent: [OperationRange]

  package init(unsent: [OperationRange] = []) { self.unsent = unsent }

  /// Whether all of these never left this device.
  fileprivate func holds(_ ids: some Collection<OperationID>) -> Bool {
    !ids.isEmpty
      && ids.allSatisfy { id in
        unsent.contains {
          $0.replica == id.replica && $0.first <= id.seq && id.seq <= $0.last
        }
      }
  }
}

extension Apartness {
  /// Whether no other device can know of a message.
  package func isAlone(_ id: MessageID, in workspace: Workspace) -> Bool {
    workspace.messageStates[id].map { holds($0.element.references) } ?? false
  }

  /// Whether no other device can know of a session.
  func isAlone(_ id: SessionID, in workspace: Workspace) -> Bool {
    workspace.sessionStates[id].map { holds($0.element.references) } ?? false
  }

  /// Why an offline device refuses to undo a change as a whole; nil if it does not. The undo would
  /// resume or delete something that the device knows too little about, so a direct command is
  /// better.
  func refusal(of change: UndoEntry, in workspace: Workspace) -> UndoObstacle? {
    for step in change.steps {
      guard let id = step.field.element.session, !isAlone(id, in: workspace) else { continue }
      switch change.label.kind {
      case .paused, .resumed:
        if step.letsGoOn { return .apart(ShellLine.session("queue resume", id)) }
      case .addedSession, .deletedSession:
        if step.takesSessionAway { return .apart(ShellLine.named("session delete", id)) }
      default: break
      }
    }
    return nil
  }

  /// The sessions in which something could start on another device once that has the change,
  /// whatever this device knows about hosts, pauses and messages there.
  func sessionsToPause(by change: UndoEntry, in workspace: Workspace) -> Set<SessionID> {
    var sessions: Set<SessionID> = []
    for step in change.steps {
      switch step.field.element {
      case .session(let id):
        let isArchival = step.archives || change.label.kind == .archived
        let brings = step.field.part == .tags(.exists) && !step.takesSessionAway && !isArchival
        if step.letsGoOn || brings { sessions.insert(id) }
      case .message(let id):
        guard let present = workspace.messageStates[id]?.session else { continue }
        switch (step.field.part, step.value) {
        // A message that exists only here blocks nothing on another device.
        case (.tags(.live), .notes(nil)) where isAlone(id, in: workspace): break
        // A choice among texts lets the message start.
        case (.tags(.edition), .files(let taken, _)) where taken.count < 2: break
        case (.tags(.live), _), (.tags(.edition), _), (.register(.priority), _),
          (.register(.notBefore), _), (.register(.heldUntil), _), (.register(.later), _),
          (.register(.needs), _):
          sessions.formUnion(UnmetNeed.sessions(around: id, in: workspace))
          sessions.insert(present)
        case (.place, .place(let place)):
          sessions.insert(present)
          if let session = place.session { sessions.insert(session) }
        default: break
        }
      }
    }
    return sessions
  }
}

extension UndoStep {
  /// Whether it removes the pause of a session.
  var letsGoOn: Bool { field.part == .tags(.paused) && value == .notes(nil) }
}

/// The messages that a session's host runs without a further command.
enum UndoTurns {
  /// Whether the host of a session could now start a message that it could not start before, or
  /// only later. It may start at once, or after the present work and the messages before it.
  ///
  /// A message that moves up because an earlier one was withdrawn does not count.
  ///
  /// - Complexity: O(messages in the session's queue).
  static func start(in id: SessionID, from before: Workspace, to after: Workspace) -> Bool {
    let now = turns(of: id, in: after)
    guard let first = now.first else { return false }
    let former = turns(of: id, in: before)
    let times = Dictionary(former.map { ($0.message, $0.earliest) }) { first, _ in first }
    let isSooner = now.contains { turn in
      times[turn.message].map { turn.earliest < $0 } ?? true
    }
    let left = Set(now.map(\.message))
    let order = former.lazy.map(\.message).filter(left.contains)
    guard now.contains(where: \.isSkipped) || former.contains(where: \.isSkipped) else {
      return isSooner || order.first != first.message
    }
    // A skipped message lets the messages after it start, whichever clock decides.
    let waits = Dictionary(former.map { ($0.message, $0.wait) }) { first, _ in first }
    return isSooner || Array(order) != now.map(\.message)
      || now.contains { turn in
        guard let wait = waits[turn.message], turn.wait != wait else { return false }
        return now.count > 1 || turn.wait.lacks(wait)
      }
  }

  private struct Turn {
    var message: MessageID
    /// The time before which it does not start: its own, or that of a message before it.
    var earliest: Int64
    var wait: Wait

    var isSkipped: Bool { wait != Wait() }
  }

  /// The things that a message waits for while the messages after it may start.
  private struct Wait: Equatable {
    /// The time until which it is skipped.
    var later: Int64?
    /// The messages that must succeed first, and whether each may do so without a decision.
    var needs: [MessageID: Bool] = [:]

    /// Whether another wait includes a message that this one does not wait for.
    func lacks(_ other: Wait) -> Bool { other.needs.keys.contains { needs[$0] == nil } }
  }

  /// The messages that a session's host runs, in order, without a further command.
  private static func turns(of id: SessionID, in workspace: Workspace) -> [Turn] {
    guard let session = workspace.head(of: id), session.exists, session.host != nil,
      !session.isPaused
    else { return [] }
    let messages = Dictionary(
      workspace.standingMessages(of: id).map { ($0.id, $0) }
    ) { first, _ in first }
    var turns: [Turn] = []
    var earliest: Int64 = 0
    for id in workspace.effectiveOrder(of: id) {
      guard let message = messages[id], !message.runState.isInFlight else { continue }
      let wait = Wait(
        later: message.later,
        needs: Dictionary(
          UnmetNeed.all(of: message, in: workspace).map { ($0.message, $0.isPending) }
        ) { first, _ in first })
      let waitsForALook = message.waitsForChoice(under: session.onMerge)
      if message.runState.isHalted || message.isIncomplete || waitsForALook {
        // The messages behind it may start until its own time comes.
        if wait == Wait() || message.runState.isHalted { break }
        continue
      }
      // While it is skipped, its own times delay no other message.
      if wait == Wait() { earliest = max(earliest, message.ownTime) }
      turns.append(
        Turn(
          message: id, earliest: max(earliest, message.ownTime, wait.later ?? 0), wait: wait))
    }
    return turns
  }
}

extension ShownMessage {
  /// The time before which its session cannot start anything because of it.
  fileprivate var ownTime: Int64 { max(notBefore ?? 0, heldUntil ?? 0) }
}

// MARK: - Races

/// The result that an undo or a redo would have, without changing anything.
package struct UndoTrial: Sendable {
  package let operations: [Operation]
  /// The workspace after it.
  package let workspace: Workspace

  /// - Returns: nil if the command is refused.
  package init?(
    of command: Command, in workspace: Workspace, with history: UndoHistory, apart: Apartness?
  ) {
    var (copy, history) = (workspace, history)
    let context = workspace.trialContext(apart)
    guard let outcome = try? copy.perform(command, in: context, history: &history).outcome else {
      return nil
    }
    (operations, self.workspace) = (outcome.operations, copy)
  }

  /// The messages that operations withdrew, and those whose text they changed. Both race with a
  /// start.
  package static func races(
    of operations: [Operation], from before: Workspace, to after: Workspace
  ) -> (withdrawn: Set<MessageID>, edited: Set<MessageID>) {
    var (withdrawn, edited): (Set<MessageID>, Set<MessageID>) = ([], [])
    for operation in operations {
      let reference: OperationID
      switch operation.body {
      case .clearTags(let id, .live, _): reference = id
      case .insertText(let insertion): reference = insertion.message
      case .deleteText(let deletion): reference = deletion.message
      default: continue
      }
      guard let id = after.element(introducedBy: reference)?.message,
        let old = before.shownMessage(id), old.stands, let new = after.shownMessage(id)
      else { continue }
      if !new.stands { withdrawn.insert(id) } else if old.text() != new.text() { edited.insert(id) }
    }
    return (withdrawn, edited)
  }
}

extension UndoObstacle {
  /// The obstacle that an agent already has a message; nil if the message is unknown.
  package static func start(of id: MessageID, in workspace: Workspace) -> UndoObstacle? {
    workspace.messageStates[id].map { .started(id, $0.ranBeginning, $0.session) }
  }
}
