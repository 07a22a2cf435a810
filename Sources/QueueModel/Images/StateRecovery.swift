import SequenceCRDT

/// If a memory was copied, and a server restored between the writes of the copies under the same
/// ids, two states contradict each other, and no state has the operations of both. The visible
/// content of one of them is then added to the other by new operations. SPECIFICATION.md, section
/// "Copies of a memory".
package struct StateRecovery {
  /// The state that is kept.
  let here: Workspace
  /// The state that is replaced.
  let other: Workspace

  package init(of other: Workspace, in here: Workspace) {
    (self.here, self.other) = (here, other)
  }

  /// Commands that add to this state everything that only the other state shows.
  ///
  /// A text that is partly missing here is added as a message of its own. Its id is derived from
  /// the message's id and the text, so that several devices that add the same text make one
  /// message. A message waits here only if it would start there without a further decision; all
  /// others are added as cancelled. A message that is cancelled, paused or begun in the other state
  /// is stopped here, because that state knows more.
  ///
  /// - Complexity: O(other state · log).
  package func commands() -> [Command] {
    let shown = other.document()
    let sections = Dictionary(shown.sessions.map { ($0.id, $0) }) { first, _ in first }
    var document = WorkspaceDocument()
    var queued: Set<SessionID> = []
    var stops: [Command] = []
    for session in other.image().sessions {
      guard var section = sections[session.key] else { continue }
      (section.messages, section.cancelled) = ([], [])
      for message in session.messages {
        guard let view = try? other.message(message.id) else { continue }
        for copy in missingTexts(of: message, view) {
          if copy.content == view.content, view.startsByItself, !message.isIncomplete {
            section.messages.append(copy)
          } else {
            section.cancelled.append(copy)
          }
        }
        if isStopped(view) { stops.append(.cancel([message.id])) }
      }
      let isNew = here.sessionStates[session.key] == nil
      if isNew || !section.messages.isEmpty || !section.cancelled.isEmpty {
        document.sessions.append(section)
      }
      let tags = session.tags.first { $0.field == .queued }?.tags ?? []
      if !tags.map(\.id).allSatisfy(here.vector.contains) { queued.insert(session.key) }
      if let view = here.session(session.key), !view.paused, !section.pauses.isEmpty {
        stops.append(.pause(session.key, reason: section.pauses.first))
      }
    }
    document.threads = shown.threads.filter { queued.contains($0.session) }
    return document.parts.map(Command.importDocument) + stops
  }

  /// The texts of the other state's message that are not completely here: usually one.
  private func missingTexts(
    of message: WorkspaceImage.Message, _ view: MessageView
  ) -> [WorkspaceDocument.Message] {
    message.additions.filter { !holds($0, of: message.id) }.flatMap { $0.text.partsToSend }
      .filter { !$0.isEmpty || !view.attachments.isEmpty }
      .map { text in
        var copy = WorkspaceDocument.Message(view)
        copy.id = message.id.holding(text)
        copy.content = text
        copy.attachments = copy.attachments.map { Array($0.prefix(Limits.messageAttachmentsMax)) }
        return copy
      }
  }

  /// Whether all visible parts of another state's addition are here, or were deleted here.
  private func holds(_ addition: WorkspaceImage.Addition, of message: MessageID) -> Bool {
    guard here.messageKeys[addition.id] == message else { return false }
    var rest = addition.text.unicodeScalars[...]
    for run in addition.runs where run.isVisible {
      let text = String(rest.prefix(run.slots.length))
      rest = rest.dropFirst(run.slots.length)
      let insertion = Operation(
        id: run.slots.id,
        body: .insertText(
          Operation.InsertText(message: addition.id, origins: run.slots.origins, text: text)))
      guard let last = insertion.lastID, here.vector.contains(last),
        !insertion.isContradicted(by: here)
      else {
        return false
      }
    }
    return true
  }

  /// Whether a message that waits here must not start because of the other state. That state knows
  /// all the operations by which the message waits, and it was withdrawn there. Or it began and
  /// ended there, and no operation here shows that it began.
  private func isStopped(_ view: MessageView) -> Bool {
    guard let state = here.messageStates[view.id], state.stands,
      state.element.tagIDs(.live).allSatisfy(other.vector.contains)
    else { return false }
    return switch view.status {
    case .cancelled: true
    case .failed, .interrupted, .unknown, .succeeded, .skipped: state.element.runState.run == nil
    case .queued, .running: false
    }
  }
}

extension WorkspaceImage.Message {
  /// Whether a part of a change to it has not arrived.
  fileprivate var isIncomplete: Bool {
    tags.contains { $0.field == .incomplete && !$0.tags.isEmpty }
  }
}

extension MessageView {
  /// Whether only its place in the queue prevents the message from starting.
  fileprivate var startsByItself: Bool {
    status == .queued && run == nil && notBefore == nil && heldUntil == nil && later == nil
      && needs.isEmpty
  }
}

extension String {
  /// The text, in parts if merging made it longer than a message may be.
  fileprivate var partsToSend: [String] {
    guard utf8.count > Limits.contentBytesMax else { return [self] }
    var parts: [String] = []
    var rest = unicodeScalars[...]
    while !rest.isEmpty {
      // A scalar has at most four bytes.
      parts.append(String(rest.prefix(Limits.contentBytesMax / 4)))
      rest = rest.dropFirst(Limits.contentBytesMax / 4)
    }
    return parts
  }
}

extension MessageID {
  /// The id of a message with a text of this one. It is derived by FNV-1a of the text and a
  /// multiplication, so that a second derivation does not give the first id again.
  fileprivate func holding(_ text: String) -> MessageID {
    var sum: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in text.utf8 { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return MessageID(
      high: (high ^ sum) &* 0x9E37_79B9_7F4A_7C15, low: (low ^ sum) &* 0xD6E8_FEB8_6659_FD93)
  }
}
