import SequenceCRDT

/// The effect of one operation on the state. Everything that it names is known here. Each function
/// checks its references before it changes the state, so that a refused operation has no effect.
extension Workspace {
  /// Applies the next operation of its replica.
  ///
  /// - Precondition: its dependencies are known and its id follows the replica's last.
  mutating func apply(_ operation: Operation, touched: inout TouchedQueues) throws(MergeError) {
    let id = operation.id
    try warm(for: operation)
    switch operation.body {
    case .announceDevice(let device, let name):
      announcements[id.replica] = WorkspaceImage.Announcement(
        seq: id.seq, device: device, name: name)
    case .openSession(let session, let clears):
      try openSession(session, clears: clears, id: id)
      touched.sessions.insert(session)
      touched.threads = true
    case .addMessage(let addition):
      try addMessage(addition, id: id, touched: &touched)
    case .insertText(let insertion):
      try editText(insertion.message, operation: id, touched: &touched) {
        text throws(SequenceFault) in
        try text.insert(id: id, text: insertion.text, origins: insertion.origins)
      }
    case .deleteText(let deletion):
      try editText(deletion.message, operation: id, touched: &touched) {
        text throws(SequenceFault) in
        try text.delete(first: deletion.first, count: deletion.count)
      }
    case .placeMessage(let message, let session, let origins, let stamp):
      let key = try messageKey(message, operation: id)
      let queue = try sessionKey(session, operation: id)
      try sessionStates[queue]?.slots.insert(id, origins, for: key)
      write(Register(value: id, stamp: stamp, writer: id), of: key, in: queue, &touched)
    case .placeThread(let session, let origins, let stamp):
      let key = try sessionKey(session, operation: id)
      try threadSlots.insert(id, origins, for: key)
      write(Register(value: id, stamp: stamp, writer: id), threadOf: key)
      touched.threads = true
    case .enqueueThread(let enqueue):
      try enqueueThread(enqueue, id: id, touched: &touched)
    case .addTag(let element, let field, let clears, let note):
      try updateTags(element, field, clears: clears, tag: id, note: note, id: id, &touched)
    case .clearTags(let element, let field, let clears):
      try updateTags(element, field, clears: clears, tag: nil, note: "", id: id, &touched)
    case .setRegister(let element, let field, let value, let stamp):
      let write = Register(value: value, stamp: stamp, writer: id)
      if let key = sessionKeys[element] {
        sessionStates[key]?.element.write(field, write)
        touched.sessions.insert(key)
        touched.threads = true
      } else {
        let key = try messageKey(element, operation: id)
        changeMessage(key, &touched) { $0.element.write(field, write) }
      }
    }
    vector[id.replica] = operation.lastID?.seq ?? id.seq
    if let stamp = operation.stamp { latestStamp = max(latestStamp, stamp) }
  }

  private func sessionKey(
    _ reference: OperationID, operation: OperationID
  ) throws(MergeError) -> SessionID {
    guard let key = sessionKeys[reference] else {
      throw .invalidReference(
        operation: operation, reference: reference, reason: "it introduced no session")
    }
    return key
  }

  private func messageKey(
    _ reference: OperationID, operation: OperationID
  ) throws(MergeError) -> MessageID {
    guard let key = messageKeys[reference] else {
      throw .invalidReference(
        operation: operation, reference: reference, reason: "it introduced no message")
    }
    return key
  }

  private mutating func openSession(
    _ key: SessionID, clears: [OperationID], id: OperationID
  ) throws(MergeError) {
    guard sessionStates.contains(key) || sessionStates.count < Limits.sessionsMax else {
      throw .limitReached(operation: id, what: "sessions", max: Limits.sessionsMax)
    }
    sessionKeys[id] = key
    sessionStates[key, default: SessionState(key: key)].element.addReference(id)
    sessionStates[key]?.element.updateTags(.exists, clearing: clears, adding: id)
  }

  private mutating func addMessage(
    _ addition: Operation.AddMessage, id: OperationID, touched: inout TouchedQueues
  ) throws(MergeError) {
    let queue = try sessionKey(addition.session, operation: id)
    try sessionStates[queue]?.slots.insert(id, addition.origins, for: addition.message)
    touchExistence(of: queue, clearing: addition.clears, adding: id, &touched)
    messageKeys[id] = addition.message
    let position = Register(value: id, stamp: addition.stamp, writer: id)
    if !messageStates.contains(addition.message) {
      messageStates[addition.message] = MessageState(
        id: addition.message, session: queue, position: position)
    }
    changeMessage(addition.message, &touched) { message in
      message.element.addReference(id)
      message.additions.append(MessageState.Addition(id: id, stamp: addition.stamp))
      message.additions.sort { $0.id < $1.id }
      message.element.updateTags(.live, clearing: [], adding: id)
      message.element.write(
        .priority,
        Register(
          value: .number(UInt64(addition.priority.rawValue)), stamp: addition.stamp, writer: id))
    }
    write(position, of: addition.message, in: queue, &touched)
  }

