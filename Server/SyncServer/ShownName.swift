/// A name from a device or a user, made safe for a terminal and for a log.
package enum ShownName {
  /// The name, with marks instead of characters that would move the cursor, begin a line, or change
  /// the order of what follows.
  package static func text(_ name: String) -> String {
    var shown = String.UnicodeScalarView()
    for scalar in name.unicodeScalars { shown.append(isPlain(scalar) ? scalar : "\u{FFFD}") }
    return String(shown)
  }

  /// A text of several lines, each as `text` shows it.
  package static func lines(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { Self.text(String($0)) }
      .joined(separator: "\n")
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: false
    // Embeddings, overrides and isolates of bidirectional text; other formats join emoji.
    case .format:
      !(0x202A...0x202E).contains(scalar.value) && !(0x2066...0x2069).contains(scalar.value)
    default: true
    }
  }
}
