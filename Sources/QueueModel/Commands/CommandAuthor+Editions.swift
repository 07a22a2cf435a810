import SequenceCRDT

/// Editions: the tags that saving adds beside the changed letters.
extension CommandAuthor {
  /// An edition that is to be added.
  struct PendingEdition {
    var note: String
    var clears: [OperationID]

    /// The approximate size of its operation, in bytes.
    var bytes: Int { note.utf8.count + CommandAuthor.operationBytes * (1 + clears.count) }
  }

  /// The edition of a saved text; nil if the text is unchanged and needed no check.
  ///
  /// - Parameter seen: the editions that were live when the editor was opened.
  func edition(
    of content: String, _ isUnchanged: Bool, over seen: [OperationID], of id: MessageID
  ) -> PendingEdition? {
    guard let message = workspace.messageStates[id].map(ShownMessage.init) else { return nil }
    let live = Set(message.editions.map(\.id))
    let clears = seen.filter(live.contains)
    // A user who saves a merged text unchanged has checked it.
    guard !isUnchanged || (clears.count >= 2 && message.isMerged) else { return nil }
    var edition = Edition(of: content, milliseconds: context.time)
    let chosen = message.editions.first {
      clears.contains($0.id) && Edition(note: $0.note).holds(content)
    }
    if let chosen {
      // A user who chooses another author's text did not write it.
      let writer = workspace.device(of: chosen.id.replica)?.name
      let own = workspace.device(of: context.replica)?.name
      edition.author = Edition(note: chosen.note).put(by: own, of: writer).author
    }
    return PendingEdition(note: edition.note, clears: clears)
  }

  mutating func emit(_ edition: PendingEdition, of addition: OperationID) {
    emit(.addTag(element: addition, field: .edition, clears: edition.clears, note: edition.note))
  }

  /// Adds an edition of the text that the letters make, unless the message is forgotten. Text that
  /// is typed while an agent starts may be too late, so what the agent got is kept.
  ///
  /// - Parameter seen: the editions to clear, if they are live; nil for all.
  mutating func putEdition(of id: MessageID, over seen: [OperationID]?) {
    guard let message = workspace.messageStates[id], let primary = message.primary,
      !workspace.isForgotten(id)
    else { return }
    let hasStarted = ShownMessage(message).hasStarted
    let live = (message.element.tags[.edition]?.tags ?? [])
      .filter { !hasStarted || Edition(note: $0.note).attempt == nil }.map(\.id)
    let present = Set(live)
    let edition = PendingEdition(
      note: Edition(of: primary.text.string, milliseconds: context.time).note,
      clears: seen.map { $0.filter(present.contains) } ?? live)
    changing(primary.id, bytes: edition.bytes) { $0.emit(edition, of: primary.id) }
  }

  /// Settles editions that all hold one text, before a user continues to type. The typed text is
  /// then no further version of the saved one, and its places are counted in the text.
  mutating func settleEditions(of id: MessageID) throws(QueueError) {
    guard workspace.messageStates[id]?.element.tags[.edition]?.tags.count ?? 0 >= 2,
      let message = workspace.messageStates[id].map(ShownMessage.init),
      let addition = message.primary?.id, !message.isMerged
    else { return }
    if let text = message.textBesidesLetters {
      try emitLetters(from: try workspace.editBase(id), to: text, of: id)
    }
    emit(
      .clearTags(element: addition, field: .edition, clears: message.editions.map(\.id)))
  }

  /// Clears the editions of a message whose content is forgotten.
  mutating func emitForgetting(ofEditions element: ElementState) {
    let editions = element.tagIDs(.edition)
    guard !editions.isEmpty, let reference = element.references.first else { return }
    emit(.clearTags(element: reference, field: .edition, clears: editions))
  }
}

extension UndoValue {
  /// The inverse of a change of editions: the names of those that it added, and the notes of those
  /// that it cleared.
  ///
  /// - Parameter workspace: knows the devices that made them. A device that adds them again names
  ///   these devices.
  init?(
    ofEditions before: [WorkspaceImage.Tag], _ after: [WorkspaceImage.Tag],
    in workspace: Workspace
  ) {
    let taken = after.filter { tag in !before.contains { $0.id == tag.id } }
    let gone = before.filter { tag in !after.contains { $0.id == tag.id } }
    guard !taken.isEmpty || !gone.isEmpty else { return nil }
    self = .files(
      taken: taken.map { $0.shortNote(in: workspace) },
      given: gone.map {
        Edition(note: $0.note).put(by: nil, of: workspace.device(of: $0.id.replica)?.name).note
      })
  }
}

extension UndoField {
  /// Whether it belongs to a text, which merges with others' changes.
  var isOfText: Bool { part == .text || part == .tags(.edition) }
}