  private mutating func enqueueThread(
    _ enqueue: Operation.EnqueueThread, id: OperationID, touched: inout TouchedQueues
  ) throws(MergeError) {
    let key = try sessionKey(enqueue.session, operation: id)
    try threadSlots.insert(id, enqueue.origins, for: key)
    let register = Register(value: id, stamp: enqueue.stamp, writer: id)
    write(register, threadOf: key)
    if register.wins(over: sessionStates[key]?.enqueued) {
      sessionStates[key]?.enqueued = register
    }
    sessionStates[key]?.element.updateTags(.queued, clearing: enqueue.clearsQueued, adding: id)
    sessionStates[key]?.element.updateTags(
      .locked, clearing: enqueue.clearsLocked, adding: enqueue.locks ? id : nil)
    touched.threads = true
    touched.sessions.insert(key)
  }

  private mutating func updateTags(
    _ element: OperationID, _ field: TagField, clears: [OperationID], tag: OperationID?,
    note: String, id: OperationID, _ touched: inout TouchedQueues
  ) throws(MergeError) {
    if let key = sessionKeys[element] {
      sessionStates[key]?.element.updateTags(field, clearing: clears, adding: tag, note: note)
      touched.sessions.insert(key)
      touched.threads = true
    } else {
      let key = try messageKey(element, operation: id)
      changeMessage(key, &touched) {
        $0.element.updateTags(field, clearing: clears, adding: tag, note: note)
      }
    }
  }

  private mutating func touchExistence(
    of key: SessionID, clearing ids: [OperationID], adding tag: OperationID,
    _ touched: inout TouchedQueues
  ) {
    let existed = sessionStates[key]?.exists ?? false
    sessionStates[key]?.element.updateTags(.exists, clearing: ids, adding: tag)
    if !existed { touched.threads = true }
    touched.sessions.insert(key)
  }

  /// Writes a message's position, and updates the counts of both queues.
  private mutating func write(
    _ position: Register<OperationID>, of message: MessageID, in queue: SessionID,
    _ touched: inout TouchedQueues
  ) {
    touched.sessions.insert(queue)
    changeMessage(message, &touched) { state in
      guard position.wins(over: state.position) || state.position == position else { return }
      state.position = position
      state.session = queue
    }
  }

  private mutating func write(_ position: Register<OperationID>, threadOf key: SessionID) {
    if position.wins(over: sessionStates[key]?.threadPosition) {
      sessionStates[key]?.threadPosition = position
    }
  }

  /// Changes a message and updates the queues that it leaves and enters.
  private mutating func changeMessage(
    _ id: MessageID, _ touched: inout TouchedQueues, _ change: (inout MessageState) -> Void
  ) {
    guard let (before, after) = messageStates[id]?.changed(by: change) else { return }
    moveStanding(from: before.place, to: after.place)
    touched.sessions.insert(before.session)
    if after.session != before.session { touched.sessions.insert(after.session) }
    if after.isToPack { textsToPack.insert(id) }
  }

  private mutating func editText(
    _ reference: OperationID, operation: OperationID, touched: inout TouchedQueues,
    _ edit: (inout MessageText) throws(SequenceFault) -> Void
  ) throws(MergeError) {
    let key = try messageKey(reference, operation: operation)
    do {
      guard let edited = try messageStates[key]?.editText(of: reference, edit) else { return }
      touched.sessions.insert(edited.session)
      if edited.isToPack { textsToPack.insert(key) }
    } catch {
      throw MergeError(error, operation: operation)
    }
  }

  /// Packs the texts of messages that have ended; once for all operations of a merge or a command.
  mutating func packTexts() {
    guard !textsToPack.isEmpty else { return }
    for id in textsToPack where messageStates[id]?.hasOpenTextThoughOver == true {
      messageStates[id]?.packTexts()
    }
    textsToPack = []
  }
}

/// A queue's record of a message.
private struct MessageMark {
  var session: SessionID
  var place: StandingPlace?
  var isToPack: Bool

  init(_ message: MessageState) {
    session = message.session
    place = StandingPlace(of: message)
    isToPack = message.hasOpenTextThoughOver
  }
}

extension MessageState {
  /// Changes the message in place, without taking it out of its table.
  fileprivate mutating func changed(
    by change: (inout MessageState) -> Void
  ) -> (before: MessageMark, after: MessageMark) {
    let before = MessageMark(self)
    change(&self)
    return (before, MessageMark(self))
  }
}

extension Operation {
  /// The tags that the operation clears.
  var clears: [OperationID] {
    switch body {
    case .openSession(_, let clears): clears
    case .addMessage(let addition): addition.clears
    case .enqueueThread(let enqueue): enqueue.clearsQueued + enqueue.clearsLocked
    case .addTag(_, _, let clears, _), .clearTags(_, _, let clears): clears
    default: []
    }
  }
}

extension MergeError {
  /// The error for an operation that a sequence refuses.
  init(_ fault: SequenceFault, operation: OperationID) {
    switch fault {
    case .unknownOrigin(let origin):
      self = .invalidReference(
        operation: operation, reference: origin, reason: "it is not a place of this list")
    case .originsOutOfOrder:
      self = .originsOutOfOrder(operation: operation)
    case .invalidRun(let id):
      self = .invalidReference(operation: operation, reference: id, reason: "the run is invalid")
    case .wrongCount:
      self = .invalidOperation(operation: operation, reason: "the counts do not fit")
    }
  }
}
