package import SequenceCRDT

/// What a device that does not know the present state knows for certain.
///
/// It has a server and is not connected to it, or has not caught up: on another device a message of its own
/// may have failed, a session may have got a host or been resumed, and what it has is no proof of
/// anything.
package struct Apartness: Hashable, Sendable {
  /// Operations that never left this device, so that nobody else can have acted on them.
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
  /// Whether nobody else can know of a message.
  package func isAlone(_ id: MessageID, in workspace: Workspace) -> Bool {
    workspace.messageStates[id].map { holds($0.element.references) } ?? false
  }

  /// Whether nobody else can know of a session.
  func isAlone(_ id: SessionID, in workspace: Workspace) -> Bool {
    workspace.sessionStates[id].map { holds($0.element.references) } ?? false
  }

  /// Why a device that is apart does not take a change back at all, since its person's plain command is the
  /// better word: it would let go on, or take away, what it knows too little of.
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

  /// The sessions in which something could start on another device once it has the change, whatever
  /// this device knows of hosts, pauses and messages there.
  func sessionsToPause(by change: UndoEntry, in workspace: Workspace) -> Set<SessionID> {
    var sessions: Set<SessionID> = []
    for step in change.steps {
      switch step.field.element {
      case .session(let id):
        if step.letsGoOn || step.field.part == .tags(.exists) && !step.takesSessionAway {
          sessions.insert(id)
        }
      case .message(let id):
        guard let present = workspace.messageStates[id]?.session else { continue }
        switch (step.field.part, step.value) {
        // What nobody else has holds nothing up.
        case (.tags(.live), .notes(nil)) where isAlone(id, in: workspace): break
        // A choice among texts lets the message go on.
        case (.tags(.edition), .files(let taken, _)) where taken.count < 2: break
        case (.tags(.live), _), (.tags(.edition), _), (.register(.priority), _),
          (.register(.notBefore), _), (.register(.heldUntil), _), (.register(.later), _):
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
  /// Whether it takes the pause of a session away.
  var letsGoOn: Bool { field.part == .tags(.paused) && value == .notes(nil) }
}

/// What a session's host runs without another word of anybody.
enum UndoTurns {
  /// Whether the host of a session could start something now that it could not, or not yet, before: at
  /// once, or when what is at work has ended and what stands before it is done.
  ///
  /// What stood behind a message that was withdrawn, and goes on in its turn, is not let start.
  ///
  /// - Complexity: O(standing messages of the session).
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
    guard now.contains(where: \.isLater) || former.contains(where: \.isLater) else {
      return isSooner || order.first != first.message
    }
    // A message that is passed over lets the messages behind it start, whatever clock counts.
    let wanted = Dictionary(former.map { ($0.message, $0.later) }) { first, _ in first }
    return isSooner || Array(order) != now.map(\.message)
      || now.contains { $0.later != wanted[$0.message] && now.count > 1 }
  }

  private struct Turn {
    var message: MessageID
    /// The time before which it does not start, its own or that of one before it.
    var earliest: Int64
    /// Until when it is passed over.
    var later: Int64?

    var isLater: Bool { later != nil }
  }

  /// What a session's host runs one after the other without another word of anybody.
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
      let waitsForALook = message.waitsForChoice(under: session.onMerge)
      if message.runState.isHalted || message.isIncomplete || waitsForALook {
        // What it is in the way of may start until its time comes.
        if message.later == nil || message.runState.isHalted { break }
        continue
      }
      // While it is passed over, its own times hold no other message up.
      if message.later == nil { earliest = max(earliest, message.ownTime) }
      turns.append(
        Turn(
          message: id, earliest: max(earliest, message.ownTime, message.later ?? 0),
          later: message.later))
    }
    return turns
  }
}

extension ShownMessage {
  /// The time before which its session starts nothing.
  fileprivate var ownTime: Int64 { max(notBefore ?? 0, heldUntil ?? 0) }
}

// MARK: - Races

/// What an undo or a redo would come to; nothing changes.
package struct UndoTrial: Sendable {
  package let operations: [Operation]
  /// The workspace behind it.
  package let workspace: Workspace

  /// - Returns: nil if it is refused.
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

  /// The messages that operations withdrew, and those that they gave another text: both race with a start.
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
  /// That an agent has got a message; nil if the message is not known.
  package static func start(of id: MessageID, in workspace: Workspace) -> UndoObstacle? {
    workspace.messageStates[id].map { .started(id, $0.ranBeginning, $0.session) }
  }
}
