/// Why a command cannot be split into words.
package struct CommandLineFault: Error, Hashable, CustomStringConvertible {
  package var reason: String
  package var description: String { reason }

  package init(reason: String) {
    self.reason = reason
  }
}

/// Splits a command as a shell does, without expanding anything. Blanks separate words. Single
/// quotes keep everything as it is. In double quotes a backslash escapes only `"`, `\`, `$` and a
/// backquote. Outside quotes a backslash escapes the next character.
package enum CommandWords {
  package static func split(_ command: String) throws(CommandLineFault) -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Character?
    var rest = command[...]
    while let character = rest.popFirst() {
      switch (quote, character) {
      case (nil, " "), (nil, "\t"), (nil, "\n"):
        if let done = word { words.append(done) }
        word = nil
      case (nil, "'"), (nil, "\""):
        quote = character
        word = word ?? ""
      case ("'"?, "'"), ("\""?, "\""):
        quote = nil
      case (nil, "\\"):
        guard let next = rest.popFirst() else {
          throw CommandLineFault(reason: "the command ends with a backslash")
        }
        word = (word ?? "") + String(next)
      case ("\""?, "\\"):
        if let next = rest.first, "\"\\$`".contains(next) {
          rest.removeFirst()
          word = (word ?? "") + String(next)
        } else {
          word = (word ?? "") + "\\"
        }
      default:
        word = (word ?? "") + String(character)
      }
    }
    if let quote {
      throw CommandLineFault(reason: "the command has an unclosed \(quote)")
    }
    if let done = word { words.append(done) }
    return words
  }
}
