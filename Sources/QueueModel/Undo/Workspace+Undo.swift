import SequenceCRDT

extension Workspace {
  /// Takes back what a group says, as far as nobody else has changed it since.
  ///
  /// The outcome carries the group that does it again. No operation is made where others have
  /// overtaken everything. What is undone is an ordinary change: it is stored, sent and merged.
  ///
  /// - Throws: `QueueError.stateDamaged`; nothing changed then.
  package mutating func undo(
    _ group: UndoGroup, in context: CommandContext
  ) throws(QueueError) -> CommandOutcome {
    var successors = UndoSuccessors()
    return try undo(group, in: context, successors: &successors)
  }

  /// - Parameter successors: learns what stands now for what the group had taken away.
  mutating func undo(
    _ group: UndoGroup, in context: CommandContext, successors: inout UndoSuccessors
  ) throws(QueueError) -> CommandOutcome {
    let before = cold == nil ? nil : self
    var author = Author(context: context)
    // Sessions first: what is in a session comes back only into one that is there.
    let tags = group.tags.filter(\.isOfSession) + group.tags.filter { !$0.isOfSession }
    var revived: Set<SessionID> = []
    for step in tags { undo(step, revived: &revived, &successors, by: &author) }
    for step in group.registers { undo(step, &successors, by: &author) }
    for step in group.messagePlaces { undo(step, &successors, by: &author) }
    for step in group.threadPlaces { undo(step, &successors, by: &author) }
    for step in group.queuedAt { undo(step, &successors, by: &author) }
    for step in group.texts { undo(step, &successors, by: &author) }
    if let damage = author.damage, let before {
      self = before
      throw .stateDamaged(reason: damage)
    }
    packTexts()
    return CommandOutcome(
      operations: author.operations, touched: author.touched,
      notice: author.operations.isEmpty ? .unchanged : .done,
      undo: author.group(group.label, in: self))
  }

  // MARK: - Tags

  private mutating func undo(
    _ step: UndoGroup.TagStep, revived: inout Set<SessionID>,
    _ successors: inout UndoSuccessors, by author: inout Author
  ) {
    guard let element = elementState(step.element), let reference = element.references.first
    else { return }
    let present = element.tagIDs(step.field)
    let left = step.put.filter(present.contains)
    guard let notes = step.restored else {
      guard !left.isEmpty else { return }
      emit(.clearTags(element: reference, field: step.field, clears: left), by: &author)
      return
    }
    if step.field == .attachment {
      undoDetaching(step, notes, &successors, by: &author)
      return
    }
    // Another pause reason comes back in place of the command's own; a property that the command
    // took away comes back where nobody has given it again since.
    guard step.put.isEmpty ? present.isEmpty && !step.isOvertaken : !left.isEmpty else { return }
    if case .message(let message) = step.element, step.field == .live {
      guard let session = messageStates[message]?.session,
        sessionStates[session]?.exists == true
      else { return }
      if revived.insert(session).inserted { keepAlive(session, by: &author) }
    }
    if case .session(let key) = step.element, step.field == .exists { revived.insert(key) }
    var clears = left
    for (index, note) in notes.enumerated() {
      let id = emit(
        .addTag(element: reference, field: step.field, clears: clears, note: note), by: &author)
      if index < step.cleared.count {
        successors.note(step.cleared[index], as: .tag(step.field), id)
      }
      clears = []
    }
  }

  /// Files come back that nobody has attached again since.
  private mutating func undoDetaching(
    _ step: UndoGroup.TagStep, _ notes: [String], _ successors: inout UndoSuccessors,
    by author: inout Author
  ) {
    guard let element = elementState(step.element), let reference = element.references.first
    else { return }
    let present = Set(element.notes(.attachment))
    for (index, note) in notes.enumerated() where !present.contains(note) {
      let id = emit(
        .addTag(element: reference, field: step.field, clears: [], note: note), by: &author)
      if index < step.cleared.count {
        successors.note(step.cleared[index], as: .tag(step.field), id)
      }
    }
  }

