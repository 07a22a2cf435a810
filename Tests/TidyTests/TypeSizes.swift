/// Types and their extensions: how many lines each has in a room, and how many stored properties.
struct TypeSizes {
  /// A type of a room.
  struct Name: Hashable {
    var room: String
    var type: String
  }

  /// Lines of the declaration and all extensions, without blank lines and comments.
  private(set) var lines: [Name: Int] = [:]
  private(set) var stored: [Name: Int] = [:]

  /// Counts the types of a file.
  ///
  /// - Parameter code: Swift text without comments and string contents (`SwiftText.blanked`).
  mutating func add(_ code: String, of room: String) {
    var depth = 0
    var current: Name?
    for line in code.split(separator: "\n") {
      let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" && $0 != "." }
      if depth == 0 {
        current = TypeSizes.type(declaredBy: words).map { Name(room: room, type: $0) }
      }
      if let current, line.contains(where: { $0 != " " }) {
        lines[current, default: 0] += 1
        if depth == 1, TypeSizes.isStored(words, line) { stored[current, default: 0] += 1 }
      }
      for character in line {
        if character == "{" { depth += 1 }
        if character == "}" { depth -= 1 }
      }
    }
  }

  /// The type that a line declares or extends; for a nested type, the outermost.
  private static func type(declaredBy words: [Substring]) -> String? {
    let kinds: Set<Substring> = ["struct", "enum", "class", "actor", "extension"]
    guard let index = words.firstIndex(where: { kinds.contains($0) }), index + 1 < words.count
    else { return nil }
    return words[index + 1].split(separator: ".").first.map(String.init)
  }

  /// Whether a line declares a stored property of the type itself. A computed one has its body on
  /// the same line, or begins it there.
  private static func isStored(_ words: [Substring], _ line: Substring) -> Bool {
    guard words.contains("var") || words.contains("let"), !words.contains("static"),
      !words.contains("func"), !words.contains("case")
    else { return false }
    let head = line.split(separator: "=", maxSplits: 1)[0]
    return !head.contains("{")
  }
}
