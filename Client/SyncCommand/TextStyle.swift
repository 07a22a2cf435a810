#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// How text for people is laid out.
struct TextStyle: Sendable {
  /// The terminal's columns; nil where lines may be as long as they are.
  var width: Int?
  var hasColour: Bool
  /// Ages are counted from here.
  var now: Date

  enum Colour: String {
    case bold = "1"
    case dim = "2"
    case red = "31"
    case green = "32"
    case yellow = "33"
  }

  func coloured(_ text: String, _ colour: Colour) -> String {
    hasColour && !text.isEmpty ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
  }

  /// How long ago an ISO 8601 time was, in one unit: `now`, `40s`, `3m`, `5h`, `2d`.
  func age(_ timestamp: String) -> String {
    let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    guard let date = try? format.parse(timestamp) else { return timestamp }
    return age(date)
  }

  func age(milliseconds: Int64) -> String {
    age(Date(timeIntervalSince1970: Double(milliseconds) / 1_000))
  }

  private func age(_ date: Date) -> String {
    let seconds = now.timeIntervalSince(date)
    // Clocks of devices differ a little; the future is now.
    switch seconds {
    case ..<1: return "now"
    case ..<60: return "\(Int(seconds))s"
    case ..<3_600: return "\(Int(seconds / 60))m"
    case ..<86_400: return "\(Int(seconds / 3_600))h"
    default: return "\(Int(min(seconds / 86_400, 999_999)))d"
    }
  }

  /// Text on one line, with nothing in it that could steer a terminal.
  static func line(_ text: String) -> String {
    var line = ""
    var isAfterSpace = true
    for scalar in text.unicodeScalars {
      if scalar.properties.isWhitespace {
        if !isAfterSpace { line.append(" ") }
        isAfterSpace = true
      } else {
        line.unicodeScalars.append(isHarmful(scalar) ? "\u{FFFD}" : scalar)
        isAfterSpace = false
      }
    }
    if line.hasSuffix(" ") { line.removeLast() }
    return line
  }

  /// Text with its line breaks and tabs, with nothing else in it that could steer a terminal.
  static func block(_ text: String) -> String {
    var block = ""
    for scalar in text.unicodeScalars {
      let isKept = scalar == "\n" || scalar == "\t" || !isHarmful(scalar)
      block.unicodeScalars.append(isKept ? scalar : "\u{FFFD}")
    }
    return block
  }

  /// Control characters, and those that turn the direction of the text around them.
  private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  /// How many columns text takes: none for combining marks, two for wide characters.
  static func columns(_ text: some StringProtocol) -> Int {
    text.reduce(0) { $0 + columns($1) }
  }

  static func columns(_ character: Character) -> Int {
    guard let first = character.unicodeScalars.first else { return 0 }
    let properties = first.properties
    if properties.generalCategory == .nonspacingMark || properties.generalCategory == .format {
      return 0
    }
    let isEmoji =
      properties.isEmojiPresentation
      || (properties.isEmoji && character.unicodeScalars.contains("\u{FE0F}"))
    return isEmoji || isWide(first) ? 2 : 1
  }

  private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF,
      0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD:
      true
    default: false
    }
  }

  /// The text cut to so many columns, with an ellipsis where something is left out.
  static func cut(_ text: String, toColumns limit: Int) -> String {
    guard columns(text) > limit else { return text }
    guard limit > 0 else { return "" }
    var kept = ""
    var used = 0
    for character in text {
      let columns = columns(character)
      guard used + columns <= limit - 1 else { break }
      kept.append(character)
      used += columns
    }
    return kept + "…"
  }
}
