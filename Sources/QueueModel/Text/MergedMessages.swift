package import SequenceCRDT

extension Workspace {
  /// Whether a message waits until a user chooses its text: it is in the queue of a session that
  /// exists, was merged, and its session does not have merged messages run.
  ///
  /// - Complexity: O(1) of a message with fewer than two live editions, else O(texts).
  package func waitsForChoice(_ id: MessageID) -> Bool { ShownMessage.waits(id, in: self) }
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
  /// The session whose queue holds a message, and the message's live editions; nil if it is not known.
  package static func live(
    of id: MessageID, in workspace: Workspace
  ) -> (session: SessionID, editions: Set<OperationID>)? {
    workspace.shownMessage(id).map { ($0.session, Set($0.editions.map(\.id))) }
  }
}

extension Operation {
  /// The message that it changes; nil if it changes none that is known.
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
  /// The merged message whose text it saves; nil if it is none.
  func mergedMessage(in workspace: Workspace) -> MessageID? {
    guard case .edit(let id, _, _) = self, workspace.shownMessage(id)?.isMerged == true else {
      return nil
    }
    return id
  }
}

extension UndoEntry {
  /// A message that is sent again needs room in its queue, as one that is sent.
  func requireRoom(in workspace: Workspace, max: Int) throws(QueueError) {
    guard label.kind == .sent, let message = label.message.flatMap({ workspace.messageStates[$0] }),
      !workspace.isWaiting(message)
    else { return }
    let waiting = workspace.sessionStates[message.session]?.standing.count ?? 0
    guard waiting < max else { throw .queueFull(current: waiting, max: max) }
  }
}
