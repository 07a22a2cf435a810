import SequenceCRDT

/// The changes of a device's user that it can undo and redo, the latest last, in bounded space.
///
/// One command is one change. Typing is joined into changes of up to `Limits.typingScalarsMax`
/// scalars: commands that only change the text of one message, each at most
/// `Limits.typingPauseMillisecondsMax` after the previous one, with no undo in between. The parts
/// of one import are one change, and two imports are two. A new change clears the redo list. Beyond
/// `Limits.undoGroupsMax` changes or `Limits.undoBytesMax` bytes, the oldest are removed.
package struct UndoHistory: Hashable, Sendable {
  /// What changed since the last save, for a store.
  package struct Changes: Hashable, Sendable {
    package var written: [Entry] = []
    /// Numbers that no longer belong to a change.
    package var removed: [Int64] = []

    package init() {}

    package var isEmpty: Bool { written.isEmpty && removed.isEmpty }

    mutating func write(_ entry: Entry) {
      written.removeAll { $0.number == entry.number }
      written.append(entry)
    }

    fileprivate mutating func remove(_ entry: Entry) { remove(entry.number) }

    private mutating func remove(_ number: Int64) {
      written.removeAll { $0.number == number }
      removed.append(number)
    }

    /// Combines these changes and later ones.
    func followed(by later: Changes) -> Changes {
      var all = self
      for number in later.removed { all.remove(number) }
      for entry in later.written { all.write(entry) }
      return all
    }
  }

  /// The changes that can be undone, the latest last. A slice forgets its first entry without
  /// moving the others.
  package internal(set) var undoable: ArraySlice<Entry> = []
  /// The changes that can be redone, the latest undone last.
  package private(set) var redoable: [Entry] = []
  private var nextNumber: Int64 = 1
  private var bytes = 0

  package init() {}

  /// Loads the entries of a store, in any order.
  package init(_ entries: some Sequence<Entry>) {
    let sorted = entries.sorted { $0.number < $1.number }
    undoable = sorted.filter { !$0.isUndone }[...]
    redoable = sorted.filter(\.isUndone)
    nextNumber = (sorted.last?.number ?? 0) &+ 1
    bytes = sorted.reduce(0) { $0 + $1.change.cost }
  }

  /// How many changes can be undone.
  package var undoCount: Int { undoable.count }
  /// How many can be redone.
  package var redoCount: Int { redoable.count }
  /// The label of the latest change.
  package var undoLabel: UndoLabel? { undoable.last?.change.label }
  /// The label of the change that the latest undo took back.
  package var redoLabel: UndoLabel? { redoable.last?.change.label }
  /// The label of the change that an undo or a redo concerns; nil if there is none.
  package func label(of command: Command) -> UndoLabel? {
    let (entries, number): (ArraySlice<Entry>, Int64?)
    switch command {
    case .undo(let change, _): (entries, number) = (undoable, change)
    case .redo(let change): (entries, number) = (redoable[...], change)
    default: return nil
    }
    guard let number else { return entries.last?.change.label }
    return entries.first { $0.number == number }?.change.label
  }

  /// Every change, for storing all of them again.
  package var entries: [Entry] { undoable + redoable }

  subscript(undone isUndone: Bool) -> ArraySlice<Entry> {
    isUndone ? redoable[...] : undoable
  }

  // MARK: - Changes

  /// Records a new change. Continued typing and further parts of an import join the latest one.
  ///
  /// - Returns: the number of the change; nil if there is nothing to record.
  mutating func record(
    _ change: UndoEntry, in workspace: Workspace, _ changes: inout Changes
  ) -> Int64? {
    guard !change.isEmpty else { return nil }
    var change = goingOn(change)
    let continuesImport = change.continuesImport
    change.continuesImport = false
    let isFresh = redoable.isEmpty
    for entry in redoable { forget(entry, &changes) }
    redoable = []
    if isFresh, let last = undoable.last?.change,
      let joined = continuesImport
        ? last.joined(withPart: change) : last.joined(with: change, in: workspace)
    {
      replaceChange(at: undoable.endIndex - 1, with: joined, &changes)
    } else {
      if change.typing != nil { handOverTyping(&changes) }
      append(Entry(number: nextNumber, isUndone: false, change: change), &changes)
    }
    let number = undoable.last?.number
    trim(&changes)
    return number
  }

  /// Moves a change between undo and redo, replaced by its inverse.
  mutating func turn(
    _ number: Int64, into inverse: UndoEntry, isUndone: Bool, _ changes: inout Changes
  ) -> Int64? {
    drop(number, &changes)
    guard !inverse.isEmpty else { return nil }
    let fresh = nextNumber
    append(Entry(number: fresh, isUndone: isUndone, change: inverse), &changes)
    trim(&changes)
    return fresh
  }

  private mutating func append(_ entry: Entry, _ changes: inout Changes) {
    nextNumber = max(nextNumber, entry.number &+ 1)
    if entry.isUndone { redoable.append(entry) } else { undoable.append(entry) }
    bytes += entry.change.cost
    changes.write(entry)
  }

  /// Replaces a change that can be undone by a more complete one.
  mutating func replaceChange(at index: Int, with change: UndoEntry, _ changes: inout Changes) {
    bytes += change.cost - undoable[index].change.cost
    undoable[index].change = change
    changes.write(undoable[index])
  }

  /// Removes a change, whose effect stays; undos of older changes do not touch it, either.
  mutating func skip(_ number: Int64, _ changes: inout Changes) {
    guard let index = undoable.firstIndex(where: { $0.number == number }) else { return }
    let fields = Set(undoable[index].change.steps.map(\.field))
    drop(number, &changes)
    guard !fields.isEmpty else { return }
    mark(in: undoable.startIndex..<index, &changes) { step, _ in fields.contains(step.field) }
  }

  mutating func drop(_ number: Int64, _ changes: inout Changes) {
    for entry in entries where entry.number == number { forget(entry, &changes) }
    undoable.removeAll { $0.number == number }
    redoable.removeAll { $0.number == number }
  }

  private mutating func forget(_ entry: Entry, _ changes: inout Changes) {
    bytes -= entry.change.cost
    changes.remove(entry)
  }

  /// Removes the changes from before a time, in milliseconds since 1970.
  package mutating func forget(before milliseconds: Int64) -> Changes {
    var changes = Changes()
    for entry in entries where entry.change.milliseconds < milliseconds { forget(entry, &changes) }
    undoable.removeAll { $0.change.milliseconds < milliseconds }
    redoable.removeAll { $0.change.milliseconds < milliseconds }
    return changes
  }

  /// Removes the oldest changes, including undone ones, beyond the limits.
  private mutating func trim(_ changes: inout Changes) {
    func exceeds(_ count: Int) -> Bool {
      count > Limits.undoGroupsMax || count > 0 && bytes > Limits.undoBytesMax
    }
    while exceeds(undoable.count) {
      let oldest = undoable[undoable.startIndex]
      // The slice keeps its memory until it grows.
      undoable[undoable.startIndex] = .forgotten
      undoable.removeFirst()
      forget(oldest, &changes)
    }
    while exceeds(redoable.count) { forget(redoable.removeFirst(), &changes) }
  }

  /// Records a user's change that is not a command of the queues, with the previous value.
  package mutating func noteAct(
    _ label: UndoLabel, former: String?, milliseconds: Int64, in workspace: Workspace
  ) -> (changes: Changes, number: Int64?) {
    var change = UndoEntry(label: label, milliseconds: milliseconds)
    change.isByCommand = true
    change.former = former
    var changes = Changes()
    let number = record(change, in: workspace, &changes)
    return (changes, number)
  }

  // MARK: - Others' changes

  /// Records operations that are not this user's changes: undoing an earlier change by this user
  /// does not overwrite them.
  ///
  /// - Parameters:
  ///   - before: the state before the operations.
  ///   - areOfOthers: whether another device's user may have made them.
  /// - Complexity: O(operations + undoable changes).
  package mutating func noteForeign(
    _ operations: [Operation], from before: Workspace, to after: Workspace, areOfOthers: Bool
  ) -> Changes {
    var changes = Changes()
    guard !undoable.isEmpty || !redoable.isEmpty, !operations.isEmpty else { return changes }
    let touched = TouchedFields(operations, in: after)
    guard !touched.fields.isEmpty else { return changes }
    markAll(&changes) { step, change in
      if areOfOthers, touched.works(on: change) { change.isShared = true }
      if areOfOthers, touched.rewrites(change) { change.isRewritten = true }
      return touched.takes(step, from: before, to: after)
    }
    return changes
  }

  /// Takes over a state: every difference counts as other users' work.
  ///
  /// - Complexity: O(undoable changes, and their texts).
  package mutating func noteOtherState(from before: Workspace, to after: Workspace) -> Changes {
    var changes = Changes()
    markAll(&changes) { step, change in
      guard before.writers(of: step.field) != after.writers(of: step.field) else { return false }
      (change.isShared, change.isRewritten) = (true, true)
      return true
    }
    return changes
  }

  private mutating func markAll(
    _ changes: inout Changes, _ isTaken: (UndoStep, inout UndoEntry) -> Bool
  ) {
    mark(in: undoable.indices, &changes, isTaken)
    for index in redoable.indices {
      if let marked = UndoHistory.marked(redoable[index], isTaken) {
        redoable[index] = marked
        changes.write(marked)
      }
    }
  }

  private mutating func mark(
    in indices: Range<Int>, _ changes: inout Changes,
    _ isTaken: (UndoStep, inout UndoEntry) -> Bool
  ) {
    for index in indices {
      if let marked = UndoHistory.marked(undoable[index], isTaken) {
        undoable[index] = marked
        changes.write(marked)
      }
    }
  }

  private static func marked(
    _ entry: Entry, _ isTaken: (UndoStep, inout UndoEntry) -> Bool
  ) -> Entry? {
    var change = entry.change
    var isMarked = false
    for (index, step) in entry.change.steps.enumerated()
    where isTaken(step, &change) && !step.isOvertaken {
      change.steps[index].isOvertaken = true
      isMarked = true
    }
    guard
      isMarked || change.isShared != entry.change.isShared
        || change.isRewritten != entry.change.isRewritten
    else { return nil }
    return Entry(number: entry.number, isUndone: entry.isUndone, change: change)
  }
}

