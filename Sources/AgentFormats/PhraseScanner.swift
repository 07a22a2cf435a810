#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Reads numbers, dates and times of day from a sentence, from left to right.
struct PhraseScanner: Sendable {
  private var rest: Substring
  /// The same part of the sentence in its original case: names of zones have capitals.
  private var written: Substring

  /// If lower case changes the length of the text, the text is read as it was written.
  init(_ text: String) {
    let lowered = text.lowercased()
    rest = (lowered.count == text.count ? lowered : text)[...]
    written = text[...]
  }

  /// The rest after the first occurrence of a phrase of whole words.
  func behind(_ phrase: String) -> PhraseScanner? {
    let found = rest.ranges(of: phrase + " ").first { range in
      guard let before = rest[..<range.lowerBound].last else { return true }
      return !before.isLetter && !before.isNumber
    }
    guard let found else { return nil }
    var scanner = self
    scanner.drop(rest.distance(from: rest.startIndex, to: found.upperBound))
    return scanner
  }

  private mutating func drop(_ count: Int) {
    rest = rest.dropFirst(count)
    written = written.dropFirst(count)
  }

  mutating func skip(while isSkipped: (Character) -> Bool) {
    drop(rest.prefix(while: isSkipped).count)
  }

  mutating func takes(_ word: String) -> Bool {
    guard rest.hasPrefix(word) else { return false }
    drop(word.count)
    return true
  }

  mutating func letters() -> String {
    let word = rest.prefix { $0.isASCII && $0.isLetter }
    drop(word.count)
    return String(word)
  }

  /// A whole number with a maximum number of digits; nil if the text has none, or more digits
  /// follow.
  private mutating func whole(digitsMax: Int) -> Int? {
    let digits = rest.prefix { $0.isASCII && $0.isNumber }
    guard (1...digitsMax).contains(digits.count), let number = Int(digits) else { return nil }
    drop(digits.count)
    return number
  }

  /// A number that may have decimals; a point that ends the sentence is not part of it.
  mutating func decimal() -> Double? {
    let digits = rest.prefix { $0.isASCII && $0.isNumber }
    guard !digits.isEmpty, digits.count <= 9 else { return nil }
    var text = digits
    let behind = rest[digits.endIndex...]
    if behind.first == "." {
      let decimals = behind.dropFirst().prefix { $0.isASCII && $0.isNumber }
      if !decimals.isEmpty { text = rest[digits.startIndex..<decimals.endIndex] }
    }
    drop(text.count)
    return Double(text)
  }

  /// `apr 28th, 2026`, `apr 28` or `2026-04-28`; reads nothing if there is no date.
  mutating func date() -> (year: Int?, month: Int, day: Int)? {
    var scanner = self
    guard let date = scanner.dateByName() ?? scanner.dateByNumbers() else { return nil }
    guard (1...12).contains(date.month), (1...31).contains(date.day) else { return nil }
    self = scanner
    return date
  }

  private static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]

  private mutating func dateByName() -> (year: Int?, month: Int, day: Int)? {
    var scanner = self
    let name = scanner.letters()
    guard let index = PhraseScanner.months.firstIndex(of: String(name.prefix(3))) else {
      return nil
    }
    scanner.skip { $0 == " " || $0 == "." }
    guard let day = scanner.whole(digitsMax: 2) else { return nil }
    for ending in ["st", "nd", "rd", "th"] where scanner.takes(ending) { break }
    var more = scanner
    more.skip { $0 == " " || $0 == "," }
    if let year = more.whole(digitsMax: 4), (1_970...9_999).contains(year) {
      self = more
      return (year, index + 1, day)
    }
    self = scanner
    return (nil, index + 1, day)
  }

  private mutating func dateByNumbers() -> (year: Int?, month: Int, day: Int)? {
    guard let year = whole(digitsMax: 4), year >= 1_970, takes("-"),
      let month = whole(digitsMax: 2), takes("-"), let day = whole(digitsMax: 2)
    else { return nil }
    return (year, month, day)
  }

  /// `12:16 pm`, `3pm`, `15:30` or `15:30:00`, in seconds since midnight; reads nothing if there is
  /// no time of day.
  mutating func clock() -> Int? {
    var scanner = self
    guard let hour = scanner.whole(digitsMax: 2) else { return nil }
    var seconds = 0
    var isClock = false
    if scanner.takes(":") {
      guard let minute = scanner.whole(digitsMax: 2), minute < 60 else { return nil }
      seconds = minute * 60
      isClock = true
      if scanner.takes(":") {
        guard let second = scanner.whole(digitsMax: 2), second < 60 else { return nil }
        seconds += second
        if scanner.takes(".") { scanner.skip { $0.isNumber } }
      }
    }
    var behind = scanner
    behind.skip { $0 == " " || $0 == "\u{202F}" }
    let half = ["am", "a.m.", "pm", "p.m."].first { behind.rest.hasPrefix($0) }
    guard let half else {
      guard isClock, hour < 24 else { return nil }
      self = scanner
      return hour * 3_600 + seconds
    }
    guard (1...12).contains(hour) else { return nil }
    behind.drop(half.count)
    self = behind
    return (hour % 12 + (half.hasPrefix("p") ? 12 : 0)) * 3_600 + seconds
  }

  /// `utc`, `z`, `+02:00` or `(Europe/Berlin)`; nil if no known zone follows.
  mutating func zone() -> TimeZone? {
    skip { $0 == " " || $0 == "(" }
    if rest.first == "+" || rest.first == "-" {
      let isWest = rest.first == "-"
      drop(1)
      guard let hours = whole(digitsMax: 2), hours <= 14 else { return nil }
      let minutes = takes(":") ? whole(digitsMax: 2) ?? 0 : 0
      return TimeZone(secondsFromGMT: (isWest ? -1 : 1) * (hours * 3_600 + min(minutes, 59) * 60))
    }
    let name = written.prefix { $0.isLetter || $0.isNumber || "/_+-".contains($0) }
    guard !["z", "utc", "gmt"].contains(name.lowercased()) else {
      return TimeZone(secondsFromGMT: 0)
    }
    return name.contains("/") ? TimeZone(identifier: String(name)) : nil
  }
}
