import SequenceCRDT

/// Takes back what a group says, as far as nobody else has changed it since.
struct UndoReplay {
  /// What stands now for what the group had taken away.
  private(set) var successors = UndoSuccessors()
  /// Sessions that came back, or were kept alive, in this undo.
  private var revived: Set<SessionID> = []

  /// Makes the operations; none where others have overtaken everything.
  mutating func write(_ group: UndoGroup, by author: inout CommandAuthor) {
    // Sessions first: what is in a session comes back only into one that is there.
    let tags = group.tags.filter(\.isOfSession) + group.tags.filter { !$0.isOfSession }
    for step in tags { undo(step, by: &author) }
    for step in group.registers { undo(step, by: &author) }
    for step in group.messagePlaces { undo(step, by: &author) }
    for step in group.threadPlaces { undo(step, by: &author) }
    for step in group.queuedAt { undo(step, by: &author) }
    for step in group.texts { undo(step, by: &author) }
  }

  // MARK: - Tags

  private mutating func undo(_ step: UndoGroup.TagStep, by author: inout CommandAuthor) {
    guard let element = author.workspace.elementState(step.element),
      let reference = element.references.first
    else { return }
    let present = element.tagIDs(step.field)
    let left = step.put.filter(present.contains)
    guard let notes = step.restored else {
      guard !left.isEmpty else { return }
      author.emit(.clearTags(element: reference, field: step.field, clears: left))
      return
    }
    if step.field == .attachment {
      undoDetaching(step, notes, by: &author)
      return
    }
    // Another pause reason comes back in place of the command's own; a property that the command
    // took away comes back where nobody has given it again since.
    guard step.put.isEmpty ? present.isEmpty && !step.isOvertaken : !left.isEmpty else { return }
    if case .message(let message) = step.element, step.field == .live {
      guard let session = author.workspace.messageStates[message]?.session,
        author.workspace.sessionStates[session]?.exists == true
      else { return }
      if revived.insert(session).inserted { keepAlive(session, by: &author) }
    }
    if case .session(let key) = step.element, step.field == .exists { revived.insert(key) }
    var clears = left
    for (index, note) in notes.enumerated() {
      let id = author.emit(
        .addTag(element: reference, field: step.field, clears: clears, note: note))
      if index < step.cleared.count {
        successors.note(step.cleared[index], as: .tag(step.field), id)
      }
      clears = []
    }
  }

  /// Files come back that nobody has attached again since.
  private mutating func undoDetaching(
    _ step: UndoGroup.TagStep, _ notes: [String], by author: inout CommandAuthor
  ) {
    guard let element = author.workspace.elementState(step.element),
      let reference = element.references.first
    else { return }
    let present = Set(element.notes(.attachment))
    for (index, note) in notes.enumerated() where !present.contains(note) {
      let id = author.emit(.addTag(element: reference, field: step.field, clears: [], note: note))
      if index < step.cleared.count {
        successors.note(step.cleared[index], as: .tag(step.field), id)
      }
    }
  }

  /// A message that comes back keeps its session alive, as a restored one does.
  private func keepAlive(_ key: SessionID, by author: inout CommandAuthor) {
    guard let session = author.workspace.sessionStates[key],
      let reference = session.element.references.first
    else { return }
    author.emit(
      .addTag(
        element: reference, field: .exists, clears: session.element.tagIDs(.exists), note: ""))
  }

  // MARK: - Registers

  private mutating func undo(_ step: UndoGroup.RegisterStep, by author: inout CommandAuthor) {
    guard let element = author.workspace.elementState(step.element),
      let reference = element.references.first,
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
    let id = author.emit(
      .setRegister(element: reference, field: step.field, value: before, stamp: stamp))
    if let writer = step.beforeWriter { successors.note(writer, as: .register(step.field), id) }
  }

  private mutating func undo(_ step: UndoGroup.QueuedAtStep, by author: inout CommandAuthor) {
    guard let session = author.workspace.sessionStates[step.session],
      session.queuedAt?.writer == step.writer,
      let reference = session.element.references.first
    else { return }
    let id = author.emit(
      .setRegister(
        element: reference, field: .queuedAt, value: .number(UInt64(clamping: step.before)),
        stamp: author.stamp))
    successors.note(step.beforeWriter, as: .queuedAt, id)
  }

  // MARK: - Places

  private mutating func undo(
    _ step: UndoGroup.PlaceStep<MessageID>, by author: inout CommandAuthor
  ) {
    guard let key = step.session, let message = author.workspace.messageStates[step.key],
      message.position.value == step.writer, let reference = message.element.references.first,
      author.workspace.sessionStates[key]?.exists == true,
      let queue = author.workspace.sessionStates[key]?.element.references.first,
      let origins = origins(of: step, in: key, author.workspace)
    else { return }
    if message.session != key { keepAlive(key, by: &author) }
    let id = author.emit(
      .placeMessage(message: reference, session: queue, origins: origins, stamp: author.stamp))
    successors.note(step.slot, as: .slot, id)
  }

