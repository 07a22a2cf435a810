import SequenceCRDT

/// Makes the operations of one command. It applies each at once, so that the next operation sees
/// its effect.
///
/// The author owns the workspace from the command's beginning to its end: `Workspace.withAuthor`
/// moves it in and out. With a second copy, the next operation would copy what it changes. So no
/// function returns slots or texts to a function that emits. A device keeps a copy until its store
/// has taken the command, and so pays for this once a command.
struct CommandAuthor {
  /// The state after the operations so far.
  private(set) var workspace: Workspace
  let context: CommandContext
  private(set) var operations: [Operation] = []
  private(set) var touched = TouchedQueues()
  private var recorder: UndoRecorder?
  /// Why a packed session could not be unpacked; no operation is made after that.
  private(set) var damage: String?

  init(of workspace: consuming Workspace, in context: CommandContext) {
    self.workspace = workspace
    self.context = context
    recorder = context.recordsUndo ? UndoRecorder() : nil
  }

  /// The state behind what was made, which the author has no more.
  consuming func finished() -> Workspace { workspace }

  var stamp: Stamp { context.stamp }

  /// The steps that undo the operations so far.
  var undoSteps: [UndoStep] { recorder?.steps(in: workspace) ?? [] }

  /// Records typing: `count` scalars replace the old text.
  mutating func noteTyping(
    in message: MessageID, _ content: OperationID, at offset: Int, old: String, count: Int
  ) {
    recorder?.noteTyping(in: message, content, at: offset, old: old, count: count)
  }

  /// Makes the author's next operation and applies it.
  @discardableResult
  mutating func emit(_ body: Operation.Body) -> OperationID {
    let replica = context.replica
    let body = clearingWithinLimit(body).made(at: context.time)
    let operation = Operation(
      id: OperationID(replica: replica, seq: workspace.vector[replica] + 1), body: body)
    recorder?.watch(operation, in: workspace)
    guard damage == nil else { return operation.id }
    do {
      try operation.checkForm()
      try workspace.apply(operation, touched: &touched)
    } catch .invalidImage(let reason) {
      damage = reason
      return operation.id
    } catch {
      preconditionFailure("a command made an operation that cannot be applied: \(error)")
    }
    operations.append(operation)
    return operation.id
  }

  /// Clears the tags beyond `Limits.clearedTagsMax` by operations of their own: no command makes
  /// so many, but faulty peers may.
  private mutating func clearingWithinLimit(_ body: Operation.Body) -> Operation.Body {
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
        emit(.clearTags(element: chunk.element, field: chunk.field, clears: ids))
      }
    }
    return fitting
  }

  /// Makes operations that change a message, marked if they are long.
  ///
  /// A change of a message that may not fit one delta arrives in parts, and the connection may
  /// break between them. So that no agent gets half of it, the change begins with a tag and ends by
  /// clearing it; SPECIFICATION.md, section "Operations".
  ///
  /// - Parameter bytes: about how many bytes they take, at least.
  mutating func changing<Failure: Error>(
    _ message: OperationID, bytes: Int,
    _ change: (inout CommandAuthor) throws(Failure) -> Void
  ) throws(Failure) {
    guard bytes > Limits.unmarkedChangeBytesMax else { return try change(&self) }
    let mark = emit(.addTag(element: message, field: .incomplete, clears: [], note: ""))
    try change(&self)
    emit(.clearTags(element: message, field: .incomplete, clears: [mark]))
  }

  /// The maximum bytes of an operation in a delta besides its text.
  static var operationBytes: Int { 32 }
}

/// Checks and steps that several commands share.
extension CommandAuthor {
  func waitingMessage(_ id: MessageID) throws(QueueError) -> MessageState {
    guard let message = workspace.messageStates[id] else {
      throw .messageNotFound(id: id.description)
    }
    guard workspace.isWaiting(message) else { throw fault(ofOver: message) }
    return message
  }

