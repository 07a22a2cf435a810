package import SequenceCRDT

extension Workspace {
  /// Turns a command into operations and applies them.
  ///
  /// All operations of a command have consecutive ids and one stamp. What the command cannot do is
  /// refused before the first operation is made.
  ///
  /// - Throws: `QueueError`; nothing changed then.
  package mutating func perform(
    _ command: Command, in context: CommandContext
  ) throws(QueueError) -> CommandOutcome {
    let before = cold == nil ? nil : self
    try warm(for: command)
    var author = Author(context: context)
    let notice = try run(command, by: &author)
    if let damage = author.damage, let before {
      self = before
      throw .stateDamaged(reason: damage)
    }
    packTexts()
    return CommandOutcome(
      operations: author.operations, touched: author.touched, notice: notice,
      undo: command.undoLabel.flatMap { author.group($0, in: self) })
  }

  /// Makes the operation that says which device a replica belongs to, if it is not said already.
  package mutating func announce(
    device: DeviceID, name: String, replica: ReplicaID
  ) -> [Operation] {
    let announced = announcements[replica]
    guard announced?.device != device || announced?.name != name else { return [] }
    var author = Author(
      context: CommandContext(replica: replica, stamp: latestStamp, recordsUndo: false))
    emit(.announceDevice(device: device, name: name), by: &author)
    return author.operations
  }

  /// Collects what a command makes.
  struct Author {
    var context: CommandContext
    var operations: [Operation] = []
    var touched = TouchedQueues()
    var recorder: UndoRecorder?
    /// Why a packed session could not be unpacked; no operation is made after that.
    var damage: String?

    init(context: CommandContext) {
      self.context = context
      recorder = context.recordsUndo ? UndoRecorder() : nil
    }

    var stamp: Stamp { context.stamp }

    /// What takes everything back that was made so far.
    func group(_ label: UndoLabel, in workspace: Workspace) -> UndoGroup? {
      guard !operations.isEmpty else { return nil }
      return recorder?.group(label, milliseconds: stamp.milliseconds, in: workspace)
    }
  }

  /// Makes the author's next operation and applies it.
  @discardableResult
  mutating func emit(_ body: Operation.Body, by author: inout Author) -> OperationID {
    let replica = author.context.replica
    let body = clearingWithinLimit(body, by: &author)
    let operation = Operation(
      id: OperationID(replica: replica, seq: vector[replica] + 1), body: body)
    author.recorder?.watch(operation, in: self)
    guard author.damage == nil else { return operation.id }
    do {
      try checkForm(operation)
      try apply(operation, touched: &author.touched)
    } catch .invalidImage(let reason) {
      author.damage = reason
      return operation.id
    } catch {
      preconditionFailure("a command made an operation that cannot be applied: \(error)")
    }
    author.operations.append(operation)
    return operation.id
  }

  /// Clears the tags beyond `Limits.clearedTagsMax` by operations of their own: no command makes
  /// so many, but faulty peers may.
  private mutating func clearingWithinLimit(
    _ body: Operation.Body, by author: inout Author
  ) -> Operation.Body {
    let limit = Limits.clearedTagsMax
    func excess(_ ids: inout [OperationID], above limit: Int) -> [[OperationID]] {
      let rest = Array(ids.dropFirst(limit))
      ids = Array(ids.prefix(limit))
      return stride(from: 0, to: rest.count, by: Limits.clearedTagsMax).map {
        Array(rest[$0..<min($0 + Limits.clearedTagsMax, rest.count)])
      }
    }
    var fitting = body
    var chunks: [(element: OperationID, field: TagField, ids: [[OperationID]])] = []
    switch body {
    case .addMessage(var addition):
      chunks = [(addition.session, .exists, excess(&addition.clears, above: limit))]
      fitting = .addMessage(addition)
    case .enqueueThread(var enqueue):
      chunks = [
        (enqueue.session, .queued, excess(&enqueue.clearsQueued, above: limit / 2)),
        (enqueue.session, .locked, excess(&enqueue.clearsLocked, above: limit / 2)),
      ]
      fitting = .enqueueThread(enqueue)
    case .addTag(let element, let field, var clears, let note):
      chunks = [(element, field, excess(&clears, above: limit))]
      fitting = .addTag(element: element, field: field, clears: clears, note: note)
    case .clearTags(let element, let field, var clears):
      chunks = [(element, field, excess(&clears, above: limit))]
      fitting = .clearTags(element: element, field: field, clears: clears)
    default:
      break
    }
    for chunk in chunks {
      for ids in chunk.ids {
        emit(.clearTags(element: chunk.element, field: chunk.field, clears: ids), by: &author)
      }
    }
    return fitting
  }

