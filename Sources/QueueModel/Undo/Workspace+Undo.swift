import SequenceCRDT

extension Workspace {
  /// Performs a command with undo and redo: `history` records how to undo it. A command that cannot
  /// be undone counts as another user's, and does not clear the redo list.
  ///
  /// A user's command that changes something and does not continue the open stretch of typing ends
  /// it, before its own operations.
  ///
  /// - Throws: `QueueError`, without changing anything.
  package mutating func perform(
    _ command: Command, in context: CommandContext, history: inout UndoHistory
  ) throws(QueueError) -> (outcome: CommandOutcome, changes: UndoHistory.Changes) {
    guard context.recordsUndo, history.openTyping != nil,
      !history.goesOn(with: command, at: context.stamp.milliseconds)
        || isTypedOver(command)
    else { return try performNext(command, in: context, history: &history) }
    let open = OpenTyping(of: history, in: self, by: context.replica)
    let ended = history.endTyping(of: &self, in: context)
    var (outcome, changes): (CommandOutcome, UndoHistory.Changes)
    do throws(QueueError) {
      (outcome, changes) = try performNext(command, in: context, history: &history)
    } catch {
      open?.goOn(in: &self, &history)
      throw error
    }
    guard !outcome.operations.isEmpty || !changes.isEmpty else {
      open?.goOn(in: &self, &history)
      return (outcome, changes)
    }
    outcome.operations = ended.outcome.operations + outcome.operations
    outcome.touched.formUnion(ended.outcome.touched)
    changes = ended.changes.followed(by: changes)
    return (outcome, changes)
  }

  /// Whether a command types in a message whose shown text differs from its letters.
  private func isTypedOver(_ command: Command) -> Bool {
    guard let id = command.typedMessage else { return false }
    return shownMessage(id)?.textBesidesLetters != nil
  }

  private mutating func performNext(
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
    let typing = command.typing(in: self, context, isOpen: history.openTyping != nil)
    let merged = command.mergedMessage(in: self)
    var (outcome, steps) = try performRecording(command, in: context)
    guard !outcome.operations.isEmpty else { return (outcome, changes) }
    var entry = UndoEntry(
      label: label.completed(in: self), milliseconds: context.stamp.milliseconds)
    if let merged, shownMessage(merged)?.isMerged == false { entry.label.kind = .chosen }
    // The existing content is not imported.
    if case .imported(let counts) = outcome.notice { entry.label.count = counts.messages }
    if case .importDocument(let part) = command { entry.continuesImport = part.isContinuation }
    entry.steps = steps
    entry.typing = typing
    entry.leaveToCommand(if: command, in: self)
    outcome.change = history.record(entry, in: self, &changes)
    return (outcome, changes)
  }

  /// The effect of an undo or a redo now; nil if there is nothing.
  package func next(
    of history: UndoHistory, isUndone: Bool, apart: Apartness? = nil
  ) -> UndoNext? {
    var scratch = self
    guard let entry = history[undone: isUndone].last else { return nil }
    var obstacle: UndoObstacle?
    var plan = UndoPlan()
    do throws(QueueError) {
      plan = try scratch.plan(nil, isUndone: isUndone, in: trialContext(apart), history).plan
    } catch {
      guard case .notUndoable(_, let reason) = error else { return nil }
      obstacle = reason
    }
    return UndoNext(
      change: entry.number, label: entry.change.label, milliseconds: entry.change.milliseconds,
      isShared: entry.change.isShared, obstacle: obstacle, pausing: plan.pausing,
      leaving: plan.left)
  }

  /// No result of a trial is kept, so its author does not matter.
  func trialContext(_ apart: Apartness?) -> CommandContext {
    var context = CommandContext(
      replica: ReplicaID(rawValue: .max), stamp: latestStamp, recordsUndo: false)
    context.apart = apart
    return context
  }
}

extension UndoLabel {
  /// The label, completed by the session and the beginning of its message's text.
  fileprivate func completed(in workspace: Workspace) -> UndoLabel {
    var label = self
    if let message = message.flatMap({ workspace.messageStates[$0] }) {
      label.session = session ?? message.session
      label.text = text ?? message.beginning
    }
    return label
  }
}

/// How a change is undone.
private struct UndoPlan {
  var pausing: [SessionID] = []
  var left: [UndoObstacle] = []
  var later: Set<UndoField> = []
  var own: Set<String> = []
}

extension UndoHistory {
  /// The change with a number, or the latest.
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
  /// Undoes or redoes a change.
  private mutating func turn(
    _ number: Int64?, isUndone: Bool, in context: CommandContext, _ history: inout UndoHistory
  ) throws(QueueError) -> (outcome: CommandOutcome, changes: UndoHistory.Changes) {
    let (entry, plan) = try plan(number, isUndone: isUndone, in: context, history)
    if isUndone { try entry.change.requireRoom(in: self, max: context.queueSizeMax) }
    var recording = context
    recording.recordsUndo = true
    var (outcome, steps) = try write(in: recording) { author in
      var reversal = UndoReversal(
        of: entry.change, besides: plan.later, own: plan.own, pausing: plan.pausing,
        apart: context.apart)
      reversal.write(by: &author)
      return .done
    }
    var changes = UndoHistory.Changes()
    var inverse = UndoEntry(
      label: entry.change.label, milliseconds: context.stamp.milliseconds)
    inverse.steps = steps
    outcome.change = history.turn(
      entry.number, into: inverse, isUndone: !isUndone, &changes)
    let result = UndoResult(
      label: entry.change.label, paused: plan.pausing, left: plan.left)
    outcome.notice = isUndone ? .redone(result) : .undone(result)
    return (outcome, changes)
  }

