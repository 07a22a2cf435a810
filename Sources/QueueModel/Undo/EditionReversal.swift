import SequenceCRDT

/// Takes editions back behind an undo of the letters: an undo of a save is a save.
struct EditionReversal {
  let message: MessageID
  /// The short notes of the editions that are taken back.
  let taken: [String]
  /// The notes of those that they had cleared.
  let given: [String]
  /// Whether others changed the text since.
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
      // A part of a long stretch, of which a later one was undone: it is an edit of what is there now.
      notes = []
      if live.count == 1 { clears = live.map(\.id) }
    } else if given.count < 2, !rest.isEmpty, isRewritten,
      rest.allSatisfy({ Edition(note: $0.note).holds(content) })
    {
      // A choice that does not know of it is to meet it, so it says the same.
      notes = []
    } else if given.count < 2, !rest.isEmpty, !isRewritten,
      given.isEmpty || rest.allSatisfy({ Edition(note: $0.note).holds(content) })
    {
      // What is left was there before.
      if clears.isEmpty { return }
      author.emit(.clearTags(element: primary.id, field: .edition, clears: clears))
      return
    } else if !isRewritten, rest.isEmpty, !clears.isEmpty, given.count == 1, let one = given.first,
      !Edition(note: one).holds(content)
    {
      // Of a long stretch of typing a part is left that no edition says.
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

  /// Saves the text of the editions that are left: what the author takes back is in it no more.
  ///
  /// - Returns: whether it could be.
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
