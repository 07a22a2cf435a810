/// Replaces a stretch of an old text; edits of one change do not overlap and are in order.
struct TextEdit: Hashable {
  /// The replaced scalars of the old text.
  var range: Range<Int>
  var replacement: [Unicode.Scalar]

  /// The edits that turn `old` into `new`: the fewest words and blanks deleted and inserted.
  ///
  /// A word is replaced as a whole, with the blank before it, and adjacent changed words are
  /// replaced together. So if two users replace the same words, both replacements stay whole.
  ///
  /// Long texts, and texts that would take more work than `LinearDifference` may do, are first
  /// compared by whole lines, and then by words inside changed lines. A part that is still too
  /// large is replaced in one stretch.
  static func edits(from old: [Unicode.Scalar], to new: [Unicode.Scalar]) -> [TextEdit] {
    var texts = Texts(old: old.map(\.value), new: new.map(\.value))
    return texts.hunks().map { TextEdit(range: $0.old, replacement: Array(new[$0.new])) }
  }
}

/// Two texts that are compared by words.
private struct Texts {
  typealias Hunk = LinearDifference.Hunk

  /// In texts with more scalars, whole lines are compared first.
  private static let exactMax = 1 << 17

  let old: [UInt32]
  let new: [UInt32]
  /// Both texts, one after the other; units are numbered in this list.
  private let both: [UInt32]
  private var names = UnitNames()

  init(old: [UInt32], new: [UInt32]) {
    self.old = old
    self.new = new
    both = old + new
  }

  mutating func hunks() -> [Hunk] {
    let (start, end) = (commonStart(), commonEnd())
    // If the new text repeats itself, both ends may claim the same scalars.
    let prefix = min(start, old.count - end, new.count - end)
    let oldPart = prefix..<old.count - end
    let newPart = prefix..<new.count - end
    return joined(hunks(oldPart, newPart)).map(withBlank)
  }

  private mutating func hunks(_ oldPart: Range<Int>, _ newPart: Range<Int>) -> [Hunk] {
    if oldPart.count + newPart.count <= Texts.exactMax {
      let words = difference(oldPart, newPart, by: .words)
      if words.isMinimal { return words.hunks }
    }
    return hunksByLine(oldPart, newPart)
  }

  /// The number of scalars with which both texts begin, up to the beginning of a word.
  private func commonStart() -> Int {
    var count = 0
    while count < old.count, count < new.count, old[count] == new[count] { count += 1 }
    return nearestEnd(below: count) { count in
      guard count > 0 else { return true }
      let before = old[count - 1]
      return TextUnits.isEnd(between: before, count < old.count ? old[count] : nil)
        && TextUnits.isEnd(between: before, count < new.count ? new[count] : nil)
    }
  }

  /// The number of scalars with which both texts end, down to the end of a word.
  private func commonEnd() -> Int {
    var count = 0
    while count < old.count, count < new.count,
      old[old.count - 1 - count] == new[new.count - 1 - count]
    { count += 1 }
    return nearestEnd(below: count) { count in
      guard count > 0 else { return true }
      let behind = old[old.count - count]
      return TextUnits.isEnd(
        between: count < old.count ? old[old.count - count - 1] : nil, behind)
        && TextUnits.isEnd(between: count < new.count ? new[new.count - count - 1] : nil, behind)
    }
  }

  /// The greatest count that splits no word; inside a very long word, the count itself.
  private func nearestEnd(below count: Int, _ isEnd: (Int) -> Bool) -> Int {
    (max(0, count - TextUnits.wordMax)...count).last(where: isEnd) ?? count
  }

  private mutating func hunksByLine(_ oldPart: Range<Int>, _ newPart: Range<Int>) -> [Hunk] {
    var work = LinearDifference.workMax
    return difference(oldPart, newPart, by: .lines).hunks.flatMap { hunk -> [Hunk] in
      let fine = difference(hunk.old, hunk.new, by: .words, work: max(work, 0))
      work = fine.work
      return fine.hunks
    }
  }

