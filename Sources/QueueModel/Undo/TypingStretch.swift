package import SequenceCRDT

/// A stretch of typing that no edition has ended yet. A user types it into one message, each
/// command at most `Limits.typingPauseMillisecondsMax` after the last, with no other command in
/// between. SPECIFICATION.md, section "Editions".
///
/// It is part of the change that undoes the typing (`UndoEntry.typing`), so that it is stored with
/// the letters. A program that opens the store after a crash ends the stretch.
package struct TypingStretch: Hashable, Sendable {
  /// The editions that were live when it began.
  package var seen: [OperationID]
  /// The connection over which a device that had caught up could send each letter at once. nil if
  /// the device was offline or behind at one of the letters, or the process has ended since. It is
  /// not stored.
  package var connection: UInt64?
  /// When it began, by the device's hybrid clock, in milliseconds since 1970, and the number of
  /// scalars typed and deleted in it. They give a user who never pauses a version from time to
  /// time. They are not stored.
  package var milliseconds: Int64 = 0
  package var scalarCount = 0

  /// Compares the stored parts, and the connections.
  package static func == (one: TypingStretch, other: TypingStretch) -> Bool {
    one.seen == other.seen && one.connection == other.connection
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(seen) }

  package init(seen: [OperationID], connection: UInt64?) {
    (self.seen, self.connection) = (seen, connection)
  }

  /// Extends this stretch by its next letter.
  func going(on later: TypingStretch) -> TypingStretch {
    var next = self
    next.connection = connection == later.connection ? connection : nil
    next.scalarCount += later.scalarCount
    return next
  }
}

extension UndoHistory {
  /// The open stretch of typing; nil if there is none.
  package var openTyping: TypingStretch? { openIndex.flatMap { undoable[$0].change.typing } }

  /// The message of the open stretch.
  package var typedMessage: MessageID? {
    openIndex.flatMap { undoable[$0].change.messages.first }
  }

  /// A user's next command first ends the stretch. So only changes that are not commands, such as
  /// settings, can follow it in the list.
  fileprivate var openIndex: Int? {
    guard let index = undoable.lastIndex(where: { !$0.change.isByCommand }),
      undoable[index].change.typing != nil
    else { return nil }
    return index
  }

  /// The change that contains the open stretch.
  var openChange: UndoEntry? { openIndex.map { undoable[$0].change } }

  /// Whether a command continues the open stretch.
  func goesOn(with command: Command, at milliseconds: Int64) -> Bool {
    guard let index = openIndex, let message = command.typedMessage else { return false }
    let open = undoable[index].change
    guard let stretch = open.typing else { return false }
    return (0...Limits.typingPauseMillisecondsMax).contains(milliseconds &- open.milliseconds)
      && stretch.scalarCount < Limits.stretchScalarsMax
      && milliseconds &- stretch.milliseconds < Limits.stretchMillisecondsMax
      && open.steps.contains { $0.field.element == .message(message) }
  }

  /// A new change with the stretch that it continues.
  func goingOn(_ change: UndoEntry) -> UndoEntry {
    guard let open = openTyping, let own = change.typing else { return change }
    var next = change
    next.typing = open.going(on: own)
    return next
  }

  /// Removes the open stretch from its change, because the next change has it. Others' typing keeps
  /// the two changes apart, but the stretch continues.
  mutating func handOverTyping(_ changes: inout Changes) {
    guard let index = openIndex else { return }
    var change = undoable[index].change
    change.typing = nil
    replaceChange(at: index, with: change, &changes)
  }

  /// Records that the open stretch has ended.
  ///
  /// - Parameter step: undoes its edition.
  private mutating func close(_ step: UndoStep?, _ changes: inout Changes) {
    guard let index = openIndex else { return }
    var change = undoable[index].change
    change.typing = nil
    if let step { change.add(edition: step) }
    replaceChange(at: index, with: change, &changes)
  }
}

/// The open stretch of typing with everything that its end changes. If the command that ended it
/// then changes nothing, the stretch is restored.
///
/// An edition is a tag of the message, so the message's text need not be kept.
struct OpenTyping {
  private let index: Int
  private let change: UndoEntry
  /// Nil if its message is not known.
  private let message: MessageID?
  private let element: ElementState?
  private let replica: ReplicaID
  private let known: UInt32

