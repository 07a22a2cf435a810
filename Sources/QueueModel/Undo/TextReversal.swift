import SequenceCRDT

extension TextReversal {
  /// The stretch of visible text at these offsets that becomes the old text.
  init(of text: TextContent, _ content: OperationID, in offsets: Range<Int>, old: String) {
    self.init(
      content: content, offset: offsets.lowerBound, text: text.visibleText(in: offsets),
      ids: text.visibleRanges(in: offsets), old: old,
      left: text.visibleID(at: offsets.lowerBound - 1),
      right: text.visibleID(at: offsets.upperBound))
  }

  /// The stretch in which a text differs from its earlier state.
  ///
  /// - Returns: nil if it is the same.
  /// - Complexity: O(both texts).
  init?(of text: TextContent, _ content: OperationID, from ids: [OperationRange], _ old: String) {
    let before = Scalars(ids)
    let after = Scalars(text.visibleRanges)
    let shared = min(before.ids.count, after.ids.count)
    var start = 0
    while start < shared, before.ids[start] == after.ids[start] { start += 1 }
    var end = 0
    while end < shared - start,
      before.ids[before.ids.count - 1 - end] == after.ids[after.ids.count - 1 - end]
    {
      end += 1
    }
    guard start + end < before.ids.count || start + end < after.ids.count else { return nil }
    let scalars = old.unicodeScalars.dropFirst(start).dropLast(end)
    self.init(
      of: text, content, in: start..<after.ids.count - end, old: String(Substring(scalars)))
  }

  private struct Scalars {
    var ids: [OperationID] = []

    init(_ ranges: [OperationRange]) {
      ids.reserveCapacity(ranges.reduce(0) { $0 + $1.count })
      for range in ranges {
        for seq in range.first...range.last {
          ids.append(OperationID(replica: range.replica, seq: seq))
        }
      }
    }
  }

  /// Whether its scalars and those on both sides are visible.
  fileprivate func isShown(in sequence: RunSequence) -> Bool {
    [left, right].allSatisfy { $0.map { sequence.isVisible($0) } ?? true }
      && ids.allSatisfy { range in
        (range.first...range.last).allSatisfy {
          sequence.isVisible(OperationID(replica: range.replica, seq: $0))
        }
      }
  }

  /// The scalars of both texts; each of the current one has its id.
  var scalarCount: Int { shownCount + old.scalarCount }

  /// The scalars of the stretch as the change left it.
  fileprivate var shownCount: Int { ids.reduce(0) { $0 + $1.count } }

  /// Joins this stretch of typing and a later one of the same text.
  ///
  /// - Parameter text: the text after both.
  /// - Returns: nil if they are too long together, or do not belong together.
  func joined(with later: TextReversal, in text: TextContent) -> TextReversal? {
    guard content == later.content,
      scalarCount + later.scalarCount <= Limits.typingScalarsMax
    else { return nil }
    return going(on: later, in: text) ?? around(later, in: text)
  }

  /// The same, wherever the later change edited the text.
  private func around(_ later: TextReversal, in text: TextContent) -> TextReversal? {
    let start = min(offset, later.offset)
    let replacedCount = later.old.scalarCount
    // The end of this stretch, before the later change and now.
    let oldEnd = max(offset + shownCount, later.offset + replacedCount)
    let end = oldEnd - replacedCount + later.shownCount
    guard end - start <= 4 * Limits.typingScalarsMax, end <= text.sequence.visibleCount else {
      return nil
    }
    var whole = TextReversal(of: text, content, in: start..<end, old: "")
    var before = EditedText(of: whole.text)
    guard before.replace(later.text, by: later.old, at: later.offset - start),
      before.replace(self.text, by: old, at: offset - start)
    else { return nil }
    whole.old = before.text
    return whole
  }

  /// The same if the later change edited only this one, as most typing does. The visible scalars
  /// are known by their ids, so the text is assembled without being read.
  ///
  /// - Complexity: O(runs of the stretch), and a copy of its text.
  private func going(on later: TextReversal, in text: TextContent) -> TextReversal? {
    let start = later.offset - offset
    let end = start + later.old.scalarCount
    guard start >= 0, end <= shownCount,
      let (front, rest) = self.text.parts(around: later.old, at: start, scalarCount: shownCount)
    else { return nil }
    let offsets = offset..<offset + shownCount - (end - start) + later.shownCount
    guard offsets.upperBound <= text.sequence.visibleCount else { return nil }
    let shown = ids.replacing(start..<end, by: later.ids)
    guard text.visibleRanges(in: offsets) == shown else { return nil }
    return TextReversal(
      content: content, offset: offset, text: String(front) + later.text + rest, ids: shown,
      old: old, left: text.visibleID(at: offset - 1), right: text.visibleID(at: offsets.upperBound))
  }
}

/// The scalars of a text, of which some are replaced.
private struct EditedText {
  private var utf8: [UInt8]
  private var count: Int

