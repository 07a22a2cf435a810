package import SequenceCRDT

/// Operations of several units can be cut between any two of them; all others have one unit.
extension Operation {
  /// The ids of the operation; nil if they leave the range of sequence numbers.
  package var range: OperationRange? {
    guard id.seq >= 1, let last = lastID, last.seq >= id.seq else { return nil }
    return OperationRange(replica: id.replica, first: id.seq, last: last.seq)
  }

  /// The operation as operations of one unit each, in the order of their ids.
  ///
  /// - Complexity: O(units).
  package var units: [Operation] {
    switch body {
    case .insertText(let insertion):
      return insertion.text.unicodeScalars.enumerated().compactMap { offset, scalar in
        guard let id = id.advanced(by: offset) else { return nil }
        var unit = insertion
        unit.text = String(scalar)
        if offset > 0 { unit.origins.left = self.id.advanced(by: offset - 1) }
        return Operation(id: id, body: .insertText(unit))
      }
    case .deleteText(let deletion):
      return (0..<deletion.count).compactMap { offset in
        let place = deletion.backwards ? deletion.count - 1 - offset : offset
        guard let id = id.advanced(by: offset), let first = deletion.first.advanced(by: place)
        else { return nil }
        let unit = DeleteText(message: deletion.message, first: first, count: 1)
        return Operation(id: id, body: .deleteText(unit))
      }
    default:
      return [self]
    }
  }

  /// The operation without its first `count` units, if those are already known.
  ///
  /// - Returns: nil if nothing is left, or if the operation cannot be cut.
  package func droppingFirst(_ count: Int) -> Operation? {
    guard count > 0 else { return self }
    guard count < length, let newID = id.advanced(by: count) else { return nil }
    switch body {
    case .insertText(var insertion):
      insertion.text = String(
        String.UnicodeScalarView(insertion.text.unicodeScalars.dropFirst(count)))
      insertion.origins.left = id.advanced(by: count - 1)
      return Operation(id: newID, body: .insertText(insertion))
    case .deleteText(var deletion):
      if !deletion.backwards {
        guard let first = deletion.first.advanced(by: count) else { return nil }
        deletion.first = first
      }
      deletion.count -= count
      return Operation(id: newID, body: .deleteText(deletion))
    default:
      return nil
    }
  }

  /// The operation with only its first `count` units.
  ///
  /// - Returns: nil if nothing is left, or if the operation cannot be cut.
  package func keepingFirst(_ count: Int) -> Operation? {
    guard count > 0 else { return nil }
    guard count < length else { return self }
    switch body {
    case .insertText(var insertion):
      insertion.text = String(
        String.UnicodeScalarView(insertion.text.unicodeScalars.prefix(count)))
      return Operation(id: id, body: .insertText(insertion))
    case .deleteText(var deletion):
      if deletion.backwards {
        guard let first = deletion.first.advanced(by: deletion.count - count) else { return nil }
        deletion.first = first
      }
      deletion.count = count
      return Operation(id: id, body: .deleteText(deletion))
    default:
      return nil
    }
  }
}
