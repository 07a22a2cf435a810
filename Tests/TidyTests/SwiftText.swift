/// Blanks out everything that is not code: enough of Swift's lexical rules to count braces safely.
///
/// It knows line comments and nested block comments, strings of one and of several lines, raw
/// strings, interpolations (whose code is blanked with the string around it), and extended regex
/// literals. It does not know bare `/regex/` literals; the project does not use them.
enum SwiftText {
  /// The text with the same lines, and spaces in place of comments and string contents.
  static func blanked(_ text: String) -> String {
    split(text).code
  }

  /// The contents of all string literals, in order, interpolations included.
  static func literals(_ text: String) -> [String] {
    split(text).literals
  }

  /// All comments, in order.
  static func comments(_ text: String) -> [String] {
    split(text).comments
  }

  static func split(_ text: String) -> (code: String, literals: [String], comments: [String]) {
    var scanner = Scanner(Array(text.utf8))
    scanner.scanCode(untilParenthesis: false)
    return (String(decoding: scanner.code, as: UTF8.self), scanner.literals, scanner.comments)
  }

  private struct Scanner {
    let bytes: [UInt8]
    var position = 0
    var code: [UInt8] = []
    var literals: [String] = []
    var comments: [String] = []
    /// The number of string literals around the current position.
    var depth = 0

    init(_ bytes: [UInt8]) {
      self.bytes = bytes
      code.reserveCapacity(bytes.count)
    }

    func byte(_ offset: Int = 0) -> UInt8? {
      position + offset < bytes.count ? bytes[position + offset] : nil
    }

    func sees(_ wanted: [UInt8], at offset: Int = 0) -> Bool {
      let start = position + offset
      guard start + wanted.count <= bytes.count else { return false }
      for index in wanted.indices where bytes[start + index] != wanted[index] { return false }
      return true
    }

    mutating func keep() {
      if depth == 0 {
        code.append(bytes[position])
        position += 1
      } else {
        blank()
      }
    }

    mutating func blank(_ count: Int = 1) {
      for _ in 0..<count where position < bytes.count {
        code.append(bytes[position] == newline ? newline : space)
        position += 1
      }
    }

    /// Reads code to the end, or to after the parenthesis that closes an interpolation.
    mutating func scanCode(untilParenthesis: Bool) {
      var open = 0
      while let here = byte() {
        if here == slash, byte(1) == slash {
          scanLineComment()
        } else if here == slash, byte(1) == star {
          scanBlockComment()
        } else if here == quote || here == hash, let hashes = hashesBefore(quote) {
          scanString(hashes: hashes)
        } else if here == hash, let hashes = hashesBefore(slash) {
          scanRegex(hashes: hashes)
        } else {
          if here == UInt8(ascii: "(") { open += 1 }
          if here == UInt8(ascii: ")") { open -= 1 }
          keep()
          if untilParenthesis, open < 0 { return }
        }
      }
    }

    /// The number of `#` directly before `mark`; nil if something else follows.
    func hashesBefore(_ mark: UInt8) -> Int? {
      var count = 0
      while byte(count) == hash { count += 1 }
      return byte(count) == mark ? count : nil
    }

    mutating func scanLineComment() {
      let start = position
      while let next = byte(), next != newline { blank() }
      comments.append(String(decoding: bytes[start..<position], as: UTF8.self))
    }

    mutating func scanBlockComment() {
      let start = position
      var open = 0
      repeat {
        if byte() == slash, byte(1) == star {
          open += 1
          blank(2)
        } else if byte() == star, byte(1) == slash {
          open -= 1
          blank(2)
        } else {
          blank()
        }
      } while open > 0 && position < bytes.count
      comments.append(String(decoding: bytes[start..<position], as: UTF8.self))
    }

    mutating func scanString(hashes: Int) {
      let raw = [UInt8](repeating: hash, count: hashes)
      let isLong = sees([quote, quote, quote], at: hashes)
      let mark = [UInt8](repeating: quote, count: isLong ? 3 : 1)
      let end = mark + raw
      let escape = [backslash] + raw
      let interpolation = escape + [UInt8(ascii: "(")]
      depth += 1
      blank(hashes + mark.count)
      let start = position
      while let here = byte(), !sees(end), isLong || here != newline {
        if sees(interpolation) {
          blank(interpolation.count)
          scanCode(untilParenthesis: true)
        } else if sees(escape) {
          blank(escape.count + 1)
        } else {
          blank()
        }
      }
      literals.append(String(decoding: bytes[start..<position], as: UTF8.self))
      if sees(end) { blank(end.count) }
      depth -= 1
    }

    mutating func scanRegex(hashes: Int) {
      let end = [slash] + [UInt8](repeating: hash, count: hashes)
      depth += 1
      blank(end.count)
      while byte() != nil, !sees(end) { blank() }
      blank(end.count)
      depth -= 1
    }
  }
}

private let newline = UInt8(ascii: "\n")
private let space = UInt8(ascii: " ")
private let slash = UInt8(ascii: "/")
private let star = UInt8(ascii: "*")
private let quote = UInt8(ascii: "\"")
private let hash = UInt8(ascii: "#")
private let backslash = UInt8(ascii: "\\")
