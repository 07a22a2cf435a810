package import SequenceCRDT

extension Workspace {
  /// Whether a message waits until a user chooses its text: it is in the queue of an existing
  /// session, was merged, and its session does not run merged messages.
  ///
  /// - Complexity: O(1) of a message with fewer than two live editions, else O(texts).
  package func waitsForChoice(_ id: MessageID) -> Bool { ShownMessage.waits(id, in: self) }
}

/// A text that a device's user saved too late, after the message's agent had started with another
/// one; or that user's cancel of a message whose agent had already started.
package struct LateText: Hashable, Sendable {
  package var message: MessageID
  package var session: SessionID
  /// The edition or the cancel.
  package var edition: OperationID
  /// nil if it is not kept complete.
  package var text: String?
  /// After a cancel: the command that stops the agent.
  package var stopCommand: String?
}

extension ShownMessage {
  /// Whether an agent finished it although it was cancelled.
  fileprivate var isFinishedWithdrawn: Bool {
    liveTags.isEmpty && runState.run?.phase == .succeeded
  }
}

extension LateText {
  /// Whether the agent finished meanwhile.
  package func isFinished(in workspace: Workspace) -> Bool {
    workspace.shownMessage(message)?.isFinishedWithdrawn == true
  }

  /// The command that shows the message with its texts.
  package var showCommand: String {
    ShellLine.line("queue show", [String(message.description.prefix(8))])
  }

  /// The texts that a device's user saved too late.
  ///
  /// - Parameter ids: the messages to search; nil for all.
  /// - Complexity: O(ids and their texts).
  package static func saved(
    on device: DeviceID, in workspace: Workspace, among ids: Set<MessageID>? = nil
  ) -> [LateText] {
    let messages =
      ids.map { $0.sorted().compactMap(workspace.shownMessage) }
      ?? workspace.heads.map(\.key).sorted().flatMap(workspace.shownMessages(of:))
    return messages.filter(\.hasStarted).flatMap { message -> [LateText] in
      let editions = message.editions
      guard !editions.isEmpty else { return [] }
      let text = message.text()
      return editions.compactMap { tag in
        let edition = Edition(note: tag.note)
        guard edition.attempt == nil, edition.author == nil, !edition.holds(text),
          workspace.device(of: tag.id.replica)?.id == device
        else { return nil }
        return LateText(
          message: message.id, session: message.session, edition: tag.id, text: edition.wholeText)
      }
    }
  }

  /// The cancels of a device's user that came too late, one for each message.
  ///
  /// - Parameter operations: those that the server did not have yet when the agents started.
  package static func cancels(
    among operations: [Operation], in workspace: Workspace
  ) -> [LateText] {
    var found: [MessageID: LateText] = [:]
    for operation in operations {
      guard case .clearTags(_, .live, _) = operation.body,
        let id = operation.message(in: workspace), let message = workspace.shownMessage(id),
        message.withdrawal == .cancelled || message.isFinishedWithdrawn
      else { continue }
      found[id] = LateText(
        message: id, session: message.session, edition: operation.id, text: message.text(),
        stopCommand: ShellLine.session("queue stop", message.session))
    }
    return found.values.sorted { $0.message < $1.message }
  }

  /// The cancelled messages whose agents operations may report as started.
  package static func cancelled(
    reportedBy operations: [Operation], in workspace: Workspace
  ) -> Set<MessageID> {
    Set(
      operations.compactMap { operation in
        guard case .setRegister(_, .run, _, _) = operation.body,
          let id = operation.message(in: workspace), isCancelled(id, in: workspace)
        else { return nil }
        return id
      })
  }

  /// Whether a message is in no queue, and no agent is known to work on it.
  package static func isCancelled(_ id: MessageID, in workspace: Workspace) -> Bool {
    workspace.shownMessage(id).map { $0.liveTags.isEmpty && !$0.hasStarted } ?? false
  }

  /// The messages for which operations keep what their agents got.
  package static func messages(
    settledBy operations: [Operation], in workspace: Workspace
  ) -> Set<MessageID> {
    Set(
      operations.compactMap { operation in
        guard case .addTag(_, .edition, _, let note) = operation.body,
          Edition(note: note).attempt != nil
        else { return nil }
        return operation.message(in: workspace)
      })
  }
}

extension ShownMessage {
  fileprivate static func waits(_ id: MessageID, in workspace: Workspace) -> Bool {
    guard let message = workspace.shownMessage(id), message.stands,
      let session = workspace.head(of: message.session), session.exists
    else { return false }
    return message.waitsForChoice(under: session.onMerge)
  }
}

extension Edition {
  /// The session whose queue holds a message, and the message's live editions; nil if it is unknown.
  package static func live(
    of id: MessageID, in workspace: Workspace
  ) -> (session: SessionID, editions: Set<OperationID>)? {
    workspace.shownMessage(id).map { ($0.session, Set($0.editions.map(\.id))) }
  }

  /// The merged messages in a session's queue, in its order, whether they wait or not; none for a
  /// deleted session.
  ///
  /// - Complexity: O(messages of the session), and O(texts) of those with several editions.
  package static func merged(in session: SessionID, of workspace: Workspace) -> [MessageID] {
    guard workspace.head(of: session)?.exists == true else { return [] }
    return workspace.standingMessages(of: session).filter(\.isMerged).map(\.id)
  }

  /// The messages of all sessions that wait until a user chooses their text.
  ///
  /// - Complexity: as `merged`, of all sessions.
  package static func awaitChoice(
    in workspace: Workspace
  ) -> [(session: SessionID, message: MessageID)] {
    workspace.heads.map(\.key).sorted().flatMap { session in
      merged(in: session, of: workspace).filter(workspace.waitsForChoice).map { (session, $0) }
    }
  }
}

extension Operation {
  /// The message that it changes; nil if it changes no known message.
  package func message(in workspace: Workspace) -> MessageID? {
    let reference: OperationID
    switch body {
    case .addMessage(let addition): return addition.message
    case .insertText(let insertion): reference = insertion.message
    case .deleteText(let deletion): reference = deletion.message
    case .placeMessage(let message, _, _, _): reference = message
    case .addTag(let element, _, _, _), .clearTags(let element, _, _),
      .setRegister(let element, _, _, _):
      reference = element
    case .announceDevice, .openSession, .placeThread, .enqueueThread: return nil
    }
    return workspace.messageKeys[reference]
  }
}

extension Command {
  /// The merged message whose text it saves; nil if there is none.
  func mergedMessage(in workspace: Workspace) -> MessageID? {
    guard case .edit(let id, _, _) = self, workspace.shownMessage(id)?.isMerged == true else {
      return nil
    }
    return id
  }
}

extension UndoEntry {
  /// A message that is sent again needs room in its queue, like a new one.
  func requireRoom(in workspace: Workspace, max: Int) throws(QueueError) {
    guard label.kind == .sent, let message = label.message.flatMap({ workspace.messageStates[$0] }),
      !workspace.isWaiting(message)
    else { return }
    let waiting = workspace.sessionStates[message.session]?.standing.count ?? 0
    guard waiting < max else { throw .queueFull(current: waiting, max: max) }
  }
}
