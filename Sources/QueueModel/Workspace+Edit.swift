public import SequenceCRDT

/// What an editor saw when it opened a message: the ids of the scalars and their text.
///
/// Saving against it keeps what others wrote meanwhile, because the edit names scalars, not places.
public struct EditBase: Hashable, Sendable {
  /// The `addMessage` that introduced the content.
  public var content: OperationID
  /// The ids of the scalars in order, as stretches.
  public var ranges: [OperationRange]
  /// The text.
  public var text: String
}

extension Workspace {
  /// Notes what a message's content is now, for a later `edit`.
  ///
  /// - Throws: `QueueError.messageNotFound`.
  public func editBase(_ id: MessageID) throws(QueueError) -> EditBase {
    guard let primary = messageStates[id]?.primary else {
      throw .messageNotFound(id: id.description)
    }
    return EditBase(
      content: primary.id, ranges: primary.content.visibleRanges, text: primary.content.text)
  }

  /// Makes the text operations that turn the base into the new content.
  ///
  /// - Throws: `QueueError.messageNotFound` where the base names scalars that are not here.
  mutating func emitEdits(
    from base: EditBase, to content: String, of id: MessageID, by author: inout Author
  ) throws(QueueError) {
    let old = Array(base.text.unicodeScalars)
    let known = messageStates[id]?.additions.first { $0.id == base.content }?.content.sequence
    guard let known, base.ranges.reduce(0, { $0 + $1.count }) == old.count else {
      throw .messageNotFound(id: id.description)
    }
    for range in base.ranges {
      let first = OperationID(replica: range.replica, seq: range.first)
      guard (try? known.check(first: first, count: range.count)) != nil else {
        throw .messageNotFound(id: id.description)
      }
    }
    guard known.unitCount + content.unicodeScalars.count <= TextContent.unitsMax else {
      throw .limitReached(what: "characters ever typed in one message", max: TextContent.unitsMax)
    }
    let ids = base.ranges.flatMap { range in
      (range.first...range.last).map { OperationID(replica: range.replica, seq: $0) }
    }
    for edit in TextEdit.edits(from: old, to: Array(content.unicodeScalars)) {
      for target in stretches(of: ids[edit.range], stillVisibleIn: id, base: base) {
        emit(.deleteText(target), by: &author)
      }
      guard !edit.replacement.isEmpty else { continue }
      let left = edit.range.lowerBound > 0 ? ids[edit.range.lowerBound - 1] : nil
      let sequence = messageStates[id]?.additions.first { $0.id == base.content }?.content.sequence
      guard let origins = sequence?.origins(behind: left) else { continue }
      emit(
        .insertText(
          Operation.InsertText(
            message: base.content, origins: .init(origins),
            text: String(String.UnicodeScalarView(edit.replacement)))),
        by: &author)
    }
  }

  /// Groups scalars that are not deleted yet into deletions of consecutive ids.
  private func stretches(
    of ids: ArraySlice<OperationID>, stillVisibleIn message: MessageID, base: EditBase
  ) -> [Operation.DeleteText] {
    let addition = messageStates[message]?.additions.first { $0.id == base.content }
    guard let sequence = addition?.content.sequence else { return [] }
    var deletions: [Operation.DeleteText] = []
    for id in ids where sequence.isVisible(id) {
      if let last = deletions.last, last.first.advanced(by: last.count) == id {
        deletions[deletions.count - 1].count += 1
      } else {
        deletions.append(Operation.DeleteText(message: base.content, first: id, count: 1))
      }
    }
    return deletions
  }
}

/// Replaces a stretch of an old text; edits of one change do not overlap and stand in order.
struct TextEdit: Hashable {
  /// The replaced scalars of the old text.
  var range: Range<Int>
  var replacement: [Unicode.Scalar]

  /// Texts whose lengths add up to more than this are compared line by line first.
  private static let scalarsMax = 1_000
  /// More lines than this are replaced as one stretch.
  private static let linesMax = 2_000

