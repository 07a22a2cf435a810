/// A stretch of text that is split into words and blanks, or into lines; equal units have one name.
struct TextUnits {
  enum Kind {
    /// Words, and each blank separately. A word longer than `wordMax` is split into scalars.
    case words
    /// Lines with the line feed that ends them.
    case lines
  }

  /// Scalars of the longest word that is a unit.
  ///
  /// A longer run is not a word that people read: a change inside it would replace all of it.
  static let wordMax = 64
  static let lineFeed = Unicode.Scalar("\n").value
  /// Characters that end a word in scripts without blanks.
  private static let wordEnds = "、。，．！？；：".unicodeScalars.map(\.value)

  /// The units as numbers.
  private(set) var names: [UInt32] = []
  /// The beginnings of the units in the text, and the end of the last.
  private var starts: [Int]

  /// - Parameter known: the names of earlier units; equal units get the same names.
  /// - Complexity: O(*n*) for *n* scalars.
  init(_ part: Range<Int>, of text: [UInt32], by kind: Kind, names known: inout UnitNames) {
    starts = [part.lowerBound]
    starts.reserveCapacity(part.count / 4)
    names.reserveCapacity(part.count / 4)
    var start = part.lowerBound
    while start < part.upperBound {
      let end = TextUnits.end(from: start, in: text, upTo: part.upperBound, by: kind)
      if kind == .words, end - start > TextUnits.wordMax {
        for index in start..<end { append(text[index], upTo: index + 1) }
      } else if end - start == 1 {
        append(text[start], upTo: end)
      } else {
        append(known.name(of: start..<end, in: text), upTo: end)
      }
      start = end
    }
  }

  private mutating func append(_ name: UInt32, upTo end: Int) {
    names.append(name)
    starts.append(end)
  }

  /// The scalars of some of the units.
  func scalars(of units: Range<Int>) -> Range<Int> {
    starts[units.lowerBound]..<starts[units.upperBound]
  }

  private static func end(
    from start: Int, in text: [UInt32], upTo limit: Int, by kind: Kind
  ) -> Int {
    var end = start + 1
    switch kind {
    case .lines: while end < limit, text[end - 1] != lineFeed { end += 1 }
    case .words:
      if isBlank(text[start]) { return end }
      while end < limit, !isBlank(text[end]), !endsWord(text[end - 1]) { end += 1 }
    }
    return end
  }

  /// Whether a word or a blank ends between two scalars; nil is the end of the text.
  static func isEnd(between before: UInt32?, _ behind: UInt32?) -> Bool {
    guard let before, let behind else { return true }
    return isBlank(before) || isBlank(behind) || endsWord(before)
  }

  private static func endsWord(_ scalar: UInt32) -> Bool {
    scalar >= 0x3000 && wordEnds.contains(scalar)
  }

  static func isBlank(_ scalar: UInt32) -> Bool {
    if scalar < 0x80 { return scalar == 0x20 || (0x09...0x0D).contains(scalar) }
    return Unicode.Scalar(scalar)?.properties.isWhitespace ?? false
  }
}

/// Numbers for stretches of one text: the same for equal stretches, and only for those.
struct UnitNames {
  /// Further stretches with the same hash are not compared, and get numbers of their own.
  private static let chainMax = 8

  private var stretches: [(start: Int, count: Int, next: Int)] = []
  private var latest: [UInt64: Int] = [:]

  /// A number above those of the scalars, each of which is its own name.
  mutating func name(of stretch: Range<Int>, in text: [UInt32]) -> UInt32 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for index in stretch { hash = (hash ^ UInt64(text[index])) &* 0x9E37_79B9_7F4A_7C15 }
    let head = latest[hash] ?? -1
    var place = head
    var length = 0
    while place >= 0, length < UnitNames.chainMax {
      let known = stretches[place]
      if known.count == stretch.count, isEqual(stretch.lowerBound, known.start, known.count, text) {
        return UInt32(0x11_0000 + place)
      }
      place = known.next
      length += 1
    }
    latest[hash] = stretches.count
    stretches.append((stretch.lowerBound, stretch.count, head))
    return UInt32(0x11_0000 + stretches.count - 1)
  }

  private func isEqual(_ one: Int, _ other: Int, _ count: Int, _ text: [UInt32]) -> Bool {
    for offset in 0..<count where text[one + offset] != text[other + offset] { return false }
    return true
  }
}
