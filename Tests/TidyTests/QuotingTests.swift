import Foundation
import Testing

/// Commands that a program shows for typing use `Shell.quoted`: names come from other devices, and
/// pasting a command must not run its names.
@Suite struct QuotingTests {
  /// The words after a program's name that make a command, as the programs declare them.
  private static func commandWords() throws -> Set<String> {
    var words: Set<String> = []
    for file in try Repository.swiftFiles() where !file.path.hasPrefix("Tests/") {
      words.formUnion(file.text.matches(of: #/commandName: "([a-z-]+)"/#).map { String($0.1) })
    }
    return words
  }

  /// The interpolations within the commands of a text that are not quoted.
  static func unquoted(in text: String, words: Set<String>) -> [String] {
    // A literal that continues on the next line is one.
    let joined = text.replacing(#/"\s*\+ "/#, with: "")
    var found: [String] = []
    for match in joined.matches(of: #/\bcospool(?:-server|-harness)? ([a-z-]+)|\bcospoold --/#)
    where match.1.map({ words.contains(String($0)) }) ?? true {
      var rest = joined[match.range.upperBound...]
      while let character = rest.first, !"\"\n)`".contains(character) {
        if rest.starts(with: "\\(") {
          let inner = interpolation(rest.dropFirst(2))
          if !inner.contains("quoted") { found.append(String(inner)) }
          rest = joined[inner.endIndex...].dropFirst()
        } else if ".,;:".contains(character),
          rest.dropFirst().first.map({ " \"\n".contains($0) }) ?? true
        {
          break
        } else {
          rest = rest.dropFirst()
        }
      }
    }
    return found
  }

  /// The text up to the parenthesis that closes it.
  private static func interpolation(_ text: Substring) -> Substring {
    var depth = 1
    let end = text.firstIndex { character in
      if character == "(" { depth += 1 }
      if character == ")" { depth -= 1 }
      return depth == 0
    }
    return text[..<(end ?? text.endIndex)]
  }

  @Test func commandsThatAreShownAreQuoted() throws {
    let words = try Self.commandWords()
    #expect(words.count > 20)
    for file in try Repository.swiftFiles()
    where !file.path.hasPrefix("Tests/") && file.text.contains("cospool") {
      for inner in Self.unquoted(in: file.text, words: words) {
        Issue.record("\(file.path) shows a command with \\(\(inner)): write Shell.quoted(…)")
      }
    }
  }

  @Test func commandsThatThePageShowsAreQuoted() throws {
    let words = try Self.commandWords()
    var count = 0
    for path in Repository.files(in: "Client/WebPage") where path.hasSuffix(".js") {
      let text = try Repository.text(path)
      for match in text.matches(of: #/\bcospool ([a-z-]+)[^`\n$]*\$\{([^}]*)\}/#)
      where words.contains(String(match.1)) {
        count += 1
        if !match.2.hasPrefix("quoted") {
          Issue.record("\(path) shows a command with ${\(match.2)}: write quotedOperand(…)")
        }
      }
    }
    #expect(count >= 2)
  }

  @Test(arguments: [
    (#""go on: cospool session host \(name) this""#, ["name"]),
    (#""cospool session host \(Shell.quoted(name)) this, in \(place)""#, []),
    (#""cospool session host \(quoted) \(device)""#, ["device"]),
    ("\"cospool session \"\n  + \"host \\(name(of: it)) this\"", ["name(of: it)"]),
    (#""cospool serves \(path)""#, []), (#""\(name) runs: cospool session list""#, []),
    (#""cospoold --data \(path)""#, ["path"]), (#""(cospool session list) \(path)""#, []),
  ])
  func anUnquotedWordIsFound(text: String, found: [String]) {
    #expect(Self.unquoted(in: text, words: ["session"]) == found)
  }
}