  private mutating func run(
    _ command: Command, by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    switch command {
    case .addSession(let id, let name, let project):
      try addSession(id, name: name, project: project, by: &author)
    case .renameSession(let id, let name):
      try renameSession(id, name: name, by: &author)
    case .deleteSession(let id):
      try deleteSession(id, by: &author)
    case .send(let send):
      try self.send(send, by: &author)
    case .edit(let id, let content, let base):
      try edit(id, content: content, base: base, by: &author)
    case .insertText(let id, let offset, let text):
      try insertText(text, at: offset, of: id, by: &author)
    case .deleteText(let id, let range):
      try deleteText(range, of: id, by: &author)
    case .move(let ids, let target):
      try move(ids, to: target, by: &author)
    case .cancel(let ids):
      try cancel(ids, by: &author)
    case .restore(let id):
      try restore(id, by: &author)
    case .clear(let session):
      try clear(session, by: &author)
    case .setPriority(let id, let priority):
      try setPriority(id, priority, by: &author)
    case .attach(let id, let attachments):
      try attach(attachments, to: id, by: &author)
    case .detach(let id, let hashes):
      try detach(hashes, from: id, by: &author)
    case .pause(let session, let reason):
      try pause(session, reason: reason ?? "", by: &author)
    case .resume(let session):
      try resume(session, by: &author)
    case .addThreads(let sessions):
      try addThreads(sessions, by: &author)
    case .moveThreads(let sessions, let target):
      try moveThreads(sessions, to: target, by: &author)
    case .removeThreads(let sessions):
      try removeThreads(sessions, by: &author)
    case .clearThreads:
      try removeThreads(threadOrder(), by: &author)
    case .requeueThread(let session):
      try requeueThread(session, by: &author)
    case .unlockThread(let session):
      try unlockThread(session, by: &author)
    case .setHost(let session, let device):
      try setHost(device, of: session, by: &author)
    case .retry(let id):
      try resolve(id, skips: false, by: &author)
    case .skip(let id):
      try resolve(id, skips: true, by: &author)
    case .setNotBefore(let id, let time):
      try setTime(time, .notBefore, of: id, by: &author)
    case .hold(let id, let time):
      try setTime(time, .heldUntil, of: id, by: &author)
    case .reportRun(let id, let run):
      try reportRun(run, of: id, by: &author)
    case .reportTask(let report):
      try reportTask(report, by: &author)
    case .importDocument(let document):
      try importDocument(document, by: &author)
    case .undo:
      throw .nothingToUndo
    case .redo:
      throw .nothingToRedo
    }
  }
}

// MARK: - Sessions

extension Workspace {
  private mutating func addSession(
    _ id: SessionID, name: String?, project: String?, by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    let name = try checkedName(name, field: "name")
    let project = try checkedName(project, field: "project path")
    let reference = try ensureSession(id, by: &author)
    if sessionStates[id]?.exists != true {
      emit(.addTag(element: reference, field: .exists, clears: [], note: ""), by: &author)
    }
    setText(name, .name, of: id, by: &author)
    setText(project, .project, of: id, by: &author)
    return author.operations.isEmpty ? .unchanged : .done
  }

  private mutating func renameSession(
    _ id: SessionID, name: String, by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    _ = try existingSession(id)
    setText(try checkedName(name, field: "name"), .name, of: id, by: &author)
    return author.operations.isEmpty ? .unchanged : .done
  }

  /// Deleting clears what it sees: messages, place in the thread queue, locks and pauses. What
  /// another device adds at the same time keeps the session alive.
  private mutating func deleteSession(
    _ id: SessionID, by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    let session = try existingSession(id)
    let reference = try self.reference(of: session)
    for message in effectiveOrder(of: id) { withdraw(message, by: &author) }
    for field in [TagField.queued, .locked, .paused, .exists] where session.element.has(field) {
      emit(
        .clearTags(
          element: reference, field: field,
          clears: sessionStates[id]?.element.tagIDs(field) ?? []),
        by: &author)
    }
    return .done
  }

  mutating func setText(
    _ text: String?, _ field: RegisterField, of id: SessionID, by author: inout Author
  ) {
    guard let text, let session = sessionStates[id], session.element.text(field) != text,
      let reference = session.element.references.first
    else { return }
    emit(
      .setRegister(element: reference, field: field, value: .text(text), stamp: author.stamp),
      by: &author)
  }

