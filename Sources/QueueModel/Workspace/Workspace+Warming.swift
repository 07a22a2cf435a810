import SequenceCRDT

/// Unpacks sessions before a change, so that no change fails halfway.
extension Workspace {
  /// Unpacks the sessions that an operation changes.
  ///
  /// - Throws: `MergeError.invalidImage` if a packed session is damaged.
  mutating func warm(for operation: Operation) throws(MergeError) {
    guard cold != nil else { return }
    switch operation.body {
    case .announceDevice:
      break
    case .openSession(let session, _):
      try warm(session)
    case .addMessage(let addition):
      try warm(sessionOf: addition.session)
      try warm(sessionHolding: addition.message)
    case .insertText(let insertion):
      try warm(sessionOf: insertion.message)
    case .deleteText(let deletion):
      try warm(sessionOf: deletion.message)
    case .placeMessage(let message, let session, _, _):
      try warm(sessionOf: message)
      try warm(sessionOf: session)
    case .placeThread(let session, _, _):
      try warm(sessionOf: session)
    case .enqueueThread(let enqueue):
      try warm(sessionOf: enqueue.session)
    case .addTag(let element, _, _, _), .clearTags(let element, _, _),
      .setRegister(let element, _, _, _):
      try warm(sessionOf: element)
    }
  }

  /// Unpacks the sessions that a command names, so that it reads each once. Everything else that it
  /// changes is unpacked operation by operation.
  ///
  /// - Throws: `QueueError.stateDamaged`.
  mutating func warm(for command: Command) throws(QueueError) {
    guard cold != nil else { return }
    do {
      for session in command.namedSessions { try warm(session) }
      for message in command.namedMessages { try warm(sessionHolding: message) }
    } catch .invalidImage(let reason) {
      throw .stateDamaged(reason: reason)
    } catch {
      throw .stateDamaged(reason: "\(error)")
    }
  }

  /// Unpacks the sessions that a change names.
  ///
  /// - Throws: `QueueError.stateDamaged`.
  mutating func warm(for change: UndoEntry) throws(QueueError) {
    guard cold != nil else { return }
    do {
      for session in change.sessions { try warm(session) }
      for message in change.messages {
        try warm(sessionHolding: message)
        if let session = messageStates[message]?.session { try warm(session) }
      }
    } catch .invalidImage(let reason) {
      throw .stateDamaged(reason: reason)
    } catch {
      throw .stateDamaged(reason: "\(error)")
    }
  }

  /// Unpacks the session that an element reference names.
  private mutating func warm(sessionOf reference: OperationID) throws(MergeError) {
    if let key = sessionKeys[reference] {
      try warm(key)
    } else if let id = messageKeys[reference] {
      try warm(sessionHolding: id)
    }
  }

  /// Unpacks the session that holds a message in the snapshot.
  private mutating func warm(sessionHolding id: MessageID) throws(MergeError) {
    guard let place = messageStates.coldPlace(of: id) else { return }
    try warm(place.session)
  }

  /// Unpacks a session with its messages, if it is still packed.
  private mutating func warm(_ key: SessionID) throws(MergeError) {
    guard let index = cold?.index(of: key) else { return }
    try warm(index)
  }

  private mutating func warm(_ index: Int) throws(MergeError) {
    guard let cold else { return }
    let isPacked = sessionStates.coldIndex(of: cold.keys[index]) != nil
    guard isPacked || !messageStates.isTouched(session: index) else { return }
    let restored = try cold.thaw(index)
    sessionStates.keep(restored.session)
    messageStates.keep(restored.messages, ofSession: index)
  }

  /// The workspace with all sessions unpacked.
  ///
  /// - Throws: `MergeError.invalidImage` if a packed session is damaged.
  /// - Complexity: O(state).
  package func thawed() throws(MergeError) -> Workspace {
    var result = self
    for index in (cold?.keys ?? []).indices { try result.warm(index) }
    return result
  }
}

extension Command {
  fileprivate var namedSessions: [SessionID] {
    switch self {
    case .addSession(let id, _, _), .renameSession(let id, _), .deleteSession(let id),
      .clear(let id), .pause(let id, _), .resume(let id), .unlockThread(let id),
      .requeueThread(let id), .archive(let id), .unarchive(let id),
      .setHost(let id, _), .setOnLostServer(let id, _), .setOnMerge(let id, _):
      [id]
    case .send(let send): [send.session]
    case .reportTask(let report): [report.session]
    case .addThreads(let ids), .moveThreads(let ids, _): ids
    case .edit, .insertText, .deleteText, .move, .cancel, .restore, .setPriority, .attach, .detach,
      .removeThreads, .clearThreads, .retry, .skip, .setNotBefore, .setLater, .setNeeds, .hold,
      .stopAttempt, .reportRun, .importDocument, .undo, .redo:
      []
    }
  }

  fileprivate var namedMessages: [MessageID] {
    switch self {
    case .send(let send): [send.id]
    case .edit(let id, _, _), .insertText(let id, _, _), .deleteText(let id, _), .restore(let id),
      .setPriority(let id, _), .attach(let id, _), .detach(let id, _), .retry(let id),
      .skip(let id), .setNotBefore(let id, _), .setLater(let id, _), .setNeeds(let id, _),
      .hold(let id, _), .stopAttempt(let id, _), .reportRun(let id, _):
      [id]
    case .cancel(let ids): ids
    case .move(let ids, .before(let neighbour)), .move(let ids, .after(let neighbour)):
      ids + [neighbour]
    case .move(let ids, .position): ids
    case .addSession, .renameSession, .deleteSession, .archive, .unarchive, .clear, .pause, .resume,
      .addThreads,
      .moveThreads, .removeThreads, .clearThreads, .requeueThread, .unlockThread, .setHost,
      .setOnLostServer, .setOnMerge, .reportTask, .importDocument, .undo, .redo:
      []
    }
  }
}
