import SequenceCRDT

/// Messages: sending, cancelling, restoring, ordering by priority.
extension CommandAuthor {
  mutating func send(_ send: Command.Send) throws(QueueError) -> CommandOutcome.Notice {
    let text = try checkedContent(send.text)
    let project = try checkedName(send.project, field: "project path")
    if let message = workspace.messageStates[send.id] {
      guard isRepetition(of: message, text: text, in: send.session) else {
        throw .messageIDTaken(id: send.id.description)
      }
      if message.element.runState.run?.phase == .succeeded { return .unchanged }
      guard workspace.isWaiting(message) else { throw fault(ofOver: message) }
      return queuedNotice(send.id, in: message.session, max: context.queueSizeMax)
    }
    let later = try send.later.map(checkedLater)
    let needs = try MessageNeeds.checked(send.needs, of: send.id, in: workspace)
    guard Set(send.attachments.map(\.hash)).count <= Limits.messageAttachmentsMax else {
      throw .limitReached(
        what: "attachments in one message", max: Limits.messageAttachmentsMax)
    }
    // In a deleted session too: what waits there shows again with the session.
    let waiting = workspace.sessionStates[send.session]?.standing.count ?? 0
    guard waiting < context.queueSizeMax else {
      throw .queueFull(current: waiting, max: context.queueSizeMax)
    }
    let session = try ensureSession(send.session)
    setText(project, .project, of: send.session)
    let message = emit(
      .addMessage(
        Operation.AddMessage(
          message: send.id, session: session,
          origins: send.origins(in: workspace), stamp: stamp, priority: send.priority,
          clears: workspace.sessionStates[send.session]?.element.tagIDs(.exists) ?? [])))
    let files = send.attachments.reduce(0) {
      $0 + CommandAuthor.operationBytes + $1.note.utf8.count
    }
    let bytes = text.utf8.count + files + MessageNeeds.bytes(needs)
    changing(message, bytes: bytes) { author in
      author.emit(
        .insertText(
          Operation.InsertText(
            message: message, origins: .init(left: nil, right: nil), text: text)))
      for attachment in send.attachments {
        author.emitTag(of: attachment, to: message)
      }
      if send.byAgent { author.emitByAgent(message) }
      if let later { author.emitLater(later, of: message) }
      if !needs.isEmpty { MessageNeeds.emit(needs, of: message, by: &author) }
    }
    if send.requeuesThread { requeueThread(send.session, reference: session) }
    // Behind all others of its kind, and behind the urgent ones: the last, unless it is urgent.
    guard send.priority != .urgent, !send.goesFirst else {
      return queuedNotice(send.id, in: send.session, max: context.queueSizeMax)
    }
    return .queued(
      send.id, position: waiting + 1, count: waiting + 1,
      warning: Limits.isNearlyFull(waiting + 1, of: context.queueSizeMax))
  }

  /// Whether a send repeats the one that made the message: added in this session, with this text
  /// unless it was edited since.
  private func isRepetition(of message: MessageState, text: String, in session: SessionID) -> Bool {
    guard let slots = workspace.sessionStates[session]?.slots else { return false }
    return message.additions.contains { addition in
      slots.contains(addition.id)
        && (addition.isEdited
          || addition.text.string.unicodeScalars.elementsEqual(text.unicodeScalars))
    }
  }

  /// The answer to a send.
  private func queuedNotice(
    _ id: MessageID, in session: SessionID, max: Int
  ) -> CommandOutcome.Notice {
    let count = workspace.waitingCount(of: session)
    return .queued(
      id, position: workspace.position(of: id), count: count,
      warning: Limits.isNearlyFull(count, of: max))
  }

  mutating func cancel(_ ids: [MessageID]) throws(QueueError) -> CommandOutcome.Notice {
    try checkBatch(ids.count)
    for id in ids where workspace.messageStates[id] == nil {
      throw .messageNotFound(id: id.description)
    }
    for id in ids { try checkIdle(id) }
    var count = 0
    for id in ids where workspace.messageStates[id]?.stands == true {
      withdraw(id)
      count += 1
    }
    return count == 0 ? .unchanged : .affected(count: count)
  }

  mutating func withdraw(_ id: MessageID) {
    guard let element = workspace.messageStates[id]?.element,
      let reference = element.references.first
    else { return }
    emit(.clearTags(element: reference, field: .live, clears: element.tagIDs(.live)))
  }

  /// Restoring also keeps the session alive, as sending does. It is the undo of a cancel, so the
  /// cap does not apply.
  mutating func restore(_ id: MessageID) throws(QueueError) -> CommandOutcome.Notice {
    guard let message = workspace.messageStates[id],
      let reference = message.element.references.first
    else {
      throw .messageNotFound(id: id.description)
    }
    if ShownMessage(message).withdrawal == .stopped { try checkIdle(id) }
    guard !workspace.isWaiting(message) else { throw .messageNotCancelled(id: id.description) }
    let state = message.element.runState
    guard state.run?.phase != .succeeded else { throw .messageFinished(id: id.description) }
    guard !workspace.isForgotten(id) else { throw .messageForgotten(id: id.description) }
    if state.isFinal { decide(id, skips: false) }
    if !message.element.has(.live) {
      emit(.addTag(element: reference, field: .live, clears: [], note: ""))
    }
    // Who brings it back wants what has come of it, even if the rest never does.
    let marks = message.element.tagIDs(.incomplete)
    if !marks.isEmpty {
      emit(.clearTags(element: reference, field: .incomplete, clears: marks))
    }
    try touchExistence(of: message.session)
    return queuedNotice(id, in: message.session, max: context.queueSizeMax)
  }

  mutating func clear(_ id: SessionID) throws(QueueError) -> CommandOutcome.Notice {
    _ = try existingSession(id)
    let order = workspace.effectiveOrder(of: id).filter {
      workspace.messageStates[$0]?.element.runState.isInFlight != true
    }
    for message in order { withdraw(message) }
    return order.isEmpty ? .unchanged : .affected(count: order.count)
  }

  mutating func setPriority(
    _ id: MessageID, _ priority: Priority
  ) throws(QueueError) -> CommandOutcome.Notice {
    let message = try idleMessage(id)
    if message.priority != priority, let reference = message.element.references.first {
      emit(
        .setRegister(
          element: reference, field: .priority, value: .number(UInt64(priority.rawValue)),
          stamp: stamp))
    }
    guard !operations.isEmpty else { return .unchanged }
    return .moved(position: workspace.position(of: id))
  }
}
