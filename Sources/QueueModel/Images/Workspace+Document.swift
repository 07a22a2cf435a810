import SequenceCRDT

extension Workspace {
  /// What a person sees, as a document.
  ///
  /// - Complexity: O(state).
  public func document() -> WorkspaceDocument { WorkspaceDocument(of: self) }

  /// What importing the document would bring.
  ///
  /// - Complexity: O(document).
  public func counts(of document: WorkspaceDocument) -> ImportCounts {
    ImportCounts(of: document, into: self)
  }

  /// Makes what the document holds and this workspace does not: sessions by id, messages by id,
  /// behind those that wait already; threads that are not queued, behind those that are. What is
  /// here already stays as it is. The cap does not stand in the way, as for a restore.
  mutating func importDocument(
    _ document: WorkspaceDocument, by author: inout Author
  ) throws(QueueError) -> CommandOutcome.Notice {
    if let fault = document.fault { throw .invalidDocument(reason: fault) }
    var counts = ImportCounts()
    for session in document.sessions {
      try importSession(session, &counts, by: &author)
    }
    for thread in document.threads { importThread(thread, &counts, by: &author) }
    guard !author.operations.isEmpty else { return .unchanged }
    return .imported(counts)
  }

  private mutating func importSession(
    _ session: WorkspaceDocument.Session, _ counts: inout ImportCounts, by author: inout Author
  ) throws(QueueError) {
    let isNew = sessionStates[session.id]?.exists != true
    let reference = try ensureSession(session.id, by: &author)
    if isNew {
      counts.sessions += 1
      if sessionStates[session.id]?.exists != true {
        emit(.addTag(element: reference, field: .exists, clears: [], note: ""), by: &author)
      }
      setText(session.name, .name, of: session.id, by: &author)
      setText(session.project, .project, of: session.id, by: &author)
      for reason in session.pauses {
        emit(.addTag(element: reference, field: .paused, clears: [], note: reason), by: &author)
      }
      if session.locked {
        emit(.addTag(element: reference, field: .locked, clears: [], note: ""), by: &author)
      }
    }
    for message in session.messages {
      importMessage(message, isLive: true, into: session.id, &counts, by: &author)
    }
    for message in session.cancelled {
      importMessage(message, isLive: false, into: session.id, &counts, by: &author)
    }
  }

  private mutating func importMessage(
    _ message: WorkspaceDocument.Message, isLive: Bool, into session: SessionID,
    _ counts: inout ImportCounts, by author: inout Author
  ) {
    guard messageStates[message.id] == nil else {
      counts.known += 1
      return
    }
    guard let state = sessionStates[session], let reference = state.element.references.first else {
      return
    }
    counts.messages += 1
    let id = emit(
      .addMessage(
        Operation.AddMessage(
          message: message.id, session: reference, origins: .init(state.slots.originsAtEnd),
          // No time of somebody's wrong clock may be ahead of the server's.
          stamp: min(Stamp(milliseconds: message.createdAt), author.stamp),
          priority: Priority(name: message.priority) ?? .normal,
          clears: state.element.tagIDs(.exists))),
      by: &author)
    changing(id, bytes: message.changeBytes, by: &author) { workspace, author in
      if !message.content.isEmpty {
        workspace.emit(
          .insertText(
            Operation.InsertText(
              message: id, origins: .init(left: nil, right: nil), text: message.content)),
          by: &author)
      }
      workspace.emitDetails(of: message, to: id, by: &author)
      if !isLive {
        workspace.emit(.clearTags(element: id, field: .live, clears: [id]), by: &author)
      }
    }
  }

  private mutating func importThread(
    _ thread: WorkspaceDocument.Thread, _ counts: inout ImportCounts, by author: inout Author
  ) {
    guard let session = sessionStates[thread.session], session.exists,
      !session.isInThreadQueue, let reference = session.element.references.first
    else { return }
    counts.threads += 1
    // A place from before would win over one that is as old as the document.
    let isFresh = session.threadPosition == nil
    emit(
      .enqueueThread(
        Operation.EnqueueThread(
          session: reference, origins: .init(threadSlots.originsAtEnd),
          stamp: isFresh
            ? min(Stamp(milliseconds: thread.queuedAt), author.stamp) : author.stamp,
          clearsQueued: session.element.tagIDs(.queued), locks: false, clearsLocked: [])),
      by: &author)
  }
}

extension WorkspaceDocument.Message {
  /// About the bytes of what makes it, at least.
  fileprivate var changeBytes: Int {
    let texts = [lastError, project].compactMap { $0 } + (attachments ?? []).map(\.note)
    return texts.reduce(content.utf8.count) { $0 + Workspace.operationBytes + $1.utf8.count }
  }

  init(_ view: MessageView) {
    self.init(
      id: view.id, content: view.content, priority: view.priority.name, createdAt: view.createdAt,
      device: view.device?.name)
    project = view.project
    attempts = view.attempts == 0 ? nil : view.attempts
    lastError = view.lastError
    attachments = view.attachments.isEmpty ? nil : view.attachments
    byAgent = view.isByAgent ? true : nil
  }
}

extension WorkspaceDocument {
  fileprivate init(of workspace: Workspace) {
    self.init(
      sessions: workspace.sessions().map { Session($0, in: workspace) },
      threads: workspace.threadQueue().threads.map {
        Thread(session: $0.session, queuedAt: $0.queuedAt)
      })
  }
}

extension WorkspaceDocument.Session {
  fileprivate init(_ view: SessionView, in workspace: Workspace) {
    let queue = try? workspace.messageQueue(view.id)
    let element = workspace.elementState(.session(view.id))
    self.init(
      id: view.id, name: element?.text(.name).flatMap { $0.isEmpty ? nil : $0 },
      project: element?.text(.project).flatMap { $0.isEmpty ? nil : $0 },
      pauses: element?.notes(.paused) ?? [], locked: view.locked,
      messages: (queue?.messages ?? []).map(WorkspaceDocument.Message.init),
      cancelled: workspace.cancelledMessages(of: view.id).filter { !$0.content.isEmpty }
        .map(WorkspaceDocument.Message.init))
    task = view.task
  }
}

extension ImportCounts {
  fileprivate init(of document: WorkspaceDocument, into workspace: Workspace) {
    self.init()
    var fresh: Set<SessionID> = []
    var seen: Set<MessageID> = []
    for session in document.sessions {
      if workspace.session(session.id) == nil, fresh.insert(session.id).inserted { sessions += 1 }
      for message in session.messages + session.cancelled {
        let isKnown =
          workspace.messageStates[message.id] != nil || !seen.insert(message.id).inserted
        if isKnown { known += 1 } else { messages += 1 }
      }
    }
    var queued: Set<SessionID> = []
    for thread in document.threads where queued.insert(thread.session).inserted {
      let state = workspace.sessionStates[thread.session]
      let exists = state?.exists ?? false || fresh.contains(thread.session)
      if exists, !(state?.isInThreadQueue ?? false) { threads += 1 }
    }
  }
}