  /// Why a message that waits in no queue cannot be changed.
  func fault(ofOver message: MessageState) -> QueueError {
    let id = message.id.description
    if message.element.runState.run?.phase == .succeeded { return .messageFinished(id: id) }
    return workspace.isForgotten(message.id) ? .messageForgotten(id: id) : .messageCancelled(id: id)
  }

  /// The message, if it is in its queue and the agent does not have it.
  func idleMessage(_ id: MessageID) throws(QueueError) -> MessageState {
    let message = try waitingMessage(id)
    try checkIdle(id)
    return message
  }

  /// Refuses a message that the agent has already.
  func checkIdle(_ id: MessageID) throws(QueueError) {
    guard let message = workspace.messageStates[id], message.element.runState.isInFlight else {
      return
    }
    throw .alreadyStarted(
      id: id.description, isStopping: ShownMessage(message).withdrawal == .stopped)
  }

  func existingSession(_ id: SessionID) throws(QueueError) -> SessionState {
    guard let state = workspace.sessionStates[id], state.exists else {
      throw .sessionNotFound(id: id.rawValue)
    }
    return state
  }

  func reference(of session: SessionState) throws(QueueError) -> OperationID {
    guard let reference = session.element.references.first else {
      throw .sessionNotFound(id: session.key.rawValue)
    }
    return reference
  }

  func checkBatch(_ count: Int) throws(QueueError) {
    guard count <= Limits.batchMax else {
      throw .limitReached(what: "items in one command", max: Limits.batchMax)
    }
  }

  mutating func setText(_ text: String?, _ field: RegisterField, of id: SessionID) {
    guard let text, let session = workspace.sessionStates[id], session.element.text(field) != text,
      let reference = session.element.references.first
    else { return }
    emit(.setRegister(element: reference, field: field, value: .text(text), stamp: stamp))
  }

  func checkedName(_ name: String?, field: String) throws(QueueError) -> String? {
    guard let name else { return nil }
    let trimmed = name.trimmedOfWhitespace()
    guard !trimmed.isEmpty else { throw .invalidName(field: field, reason: "it is blank") }
    guard trimmed.utf8.count <= Limits.nameBytesMax else {
      throw .invalidName(
        field: field, reason: "it is longer than \(Limits.nameBytesMax) bytes")
    }
    return trimmed
  }

  /// A reference to the session, which is made known first if necessary.
  mutating func ensureSession(_ id: SessionID) throws(QueueError) -> OperationID {
    if let session = workspace.sessionStates[id] {
      let reference = try reference(of: session)
      if !session.exists { renew(session, reference) }
      return reference
    }
    guard workspace.sessionStates.count < Limits.sessionsMax else {
      throw .limitReached(what: "sessions", max: Limits.sessionsMax)
    }
    return emit(.openSession(session: id, clears: []))
  }

  /// A session that its author knows to be deleted begins as a new one: not paused, without a host, and
  /// without a choice about merged texts. A deletion keeps these, for additions that did not see it.
  private mutating func renew(_ session: SessionState, _ reference: OperationID) {
    let pauses = session.element.tagIDs(.paused)
    if !pauses.isEmpty {
      emit(.clearTags(element: reference, field: .paused, clears: pauses))
    }
    if session.host != nil { setText("", .host, of: session.key) }
    if session.onMerge != .wait { setText(MergePolicy.wait.rawValue, .onMerge, of: session.key) }
    if session.onLostServer != .finish {
      setText(LostServerPolicy.finish.rawValue, .onLostServer, of: session.key)
    }
  }

  mutating func touchExistence(of id: SessionID) throws(QueueError) {
    guard let session = workspace.sessionStates[id] else { throw .sessionNotFound(id: id.rawValue) }
    emit(
      .addTag(
        element: try reference(of: session), field: .exists,
        clears: session.element.tagIDs(.exists), note: ""))
  }
}