  private mutating func difference(
    _ oldPart: Range<Int>, _ newPart: Range<Int>, by kind: TextUnits.Kind,
    work: Int = LinearDifference.workMax
  ) -> (hunks: [Hunk], isMinimal: Bool, work: Int) {
    let shift = old.count
    let oldUnits = TextUnits(oldPart, of: both, by: kind, names: &names)
    let newUnits = TextUnits(
      newPart.lowerBound + shift..<newPart.upperBound + shift, of: both, by: kind, names: &names)
    let found = LinearDifference(from: oldUnits.names, to: newUnits.names, work: work)
    let hunks = found.hunks.map { hunk in
      let new = newUnits.scalars(of: hunk.new)
      return Hunk(
        old: oldUnits.scalars(of: hunk.old), new: new.lowerBound - shift..<new.upperBound - shift)
    }
    return (hunks, found.isMinimal, found.work)
  }

  /// Joins stretches with only blanks between them.
  private func joined(_ hunks: [Hunk]) -> [Hunk] {
    hunks.reduce(into: []) { joined, hunk in
      if let last = joined.last,
        old[last.old.upperBound..<hunk.old.lowerBound].allSatisfy(TextUnits.isBlank)
      {
        joined[joined.count - 1] = Hunk(
          old: last.old.lowerBound..<hunk.old.upperBound,
          new: last.new.lowerBound..<hunk.new.upperBound)
      } else {
        joined.append(hunk)
      }
    }
  }

  /// The stretch with the blank before it, so that a blank separates two users' texts there.
  ///
  /// A replacement includes that blank; at the start of the text, it includes the blank after it.
  /// An insertion or a deletion begins with a blank rather than ends with one. So no edit relies on
  /// a blank that another edit removes.
  private func withBlank(_ hunk: Hunk) -> Hunk {
    let hunk = withoutLastBlank(hunk)
    if hunk.old.isEmpty || hunk.new.isEmpty {
      let (text, part) = hunk.old.isEmpty ? (new, hunk.new) : (old, hunk.old)
      var shift = 0
      while shift < part.lowerBound, shift < part.count {
        let last = text[part.upperBound - 1 - shift]
        guard TextUnits.isBlank(last), text[part.lowerBound - 1 - shift] == last else { break }
        shift += 1
      }
      let shifted = hunk.widened(start: -shift, end: -shift)
      return hunk.old.isEmpty ? withOwnBlank(shifted) : shifted
    }
    if TextUnits.isBlank(old[hunk.old.lowerBound]), TextUnits.isBlank(new[hunk.new.lowerBound]) {
      return hunk
    }
    if hunk.old.lowerBound > 0, TextUnits.isBlank(old[hunk.old.lowerBound - 1]) {
      return hunk.widened(start: -1, end: 0)
    }
    if hunk.old.lowerBound == 0, hunk.old.upperBound < old.count,
      TextUnits.isBlank(old[hunk.old.upperBound])
    {
      return hunk.widened(start: 0, end: 1)
    }
    return hunk
  }

  /// The stretch without the blank at the end of both its old and its new text: another user's text
  /// there needs that blank.
  private func withoutLastBlank(_ hunk: Hunk) -> Hunk {
    var hunk = hunk
    while let last = old[hunk.old].last, last == new[hunk.new].last, TextUnits.isBlank(last) {
      hunk = Hunk(
        old: hunk.old.lowerBound..<hunk.old.upperBound - 1,
        new: hunk.new.lowerBound..<hunk.new.upperBound - 1)
    }
    return hunk
  }

  /// An insertion after a blank, with that blank. So two users' insertions there have a blank
  /// between them, and a replacement of the text before it includes the blank.
  private func withOwnBlank(_ hunk: Hunk) -> Hunk {
    let (place, part) = (hunk.old.lowerBound, hunk.new)
    guard place > 0, let first = new[part].first, let last = new[part].last,
      !TextUnits.isBlank(first), TextUnits.isBlank(old[place - 1]),
      TextUnits.isBlank(last) || place == old.count || TextUnits.isBlank(old[place])
    else { return hunk }
    return hunk.widened(start: -1, end: 0)
  }
}

extension LinearDifference.Hunk {
  fileprivate func widened(start: Int, end: Int) -> LinearDifference.Hunk {
    LinearDifference.Hunk(
      old: old.lowerBound + start..<old.upperBound + end,
      new: new.lowerBound + start..<new.upperBound + end)
  }
}
