import SequenceCRDT

/// What a device can undo and redo: its own changes, the latest last, bounded.
///
/// One command is one group. Typing is joined: commands that only change the text of one message,
/// each at most `Limits.typingPauseMillisecondsMax` behind the one before and none undone in
/// between, are one group of up to `Limits.typingScalarsMax` scalars. A fresh change clears what
/// could be redone. Beyond `Limits.undoGroupsMax` groups or `Limits.undoBytesMax` bytes the oldest
/// are forgotten.
package struct UndoHistory: Hashable, Sendable {
  /// A group with the number it is stored under; numbers rise.
  package struct Entry: Hashable, Sendable {
    package var number: Int64
    package var isUndone: Bool
    package var group: UndoGroup

    package init(number: Int64, isUndone: Bool, group: UndoGroup) {
      self.number = number
      self.isUndone = isUndone
      self.group = group
    }
  }

  /// What changed since the last look, for a store.
  package struct Changes: Hashable, Sendable {
    package var written: [Entry] = []
    /// Numbers that hold nothing any more.
    package var removed: [Int64] = []

    package init() {}

    package var isEmpty: Bool { written.isEmpty && removed.isEmpty }
  }

  /// What can be undone, the latest last.
  package private(set) var undoable = UndoStack()
  /// What can be redone, the latest undone last.
  package private(set) var redoable = UndoStack()
  private var nextNumber: Int64 = 1
  private var bytes = 0
  /// Fields of elements that undoing would give again; may hold some that it would not any more.
  private var watched: Set<Watch> = []

  private struct Watch: Hashable {
    var element: ElementName
    var field: TagField
  }

  package init() {}

  /// Takes up what a store held, in whatever order.
  package init(_ entries: some Sequence<Entry>) {
    let sorted = entries.sorted { $0.number < $1.number }
    undoable = UndoStack(sorted.filter { !$0.isUndone })
    redoable = UndoStack(sorted.filter(\.isUndone))
    nextNumber = (sorted.last?.number ?? 0) + 1
    for entry in sorted {
      bytes += entry.group.cost
      watch(entry.group)
    }
  }

  /// What the next undo takes back.
  package var undoLabel: UndoLabel? { undoable.last?.group.label }
  /// What the next redo does again.
  package var redoLabel: UndoLabel? { redoable.last?.group.label }

  /// How many changes can be undone.
  package var undoCount: Int { undoable.count }
  /// How many can be redone.
  package var redoCount: Int { redoable.count }

  /// Every group, to be stored anew.
  package var entries: [Entry] { Array(undoable) + Array(redoable) }

  // MARK: - Changes

  /// Notes how to take a command back.
  package mutating func record(_ group: UndoGroup?) -> Changes {
    guard var group else { return Changes() }
    var successors = UndoSuccessors()
    successors.note(group.replacements)
    group.replacements = []
    var changes = follow(successors)
    guard !group.isEmpty else { return changes }
    for entry in redoable { forget(entry, &changes) }
    let isFresh = redoable.isEmpty
    redoable = UndoStack()
    if isFresh, let joined = undoable.last?.group.joined(with: group), let last = undoable.popLast()
    {
      bytes -= last.group.cost
      push(joined, number: last.number, &changes)
    } else {
      push(group, number: nextNumber, &changes)
    }
    trim(&changes)
    return changes
  }

  private mutating func push(_ group: UndoGroup, number: Int64, _ changes: inout Changes) {
    let entry = Entry(number: number, isUndone: false, group: group)
    nextNumber = max(nextNumber, number + 1)
    undoable.append(entry)
    bytes += group.cost
    watch(group)
    changes.written.append(entry)
  }

  /// The latest group went over to the other side, as what takes its undoing back.
  mutating func undid(_ inverse: UndoGroup?, _ successors: UndoSuccessors) -> Changes {
    var (inverse, successors) = (inverse, successors)
    successors.note(inverse?.replacements ?? [])
    inverse?.replacements = []
    guard let last = undoable.popLast() else { return Changes() }
    var changes = follow(successors)
    replace(last, by: inverse, isUndone: true, &changes)
    return changes
  }

  mutating func redid(_ inverse: UndoGroup?, _ successors: UndoSuccessors) -> Changes {
    var (inverse, successors) = (inverse, successors)
    successors.note(inverse?.replacements ?? [])
    inverse?.replacements = []
    guard let last = redoable.popLast() else { return Changes() }
    var changes = follow(successors)
    replace(last, by: inverse, isUndone: false, &changes)
    return changes
  }

  private mutating func follow(_ successors: UndoSuccessors) -> Changes {
    successors.isEmpty
      ? Changes() : change(speakingOf: successors.concerned) { successors.applied(to: $0) }
  }

  private mutating func replace(
    _ entry: Entry, by inverse: UndoGroup?, isUndone: Bool, _ changes: inout Changes
  ) {
    forget(entry, &changes)
    guard let inverse, !inverse.isEmpty else { return }
    let fresh = Entry(number: nextNumber, isUndone: isUndone, group: inverse)
    nextNumber += 1
    bytes += inverse.cost
    watch(inverse)
    if isUndone { redoable.append(fresh) } else { undoable.append(fresh) }
    changes.written.append(fresh)
    trim(&changes)
  }

  private mutating func forget(_ entry: Entry, _ changes: inout Changes) {
    bytes -= entry.group.cost
    changes.written.removeAll { $0.number == entry.number }
    changes.removed.append(entry.number)
  }

  /// Forgets the changes of before a time, in milliseconds since 1970.
  package mutating func forget(before milliseconds: Int64) -> Changes {
    var changes = Changes()
    while let entry = undoable.first, entry.group.milliseconds < milliseconds {
      _ = undoable.popFirst()
      forget(entry, &changes)
    }
    while let entry = redoable.first, entry.group.milliseconds < milliseconds {
      _ = redoable.popFirst()
      forget(entry, &changes)
    }
    return changes
  }

  /// Forgets the oldest changes; with them what was undone beyond the limits.
  private mutating func trim(_ changes: inout Changes) {
    var dropped: [Entry] = []
    func isOver(_ count: Int) -> Bool {
      count > Limits.undoGroupsMax || bytes > Limits.undoBytesMax
    }
    while isOver(undoable.count), let entry = undoable.popFirst() {
      forget(entry, &changes)
      dropped.append(entry)
    }
    while isOver(redoable.count), let entry = redoable.popFirst() {
      forget(entry, &changes)
      dropped.append(entry)
    }
    let numbers = Set(dropped.map(\.number))
    changes.written.removeAll { numbers.contains($0.number) }
  }

  // MARK: - What others do

  private mutating func watch(_ group: UndoGroup) {
    for step in group.tags where step.restored != nil && step.put.isEmpty {
      watched.insert(Watch(element: step.element, field: step.field))
    }
  }

  /// Looks at merged operations of others: what they took away again after the own change is not
  /// given back by undoing that change, and nothing of a message that they forgot.
  package mutating func noteForeign(
    _ operations: [Operation], in workspace: Workspace
  ) -> Changes {
    guard !undoable.isEmpty || !redoable.isEmpty else { return Changes() }
    let forgotten = operations.forgottenMessages(in: workspace)
    var changes =
      forgotten.isEmpty ? Changes() : change(speakingOf: nil) { $0.without(forgotten) }
    guard !watched.isEmpty else { return changes }
    for operation in operations {
      for (reference, field, cleared) in operation.clearedFields where !cleared.isEmpty {
        guard let element = workspace.element(introducedBy: reference),
          watched.contains(Watch(element: element, field: field))
        else { continue }
        UndoHistory.mark(&undoable, element, field, cleared, &changes)
        UndoHistory.mark(&redoable, element, field, cleared, &changes)
      }
    }
    return changes
  }

  /// A clearing that names only tags that the own change cleared too did not see that change.
  private static func mark(
    _ entries: inout UndoStack, _ element: ElementName, _ field: TagField,
    _ cleared: [OperationID], _ changes: inout Changes
  ) {
    entries.change { entry in
      var marked = entry
      for (number, step) in entry.group.tags.enumerated()
      where step.element == element && step.field == field && !step.isOvertaken
        // Of a set of attachments others may be cleared; what comes back looks at itself alone.
        && field != .attachment
        && step.restored != nil && step.put.isEmpty && !cleared.allSatisfy(step.cleared.contains)
      {
        marked.group.tags[number].isOvertaken = true
      }
      guard marked.group != entry.group else { return nil }
      changes.written.removeAll { $0.number == entry.number }
      changes.written.append(marked)
      return marked
    }
  }

  /// Notes what a person did that no command of the queues does, and the command that reverses it.
  package mutating func noteAct(
    _ label: UndoLabel, reversedBy command: String, milliseconds: Int64
  ) -> Changes {
    Changes()
  }

  /// Forgets everything: what the groups speak of has other names now.
  package mutating func forgetAll() -> Changes {
    var changes = Changes()
    changes.removed = entries.map(\.number)
    let next = nextNumber
    self = UndoHistory()
    nextNumber = next
    return changes
  }

  /// - Parameters:
  ///   - names: what a group has to speak of to be looked at; nil looks at all.
  ///   - body: what a group becomes; nil where it stays as it is.
  private mutating func change(
    speakingOf names: Set<OperationID>?, _ body: (UndoGroup) -> UndoGroup?
  ) -> Changes {
    var changes = Changes()
    var growth = 0
    func changed(_ entry: Entry) -> Entry? {
      guard let fresh = body(entry.group), fresh != entry.group else { return nil }
      growth += fresh.cost - entry.group.cost
      var entry = entry
      entry.group = fresh
      changes.written.append(entry)
      return entry
    }
    undoable.change(speakingOf: names, changed)
    redoable.change(speakingOf: names, changed)
    bytes += growth
    return changes
  }
}