  private func origins(
    of step: UndoGroup.PlaceStep<MessageID>, in key: SessionID, _ workspace: Workspace
  ) -> Operation.Origins? {
    guard let slots = workspace.sessionStates[key]?.slots else { return nil }
    func slot(of neighbour: MessageID) -> OperationID? {
      workspace.messageStates[neighbour].flatMap { $0.session == key ? $0.position.value : nil }
    }
    return slots.origins(
      behind: slots.contains(step.slot) ? step.slot : step.left.flatMap(slot(of:)),
      before: step.right.flatMap(slot(of:)))
  }

  private mutating func undo(
    _ step: UndoGroup.PlaceStep<SessionID>, by author: inout CommandAuthor
  ) {
    guard let session = author.workspace.sessionStates[step.key],
      session.threadPosition?.value == step.writer,
      let reference = session.element.references.first
    else { return }
    let origins = origins(of: step, author.workspace)
    let id = author.emit(.placeThread(session: reference, origins: origins, stamp: author.stamp))
    successors.note(step.slot, as: .slot, id)
  }

  private func origins(
    of step: UndoGroup.PlaceStep<SessionID>, _ workspace: Workspace
  ) -> Operation.Origins {
    let slots = workspace.threadSlots
    func slot(of neighbour: SessionID) -> OperationID? {
      workspace.sessionStates[neighbour]?.threadPosition?.value
    }
    return slots.origins(
      behind: slots.contains(step.slot) ? step.slot : step.left.flatMap(slot(of:)),
      before: step.right.flatMap(slot(of:)))
  }

  // MARK: - Text

  private mutating func undo(_ step: UndoGroup.TextStep, by author: inout CommandAuthor) {
    let count = step.deleted.reduce(0) { $0 + $1.range.count }
    guard let known = author.workspace.content(step.content, of: step.message)?.sequence.unitCount,
      known + count <= TextContent.unitsMax
    else { return }
    let inserted = step.inserted.flatMap { range in
      (range.first...range.last).map { OperationID(replica: range.replica, seq: $0) }
    }
    let bytes = step.deleted.reduce(CommandAuthor.operationBytes * inserted.count) {
      $0 + CommandAuthor.operationBytes + $1.text.utf8.count
    }
    author.changing(step.content, bytes: bytes) { author in
      author.emitDeletion(of: inserted, from: step.content, of: step.message)
      for piece in pieces(of: step, author.workspace) {
        insert(piece, into: step, by: &author)
      }
    }
  }

  private func pieces(of step: UndoGroup.TextStep, _ workspace: Workspace) -> [RestoredText] {
    guard let sequence = workspace.content(step.content, of: step.message)?.sequence else {
      return []
    }
    return RestoredText.pieces(of: step.deleted, in: sequence)
  }

  private func origins(
    at anchor: RestoredText.Anchor, in step: UndoGroup.TextStep, _ workspace: Workspace
  ) -> Operation.Origins? {
    guard let sequence = workspace.content(step.content, of: step.message)?.sequence else {
      return nil
    }
    return switch anchor {
    case .behind(let id): .init(sequence.origins(behind: id) ?? sequence.originsAtEnd)
    case .before(let id): .init(sequence.origins(before: id) ?? sequence.originsAtEnd)
    case .end: .init(sequence.originsAtEnd)
    }
  }

  /// Inserts the scalars behind their anchor, in parts that an operation may hold.
  private mutating func insert(
    _ piece: RestoredText, into step: UndoGroup.TextStep, by author: inout CommandAuthor
  ) {
    let scalarsMax = Limits.contentBytesMax / 4
    var anchor = piece.anchor
    for start in stride(from: 0, to: piece.scalars.count, by: scalarsMax) {
      guard let origins = origins(at: anchor, in: step, author.workspace) else { return }
      let part = piece.scalars[start..<min(start + scalarsMax, piece.scalars.count)]
      let id = author.emit(
        .insertText(
          Operation.InsertText(
            message: step.content, origins: origins,
            text: String(String.UnicodeScalarView(part)))))
      anchor = .behind(id.advanced(by: part.count - 1) ?? id)
      for (offset, old) in piece.ids[start..<start + part.count].enumerated() {
        guard let new = id.advanced(by: offset) else { break }
        successors.note(old, as: .scalar(of: step.content), new)
      }
    }
  }
}

extension UndoGroup.TagStep {
  fileprivate var isOfSession: Bool {
    if case .session = element { true } else { false }
  }
}
