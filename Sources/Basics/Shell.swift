/// Text that can be pasted into a shell.
package enum Shell {
  /// One word: unquoted if no shell reads it differently, else in single quotes (POSIX.1-2024,
  /// Shell Command Language, 2.2.2).
  package static func quoted(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy { byte in
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || byte >= 128 || "/._-:".utf8.contains(byte)
    }
    if isPlain && !text.isEmpty { return text }
    return "'"
      + text.split(separator: "'", omittingEmptySubsequences: false)
      .joined(separator: "'\\''") + "'"
  }

  /// The first operand of a command: one word, after `--` if a program would read it as an option.
  package static func quotedOperand(_ text: String) -> String {
    isHyphened(text) ? "-- " + quoted(text) : quoted(text)
  }

  /// An option with one letter and its value, which may begin with a hyphen.
  package static func quotedOption(_ name: String, _ value: String) -> String {
    name + (isHyphened(value) ? "=" : " ") + quoted(value)
  }

  private static func isHyphened(_ text: String) -> Bool { text.utf8.first == UInt8(ascii: "-") }
}