extension Workspace {
  /// Does a command with undo and redo: `history` learns how to take it back. One that is not to be
  /// taken back counts as somebody else's, and leaves what can be redone.
  ///
  /// - Throws: `QueueError`; nothing changed then.
  package mutating func perform(
    _ command: Command, in context: CommandContext, history: inout UndoHistory
  ) throws(QueueError) -> (outcome: CommandOutcome, changes: UndoHistory.Changes) {
    var outcome: CommandOutcome
    let changes: UndoHistory.Changes
    switch command {
    case .undo:
      guard let group = history.undoable.last?.group else { throw .nothingToUndo }
      var replay = UndoReplay()
      outcome = try undo(group, in: context, by: &replay)
      changes = history.undid(outcome.undo, replay.successors)
      if outcome.notice == .done { outcome.notice = .undone(UndoResult(label: group.label)) }
    case .redo:
      guard let group = history.redoable.last?.group else { throw .nothingToRedo }
      var replay = UndoReplay()
      outcome = try undo(group, in: context, by: &replay)
      changes = history.redid(outcome.undo, replay.successors)
      if outcome.notice == .done { outcome.notice = .redone(UndoResult(label: group.label)) }
    default:
      outcome = try perform(command, in: context)
      changes =
        context.recordsUndo
        ? history.record(outcome.undo) : history.noteForeign(outcome.operations, in: self)
    }
    return (outcome, changes)
  }
}

extension Operation {
  /// The element, the field and the tags of each clearing that gives nothing in its place.
  fileprivate var clearedFields: [(OperationID, TagField, [OperationID])] {
    switch body {
    case .clearTags(let element, let field, let clears): [(element, field, clears)]
    case .enqueueThread(let enqueue) where !enqueue.locks:
      [(enqueue.session, .locked, enqueue.clearsLocked)]
    default: []
    }
  }
}

extension [Operation] {
  /// The messages of which they took the last that these held, when they were over.
  fileprivate func forgottenMessages(in workspace: Workspace) -> Set<MessageID> {
    let touched = compactMap { operation -> MessageID? in
      switch operation.body {
      case .deleteText(let deletion): workspace.messageKeys[deletion.message]
      case .clearTags(let element, .attachment, _): workspace.messageKeys[element]
      default: nil
      }
    }
    return Set(touched).filter(workspace.isForgotten)
  }
}
