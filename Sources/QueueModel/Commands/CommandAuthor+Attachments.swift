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
