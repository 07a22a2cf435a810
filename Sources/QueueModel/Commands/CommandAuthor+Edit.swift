import SequenceCRDT

/// Edits: a whole new text against what the editor saw.
extension CommandAuthor {
  func checkedContent(_ text: String) throws(QueueError) -> String {
    let trimmed = text.trimmedOfWhitespace()
    guard !trimmed.isEmpty else { throw .blankText }
    let bytes = trimmed.utf8.count
    guard bytes <= Limits.contentBytesMax else {
      throw .contentTooLong(bytes: bytes, max: Limits.contentBytesMax)
    }
    return trimmed
  }

  mutating func edit(
    _ id: MessageID, content: String, base: EditBase?
  ) throws(QueueError) -> CommandOutcome.Notice {
    let content = try checkedContent(content)
    let base = try currentBase(of: id, base)
    try emitEdits(from: base, to: content, of: id)
    // A user who edits a failed prompt wants it tried again (C-14).
    if workspace.messageStates[id]?.element.runState.isHalted == true {
      decide(id, skips: false)
    }
    return operations.isEmpty ? .unchanged : .done
  }

  /// The base of an edit. If the editor had opened the text of an addition that lost, the new
  /// content replaces the visible text: in the other one it would be invisible.
  private func currentBase(of id: MessageID, _ base: EditBase?) throws(QueueError) -> EditBase {
    let message = try idleMessage(id)
    guard let base else { return try workspace.editBase(id) }
    guard message.additions.contains(where: { $0.id == base.content }) else {
      throw .messageNotFound(id: id.description)
    }
    guard base.content != message.primary?.id else { return base }
    var present = try workspace.editBase(id)
    present.editions = base.editions
    return present
  }

  /// Makes the text operations that turn the base into the new content, and its edition.
  ///
  /// Scalars of the base that are missing here were deleted and forgotten since then.
  ///
  /// - Throws: `QueueError.messageNotFound` if the base names scalars that were never in this text.
  mutating func emitEdits(
    from base: EditBase, to content: String, of id: MessageID
  ) throws(QueueError) {
    let edits = try edits(from: base, to: content, of: id)
    let ids = base.ranges.flatMap { range in
      (range.first...range.last).map { OperationID(replica: range.replica, seq: $0) }
    }
    // Each edit deletes a stretch, which others' text may have cut, and inserts one.
    let deleted = edits.reduce(0) { $0 + $1.range.count }
    let operations = 2 * edits.count + min(base.ranges.count, deleted)
    let bytes = edits.reduce(operations * CommandAuthor.operationBytes) { sum, edit in
      edit.replacement.reduce(sum) { $0 + UTF8.width($1) }
    }
    let edition = edition(of: content, edits.isEmpty, over: base.editions, of: id)
    changing(base.content, bytes: bytes + (edition?.bytes ?? 0)) { author in
      for edit in edits {
        author.emit(edit, on: ids, of: base.content, of: id)
      }
      if let edition { author.emit(edition, of: base.content) }
    }
  }

  /// Makes the text operations that turn the base into the new content, and no edition.
  ///
  /// - Throws: as `emitEdits`.
  mutating func emitLetters(
    from base: EditBase, to content: String, of id: MessageID
  ) throws(QueueError) {
    let edits = try edits(from: base, to: content, of: id)
    let ids = base.ranges.flatMap { range in
      (range.first...range.last).map { OperationID(replica: range.replica, seq: $0) }
    }
    let bytes = edits.reduce(2 * edits.count * CommandAuthor.operationBytes) { sum, edit in
      edit.replacement.reduce(sum) { $0 + UTF8.width($1) }
    }
    changing(base.content, bytes: bytes) { author in
      for edit in edits { author.emit(edit, on: ids, of: base.content, of: id) }
    }
  }

  private func edits(
    from base: EditBase, to content: String, of id: MessageID
  ) throws(QueueError) -> [TextEdit] {
    let old = Array(base.text.unicodeScalars)
    guard let known = workspace.content(base.content, of: id)?.sequence,
      base.ranges.reduce(0, { $0 + $1.count }) == old.count
    else { throw .messageNotFound(id: id.description) }
    for range in base.ranges where !isPlausible(range, in: known) {
      throw .messageNotFound(id: id.description)
    }
    try checkRoom(for: content.unicodeScalars.count, in: known)
    return TextEdit.edits(from: old, to: Array(content.unicodeScalars))
  }

  /// Replaces a stretch of the scalars that an editor saw.
  mutating func emit(
    _ edit: TextEdit, on ids: [OperationID], of addition: OperationID, of id: MessageID
  ) {
    emitDeletion(of: ids[edit.range], from: addition, of: id)
    guard !edit.replacement.isEmpty,
      let origins = origins(at: edit.range.lowerBound, among: ids, in: addition, of: id)
    else { return }
    emit(
      .insertText(
        Operation.InsertText(
          message: addition, origins: origins,
          text: String(String.UnicodeScalarView(edit.replacement)))))
  }

  /// Whether the ids are or were scalars of the text, as far as the state shows.
  private func isPlausible(_ range: OperationRange, in sequence: RunSequence) -> Bool {
    let first = OperationID(replica: range.replica, seq: range.first)
    if (try? sequence.check(first: first, count: range.count)) != nil { return true }
    guard workspace.vector[range.replica] >= range.last else { return false }
    return (range.first...range.last).allSatisfy { seq in
      let id = OperationID(replica: range.replica, seq: seq)
      return workspace.sessionKeys[id] == nil && workspace.messageKeys[id] == nil
    }
  }

  /// The place behind the nearest scalar to the left that is still here, else before the nearest
  /// to the right.
  private func origins(
    at index: Int, among ids: [OperationID], in addition: OperationID, of message: MessageID
  ) -> Operation.Origins? {
    guard let sequence = workspace.content(addition, of: message)?.sequence else { return nil }
    if index == 0, let origins = sequence.origins(behind: nil) { return .init(origins) }
    for id in ids[..<index].reversed() {
      if let origins = sequence.origins(behind: id) { return .init(origins) }
    }
    for id in ids[index...] {
      if let origins = sequence.origins(before: id) { return .init(origins) }
    }
    return .init(sequence.originsAtEnd)
  }

  func checkRoom(for count: Int, in sequence: RunSequence) throws(QueueError) {
    guard sequence.unitCount + count <= TextContent.unitsMax else {
      throw .limitReached(what: "characters ever typed in one message", max: TextContent.unitsMax)
    }
  }

  /// Deletes those of the scalars that still show, as stretches of consecutive ids.
  mutating func emitDeletion(
    of ids: some Sequence<OperationID>, from addition: OperationID, of message: MessageID
  ) {
    for deletion in deletions(of: ids, from: addition, of: message) {
      emit(.deleteText(deletion))
    }
  }

  private func deletions(
    of ids: some Sequence<OperationID>, from addition: OperationID, of message: MessageID
  ) -> [Operation.DeleteText] {
    guard let sequence = workspace.content(addition, of: message)?.sequence else { return [] }
    var deletions: [Operation.DeleteText] = []
    for id in ids where sequence.isVisible(id) {
      if let last = deletions.last, last.first.advanced(by: last.count) == id {
        deletions[deletions.count - 1].count += 1
      } else {
        deletions.append(Operation.DeleteText(message: addition, first: id, count: 1))
      }
    }
    return deletions
  }
}
