import SequenceCRDT

/// Typing: text at an offset. Offsets count the visible Unicode scalars, from 0.
///
/// The functions that find an edit's data return no text: a reference to the text during the change
/// would cause a copy.
extension CommandAuthor {
  mutating func insertText(
    _ text: String, at offset: Int, of id: MessageID
  ) throws(QueueError) -> CommandOutcome.Notice {
    let hasSeveralEditions = workspace.messageStates[id]?.hasSeveralEditions == true
    let isSettled =
      hasSeveralEditions ? try settleTyped(in: id, replacing: offset..<offset, by: text) : false
    guard let insertion = try insertion(of: text, at: offset, into: id) else { return .unchanged }
    if !isSettled {
      noteTyping(
        in: id, insertion.message, at: offset, old: "", count: text.unicodeScalars.count)
      if hasSeveralEditions { try settleEditions(of: id) }
    }
    changing(insertion.message, bytes: text.utf8.count) { author in
      author.emit(.insertText(insertion))
    }
    return .done
  }

  private func insertion(
    of text: String, at offset: Int, into id: MessageID
  ) throws(QueueError) -> Operation.InsertText? {
    let (addition, content) = try typedContent(of: id)
    let count = content.sequence.visibleCount
    guard offset >= 0, offset <= count else {
      throw .invalidTextRange(first: offset, last: offset, count: count)
    }
    guard !text.isEmpty else { return nil }
    let inserted = text.unicodeScalars.count
    try checkRoom(for: inserted, in: content.sequence)
    // A scalar has at most 4 bytes; only texts near the limit have to be measured.
    if (count + inserted) * 4 > Limits.contentBytesMax {
      let bytes = content.text.utf8.count + text.utf8.count
      guard bytes <= Limits.contentBytesMax else {
        throw .contentTooLong(bytes: bytes, max: Limits.contentBytesMax)
      }
    }
    let left = offset > 0 ? content.visibleID(at: offset - 1) : nil
    let origins = content.sequence.origins(behind: left) ?? content.sequence.originsAtEnd
    return Operation.InsertText(message: addition, origins: .init(origins), text: text)
  }

  /// Deleting everything is refused, as blank text is: a message that is not wanted is cancelled.
  mutating func deleteText(
    _ range: Range<Int>, of id: MessageID
  ) throws(QueueError) -> CommandOutcome.Notice {
    let hasSeveralEditions = workspace.messageStates[id]?.hasSeveralEditions == true
    let isSettled = hasSeveralEditions ? try settleTyped(in: id, replacing: range, by: "") : false
    let deletions = try deletions(of: range, from: id)
    if !isSettled, let content = deletions.first?.message,
      let old = workspace.content(content, of: id)?.visibleText(in: range)
    {
      noteTyping(in: id, content, at: range.lowerBound, old: old, count: 0)
      if hasSeveralEditions { try settleEditions(of: id) }
    }
    for deletion in deletions { emit(.deleteText(deletion)) }
    return deletions.isEmpty ? .unchanged : .done
  }

  private func deletions(
    of range: Range<Int>, from id: MessageID
  ) throws(QueueError) -> [Operation.DeleteText] {
    let (addition, content) = try typedContent(of: id)
    let count = content.sequence.visibleCount
    guard range.lowerBound >= 0, range.upperBound <= count else {
      throw .invalidTextRange(first: range.lowerBound, last: range.upperBound, count: count)
    }
    guard range.isEmpty || range.count < count else { throw .blankText }
    return content.visibleRanges(in: range).map { part in
      Operation.DeleteText(
        message: addition, first: OperationID(replica: part.replica, seq: part.first),
        count: part.count)
    }
  }

  /// Makes the letters match the visible text before places are counted. An invalid offset is
  /// refused first.
  ///
  /// - Returns: whether the letters made a different text; an undo restores that text together with
  ///   the typing.
  private mutating func settleTyped(
    in id: MessageID, replacing range: Range<Int>, by text: String
  ) throws(QueueError) -> Bool {
    guard !(range.isEmpty && text.isEmpty),
      let shown = workspace.shownMessage(id)?.textBesidesLetters
    else { return false }
    try checkTyping(text, at: range, of: shown, in: try typedContent(of: id).content.sequence)
    try settleEditions(of: id)
    return true
  }

  private func checkTyping(
    _ text: String, at range: Range<Int>, of shown: String, in sequence: RunSequence
  ) throws(QueueError) {
    let count = shown.unicodeScalars.count
    guard range.lowerBound >= 0, range.upperBound <= count else {
      throw .invalidTextRange(first: range.lowerBound, last: range.upperBound, count: count)
    }
    guard range.isEmpty || range.count < count else { throw .blankText }
    try checkRoom(for: count + text.unicodeScalars.count, in: sequence)
    let bytes = shown.utf8.count + text.utf8.count
    guard bytes <= Limits.contentBytesMax else {
      throw .contentTooLong(bytes: bytes, max: Limits.contentBytesMax)
    }
  }

  private func typedContent(
    of id: MessageID
  ) throws(QueueError) -> (addition: OperationID, content: TextContent) {
    guard let primary = try idleMessage(id).primary else {
      throw .messageNotFound(id: id.description)
    }
    return (primary.id, primary.content)
  }
}

extension MessageState {
  /// Whether more than one saved text is live. A single one needs no settling.
  var hasSeveralEditions: Bool { (element.tags[.edition]?.tags.count ?? 0) >= 2 }
}
