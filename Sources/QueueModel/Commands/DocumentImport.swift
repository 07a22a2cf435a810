import SequenceCRDT

/// An import: adds the content of a document that the workspace lacks. Sessions and messages are
/// identified by id. New messages follow those that wait already, and new threads follow those in
/// the queue. Existing content is unchanged. As for a restore, the cap does not apply.
struct DocumentImport {
  private let document: WorkspaceDocument
  private var counts = ImportCounts()

  init(of document: WorkspaceDocument) {
    self.document = document
  }

  consuming func write(by author: inout CommandAuthor) throws(QueueError) -> CommandOutcome.Notice {
    if let fault = document.fault { throw .invalidDocument(reason: fault) }
    // All checks come first, or some content would be applied before a later part is refused.
    let added = Set(document.sessions.map(\.id)).count { author.workspace.sessionStates[$0] == nil }
    guard author.workspace.sessionStates.count + added <= Limits.sessionsMax else {
      throw .limitReached(what: "sessions", max: Limits.sessionsMax)
    }
    for session in document.sessions {
      try importSession(session, by: &author)
    }
    for thread in document.threads { importThread(thread, by: &author) }
    guard !author.operations.isEmpty else { return .unchanged }
    return .imported(counts)
  }

  private mutating func importSession(
    _ session: WorkspaceDocument.Session, by author: inout CommandAuthor
  ) throws(QueueError) {
    let isNew = author.workspace.sessionStates[session.id]?.exists != true
    let reference = try author.ensureSession(session.id)
    if isNew {
      counts.sessions += 1
      if author.workspace.sessionStates[session.id]?.exists != true {
        author.emit(.addTag(element: reference, field: .exists, clears: [], note: ""))
      }
      author.setText(session.name, .name, of: session.id)
      author.setText(session.project, .project, of: session.id)
      if let policy = session.onMerge, policy != .wait {
        author.emit(
          .setRegister(
            element: reference, field: .onMerge, value: .text(policy.rawValue), stamp: author.stamp)
        )
      }
      if let policy = session.onLostServer, policy != .finish {
        author.emit(
          .setRegister(
            element: reference, field: .onLostServer, value: .text(policy.rawValue),
            stamp: author.stamp))
      }
      if session.locked {
        author.emit(.addTag(element: reference, field: .locked, clears: [], note: ""))
      }
    }
    pause(session, isNew: isNew, reference, by: &author)
    for message in session.messages {
      importMessage(message, isLive: true, into: session.id, by: &author)
    }
    for message in session.cancelled {
      importMessage(message, isLive: false, into: session.id, by: &author)
    }
    // After the messages, which would bring it back.
    if isNew, session.archived == true { _ = try? Archival.archive(session.id, by: &author) }
  }

  /// Adds the document's pauses to a session that gets messages, and pauses one into which a message
  /// comes that was started before: its agent must not get it again before a user has looked. This
  /// precedes the messages, so that none comes without it. The pauses are the import's own even if
  /// the session is paused: another device may have resumed it already.
  private mutating func pause(
    _ session: WorkspaceDocument.Session, isNew: Bool, _ reference: OperationID,
    by author: inout CommandAuthor
  ) {
    let fresh = session.messages.filter { author.workspace.messageStates[$0.id] == nil }
    let started = fresh.count(where: \.wasStarted)
    counts.started += started
    if started > 0 { counts.held.insert(session.id) }
    guard isNew || !fresh.isEmpty else { return }
    var reasons = session.pauses
    if reasons.isEmpty, started > 0 {
      let own = author.workspace.sessionStates[session.id]?.element.tags[.paused]?.tags.contains {
        $0.id.replica == author.context.replica
          && (document.isContinuation || $0.note == WorkspaceDocument.startedBefore)
      }
      if own != true { reasons = [WorkspaceDocument.startedBefore] }
    }
    for reason in reasons {
      author.emit(.addTag(element: reference, field: .paused, clears: [], note: reason))
    }
  }

