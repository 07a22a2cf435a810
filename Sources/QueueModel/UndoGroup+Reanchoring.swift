import SequenceCRDT

extension UndoGroup {
  /// The same group for a state that has forgotten deleted scalars: deleted text is cut where
  /// surviving scalars stand between, put in the order of the text, and each part learns the nearest
  /// survivors on its two sides.
  func reanchored(from old: Workspace, to new: Workspace) -> UndoGroup {
    var group = self
    group.texts = texts.map { step in
      guard !step.deleted.isEmpty,
        let before = old.content(step.content, of: step.message)?.sequence,
        let after = new.content(step.content, of: step.message)?.sequence
      else { return step }
      var step = step
      step.deleted = DeletedParts(step.deleted, from: before, to: after).parts
      return step
    }
    return group
  }
}

/// Deleted text on its way into a state without the deleted scalars.
private struct DeletedParts {
  private(set) var parts: [UndoGroup.DeletedText] = []

  /// - Complexity: O(units of the old list · log).
  init(_ deleted: [UndoGroup.DeletedText], from old: RunSequence, to new: RunSequence) {
    var scalars: [OperationID: Unicode.Scalar] = [:]
    for stretch in deleted {
      let first = OperationID(replica: stretch.range.replica, seq: stretch.range.first)
      let isForgotten = old.contains(first) && !new.contains(first)
      guard isForgotten else {
        parts.append(DeletedParts.moved(stretch, old, new))
        continue
      }
      for (offset, scalar) in stretch.text.unicodeScalars.enumerated() {
        if let id = first.advanced(by: offset) { scalars[id] = scalar }
      }
    }
    guard !scalars.isEmpty else { return }
    var left: OperationID?
    var open = parts.count
    for run in old.runs {
      for offset in 0..<run.length {
        let id = run.unitID(at: offset)
        if new.contains(id) {
          for index in open..<parts.count { parts[index].right = id }
          open = parts.count
          left = id
        } else if let scalar = scalars[id] {
          append(scalar, id, left: left, isOpen: open < parts.count)
        }
      }
    }
  }

  private mutating func append(
    _ scalar: Unicode.Scalar, _ id: OperationID, left: OperationID?, isOpen: Bool
  ) {
    if isOpen, let last = parts.last, last.range.replica == id.replica,
      last.range.last &+ 1 == id.seq
    {
      parts[parts.count - 1].range.last = id.seq
      parts[parts.count - 1].text.unicodeScalars.append(scalar)
    } else {
      parts.append(
        UndoGroup.DeletedText(
          range: OperationRange(replica: id.replica, first: id.seq, last: id.seq),
          text: String(scalar), left: left, right: nil))
    }
  }

  /// Text that was forgotten before: its neighbours may go now.
  private static func moved(
    _ stretch: UndoGroup.DeletedText, _ old: RunSequence, _ new: RunSequence
  ) -> UndoGroup.DeletedText {
    var stretch = stretch
    var place = stretch.left
    while let id = place, old.contains(id), !new.contains(id) {
      place = old.origins(before: id)?.left
    }
    stretch.left = place
    place = stretch.right
    while let id = place, old.contains(id), !new.contains(id) {
      place = old.origins(behind: id)?.right
    }
    stretch.right = place
    return stretch
  }
}
