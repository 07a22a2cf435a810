import LocalAPI
import Platform

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The layout of text for users.
struct TextStyle: Sendable {
  /// The terminal's columns; nil if the length of lines is not limited.
  var width: Int?
  var hasColour: Bool
  /// The time from which ages are counted.
  var now: Date

  /// The same in milliseconds since 1970.
  var milliseconds: Int64 { Int64(now.timeIntervalSince1970 * 1_000) }

  enum Colour: String {
    case bold = "1"
    case dim = "2"
    case red = "31"
    case green = "32"
    case yellow = "33"
  }

  func coloured(_ text: String, _ colour: Colour?) -> String {
    guard let colour else { return text }
    return hasColour && !text.isEmpty ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
  }

  /// How long ago an ISO 8601 time was, in one unit: `now`, `40s`, `3m`, `5h`, `2d`.
  func age(_ timestamp: String) -> String {
    let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    guard let date = try? format.parse(timestamp) else { return timestamp }
    return age(date)
  }

  /// The seconds that have passed since an ISO 8601 time; nil if the text is not a time.
  func seconds(since timestamp: String) -> Double? {
    let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    return (try? format.parse(timestamp)).map(now.timeIntervalSince)
  }

  /// An ISO 8601 time in the time zone of this device, to the second: `2026-11-21 16:02:16`.
  func localTime(_ timestamp: String) -> String {
    let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    guard let date = try? format.parse(timestamp) else { return timestamp }
    var time = time_t(date.timeIntervalSince1970)
    var local = tm()
    localtime_r(&time, &local)
    func padded(_ value: Int32) -> String { value < 10 ? "0\(value)" : String(value) }
    return "\(local.tm_year + 1_900)-\(padded(local.tm_mon + 1))-\(padded(local.tm_mday)) "
      + "\(padded(local.tm_hour)):\(padded(local.tm_min)):\(padded(local.tm_sec))"
  }

  /// The same for a time in the future; nil if it has passed, or the text is not a time.
  func coming(_ timestamp: String) -> String? {
    seconds(since: timestamp).flatMap { $0 < 0 ? localTime(timestamp) : nil }
  }

  func age(milliseconds: Int64) -> String {
    age(Date(timeIntervalSince1970: Double(milliseconds) / 1_000))
  }

  func age(_ time: Timestamp) -> String { age(milliseconds: time.milliseconds) }

  /// Whole days from now on; negative for a time in the past.
  func days(until milliseconds: Int64) -> Int {
    Int(
      (Date(timeIntervalSince1970: Double(milliseconds) / 1_000).timeIntervalSince(now) / 86_400)
        .rounded(.down))
  }

  func hasPassed(milliseconds: Int64) -> Bool {
    Date(timeIntervalSince1970: Double(milliseconds) / 1_000) <= now
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

  /// A duration in its two largest units: `40s`, `12m`, `1h 5m`, `2d 3h`.
  static func duration(seconds: Int64) -> String {
    let seconds = max(0, seconds)
    let parts = [
      (seconds / 86_400, "d"), (seconds / 3_600 % 24, "h"), (seconds / 60 % 60, "m"),
      (seconds % 60, "s"),
    ]
    let shown = parts.drop { $0.0 == 0 }.prefix(seconds < 600 || seconds >= 3_600 ? 2 : 1)
      .filter { $0.0 > 0 }
    return shown.isEmpty ? "0s" : shown.map { "\($0.0)\($0.1)" }.joined(separator: " ")
  }

  /// Text on one line, without anything that could control a terminal.
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

  /// Text with its line breaks and tabs, without anything else that could control a terminal.
  static func block(_ text: String) -> String {
    var block = ""
    // A carriage return at the end of a line has no other effect.
    for scalar in text.replacing("\r\n", with: "\n").unicodeScalars {
      let isKept = scalar == "\n" || scalar == "\t" || !isHarmful(scalar)
      block.unicodeScalars.append(isKept ? scalar : "\u{FFFD}")
    }
    return block
  }

  /// The same JSON, with escapes for text that could control a terminal. Line breaks stay: in JSON
  /// they are between values.
  static func json(_ text: String) -> String {
    var json = ""
    for scalar in text.unicodeScalars {
      if scalar == "\n" || !isHarmful(scalar) {
        json.unicodeScalars.append(scalar)
      } else {
        let digits = String(scalar.value, radix: 16)
        json += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }
    }
    return json
  }

  /// A document as it is, or, on a terminal, without text that could control it.
  func document(_ json: some Collection<UInt8>) -> String {
    let text = String(decoding: json, as: UTF8.self)
    return width == nil ? text : TextStyle.json(text)
  }

  /// Control characters, and those that change the direction of the text around them.
  private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  /// The text cut to this many columns, with an ellipsis if a part is omitted.
  static func cut(_ text: String, toColumns limit: Int) -> String {
    guard CharacterWidth.columns(text) > limit else { return text }
    guard limit > 0 else { return "" }
    var kept = ""
    var used = 0
    for character in text {
      let columns = CharacterWidth.columns(character)
      guard used + columns <= limit - 1 else { break }
      kept.append(character)
      used += columns
    }
    return kept + "…"
  }

  /// The text in lines of at most this many columns, broken at spaces if there are any.
  static func wrapped(_ text: String, toColumns limit: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ", omittingEmptySubsequences: false) {
      let joined = line.isEmpty ? String(word) : line + " " + word
      if CharacterWidth.columns(joined) <= limit {
        line = joined
        continue
      }
      if !line.isEmpty { lines.append(line) }
      line = ""
      for character in word {
        if CharacterWidth.columns(line) + CharacterWidth.columns(character) > limit, !line.isEmpty {
          lines.append(line)
          line = ""
        }
        line.append(character)
      }
    }
    return lines + [line]
  }

  /// Keeps right-to-left text in its own place: a terminal that reverses it must not move the
  /// columns beside it (UAX 9, isolates).
  func isolated(_ text: String) -> String {
    width != nil && CharacterWidth.hasRightToLeft(text) ? "\u{2068}\(text)\u{2069}" : text
  }
}
