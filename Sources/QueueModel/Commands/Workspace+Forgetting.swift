import SequenceCRDT

/// Forgetting what was over long ago: its texts and files go by ordinary operations, so all devices
/// forget it. What stays is a name and a place.
extension Workspace {
  /// Messages that were over in an earlier state, are as they were then, and hold something still.
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

  /// Deletes texts and takes files off messages that are over; others are left alone.
  ///
  /// What somebody types at the same time stays: nobody had seen it.
  ///
  /// - Throws: `QueueError.stateDamaged`; nothing changed then.
  package mutating func forget(
    _ ids: some Sequence<MessageID>, in context: CommandContext
  ) throws(QueueError) -> CommandOutcome {
    let before = cold == nil ? nil : self
    var author = Author(context: context)
    for id in ids {
      guard let message = messageStates[id], ShownMessage(message).isForgettable else { continue }
      for addition in message.additions {
        let shown = addition.content.visibleRanges.lazy.flatMap { range in
          (range.first...range.last).lazy.map {
            OperationID(replica: range.replica, seq: $0)
          }
        }
        emitDeletion(of: shown, from: addition.id, of: id, by: &author)
      }
      let files = message.element.tagIDs(.attachment)
      if !files.isEmpty, let reference = message.element.references.first {
        emit(.clearTags(element: reference, field: .attachment, clears: files), by: &author)
      }
    }
    if let damage = author.damage, let before {
      self = before
      throw .stateDamaged(reason: damage)
    }
    packTexts()
    return CommandOutcome(
      operations: author.operations, touched: author.touched,
      notice: author.operations.isEmpty ? .unchanged : .done)
  }
}

extension ShownMessage {
  /// Whether it is over, no agent has it, and it holds something still.
  fileprivate var isForgettable: Bool {
    !stands && !isIncomplete && (!text().isEmpty || !attachments.isEmpty)
  }
}