  /// A message that comes back keeps its session alive, as a restored one does.
  private mutating func keepAlive(
    _ key: SessionID, by author: inout Author
  ) {
    guard let session = sessionStates[key], let reference = session.element.references.first
    else { return }
    emit(
      .addTag(
        element: reference, field: .exists, clears: session.element.tagIDs(.exists), note: ""),
      by: &author)
  }

  // MARK: - Registers

  private mutating func undo(
    _ step: UndoGroup.RegisterStep, _ successors: inout UndoSuccessors, by author: inout Author
  ) {
    guard let element = elementState(step.element), let reference = element.references.first,
      let now = element.registers[step.field], now.writer == step.writer
    else { return }
    let before: RegisterValue
    switch (step.before, now.value) {
    case (let value?, _): before = value
    // An empty text is as good as none.
    case (nil, .text): before = .text("")
    // A decision about no attempt is as good as none.
    case (nil, .number) where step.field == .decision || step.field == .resolution:
      before = .number(0)
    case (nil, .number): return
    }
    var stamp = author.stamp
    if step.field == .decision {
      stamp = Resolution.fence(attempt: 0, milliseconds: stamp.milliseconds, behind: now.stamp)
    }
    let id = emit(
      .setRegister(element: reference, field: step.field, value: before, stamp: stamp),
      by: &author)
    if let writer = step.beforeWriter { successors.note(writer, as: .register(step.field), id) }
  }

  private mutating func undo(
    _ step: UndoGroup.QueuedAtStep, _ successors: inout UndoSuccessors, by author: inout Author
  ) {
    guard let session = sessionStates[step.session], session.queuedAt?.writer == step.writer,
      let reference = session.element.references.first
    else { return }
    let id = emit(
      .setRegister(
        element: reference, field: .queuedAt, value: .number(UInt64(clamping: step.before)),
        stamp: author.stamp),
      by: &author)
    successors.note(step.beforeWriter, as: .queuedAt, id)
  }

  // MARK: - Places

  private mutating func undo(
    _ step: UndoGroup.PlaceStep<MessageID>, _ successors: inout UndoSuccessors,
    by author: inout Author
  ) {
    guard let key = step.session, let message = messageStates[step.key],
      message.position.value == step.writer, let reference = message.element.references.first,
      sessionStates[key]?.exists == true, let queue = sessionStates[key]?.element.references.first,
      let origins = origins(of: step, in: key)
    else { return }
    if message.session != key { keepAlive(key, by: &author) }
    let id = emit(
      .placeMessage(message: reference, session: queue, origins: origins, stamp: author.stamp),
      by: &author)
    successors.note(step.slot, as: .slot, id)
  }

  private func origins(
    of step: UndoGroup.PlaceStep<MessageID>, in key: SessionID
  ) -> Operation.Origins? {
    guard let slots = sessionStates[key]?.slots else { return nil }
    func slot(of neighbour: MessageID) -> OperationID? {
      messageStates[neighbour].flatMap { $0.session == key ? $0.position.value : nil }
    }
    return .init(
      slots.origins(behind: step.slot)
        ?? step.left.flatMap(slot(of:)).flatMap { slots.origins(behind: $0) }
        ?? step.right.flatMap(slot(of:)).flatMap { slots.origins(before: $0) }
        ?? slots.originsAtEnd)
  }