  /// The edits that turn `old` into `new`: minimal for short differences (Myers' algorithm, by
  /// the standard library); long ones are compared line by line, and then inside changed lines.
  static func edits(from old: [Unicode.Scalar], to new: [Unicode.Scalar]) -> [TextEdit] {
    let prefix = zip(old, new).prefix { $0 == $1 }.count
    let limit = min(old.count, new.count) - prefix
    let suffix = zip(old.reversed(), new.reversed()).prefix(limit).prefix { $0 == $1 }.count
    let oldMiddle = Array(old[prefix..<old.count - suffix])
    let newMiddle = Array(new[prefix..<new.count - suffix])
    return middleEdits(from: oldMiddle, to: newMiddle).map { edit in
      TextEdit(
        range: edit.range.lowerBound + prefix..<edit.range.upperBound + prefix,
        replacement: edit.replacement)
    }
  }

  private static func middleEdits(
    from old: [Unicode.Scalar], to new: [Unicode.Scalar]
  ) -> [TextEdit] {
    if old.isEmpty && new.isEmpty { return [] }
    let whole = [TextEdit(range: 0..<old.count, replacement: new)]
    if old.isEmpty || new.isEmpty { return whole }
    if old.count + new.count <= scalarsMax {
      return hunks(from: old, to: new).map {
        TextEdit(range: $0.old, replacement: Array(new[$0.new]))
      }
    }
    let oldLines = lines(of: old)
    let newLines = lines(of: new)
    guard oldLines.count + newLines.count <= linesMax, oldLines.count + newLines.count > 2 else {
      return whole
    }
    let oldStarts = starts(of: oldLines)
    let newStarts = starts(of: newLines)
    return hunks(from: oldLines, to: newLines).flatMap { hunk -> [TextEdit] in
      let oldRange = oldStarts[hunk.old.lowerBound]..<oldStarts[hunk.old.upperBound]
      let newRange = newStarts[hunk.new.lowerBound]..<newStarts[hunk.new.upperBound]
      guard oldRange.count + newRange.count <= scalarsMax else {
        return [TextEdit(range: oldRange, replacement: Array(new[newRange]))]
      }
      return edits(from: Array(old[oldRange]), to: Array(new[newRange])).map {
        TextEdit(
          range: $0.range.lowerBound + oldRange.lowerBound..<$0.range.upperBound
            + oldRange.lowerBound,
          replacement: $0.replacement)
      }
    }
  }

  private static func lines(of text: [Unicode.Scalar]) -> [[Unicode.Scalar]] {
    var lines: [[Unicode.Scalar]] = []
    var line: [Unicode.Scalar] = []
    for scalar in text {
      line.append(scalar)
      if scalar == "\n" {
        lines.append(line)
        line = []
      }
    }
    return line.isEmpty ? lines : lines + [line]
  }

  private static func starts(of lines: [[Unicode.Scalar]]) -> [Int] {
    lines.reduce(into: [0]) { $0.append(($0.last ?? 0) + $1.count) }
  }

  /// The stretches in which two lists differ.
  private static func hunks<Element: Hashable>(
    from old: [Element], to new: [Element]
  ) -> [(old: Range<Int>, new: Range<Int>)] {
    var isRemoved = [Bool](repeating: false, count: old.count)
    var isInserted = [Bool](repeating: false, count: new.count)
    for change in new.difference(from: old) {
      switch change {
      case .remove(let offset, _, _): isRemoved[offset] = true
      case .insert(let offset, _, _): isInserted[offset] = true
      }
    }
    var hunks: [(old: Range<Int>, new: Range<Int>)] = []
    var oldIndex = 0
    var newIndex = 0
    while oldIndex < old.count || newIndex < new.count {
      let oldStart = oldIndex
      let newStart = newIndex
      while oldIndex < old.count, isRemoved[oldIndex] { oldIndex += 1 }
      while newIndex < new.count, isInserted[newIndex] { newIndex += 1 }
      if oldIndex > oldStart || newIndex > newStart {
        hunks.append((old: oldStart..<oldIndex, new: newStart..<newIndex))
      } else {
        oldIndex += 1
        newIndex += 1
      }
    }
    return hunks
  }
}