  private func checkedName(_ name: String?, field: String) throws(QueueError) -> String? {
    guard let name else { return nil }
    let trimmed = name.trimmedOfWhitespace()
    guard !trimmed.isEmpty else { throw .invalidName(field: field, reason: "it is blank") }
    guard trimmed.utf8.count <= Limits.nameBytesMax else {
      throw .invalidName(
        field: field, reason: "it is longer than \(Limits.nameBytesMax) bytes")
    }
    return trimmed
  }

  /// A reference to the session, made known first where it is not.
  mutating func ensureSession(
    _ id: SessionID, by author: inout Author
  ) throws(QueueError) -> OperationID {
    if let session = sessionStates[id] { return try reference(of: session) }
    guard sessionStates.count < Limits.sessionsMax else {
      throw .limitReached(what: "sessions", max: Limits.sessionsMax)
    }
    return emit(.openSession(session: id, clears: []), by: &author)
  }

  func reference(of session: SessionState) throws(QueueError) -> OperationID {
    guard let reference = session.element.references.first else {
      throw .sessionNotFound(id: session.key.rawValue)
    }
    return reference
  }
}

// MARK: - Messages

extension Workspace {
  private mutating func send(
    _ send: Command.Send, by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    let text = try checkedContent(send.text)
    let project = try checkedName(send.project, field: "project path")
    if let message = messageStates[send.id] {
      guard isRepetition(of: message, text: text, in: send.session) else {
        throw .messageIDTaken(id: send.id.description)
      }
      if message.element.runState.run?.phase == .succeeded { return .unchanged }
      guard isWaiting(message) else { throw fault(ofOver: message) }
      return queuedNotice(send.id, in: message.session, max: author.context.queueSizeMax)
    }
    guard Set(send.attachments.map(\.hash)).count <= Limits.messageAttachmentsMax else {
      throw .limitReached(
        what: "attachments in one message", max: Limits.messageAttachmentsMax)
    }
    // In a deleted session too: what waits there shows again with the session.
    let waiting = sessionStates[send.session]?.standing.count ?? 0
    guard waiting < author.context.queueSizeMax else {
      throw .queueFull(current: waiting, max: author.context.queueSizeMax)
    }
    let session = try ensureSession(send.session, by: &author)
    setText(project, .project, of: send.session, by: &author)
    let message = emit(
      .addMessage(
        Operation.AddMessage(
          message: send.id, session: session,
          origins: .init(
            sessionStates[send.session]?.slots.originsAtEnd ?? (left: nil, right: nil)),
          stamp: author.stamp, priority: send.priority,
          clears: sessionStates[send.session]?.element.tagIDs(.exists) ?? [])),
      by: &author)
    let files = send.attachments.reduce(0) { $0 + Workspace.operationBytes + $1.note.utf8.count }
    changing(message, bytes: text.utf8.count + files, by: &author) { workspace, author in
      workspace.emit(
        .insertText(
          Operation.InsertText(
            message: message, origins: .init(left: nil, right: nil), text: text)),
        by: &author)
      for attachment in send.attachments {
        workspace.emitTag(of: attachment, to: message, by: &author)
      }
      if send.byAgent { workspace.emitByAgent(message, by: &author) }
    }
    if send.requeuesThread { requeueThread(send.session, reference: session, by: &author) }
    // Behind all others of its kind, and behind the urgent ones: the last, unless it is urgent.
    guard send.priority != .urgent else {
      return queuedNotice(send.id, in: send.session, max: author.context.queueSizeMax)
    }
    return .queued(
      send.id, position: waiting + 1, count: waiting + 1,
      warning: (waiting + 1) * 10 >= author.context.queueSizeMax * 8)
  }

  /// Whether a send says again what made the message: added in this session, with this text unless
  /// somebody edited it since.
  private func isRepetition(
    of message: MessageState, text: String, in session: SessionID
  ) -> Bool {
    guard let slots = sessionStates[session]?.slots else { return false }
    return message.additions.contains { addition in
      slots.contains(addition.id)
        && (addition.isEdited
          || addition.text.string.unicodeScalars.elementsEqual(text.unicodeScalars))
    }
  }

  /// The answer to a send; the warning comes from 80 % of the cap (C-7).
  private func queuedNotice(
    _ id: MessageID, in session: SessionID, max: Int
  ) -> CommandOutcome.Notice {
    let order = effectiveOrder(of: session)
    return .queued(
      id, position: order.firstIndex(of: id).map { $0 + 1 } ?? 0, count: order.count,
      warning: order.count * 10 >= max * 8)
  }

  private func checkedContent(_ text: String) throws(QueueError) -> String {
    let trimmed = text.trimmedOfWhitespace()
    guard !trimmed.isEmpty else { throw .blankText }
    let bytes = trimmed.utf8.count
    guard bytes <= Limits.contentBytesMax else {
      throw .contentTooLong(bytes: bytes, max: Limits.contentBytesMax)
    }
    return trimmed
  }