  init(of text: String) {
    utf8 = Array(text.utf8)
    count = text.scalarCount
  }

  var text: String { String(decoding: utf8, as: UTF8.self) }

  /// - Returns: whether the old scalars were present.
  mutating func replace(_ old: String, by new: String, at place: Int) -> Bool {
    guard place >= 0, place <= count else { return false }
    let start = byte(of: place)
    let end = start + old.utf8.count
    guard end <= utf8.count, utf8[start..<end].isSame(as: old) else { return false }
    utf8.replaceSubrange(start..<end, with: new.utf8)
    count += new.scalarCount - old.scalarCount
    return true
  }

  private func byte(of scalar: Int) -> Int {
    if count == utf8.count { return scalar }
    var (byte, passed) = (0, 0)
    while byte < utf8.count {
      if utf8[byte].startsScalar {
        if passed == scalar { return byte }
        passed += 1
      }
      byte += 1
    }
    return byte
  }
}

extension ArraySlice<UInt8> {
  /// Whether these are the bytes of a text.
  fileprivate func isSame(as text: String) -> Bool {
    withContiguousStorageIfAvailable { bytes in
      text.utf8.withContiguousStorageIfAvailable { bytes.isSame(as: $0) }
    }.flatMap { $0 } ?? elementsEqual(text.utf8)
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// Compares without an early return, so that the processor takes many bytes at once.
  fileprivate func isSame(as other: UnsafeBufferPointer<UInt8>) -> Bool {
    guard count == other.count else { return false }
    var difference: UInt8 = 0
    for index in indices { difference |= self[index] ^ other[index] }
    return difference == 0
  }
}

extension String {
  /// The number of Unicode scalars, counted many bytes at once.
  fileprivate var scalarCount: Int {
    utf8.withContiguousStorageIfAvailable { bytes in
      var count = 0
      for byte in bytes { count += byte.startsScalar ? 1 : 0 }
      return count
    } ?? unicodeScalars.count
  }

  /// The texts before and after a part; nil if the part is not there.
  ///
  /// - Parameters:
  ///   - start: the scalars before the part.
  ///   - scalarCount: the scalars of this text.
  fileprivate func parts(
    around part: String, at start: Int, scalarCount: Int
  ) -> (front: Substring, rest: Substring)? {
    let front =
      utf8.count == scalarCount
      ? utf8.index(utf8.startIndex, offsetBy: start, limitedBy: utf8.endIndex)
      : unicodeScalars.index(unicodeScalars.startIndex, offsetBy: start, limitedBy: endIndex)
    guard let front,
      let rest = utf8.index(front, offsetBy: part.utf8.count, limitedBy: utf8.endIndex),
      utf8[front..<rest].elementsEqual(part.utf8)
    else { return nil }
    return (self[..<front], self[rest...])
  }
}

extension [OperationRange] {
  /// These ids, some of them replaced by others. Consecutive ids are one range.
  fileprivate func replacing(
    _ places: Range<Int>, by others: [OperationRange]
  ) -> [OperationRange] {
    var joined: [OperationRange] = []
    joined.reserveCapacity(count + others.count + 1)
    joined.append(self, at: 0..<places.lowerBound)
    joined.append(others, at: 0..<Int.max)
    joined.append(self, at: places.upperBound..<Int.max)
    return joined
  }

  /// Appends those of other ids that are at some places.
  private mutating func append(_ others: [OperationRange], at places: Range<Int>) {
    var passed = 0
    for var range in others {
      let here = places.clamped(to: passed..<passed + range.count)
      let skipped = here.lowerBound - passed
      passed += range.count
      if here.isEmpty { continue }
      range.first += UInt32(skipped)
      range.last = range.first + UInt32(here.count - 1)
      if let last, last.replica == range.replica, last.last &+ 1 == range.first {
        self[count - 1].last = range.last
      } else {
        append(range)
      }
    }
  }
}

extension UInt8 {
  /// Whether a scalar of UTF-8 begins with it.
  fileprivate var startsScalar: Bool { self & 0xC0 != 0x80 }
}

extension CommandAuthor {
  /// Replaces a stretch by the old text, with an edit that merges like any other.
  ///
  /// - Parameters:
  ///   - isLatest: whether the text is unchanged since, so that its offsets are valid.
  ///   - isSaved: whether the text is again the one that the change made. If different letters make
  ///     it, its offsets are valid.
  mutating func reverse(
    _ step: TextReversal, of message: MessageID, isLatest: Bool, isSaved: Bool
  ) {
    guard
      let (ids, edits, deleted) = edits(
        for: step, of: message, isLatest: isLatest, isSaved: isSaved)
    else { return }
    let bytes = edits.reduce(CommandAuthor.operationBytes * (2 * edits.count + deleted)) {
      $1.replacement.reduce($0) { $0 + UTF8.width($1) }
    }
    changing(step.content, bytes: bytes) { author in
      for edit in edits { author.emit(edit, on: ids, of: step.content, of: message) }
    }
  }