  private mutating func importMessage(
    _ message: WorkspaceDocument.Message, isLive: Bool, into session: SessionID,
    by author: inout CommandAuthor
  ) {
    guard author.workspace.messageStates[message.id] == nil else {
      counts.known += 1
      return
    }
    guard let addition = addition(of: message, to: session, author) else { return }
    counts.messages += 1
    let id = author.emit(.addMessage(addition))
    author.changing(id, bytes: message.changeBytes) { author in
      if !message.content.isEmpty {
        author.emit(
          .insertText(
            Operation.InsertText(
              message: id, origins: .init(left: nil, right: nil), text: message.content)))
      }
      message.writeDetails(to: id, by: &author)
      for note in message.editionNotes {
        author.emit(.addTag(element: id, field: .edition, clears: [], note: note))
      }
      if !isLive {
        author.emit(.clearTags(element: id, field: .live, clears: [id]))
      }
    }
  }

  /// Made before it is applied: a reference to the session would cause a copy of its queue.
  private func addition(
    of message: WorkspaceDocument.Message, to session: SessionID, _ author: borrowing CommandAuthor
  ) -> Operation.AddMessage? {
    guard let state = author.workspace.sessionStates[session],
      let reference = state.element.references.first
    else { return nil }
    return Operation.AddMessage(
      message: message.id, session: reference, origins: state.slots.originsAtEnd,
      // A time from a wrong clock must not be ahead of the server's.
      stamp: min(Stamp(milliseconds: message.createdAt.milliseconds), author.stamp),
      priority: Priority(name: message.priority) ?? .normal,
      clears: state.element.tagIDs(.exists))
  }

  private mutating func importThread(
    _ thread: WorkspaceDocument.Thread, by author: inout CommandAuthor
  ) {
    guard let session = author.workspace.sessionStates[thread.session], session.exists,
      !session.isInThreadQueue, let reference = session.element.references.first
    else { return }
    counts.threads += 1
    // A place with an earlier time would win over one that is as old as the document.
    let isFresh = session.threadPosition == nil
    author.emit(
      .enqueueThread(
        Operation.EnqueueThread(
          session: reference, origins: author.workspace.threadSlots.originsAtEnd,
          stamp: isFresh
            ? min(Stamp(milliseconds: thread.queuedAt.milliseconds), author.stamp) : author.stamp,
          clearsQueued: session.element.tagIDs(.queued), locks: false, clearsLocked: [])))
  }
}

extension WorkspaceDocument.Message {
  /// Writes its properties besides the text.
  fileprivate func writeDetails(to message: OperationID, by author: inout CommandAuthor) {
    if let attempts, attempts > 0 {
      author.emit(
        .setRegister(
          element: message, field: .attempts, value: .number(UInt64(attempts)),
          stamp: author.stamp))
    }
    for (field, text) in [(RegisterField.lastError, lastError), (.project, project)] {
      guard let text, !text.isEmpty else { continue }
      author.emit(
        .setRegister(element: message, field: field, value: .text(text), stamp: author.stamp))
    }
    for attachment in attachments ?? [] { author.emitTag(of: attachment, to: message) }
    if byAgent == true { author.emitByAgent(message) }
    if let later = later?.milliseconds, later > 0 { author.emitLater(later, of: message) }
    if let needs, !needs.isEmpty { MessageNeeds.emit(needs, of: message, by: &author) }
  }

  /// The approximate minimum size of its operations, in bytes.
  fileprivate var changeBytes: Int {
    let texts = [lastError, project].compactMap { $0 } + (attachments ?? []).map(\.note)
    return texts.reduce(content.utf8.count + editionBytes + MessageNeeds.bytes(needs ?? [])) {
      $0 + CommandAuthor.operationBytes + $1.utf8.count
    }
  }
}
