/// How many columns text takes in a terminal.
///
/// A character as users see it is measured as one, by its first scalar: combining marks, joiners
/// and variation selectors add nothing. Wide are the characters of Unicode's East Asian Width
/// classes W and F (UAX 11) and emoji shown as such.
enum CharacterWidth {
  static func columns(_ text: some StringProtocol) -> Int {
    text.reduce(0) { $0 + columns($1) }
  }

  static func columns(_ character: Character) -> Int {
    guard let first = character.unicodeScalars.first else { return 0 }
    if first.value < 0x7F { return hasKeycap(character) ? 2 : 1 }
    switch first.properties.generalCategory {
    case .nonspacingMark, .enclosingMark: return 0
    // A soft hyphen is visible.
    case .format: return first.value == 0xAD ? 1 : 0
    default: break
    }
    return isEmoji(character, first) || isWide(first) ? 2 : 1
  }

  private static func hasKeycap(_ character: Character) -> Bool {
    character.unicodeScalars.contains("\u{20E3}") && character.unicodeScalars.contains("\u{FE0F}")
  }

  /// The selectors U+FE0E and U+FE0F request text or picture, whatever the default is.
  private static func isEmoji(_ character: Character, _ first: Unicode.Scalar) -> Bool {
    if character.unicodeScalars.contains("\u{FE0E}") { return false }
    return first.properties.isEmojiPresentation
      || (first.properties.isEmoji && character.unicodeScalars.contains("\u{FE0F}"))
  }

  private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DFF, 0x4E00...0xA4CF,
      0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F,
      0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F265,
      0x20000...0x3FFFD:
      true
    default: false
    }
  }

  /// Whether some of the text runs from right to left.
  static func hasRightToLeft(_ text: some StringProtocol) -> Bool {
    text.unicodeScalars.contains { scalar in
      switch scalar.value {
      case 0x590...0x8FF, 0x200F, 0xFB1D...0xFDFF, 0xFE70...0xFEFF, 0x10800...0x10FFF,
        0x1E800...0x1EFFF:
        true
      default: false
      }
    }
  }
}