extension UndoEntry {
  /// This import joined with a later part of it; nil if this is no import.
  fileprivate func joined(withPart later: UndoEntry) -> UndoEntry? {
    guard label.kind == .imported else { return nil }
    var whole = later
    let known = Set(steps.map(\.field))
    whole.steps = steps + later.steps.filter { !known.contains($0.field) }
    whole.label.count += label.count
    (whole.isShared, whole.isRewritten) = (isShared, isRewritten)
    return whole
  }

  /// This change joined with a later one, if both are typing in one message without a pause.
  fileprivate func joined(with later: UndoEntry, in workspace: Workspace) -> UndoEntry? {
    let pause = later.milliseconds &- milliseconds
    guard (0...Limits.typingPauseMillisecondsMax).contains(pause),
      !isByCommand, !later.isByCommand, steps.count == 1, later.steps.count == 1,
      let step = steps.first,
      let next = later.steps.first,
      step.field == next.field, !step.isOvertaken, case .text(let text) = step.value,
      case .text(let more) = next.value, let message = step.field.element.message,
      let content = workspace.content(text.content, of: message),
      let joined = text.joined(with: more, in: content)
    else { return nil }
    var whole = later
    whole.steps[0].value = .text(joined)
    return whole
  }
}

/// The fields that operations write.
private struct TouchedFields {
  /// Whether each got a new tag; otherwise it was written or cleared.
  private(set) var fields: [UndoField: Bool] = [:]
  private var elements: Set<ElementName> = []