  private mutating func edit(
    _ id: MessageID, content: String, base: EditBase?, by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    let content = try checkedContent(content)
    let base = try currentBase(of: id, base)
    try emitEdits(from: base, to: content, of: id, by: &author)
    // Who gives a failed prompt another text wants it tried again (C-14).
    if messageStates[id]?.element.runState.isHalted == true {
      decide(id, skips: false, by: &author)
    }
    return author.operations.isEmpty ? .unchanged : .done
  }

  /// What an edit starts from. Where the editor had opened the text of an addition that lost, the new
  /// content replaces the text that shows: in the other one nobody would see it.
  private func currentBase(
    of id: MessageID, _ base: EditBase?
  ) throws(QueueError) -> EditBase {
    let message = try idleMessage(id)
    guard let base else { return try editBase(id) }
    guard message.additions.contains(where: { $0.id == base.content }) else {
      throw .messageNotFound(id: id.description)
    }
    return base.content == message.primary?.id ? base : try editBase(id)
  }

  private mutating func cancel(
    _ ids: [MessageID], by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    try checkBatch(ids.count)
    for id in ids where messageStates[id] == nil { throw .messageNotFound(id: id.description) }
    for id in ids { try checkIdle(id) }
    var count = 0
    for id in ids where messageStates[id]?.stands == true {
      withdraw(id, by: &author)
      count += 1
    }
    return count == 0 ? .unchanged : .affected(count: count)
  }

  private mutating func withdraw(_ id: MessageID, by author: inout Author) {
    guard let element = messageStates[id]?.element, let reference = element.references.first
    else { return }
    emit(
      .clearTags(element: reference, field: .live, clears: element.tagIDs(.live)), by: &author)
  }

  /// Restoring also keeps the session alive, as sending does. It is the undo of a cancel, so the
  /// cap does not stand in its way.
  private mutating func restore(
    _ id: MessageID, by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    guard let message = messageStates[id], let reference = message.element.references.first else {
      throw .messageNotFound(id: id.description)
    }
    guard !isWaiting(message) else { throw .messageNotCancelled(id: id.description) }
    let state = message.element.runState
    guard state.run?.phase != .succeeded else { throw .messageFinished(id: id.description) }
    guard !isForgotten(id) else { throw .messageForgotten(id: id.description) }
    if state.isFinal { decide(id, skips: false, by: &author) }
    if !message.element.has(.live) {
      emit(.addTag(element: reference, field: .live, clears: [], note: ""), by: &author)
    }
    // Who brings it back wants what has come of it, even if the rest never does.
    let marks = message.element.tagIDs(.incomplete)
    if !marks.isEmpty {
      emit(.clearTags(element: reference, field: .incomplete, clears: marks), by: &author)
    }
    try touchExistence(of: message.session, by: &author)
    return queuedNotice(id, in: message.session, max: author.context.queueSizeMax)
  }

  private mutating func touchExistence(
    of id: SessionID, by author: inout Author
  ) throws(QueueError) {
    guard let session = sessionStates[id] else { throw .sessionNotFound(id: id.rawValue) }
    emit(
      .addTag(
        element: try reference(of: session), field: .exists,
        clears: session.element.tagIDs(.exists), note: ""),
      by: &author)
  }

  private mutating func clear(
    _ id: SessionID, by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    _ = try existingSession(id)
    let order = effectiveOrder(of: id).filter {
      messageStates[$0]?.element.runState.isInFlight != true
    }
    for message in order { withdraw(message, by: &author) }
    return order.isEmpty ? .unchanged : .affected(count: order.count)
  }

  private mutating func setPriority(
    _ id: MessageID, _ priority: Priority, by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    let message = try idleMessage(id)
    if message.priority != priority, let reference = message.element.references.first {
      emit(
        .setRegister(
          element: reference, field: .priority, value: .number(UInt64(priority.rawValue)),
          stamp: author.stamp),
        by: &author)
    }
    guard !author.operations.isEmpty else { return .unchanged }
    let index = effectiveOrder(of: message.session).firstIndex(of: id)
    return .moved(position: index.map { $0 + 1 } ?? 0)
  }

  func waitingMessage(_ id: MessageID) throws(QueueError) -> MessageState {
    guard let message = messageStates[id] else { throw .messageNotFound(id: id.description) }
    guard isWaiting(message) else { throw fault(ofOver: message) }
    return message
  }

  func checkBatch(_ count: Int) throws(QueueError) {
    guard count <= Limits.batchMax else {
      throw .limitReached(what: "items in one command", max: Limits.batchMax)
    }
  }
}
