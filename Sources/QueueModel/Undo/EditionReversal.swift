import SequenceCRDT

/// Undoes a change to editions after its letters were undone. An undo of a save is itself a save.
struct EditionReversal {
  let message: MessageID
  /// The short notes of the editions to remove.
  let taken: [String]
  /// The notes of the editions that these had cleared.
  let given: [String]
  /// Whether other users have changed the text since.
  let isRewritten: Bool

  func write(by author: inout CommandAuthor) {
    guard let state = author.workspace.messageStates[message], let primary = state.primary else {
      return
    }
    let content = primary.text.string
    let live = state.element.tags[.edition]?.tags ?? []
    let rest = live.besides(taken, in: author.workspace)
    let kept = Set(rest.map(\.id))
    var clears = live.map(\.id).filter { !kept.contains($0) }
    var notes = given
    if isRewritten, given.isEmpty, !clears.isEmpty, let text = rest.oneText,
      !text.utf8.elementsEqual(content.utf8), restore(text, over: clears, by: &author)
    {
      return
    }
    if !taken.isEmpty, clears.isEmpty {
      // This is a part of a long stretch, and a later part was undone. It counts as an edit of the
      // current text.
      notes = []
      if live.count == 1 { clears = live.map(\.id) }
    } else if given.count < 2, !rest.isEmpty, isRewritten,
      rest.allSatisfy({ Edition(note: $0.note).holds(content) })
    {
      // The new edition has the same text, so that a choice made without knowing of this undo
      // conflicts with it.
      notes = []
    } else if given.count < 2, !rest.isEmpty, !isRewritten,
      given.isEmpty || rest.allSatisfy({ Edition(note: $0.note).holds(content) })
    {
      // The editions that are left were there before.
      if clears.isEmpty { return }
      author.emit(.clearTags(element: primary.id, field: .edition, clears: clears))
      return
    } else if !isRewritten, rest.isEmpty, !clears.isEmpty, given.count == 1, let one = given.first,
      !Edition(note: one).holds(content)
    {
      // A part of a long stretch of typing is left, and no edition has that text.
      notes = []
    }
    if notes.isEmpty { notes = [Edition(of: content, milliseconds: author.context.time).note] }
    author.changing(primary.id, bytes: notes.reduce(0) { $0 + $1.utf8.count }) { author in
      let own = author.workspace.device(of: author.context.replica)?.name
      for note in notes {
        let note = Edition(note: note).put(by: own, of: own).note
        author.emit(.addTag(element: primary.id, field: .edition, clears: clears, note: note))
        clears = []
      }
    }
  }

  /// Saves the text of the remaining editions, without the parts that the author removes.
  ///
  /// - Returns: whether that was possible.
  private func restore(
    _ text: String, over editions: [OperationID], by author: inout CommandAuthor
  ) -> Bool {
    do throws(QueueError) {
      var base = try author.workspace.editBase(message)
      base.editions = editions
      try author.emitEdits(from: base, to: text, of: message)
      return true
    } catch {
      return false
    }
  }
}
