/// The help of a command for a terminal: every paragraph is wrapped once, to the terminal's width.
///
/// The parser would wrap lines that the source has already wrapped. So the parser gets an unlimited
/// width, and this code joins the lines of a paragraph: prose that starts at the margin. Lines of
/// examples and options continue below their text.
package enum HelpText {
  /// The width for the parser, at which it wraps nothing.
  package static let unwrappedColumns = 10_000
  /// The width if none is given.
  package static let widthStandard = 80
  /// Narrower or wider terminals get the nearest width of this range.
  private static let widths = 30...1_000

  /// Wraps help; other messages of the parser, such as a script or an error, are returned
  /// unchanged.
  ///
  /// - Complexity: O(length of the text).
  package static func wrapped(_ text: String, width: Int?) -> String {
    guard text.hasPrefix("OVERVIEW:") || text.hasPrefix("USAGE:") else { return text }
    let width = min(max(width ?? widthStandard, widths.lowerBound), widths.upperBound)
    var lines: [String] = []
    var paragraph = ""
    func end() {
      if !paragraph.isEmpty { lines += wrap((paragraph, 0), width: width) }
      paragraph = ""
    }
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.first == " " {
        end()
        lines += wrap(indented(line, width: width), width: width)
      } else if line.isEmpty || isHeading(line) {
        end()
        lines.append(String(line))
      } else if startsUsage(line) {
        // A line that is never wrapped, whatever its length.
        end()
        lines.append(String(line))
      } else {
        paragraph += (paragraph.isEmpty ? "" : " ") + line
      }
    }
    end()
    return lines.joined(separator: "\n")
  }

  private static func isHeading(_ line: Substring) -> Bool {
    line.allSatisfy { $0.isUppercase || $0 == " " || $0 == ":" || $0 == "," }
  }

  private static func startsUsage(_ line: Substring) -> Bool {
    line.hasPrefix("USAGE:") || line.hasPrefix("Usage:")
  }

  /// A line that begins with blanks, and the column at which it continues: below the text after its
  /// gap of two blanks. Without a gap, it continues below its beginning.
  private static func indented(
    _ line: Substring, width: Int
  ) -> (line: String, column: Int) {
    let indent = line.prefix { $0 == " " }.count
    // At least a quarter of the width must be left for words.
    let columnMax = width * 3 / 4
    // A long indentation is itself the continuation of a line above.
    if indent > 8 {
      let column = indent <= columnMax ? indent : 4
      return (String(repeating: " ", count: column) + line.dropFirst(indent), column)
    }
    var blanks = 0
    for (offset, character) in line.enumerated().dropFirst(indent) {
      if character == " " {
        blanks += 1
      } else if blanks >= 2, offset <= columnMax {
        return (String(line), offset)
      } else {
        blanks = 0
      }
    }
    return (String(line), indent + 2)
  }

  private static func wrap(_ whole: (line: String, column: Int), width: Int) -> [String] {
    let line = whole.line
    guard line.count > width else { return [line] }
    let indent = String(repeating: " ", count: whole.column)
    var lines: [String] = []
    var rest = line[...]
    while rest.count > width {
      let limit = rest.index(rest.startIndex, offsetBy: width)
      let room = rest[...limit]
      let text = rest.drop { $0 == " " }.startIndex
      // A word longer than the width is not broken.
      guard
        let blank = room.lastIndex(of: " ").flatMap({ $0 > text ? $0 : nil })
          ?? rest[text...].firstIndex(of: " ")
      else { break }
      let end = rest[..<blank].lastIndex { $0 != " " } ?? blank
      lines.append(String(rest[...end]))
      rest = (indent + rest[blank...].drop { $0 == " " })[...]
    }
    return lines + [String(rest)]
  }
}