  private mutating func undo(
    _ step: UndoGroup.PlaceStep<SessionID>, _ successors: inout UndoSuccessors,
    by author: inout Author
  ) {
    guard let session = sessionStates[step.key], session.threadPosition?.value == step.writer,
      let reference = session.element.references.first
    else { return }
    func slot(of neighbour: SessionID) -> OperationID? {
      sessionStates[neighbour]?.threadPosition?.value
    }
    let origins =
      threadSlots.origins(behind: step.slot)
      ?? step.left.flatMap(slot(of:)).flatMap { threadSlots.origins(behind: $0) }
      ?? step.right.flatMap(slot(of:)).flatMap { threadSlots.origins(before: $0) }
      ?? threadSlots.originsAtEnd
    let id = emit(
      .placeThread(session: reference, origins: .init(origins), stamp: author.stamp),
      by: &author)
    successors.note(step.slot, as: .slot, id)
  }
}

// MARK: - Text

extension Workspace {
  private mutating func undo(
    _ step: UndoGroup.TextStep, _ successors: inout UndoSuccessors, by author: inout Author
  ) {
    let count = step.deleted.reduce(0) { $0 + $1.range.count }
    guard let known = content(step.content, of: step.message)?.sequence.unitCount,
      known + count <= TextContent.unitsMax
    else { return }
    let inserted = step.inserted.flatMap { range in
      (range.first...range.last).map { OperationID(replica: range.replica, seq: $0) }
    }
    let bytes = step.deleted.reduce(Workspace.operationBytes * inserted.count) {
      $0 + Workspace.operationBytes + $1.text.utf8.count
    }
    changing(step.content, bytes: bytes, by: &author) { workspace, author in
      workspace.emitDeletion(of: inserted, from: step.content, of: step.message, by: &author)
      for piece in workspace.pieces(of: step) {
        workspace.insert(piece, into: step, &successors, by: &author)
      }
    }
  }

  private func pieces(of step: UndoGroup.TextStep) -> [RestoredText] {
    guard let sequence = content(step.content, of: step.message)?.sequence else { return [] }
    return RestoredText.pieces(of: step.deleted, in: sequence)
  }

  private func origins(
    at anchor: RestoredText.Anchor, in step: UndoGroup.TextStep
  ) -> Operation.Origins? {
    guard let sequence = content(step.content, of: step.message)?.sequence else { return nil }
    return switch anchor {
    case .behind(let id): .init(sequence.origins(behind: id) ?? sequence.originsAtEnd)
    case .before(let id): .init(sequence.origins(before: id) ?? sequence.originsAtEnd)
    case .end: .init(sequence.originsAtEnd)
    }
  }

  /// Inserts the scalars behind their anchor, in parts that an operation may hold.
  private mutating func insert(
    _ piece: RestoredText, into step: UndoGroup.TextStep, _ successors: inout UndoSuccessors,
    by author: inout Author
  ) {
    let scalarsMax = Limits.contentBytesMax / 4
    var anchor = piece.anchor
    for start in stride(from: 0, to: piece.scalars.count, by: scalarsMax) {
      guard let origins = origins(at: anchor, in: step) else { return }
      let part = piece.scalars[start..<min(start + scalarsMax, piece.scalars.count)]
      let id = emit(
        .insertText(
          Operation.InsertText(
            message: step.content, origins: origins,
            text: String(String.UnicodeScalarView(part)))),
        by: &author)
      anchor = .behind(id.advanced(by: part.count - 1) ?? id)
      for (offset, old) in piece.ids[start..<start + part.count].enumerated() {
        guard let new = id.advanced(by: offset) else { break }
        successors.note(old, as: .scalar(of: step.content), new)
      }
    }
  }
}

// MARK: - What the recorder asks

extension Workspace {
  func undoElement(_ reference: OperationID) -> UndoGroup.Element? {
    if let key = sessionKeys[reference] { return .session(key) }
    return messageKeys[reference].map { .message($0) }
  }

  func elementState(_ element: UndoGroup.Element) -> ElementState? {
    switch element {
    case .session(let key): sessionStates[key]?.element
    case .message(let key): messageStates[key]?.element
    }
  }
}

extension UndoGroup.TagStep {
  fileprivate var isOfSession: Bool {
    if case .session = element { true } else { false }
  }
}