  /// - Parameter workspace: the state after the operations.
  init(_ operations: [Operation], in workspace: Workspace) {
    for operation in operations { note(operation, workspace) }
  }

  private mutating func note(_ operation: Operation, _ workspace: Workspace) {
    func element(_ id: OperationID) -> ElementName? { workspace.element(introducedBy: id) }
    switch operation.body {
    case .announceDevice: break
    case .openSession(let key, _): note(.session(key), .tags(.exists), isAdded: true)
    case .addMessage(let addition):
      note(element(addition.session), .tags(.exists), isAdded: true)
      note(.message(addition.message), .tags(.live), isAdded: true)
      note(.message(addition.message), .place)
      note(.message(addition.message), .text, isAdded: true)
    case .insertText(let insertion): note(element(insertion.message), .text, isAdded: true)
    case .deleteText(let deletion): note(element(deletion.message), .text, isAdded: true)
    case .placeMessage(let message, let session, _, _):
      note(element(message), .place)
      note(element(session), .tags(.exists), isAdded: true)
    case .placeThread(let session, _, _): note(element(session), .place)
    case .enqueueThread(let enqueue):
      note(element(enqueue.session), .place)
      note(element(enqueue.session), .tags(.queued), isAdded: true)
      note(element(enqueue.session), .tags(.locked), isAdded: enqueue.locks)
    case .addTag(let id, let field, _, _): note(element(id), .tags(field), isAdded: true)
    case .clearTags(let id, let field, _): note(element(id), .tags(field))
    case .setRegister(let id, let field, _, _): note(element(id), .register(field))
    }
  }

  private mutating func note(
    _ element: ElementName?, _ part: UndoField.Part, isAdded: Bool = false
  ) {
    guard let element else { return }
    fields[UndoField(element: element, part: part), default: false] =
      isAdded || fields[UndoField(element: element, part: part)] == true
    switch part {
    // An agent's changes to a message do not count as a user's work.
    case .register(let field) where field >= .run || field == .changedAt: break
    case .tags(.locked), .tags(.queued): break
    default: elements.insert(element)
    }
  }

  /// Whether a user worked on the messages of a change, or on its sessions if it has no messages.
  func works(on change: UndoEntry) -> Bool {
    guard !change.isShared else { return true }
    let messages = change.messages
    return messages.isEmpty
      ? change.sessions.contains { elements.contains(.session($0)) }
      : messages.contains { elements.contains(.message($0)) }
  }

  /// Whether the text of one of a change's messages was changed.
  func rewrites(_ change: UndoEntry) -> Bool {
    !change.isRewritten
      && change.messages.contains { fields[UndoField(element: .message($0), part: .text)] != nil }
  }

  /// Whether a step's field was written. A new tag counts in any case. A clearing counts only if it
  /// changed something, because both users may clear the same tags.
  func takes(_ step: UndoStep, from before: Workspace, to after: Workspace) -> Bool {
    guard step.field.part != .tags(.attachment) else { return false }
    if step.takesSessionAway, elements.contains(step.field.element) { return true }
    guard let isAdded = fields[step.field] else { return false }
    if step.field.part == .tags(.edition) {
      return step.isLive(in: before) && !step.isLive(in: after)
    }
    return isAdded || before.writers(of: step.field) != after.writers(of: step.field)
  }
}
