package import SequenceCRDT

/// What a server and a device ask to tell a person of merged messages.
extension Workspace {
  /// Whether a message waits until somebody chooses its text: it stands in the queue of a session that
  /// exists, was merged, and its session does not have merged messages run.
  ///
  /// - Complexity: O(1) of a message with fewer than two live editions, else O(texts).
  package func waitsForChoice(_ id: MessageID) -> Bool {
    guard let message = shownMessage(id), message.stands,
      let session = head(of: message.session), session.exists
    else { return false }
    return message.waitsForChoice(under: session.onMerge)
  }

  /// The session whose queue holds a message, and the message's live editions; nil if it is not known.
  package func liveEditions(
    of id: MessageID
  ) -> (session: SessionID, editions: Set<OperationID>)? {
    shownMessage(id).map { ($0.session, Set($0.editions.map(\.id))) }
  }

  /// The message that an operation is about; nil if it is about none that is known.
  package func message(changedBy operation: Operation) -> MessageID? {
    let reference: OperationID
    switch operation.body {
    case .addMessage(let addition): return addition.message
    case .insertText(let insertion): reference = insertion.message
    case .deleteText(let deletion): reference = deletion.message
    case .placeMessage(let message, _, _, _): reference = message
    case .addTag(let element, _, _, _), .clearTags(let element, _, _),
      .setRegister(let element, _, _, _):
      reference = element
    case .announceDevice, .openSession, .placeThread, .enqueueThread: return nil
    }
    return messageKeys[reference]
  }
}
