import SequenceCRDT

/// Forgetting messages that ended long ago: ordinary operations remove their texts and files, so
/// all devices forget them. A name and a place stay.
extension Workspace {
  /// Messages that had ended in an earlier state, are unchanged since, and still hold something.
  ///
  /// - Complexity: O(messages).
  package func forgettable(asIn earlier: Workspace) -> [MessageID] {
    earlier.heads.map(\.key).sorted().flatMap { session in
      let then = earlier.shownMessages(of: session).filter(\.isForgettable)
      guard !then.isEmpty else { return [MessageID]() }
      let now = Dictionary(
        shownMessages(of: session).filter(\.isForgettable).map { ($0.id, $0) }
      ) { first, _ in first }
      return then.filter { message in
        guard let now = now[message.id] else { return false }
        return now.runState == message.runState && now.text() == message.text()
      }.map(\.id)
    }
  }
}

extension CommandAuthor {
  /// Deletes the texts and removes the files of messages that have ended. Other messages are
  /// unchanged.
  mutating func forget(_ ids: some Sequence<MessageID>) {
    for id in ids {
      guard let message = workspace.messageStates[id], ShownMessage(message).isForgettable else {
        continue
      }
      for addition in message.additions {
        let shown = addition.content.visibleRanges.lazy.flatMap { range in
          (range.first...range.last).lazy.map {
            OperationID(replica: range.replica, seq: $0)
          }
        }
        emitDeletion(of: shown, from: addition.id, of: id)
      }
      emitForgetting(ofEditions: message.element)
      let files = message.element.tagIDs(.attachment)
      if !files.isEmpty, let reference = message.element.references.first {
        emit(.clearTags(element: reference, field: .attachment, clears: files))
      }
    }
  }
}

extension Workspace {
  /// Whether a message has ended and all of its content is gone.
  func isForgotten(_ id: MessageID) -> Bool {
    shownMessage(id)?.isForgotten ?? false
  }
}

extension ShownMessage {
  /// Whether it has ended and still holds something.
  fileprivate var isForgettable: Bool { isOver && holdsSomething }

  /// Whether it has ended and all of its content is gone.
  var isForgotten: Bool { isOver && !holdsSomething }

  /// Whether nothing more can happen to it: no agent has it, and every change has arrived
  /// completely.
  private var isOver: Bool { !stands && !isIncomplete }
  private var holdsSomething: Bool {
    !attachments.isEmpty || !editions.isEmpty || !text().isEmpty
  }
}
