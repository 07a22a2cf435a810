/// Finds functions, initialisers and subscripts, and how many lines each has.
enum FunctionLengths {
  struct Function: Equatable {
    var name: String
    /// The line of its keyword, from 1.
    var line: Int
    /// The number of lines from the keyword to the closing brace, both included.
    var length: Int
  }

  /// - Parameter code: Swift text without comments and string contents (`SwiftText.blanked`).
  static func functions(in code: String) -> [Function] {
    let scalars = Array(code.unicodeScalars)
    var lines: [Int] = []
    lines.reserveCapacity(scalars.count)
    var line = 1
    for scalar in scalars {
      lines.append(line)
      if scalar == "\n" { line += 1 }
    }
    var found: [Function] = []
    for word in words(in: scalars) where isDeclaration(word, in: scalars) {
      guard let body = body(after: word.end, in: scalars) else { continue }
      found.append(
        Function(
          name: name(of: word, in: scalars), line: lines[word.start],
          length: lines[body.upperBound] - lines[word.start] + 1))
    }
    return found
  }

  private struct Word {
    var text: String
    var start: Int
    var end: Int
  }

  private static func isWordScalar(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "_", "a"..."z", "A"..."Z", "0"..."9": true
    default: scalar.value > 127 && scalar.properties.isXIDContinue
    }
  }

  private static func words(in scalars: [Unicode.Scalar]) -> [Word] {
    var words: [Word] = []
    var index = 0
    while index < scalars.count {
      guard isWordScalar(scalars[index]) else {
        index += 1
        continue
      }
      let start = index
      while index < scalars.count, isWordScalar(scalars[index]) { index += 1 }
      var text = String.UnicodeScalarView()
      text.append(contentsOf: scalars[start..<index])
      words.append(Word(text: String(text), start: start, end: index))
    }
    return words
  }

  private static func isDeclaration(_ word: Word, in scalars: [Unicode.Scalar]) -> Bool {
    let before = word.start > 0 ? scalars[word.start - 1] : " "
    let after = word.end < scalars.count ? scalars[word.end] : " "
    switch word.text {
    case "func", "deinit": return before != "." && before != "`"
    case "init", "subscript":
      return before != "." && before != "`" && ["(", "<", "?", " "].contains(after)
    default: return false
    }
  }

  private static func name(of word: Word, in scalars: [Unicode.Scalar]) -> String {
    guard word.text == "func" else { return word.text }
    let rest = scalars[word.end...].drop { $0 == " " || $0 == "\n" }
    var name = String.UnicodeScalarView()
    name.append(contentsOf: rest.prefix { $0 != "(" && $0 != "<" && $0 != " " })
    return String(name)
  }

  /// The range from the opening to the closing brace of the body, nil for a requirement without.
  private static func body(after start: Int, in scalars: [Unicode.Scalar]) -> ClosedRange<Int>? {
    var depth = 0
    var index = start
    var opening: Int?
    var lineStart = false
    while index < scalars.count {
      switch scalars[index] {
      case "(", "[": depth += 1
      case ")", "]": depth -= 1
      case "{" where depth == 0 && opening == nil: opening = index
      case "}" where depth == 0 && opening == nil: return nil
      case "\n": lineStart = true
      default: break
      }
      if opening != nil { break }
      // A declaration on a later line: this one was a requirement.
      if lineStart, depth == 0, isWordScalar(scalars[index]) || scalars[index] == "@" {
        var word = String.UnicodeScalarView()
        word.append(contentsOf: scalars[index...].prefix(while: isWordScalar))
        if scalars[index] == "@" || declarationWords.contains(String(word)) { return nil }
        lineStart = false
      }
      index += 1
    }
    guard let opening else { return nil }
    return closing(from: opening, in: scalars).map { opening...$0 }
  }

  private static let declarationWords: Set<String> = [
    "func", "var", "let", "init", "subscript", "static", "mutating", "associatedtype", "case",
    "package", "public", "private", "struct", "enum", "extension", "typealias", "nonisolated",
    "consuming", "borrowing", "class", "actor", "protocol", "deinit", "internal", "fileprivate",
  ]

  private static func closing(from opening: Int, in scalars: [Unicode.Scalar]) -> Int? {
    var depth = 0
    for index in opening..<scalars.count {
      if scalars[index] == "{" { depth += 1 }
      if scalars[index] == "}" {
        depth -= 1
        if depth == 0 { return index }
      }
    }
    return nil
  }
}
