import SequenceCRDT

extension Workspace {
  /// The visible content as a document.
  ///
  /// - Complexity: O(state).
  public func document() -> WorkspaceDocument { WorkspaceDocument(of: self) }

  /// The parts of the document that an import would add.
  ///
  /// - Complexity: O(document).
  public func counts(of document: WorkspaceDocument) -> ImportCounts {
    ImportCounts(of: document, into: self)
  }

  /// The messages that a message waits for, without those that have succeeded: a device that
  /// imports it may not know them, and would wait in vain.
  package func openNeeds(of message: MessageView) -> [MessageID] {
    message.needs.filter { shownMessage($0)?.runState.run?.phase != .succeeded }
  }
}

extension Workspace {
  /// The reasons of a session's pauses; that of a pause without one is empty.
  package func pauses(of session: SessionID) -> [String] {
    elementState(.session(session))?.notes(.paused) ?? []
  }
}

extension WorkspaceDocument.Message {
  init(_ view: MessageView) {
    self.init(
      id: view.id, content: view.content, priority: view.priority.name, createdAt: view.createdAt,
      device: view.device?.name)
    project = view.project
    attempts = view.attempts == 0 ? nil : view.attempts
    lastError = view.lastError
    attachments = view.attachments.isEmpty ? nil : view.attachments
    byAgent = view.isByAgent ? true : nil
    later = view.later.map(DocumentTime.init)
    needs = view.needs.isEmpty ? nil : view.needs
    editions =
      view.versions.isEmpty ? nil : view.versions.map(WorkspaceDocument.Edition.init)
  }

  fileprivate init(_ view: MessageView, in workspace: Workspace) {
    self.init(view)
    let open = workspace.openNeeds(of: view)
    needs = open.isEmpty ? nil : open
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
      pauses: workspace.pauses(of: view.id), locked: view.locked,
      messages: (queue?.messages ?? []).map { WorkspaceDocument.Message($0, in: workspace) },
      cancelled: workspace.cancelledMessages(of: view.id).filter {
        !$0.content.isEmpty || $0.isMerged
      }
      .map { WorkspaceDocument.Message($0, in: workspace) })
    onMerge = view.onMerge == .wait ? nil : view.onMerge
    onLostServer = view.onLostServer == .finish ? nil : view.onLostServer
    archived = view.archived ? true : nil
  }
}

extension ImportCounts {
  fileprivate init(of document: WorkspaceDocument, into workspace: Workspace) {
    self.init()
    let brought = Set(document.sessions.flatMap { $0.messages + $0.cancelled }.map(\.id))
    var fresh: Set<SessionID> = []
    var seen: Set<MessageID> = []
    for session in document.sessions {
      let found = session.messages.filter {
        $0.wasStarted && workspace.messageStates[$0.id] == nil && !seen.contains($0.id)
      }
      started += found.count
      if !found.isEmpty { held.insert(session.id) }
      if workspace.session(session.id) == nil, fresh.insert(session.id).inserted { sessions += 1 }
      for message in session.messages + session.cancelled {
        let isKnown =
          workspace.messageStates[message.id] != nil || !seen.insert(message.id).inserted
        if isKnown { known += 1 } else { messages += 1 }
        let lacks = { (id: MessageID) in
          !brought.contains(id) && workspace.messageStates[id] == nil
        }
        if !isKnown, (message.needs ?? []).contains(where: lacks) { inVain += 1 }
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
