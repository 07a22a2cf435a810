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
    let live = (state.element.tags[.edition]?.tags ?? []).map {
      (id: $0.id, edition: Edition(note: $0.note))
    }
    let rest = live.filter { !taken.contains($0.edition.shortNote) }
    let kept = Set(rest.map(\.id))
    var clears = live.map(\.id).filter { !kept.contains($0) }
    var notes = given
    if isRewritten, given.isEmpty, !clears.isEmpty, rest.count == 1,
      let other = rest.first?.edition,
      let text = other.wholeText, !other.holds(content), restore(text, over: clears, by: &author)
    {
      return
    }
    if !taken.isEmpty, clears.isEmpty {
      // Somebody has saved since: it is an edit of what is there now.
      notes = []
      if live.count == 1 { clears = live.map(\.id) }
    } else if given.count < 2, !rest.isEmpty,
      given.isEmpty && (!isRewritten || rest.count > 1)
        || rest.allSatisfy({ $0.edition.holds(content) })
    {
      // What is left was there before, waits in any case, or says what shows.
      if clears.isEmpty { return }
      author.emit(.clearTags(element: primary.id, field: .edition, clears: clears))
      return
    }
    // Of a long stretch of typing a part is left that no edition says.
    if !isRewritten, rest.isEmpty, given.count == 1, !clears.isEmpty, let one = given.first,
      !Edition(note: one).holds(content)
    {
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

  /// Saves the text of the one edition that is left: what the author takes back is in it no more.
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
