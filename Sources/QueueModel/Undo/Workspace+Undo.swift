import SequenceCRDT

extension Workspace {
  /// Does a command with undo and redo: `history` learns how to take it back. One that is not to be
  /// taken back counts as somebody else's, and leaves what can be redone.
  ///
  /// - Throws: `QueueError`; nothing changed then.
  package mutating func perform(
    _ command: Command, in context: CommandContext, history: inout UndoHistory
  ) throws(QueueError) -> (outcome: CommandOutcome, changes: UndoHistory.Changes) {
    var changes = UndoHistory.Changes()
    switch command {
    case .undo(let change, true):
      let entry = try history.entry(change, isUndone: false)
      history.skip(entry.number, &changes)
      return (CommandOutcome(notice: .skipped(entry.change.label)), changes)
    case .undo(let change, false):
      return try turn(change, isUndone: false, in: context, &history)
    case .redo(let change): return try turn(change, isUndone: true, in: context, &history)
    default: break
    }
    guard context.recordsUndo, let label = command.undoLabel else {
      var unrecorded = context
      unrecorded.recordsUndo = false
      let before = self
      let outcome = try perform(command, in: unrecorded)
      changes = history.noteForeign(
        outcome.operations, from: before, to: self, areOfOthers: false)
      return (outcome, changes)
    }
    let reversal = command.reversal(in: self)
    var (outcome, steps) = try performRecording(command, in: context)
    guard !outcome.operations.isEmpty else { return (outcome, changes) }
    var entry = UndoEntry(label: labelled(label), milliseconds: context.stamp.milliseconds)
    entry.command = reversal ?? (steps.isEmpty ? command.reversalOfDecision(in: self) : nil)
    if reversal == nil { entry.steps = steps }
    outcome.change = history.record(entry, in: self, &changes)
    return (outcome, changes)
  }

  /// What an undo or a redo would do now; nil if there is nothing.
  package func next(of history: UndoHistory, isUndone: Bool) -> UndoNext? {
    var scratch = self
    guard let entry = history[undone: isUndone].last else { return nil }
    let plan: UndoPlan
    let found: UndoHistory.Entry
    var obstacle: UndoObstacle?
    do throws(QueueError) {
      (found, plan) = try scratch.plan(nil, isUndone: isUndone, in: trialContext, history)
    } catch {
      guard case .notUndoable(_, let reason) = error else { return nil }
      // Of several that are over it is the latest that counts.
      let blocked = scratch.blocked(isUndone: isUndone, history)
      (found, plan) = (blocked?.entry ?? entry, UndoPlan(passedOver: blocked?.passedOver ?? []))
      obstacle = reason
    }
    return UndoNext(
      change: found.number, label: found.change.label, milliseconds: found.change.milliseconds,
      isShared: found.change.isShared, obstacle: obstacle,
      passedOver: plan.passedOver.map(\.change.label))
  }

  /// Nothing of a trial is kept, so anybody may be the author.
  private var trialContext: CommandContext {
    CommandContext(
      replica: ReplicaID(rawValue: .max), stamp: latestStamp, recordsUndo: false)
  }

  /// The label with the session and the beginning of the text of its message.
  private func labelled(_ label: UndoLabel) -> UndoLabel {
    var label = label
    if let message = label.message.flatMap({ messageStates[$0] }) {
      label.session = label.session ?? message.session
      label.text = label.text ?? message.beginning
    }
    return label
  }
}

/// How a change is taken back.
private struct UndoPlan {
  var pausing: [SessionID] = []
  var left: [UndoObstacle] = []
  var passedOver: [UndoHistory.Entry] = []
  var later: Set<UndoField> = []
}

extension UndoHistory {
  /// The change of a number, or the latest.
  fileprivate func entry(_ number: Int64?, isUndone: Bool) throws(QueueError) -> Entry {
    let entries = self[undone: isUndone]
    guard let last = entries.last else {
      throw number.map { .changeUnknown($0) } ?? (isUndone ? .nothingToRedo : .nothingToUndo)
    }
    guard let number else { return last }
    guard let entry = entries.first(where: { $0.number == number }) else {
      throw .changeUnknown(number)
    }
    return entry
  }
}

extension Workspace {
  /// Takes a change back, or does it again.
  private mutating func turn(
    _ number: Int64?, isUndone: Bool, in context: CommandContext, _ history: inout UndoHistory
  ) throws(QueueError) -> (outcome: CommandOutcome, changes: UndoHistory.Changes) {
    let (entry, plan) = try plan(number, isUndone: isUndone, in: context, history)
    var recording = context
    recording.recordsUndo = true
    var (outcome, steps) = try write(in: recording) { author in
      var reversal = UndoReversal(of: entry.change, besides: plan.later, pausing: plan.pausing)
      reversal.write(by: &author)
      return .done
    }
    var changes = UndoHistory.Changes()
    for passed in plan.passedOver { history.drop(passed.number, &changes) }
    var inverse = UndoEntry(
      label: entry.change.label, milliseconds: context.stamp.milliseconds)
    inverse.steps = steps
    outcome.change = history.turn(
      entry.number, into: inverse, isUndone: !isUndone, &changes)
    let result = UndoResult(
      label: entry.change.label, paused: plan.pausing, left: plan.left,
      passedOver: plan.passedOver.map(\.change.label))
    outcome.notice = isUndone ? .redone(result) : .undone(result)
    return (outcome, changes)
  }

