import SequenceCRDT

/// Finds the editions that prevent the undo of a text.
struct SavedOver {
  let message: MessageID
  let entry: UndoEntry
  /// The short notes of the editions that this device's changes added.
  let own: Set<String>

  /// Whether a user saved or chose a text over that of the change: none of its editions is live,
  /// but another author's is. If others saved texts independently, a user must first choose one.
  ///
  /// - Parameter later: the fields that later changes by this device wrote.
  /// - Complexity: O(live editions and their texts).
  func isOvertaken(in workspace: Workspace, later: Set<UndoField>) -> Bool {
    let live = workspace.shownMessage(message)?.editions ?? []
    guard let step, case .files(let taken, let given) = step.value, !taken.isEmpty else {
      // An open stretch of typing ends, with an edition, before it is undone.
      return entry.typing == nil && !live.isEmpty && !live.contains { isOwn($0, in: workspace) }
    }
    let rest = live.besides(taken, in: workspace)
    guard rest.count == live.count else {
      return given.isEmpty && entry.isRewritten && rest.count > 1 && rest.oneText == nil
    }
    return step.isOvertaken || later.contains(step.field)
      || !live.isEmpty && !live.contains { isOwn($0, in: workspace) }
  }

  /// Whether the letters make the text that the change saved, and its edition is the only live one.
  func isSaved(in workspace: Workspace) -> Bool {
    guard let shown = workspace.shownMessage(message), shown.editions.count == 1,
      let tag = shown.editions.first, let step, case .files(let taken, _) = step.value
    else { return false }
    let edition = Edition(note: tag.note)
    return taken.contains(tag.shortNote(in: workspace)) && edition.holds(shown.letters())
  }

  /// Whether an undo leaves the text of the message as another user saved it.
  func leavesText(from before: Workspace, to after: Workspace) -> Bool {
    guard let old = before.shownMessage(message), let new = after.shownMessage(message),
      !old.editions.allSatisfy({ isOwn($0, in: before) }), !old.isMerged, !new.isMerged
    else { return false }
    return old.text().utf8.elementsEqual(new.text().utf8)
  }

  /// The step that undoes the change to editions.
  private var step: UndoStep? {
    entry.steps.first { $0.field == UndoField(element: .message(message), part: .tags(.edition)) }
  }

  private func isOwn(_ tag: WorkspaceImage.Tag, in workspace: Workspace) -> Bool {
    Edition(note: tag.note).author == nil && own.contains(tag.shortNote(in: workspace))
  }
}

extension UndoHistory {
  /// The short notes of the editions that the changes and their undos added.
  func editions(of messages: Set<MessageID>) -> Set<String> {
    entries.reduce(into: []) { notes, entry in
      for step in entry.change.steps where step.field.part == .tags(.edition) {
        guard let message = step.field.element.message, messages.contains(message),
          case .files(let taken, _) = step.value
        else { continue }
        notes.formUnion(taken)
      }
    }
  }
}

extension [WorkspaceImage.Tag] {
  /// The editions without those of some short notes.
  func besides(_ notes: [String], in workspace: Workspace) -> Self {
    notes.isEmpty ? self : filter { !notes.contains($0.shortNote(in: workspace)) }
  }

  /// The text that all of these editions hold; nil if they differ, or it is not kept whole.
  var oneText: String? {
    guard let text = first.flatMap({ Edition(note: $0.note).wholeText }),
      dropFirst().allSatisfy({ Edition(note: $0.note).holds(text) })
    else { return nil }
    return text
  }
}
