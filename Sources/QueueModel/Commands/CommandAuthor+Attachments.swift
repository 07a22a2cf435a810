import SequenceCRDT

/// An attachment is a tag of its message, whose note describes the file. Adding, removing and
/// undoing it merge as for all tags.
extension CommandAuthor {
  mutating func attach(
    _ attachments: [Attachment], to id: MessageID
  ) throws(QueueError) -> CommandOutcome.Notice {
    let message = try waitingMessage(id)
    let known = Set(Attachment.shown(by: message.element.notes(.attachment)).map(\.hash))
    var fresh: [Attachment] = []
    for attachment in attachments
    where !known.contains(attachment.hash)
      && !fresh.contains(where: { $0.hash == attachment.hash })
    {
      fresh.append(attachment)
    }
    guard known.count + fresh.count <= Limits.messageAttachmentsMax else {
      throw .limitReached(
        what: "attachments in one message", max: Limits.messageAttachmentsMax)
    }
    guard !fresh.isEmpty, let reference = message.element.references.first else {
      return .unchanged
    }
    for attachment in fresh { emitTag(of: attachment, to: reference) }
    return .affected(count: fresh.count)
  }

  mutating func emitTag(of attachment: Attachment, to message: OperationID) {
    emit(.addTag(element: message, field: .attachment, clears: [], note: attachment.note))
  }

  /// A cancelled message can lose its files, too, so the message does not have to wait.
  mutating func detach(
    _ hashes: [ContentHash], from id: MessageID
  ) throws(QueueError) -> CommandOutcome.Notice {
    guard let message = workspace.messageStates[id],
      let reference = message.element.references.first
    else {
      throw .messageNotFound(id: id.description)
    }
    let tags = message.element.tags[.attachment]?.tags ?? []
    for hash in hashes
    where !tags.contains(where: { Attachment(note: $0.note)?.hash == hash }) {
      throw .attachmentNotFound(hash: hash.description, message: id.description)
    }
    let gone = Set(hashes)
    let cleared = tags.filter { Attachment(note: $0.note).map { gone.contains($0.hash) } ?? false }
    guard !cleared.isEmpty else { return .unchanged }
    emit(.clearTags(element: reference, field: .attachment, clears: cleared.map(\.id)))
    return .affected(count: gone.count)
  }

  /// The properties besides the text of a message from another workspace.
  mutating func emitDetails(of message: WorkspaceDocument.Message, to reference: OperationID) {
    if let attempts = message.attempts, attempts > 0 {
      emit(
        .setRegister(
          element: reference, field: .attempts, value: .number(UInt64(attempts)),
          stamp: stamp))
    }
    for (field, text) in [
      (RegisterField.lastError, message.lastError), (.project, message.project),
    ] {
      guard let text, !text.isEmpty else { continue }
      emit(.setRegister(element: reference, field: field, value: .text(text), stamp: stamp))
    }
    for attachment in message.attachments ?? [] {
      emitTag(of: attachment, to: reference)
    }
    if message.byAgent == true { emitByAgent(reference) }
    if let later = message.later?.milliseconds, later > 0 { emitLater(later, of: reference) }
  }

  /// Writes the time before which a message is not in line.
  mutating func emitLater(_ time: Int64, of message: OperationID) {
    emit(
      .setRegister(
        element: message, field: .later, value: .number(UInt64(time)), stamp: stamp))
  }

  /// Marks a message as queued by an agent.
  mutating func emitByAgent(_ message: OperationID) {
    emit(.addTag(element: message, field: .byAgent, clears: [], note: ""))
  }
}