  /// The edits, and the scalars that they name: those of the stretch, and one on each side.
  private func edits(
    for step: TextReversal, of message: MessageID, isLatest: Bool, isSaved: Bool
  ) -> (ids: [OperationID], edits: [TextEdit], deleted: Int)? {
    guard let content = workspace.content(step.content, of: message) else { return nil }
    let old = Array(step.text.unicodeScalars)
    let new = Array(step.old.unicodeScalars)
    let offsets = step.offset..<step.offset + old.count
    var ranges = step.ids
    var (left, right) = (step.left, step.right)
    if isLatest || isSaved && !step.isShown(in: content.sequence),
      offsets.upperBound <= content.sequence.visibleCount,
      content.visibleText(in: offsets).unicodeScalars.elementsEqual(old)
    {
      ranges = content.visibleRanges(in: offsets)
      left = content.visibleID(at: offsets.lowerBound - 1)
      right = content.visibleID(at: offsets.upperBound)
    }
    var ids = left.map { [$0] } ?? []
    for range in ranges {
      for seq in range.first...range.last {
        ids.append(OperationID(replica: range.replica, seq: seq))
      }
    }
    let shift = left == nil ? 0 : 1
    guard ids.count == old.count + shift,
      content.sequence.unitCount + new.count <= TextContent.unitsMax
    else { return nil }
    if let right { ids.append(right) }
    let edits = TextEdit.edits(from: old, to: new).map {
      TextEdit(
        range: $0.range.lowerBound + shift..<$0.range.upperBound + shift,
        replacement: $0.replacement)
    }
    return (ids, edits, min(ranges.count, old.count))
  }
}

extension TextContent {
  /// The visible text at these offsets.
  ///
  /// - Complexity: O(offsets + log runs + runs from the first to the last).
  func visibleText(in offsets: Range<Int>) -> String {
    offsets.lowerBound < 0 ? "" : text(ofVisible: offsets)
  }
}

extension MessageState {
  /// The beginning of the first line of the content, for a label.
  ///
  /// - Complexity: O(1) for a message with fewer than two live editions that no agent has had, else
  ///   O(texts).
  var beginning: String? {
    guard element.registers[.run] != nil || hasSeveralEditions else { return beginning(of: nil) }
    let shown = ShownMessage(self)
    return beginning(of: shown.hasStarted ? ranText : shown.textBesidesLetters)
  }

  /// As above, for the text that the agent of the latest attempt got, as far as it is known.
  var ranBeginning: String { ranText.flatMap(beginning) ?? beginning ?? "" }

  /// The text that the agent of the latest attempt got, if a user changed it since.
  private var ranText: String? {
    element.runState.run.flatMap { ShownMessage(self).editions.ran(in: $0.attempt)?.wholeText }
  }

  /// - Parameter other: the text, if the letters make a different one.
  private func beginning(of other: String?) -> String? {
    guard let primary else { return nil }
    let scalarsMax = UndoLabel.textScalarsMax + 1
    func cut(_ text: String) -> Substring { Substring(text.unicodeScalars.prefix(scalarsMax)) }
    let text =
      switch (other, primary.text) {
      case (let other?, _): cut(other)
      case (nil, .open(let content)):
        content.visibleText(in: 0..<min(content.sequence.visibleCount, scalarsMax))[...]
      case (nil, .plain(_, let whole)): cut(whole)
      case (nil, .packed(let packed)): cut(packed.text)
      }
    return text.lineBeginning(scalarsMax: UndoLabel.textScalarsMax)
  }
}

extension Substring {
  /// The first line that is not empty; an ellipsis replaces the rest beyond a number of scalars.
  fileprivate func lineBeginning(scalarsMax: Int) -> String {
    if let line = utf8.withContiguousStorageIfAvailable({
      $0.lineBeginning(scalarsMax: scalarsMax)
    }).flatMap({ $0 }) {
      return line
    }
    // `\r\n` does not count as a line feed.
    let line = split(separator: "\n", maxSplits: 1).first ?? ""
    guard line.unicodeScalars.count > scalarsMax else { return String(line) }
    return String(Substring(line.unicodeScalars.prefix(scalarsMax - 1))) + "…"
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// The same, found byte by byte; nil if a carriage return is among them.
  fileprivate func lineBeginning(scalarsMax: Int) -> String? {
    let lineFeed = UInt8(ascii: "\n")
    guard !contains(UInt8(ascii: "\r")) else { return nil }
    var start = 0
    while start < count, self[start] == lineFeed { start += 1 }
    var (end, cut, scalars) = (start, start, 0)
    while end < count, self[end] != lineFeed {
      if self[end].startsScalar {
        scalars += 1
        if scalars == scalarsMax { cut = end }
      }
      end += 1
    }
    let isCut = scalars > scalarsMax
    let line = String(decoding: self[start..<(isCut ? cut : end)], as: UTF8.self)
    return isCut ? line + "…" : line
  }
}
