import SequenceCRDT

/// Deleted text on its way back: scalars that stand together, and where.
struct RestoredText: Hashable {
  enum Anchor: Hashable {
    case behind(OperationID)
    case before(OperationID)
    case end
  }

  var anchor: Anchor
  /// The ids the scalars had.
  var ids: [OperationID] = []
  var scalars: [Unicode.Scalar] = []

  /// Sorts deleted scalars into the pieces in which they stand now.
  ///
  /// Deleted scalars are still part of the sequence and mark their place exactly, whatever was
  /// written between them since. A piece ends where any other scalar stands, a deleted one too, for
  /// that may come back as well. Those that a compaction forgot go behind the scalar that stood
  /// before them, or before the one that stood behind, or to the end.
  ///
  /// - Complexity: O(runs + scalars deleted).
  static func pieces(of deleted: [UndoGroup.DeletedText], in sequence: RunSequence)
    -> [RestoredText]
  {
    var scalars: [OperationID: Unicode.Scalar] = [:]
    var forgotten: [(stretch: UndoGroup.DeletedText, text: RestoredText)] = []
    for stretch in deleted {
      var missing = RestoredText(anchor: .end)
      var id: OperationID? = OperationID(
        replica: stretch.range.replica, seq: stretch.range.first)
      for scalar in stretch.text.unicodeScalars {
        guard let known = id else { break }
        if sequence.contains(known) {
          scalars[known] = scalar
        } else {
          missing.ids.append(known)
          missing.scalars.append(scalar)
        }
        id = known.advanced(by: 1)
      }
      if !missing.ids.isEmpty { forgotten.append((stretch: stretch, text: missing)) }
    }
    return standing(scalars, in: sequence) + placed(forgotten, in: sequence)
  }

  private static func standing(
    _ scalars: [OperationID: Unicode.Scalar], in sequence: RunSequence
  ) -> [RestoredText] {
    guard !scalars.isEmpty else { return [] }
    var pieces: [RestoredText] = []
    var isOpen = false
    sequence.forEachRun { run in
      guard !run.isVisible else {
        isOpen = false
        return
      }
      for offset in 0..<run.length {
        let id = run.unitID(at: offset)
        guard let scalar = scalars[id] else {
          isOpen = false
          continue
        }
        if !isOpen { pieces.append(RestoredText(anchor: .end)) }
        isOpen = true
        pieces[pieces.count - 1].anchor = .behind(id)
        pieces[pieces.count - 1].ids.append(id)
        pieces[pieces.count - 1].scalars.append(scalar)
      }
    }
    return pieces
  }

  /// Pieces that share an anchor follow each other in the order they were deleted in.
  private static func placed(
    _ texts: [(stretch: UndoGroup.DeletedText, text: RestoredText)], in sequence: RunSequence
  ) -> [RestoredText] {
    var pieces: [RestoredText] = []
    for (stretch, text) in texts {
      let anchor: Anchor
      if let left = stretch.left, sequence.contains(left) {
        anchor = .behind(left)
      } else if let right = stretch.right, sequence.contains(right) {
        anchor = .before(right)
      } else {
        anchor = .end
      }
      if let index = pieces.firstIndex(where: { $0.anchor == anchor }) {
        pieces[index].ids += text.ids
        pieces[index].scalars += text.scalars
      } else {
        pieces.append(RestoredText(anchor: anchor, ids: text.ids, scalars: text.scalars))
      }
    }
    return pieces
  }
}