  /// - Returns: nil if there is none.
  init?(of history: UndoHistory, in workspace: Workspace, by replica: ReplicaID) {
    guard let index = history.openIndex else { return nil }
    self.index = index
    change = history.undoable[index].change
    message = change.messages.first
    element = message.flatMap { workspace.messageStates[$0]?.element }
    self.replica = replica
    known = workspace.vector[replica]
  }

  /// Continues the stretch, as if it had not ended.
  func goOn(in workspace: inout Workspace, _ history: inout UndoHistory) {
    if let message, let element { workspace.messageStates[message]?.element = element }
    workspace.vector[replica] = known
    var changes = UndoHistory.Changes()
    history.replaceChange(at: index, with: change, &changes)
  }
}

extension UndoEntry {
  /// Adds the inverse of an edition to those in the change.
  fileprivate mutating func add(edition step: UndoStep) {
    guard let index = steps.firstIndex(where: { $0.field == step.field }),
      case .files(let taken, let given) = steps[index].value,
      case .files(let more, let others) = step.value
    else { return steps.append(step) }
    steps[index].value = .files(taken: taken + more, given: given + others)
  }
}

extension Command {
  /// The message that it types in; nil for every other command.
  package var typedMessage: MessageID? {
    switch self {
    case .insertText(let id, _, _), .deleteText(let id, _): id
    default: nil
    }
  }

  /// The stretch that it begins, or the part of one that it continues; nil if it types nothing.
  ///
  /// - Parameter isOpen: whether it continues one, which has seen the editions.
  func typing(
    in workspace: Workspace, _ context: CommandContext, isOpen: Bool
  ) -> TypingStretch? {
    guard let id = typedMessage else { return nil }
    var stretch = TypingStretch(
      seen: isOpen ? [] : workspace.editionTags(of: id), connection: context.connection)
    stretch.milliseconds = context.stamp.milliseconds
    switch self {
    case .insertText(_, _, let text): stretch.scalarCount = text.unicodeScalars.count
    case .deleteText(_, let range):
      // A later check refuses places that no text has.
      let (count, isTooLong) = range.upperBound.subtractingReportingOverflow(range.lowerBound)
      stretch.scalarCount = isTooLong ? 0 : count
    default: break
    }
    return stretch
  }
}

extension UndoHistory {
  /// Ends the open stretch of typing with an edition of the text as it is here.
  ///
  /// It clears the editions that were live when the stretch began. If its author was connected and
  /// caught up from the beginning until now, it clears all live ones. A forgotten message gets no
  /// edition.
  ///
  /// - Parameter context: of the author; `connection` is the one over which the operations can be
  ///   sent now.
  /// - Returns: the operations; none if there is no open stretch. In either case, none is open
  ///   afterwards.
  package mutating func endTyping(
    of workspace: inout Workspace, in context: CommandContext
  ) -> (outcome: CommandOutcome, changes: Changes) {
    var changes = Changes()
    guard let open = openChange, let stretch = open.typing, let id = open.messages.first else {
      close(nil, &changes)
      return (CommandOutcome(notice: .unchanged), changes)
    }
    // If two others have saved the same text since, their editions stay: clearing them would move
    // the place of the next letter.
    let isSeen =
      stretch.connection != nil && stretch.connection == context.connection
      && workspace.shownMessage(id)?.textBesidesLetters == nil
    var recording = context
    recording.recordsUndo = true
    var ended: (outcome: CommandOutcome, steps: [UndoStep])?
    do throws(QueueError) {
      try workspace.warm(for: open)
      ended = try workspace.write(in: recording) { author in
        author.putEdition(of: id, over: isSeen ? nil : stretch.seen)
        return .done
      }
    } catch {
      // The session is damaged: the next command that touches it reports that.
      ended = nil
    }
    close(ended?.steps.first { $0.field.part == .tags(.edition) }, &changes)
    return (ended?.outcome ?? CommandOutcome(notice: .unchanged), changes)
  }
}