  /// Finds the change to undo: the one with the number, or the latest; never another one.
  ///
  /// - Throws: `QueueError.notUndoable`, `.nothingToUndo`, `.nothingToRedo`, `.changeUnknown`.
  private mutating func plan(
    _ number: Int64?, isUndone: Bool, in context: CommandContext, _ history: UndoHistory
  ) throws(QueueError) -> (entry: UndoHistory.Entry, plan: UndoPlan) {
    let entry = try history.entry(number, isUndone: isUndone)
    var plan = UndoPlan()
    for later in history[undone: isUndone] where later.number > entry.number {
      plan.later.formUnion(later.change.steps.map(\.field))
    }
    plan.own = history.editions(of: entry.change.messages)
    guard try attempt(entry.change, &plan, in: context) else {
      throw .notUndoable(entry.change.label, plan.left.firstInFront ?? .overtaken(remedy: nil))
    }
    if let command = entry.change.withdrawal(ofRewrittenIn: self) {
      throw .notUndoable(entry.change.label, .rewritten(command: command))
    }
    return (entry, plan)
  }

  /// Undoes a change in a copy, if that is possible. The plan gets the sessions to pause for it, or
  /// the obstacle.
  private mutating func attempt(
    _ change: UndoEntry, _ plan: inout UndoPlan, in context: CommandContext
  ) throws(QueueError) -> Bool {
    try warm(for: change)
    let refusal =
      change.isByCommand
      ? change.obstacleByCommand(in: self) : context.apart?.refusal(of: change, in: self)
    plan.left = refusal.map { [$0] } ?? []
    guard plan.left.isEmpty else { return false }
    var copy = self
    var trial = context
    trial.recordsUndo = false
    var reversal = UndoReversal(
      of: change, besides: plan.later, own: plan.own, apart: context.apart)
    let (outcome, _) = try copy.write(in: trial) { author in
      reversal.write(by: &author)
      return .done
    }
    plan.left = reversal.left
    if let step = change.steps.first, change.leavesTexts(from: self, to: copy, own: plan.own) {
      plan.left.append(.overtaken(remedy: step.remedy(in: self)))
      return false
    }
    let touched = outcome.touched.sessions.union(change.sessionsAround(in: copy))
    var pausing = touched.filter { UndoTurns.start(in: $0, from: self, to: copy) }
    if let apart = context.apart, !outcome.operations.isEmpty {
      pausing.formUnion(apart.sessionsToPause(by: change, in: self))
      // If it settles a text, the message may start.
      for id in change.messages where shownMessage(id)?.isMerged == true {
        guard let message = copy.shownMessage(id), !message.isMerged,
          let session = messageStates[id]?.session
        else { continue }
        pausing.insert(session)
      }
    }
    plan.pausing = pausing.sorted()
    return !outcome.operations.isEmpty
  }
}

extension [UndoObstacle] {
  /// The most important of several obstacles.
  fileprivate var firstInFront: UndoObstacle? {
    func one(of codes: String...) -> UndoObstacle? { first { codes.contains($0.code) } }
    return one(of: "started", "needsCommand", "apart", "final") ?? one(of: "ended") ?? first
  }
}

extension UndoEntry {
  /// The sessions in which a message may start because a circle of needs is closed.
  fileprivate func sessionsAround(in workspace: Workspace) -> Set<SessionID> {
    steps.reduce(into: []) { sessions, step in
      guard step.field.part == .register(.needs), let id = step.field.element.message else {
        return
      }
      sessions.formUnion(UnmetNeed.sessions(around: id, in: workspace))
    }
  }

  /// Whether it concerns only texts, and its undo leaves them as others saved them.
  fileprivate func leavesTexts(
    from before: Workspace, to after: Workspace, own: Set<String>
  ) -> Bool {
    steps.allSatisfy(\.field.isOfText)
      && messages.allSatisfy {
        SavedOver(message: $0, entry: self, own: own).leavesText(from: before, to: after)
      }
  }

  /// A change without an inverse, or one that is only a decision to try a message again, is only
  /// listed.
  fileprivate mutating func leaveToCommand(if command: Command, in workspace: Workspace) {
    switch command {
    case .setHost, .setOnLostServer, .setOnMerge:
      isByCommand = true
      let registers: [UndoField.Part] = [
        .register(.host), .register(.onLostServer), .register(.onMerge),
      ]
      steps.removeAll { !registers.contains($0.field.part) }
    case .retry, .skip:
      isByCommand = true
      steps = []
    case .edit(let id, _, _), .restore(let id):
      isByCommand =
        steps.isEmpty && workspace.messageStates[id]?.element.runState.run != nil
    default: break
    }
  }
}
