import Foundation

/// The few parts of Markdown that the checks read.
enum Markdown {
  /// The cells of every table row.
  static func tableRows(in text: String) -> [[String]] {
    text.split(separator: "\n").filter { $0.hasPrefix("|") }.map { line in
      line.dropFirst().split(separator: "|", omittingEmptySubsequences: false)
        .map { $0.trimmingCharacters(in: .whitespaces) }
        .dropLast()
    }
  }

  /// The words in backticks.
  static func codeWords(_ text: String) -> Set<String> {
    let parts = text.split(separator: "`", omittingEmptySubsequences: false)
    return Set(stride(from: 1, to: parts.count, by: 2).map { String(parts[$0]) })
  }

  /// The lines inside fenced code blocks.
  static func codeLines(in text: String) -> [String] {
    var inside = false
    var lines: [String] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        inside.toggle()
      } else if inside {
        lines.append(String(line))
      }
    }
    return lines
  }
}