  /// Finds the change to take back, passing over what is over or overtaken unless it is named.
  ///
  /// - Throws: `QueueError.notUndoable`, `.nothingToUndo`, `.nothingToRedo`, `.changeUnknown`.
  private mutating func plan(
    _ number: Int64?, isUndone: Bool, in context: CommandContext, _ history: UndoHistory
  ) throws(QueueError) -> (entry: UndoHistory.Entry, plan: UndoPlan) {
    let first = try history.entry(number, isUndone: isUndone)
    var plan = UndoPlan()
    var refusal: QueueError?
    for entry in history[undone: isUndone].reversed() {
      guard number == nil || entry.number == number else {
        if entry.number > first.number { plan.later.formUnion(entry.change.steps.map(\.field)) }
        continue
      }
      let (isPossible, pausing, left) = try attempt(entry, plan.later, in: context)
      if isPossible {
        (plan.pausing, plan.left) = (pausing, left)
        return (entry, plan)
      }
      let obstacle = left.firstInFront ?? .overtaken
      if number != nil || obstacle.staysInFront {
        throw .notUndoable(entry.change.label, obstacle)
      }
      refusal = refusal ?? .notUndoable(entry.change.label, obstacle)
      plan.passedOver.append(entry)
    }
    throw refusal ?? .nothingToUndo
  }

  /// The change that an undo cannot pass over.
  private mutating func blocked(
    isUndone: Bool, _ history: UndoHistory
  ) -> (entry: UndoHistory.Entry, passedOver: [UndoHistory.Entry])? {
    var passedOver: [UndoHistory.Entry] = []
    for entry in history[undone: isUndone].reversed() {
      guard let (_, _, left) = try? attempt(entry, [], in: trialContext) else { return nil }
      if left.firstInFront?.staysInFront == true { return (entry, passedOver) }
      passedOver.append(entry)
    }
    return nil
  }

  /// Takes a change back in a copy, to see what comes of it.
  private mutating func attempt(
    _ entry: UndoHistory.Entry, _ later: Set<UndoField>, in context: CommandContext
  ) throws(QueueError) -> (isPossible: Bool, pausing: [SessionID], left: [UndoObstacle]) {
    if let command = entry.change.command { return (false, [], [.needsCommand(command)]) }
    try warm(for: entry.change)
    var copy = self
    var trial = context
    trial.recordsUndo = false
    var reversal = UndoReversal(of: entry.change, besides: later)
    let (outcome, _) = try copy.write(in: trial) { author in
      reversal.write(by: &author)
      return .done
    }
    let pausing = outcome.touched.sessions.filter { copy.letsStart(in: $0, since: self) }
    return (!outcome.operations.isEmpty, pausing.sorted(), reversal.left)
  }
}

extension UndoObstacle {
  /// Whether undo goes no further back until the person has said so.
  fileprivate var staysInFront: Bool {
    switch self {
    case .started, .needsCommand: true
    case .ended, .overtaken: false
    }
  }
}

extension [UndoObstacle] {
  /// What counts most of several.
  fileprivate var firstInFront: UndoObstacle? {
    first(where: \.staysInFront) ?? first { if case .ended = $0 { true } else { false } } ?? first
  }
}

extension Command {
  /// The command line that reverses what no undo takes back; nil for all else.
  fileprivate func reversal(in workspace: Workspace) -> String? {
    switch self {
    case .setHost(let id, _):
      let quotedHost = workspace.session(id)?.host.map { workspace.name(of: $0).quotedWord }
      return "cospool session host \(id.rawValue.quotedWord) \(quotedHost ?? "--none")"
    case .setOnLostServer(let id, _):
      let policy = workspace.session(id)?.onLostServer ?? .finish
      return
        "cospool session on-lost-server \(id.rawValue.quotedWord) \(policy.rawValue.quotedWord)"
    case .retry(let id):
      return "cospool queue cancel \(String(id.description.prefix(8)).quotedWord)"
    case .skip(let id):
      return "cospool queue restore \(String(id.description.prefix(8)).quotedWord)"
    default: return nil
    }
  }
}

extension Command {
  /// The command line that reverses an edit or a restore that does nothing but have a message tried again.
  fileprivate func reversalOfDecision(in workspace: Workspace) -> String? {
    switch self {
    case .edit(let id, _, _), .restore(let id):
      workspace.messageStates[id]?.element.runState.run == nil
        ? nil : "cospool queue cancel \(String(id.description.prefix(8)).quotedWord)"
    default: nil
    }
  }
}

extension Workspace {
  /// The name of a device, or its id if no announcement names it.
  fileprivate func name(of device: DeviceID) -> String {
    announcements.sorted { $0.key < $1.key }.last { $0.value.device == device }?.value.name
      ?? device.description
  }
}
