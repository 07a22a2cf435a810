import AgentFormats

/// The part of the service's log for a bug report: times, levels, and the program's own messages.
///
/// A line is shown if its form is known. Other lines of a journal are an agent's words, or the rest
/// of an entry with several lines. In the lines that are shown, names that a user chose are in
/// quotation marks, in metadata, or are paths and addresses.
enum BugReportLog {
  /// Details, such as those of `debug` and `trace`, hold text from agents and callers.
  private static let levels: Set<Substring> = ["info", "notice", "warning", "error", "critical"]

  /// Lines of a log file, in a journal's form.
  static func asJournal(_ text: String) -> String {
    text.split(separator: "\n").map { line in
      let time = line.first == "{" ? JSONTree(Array(line.utf8))?["time"]?.text : nil
      return "\(time ?? String(line.prefix { $0 != " " })) cospoold[-]: \(line)"
    }.joined(separator: "\n")
  }

  /// A line in the form of `journalctl --output=short-iso --no-hostname`, without text that a user
  /// chose; nil if none of it may be shown.
  static func shown(_ line: Substring) -> String? {
    let parts = line.split(separator: " ", maxSplits: 2)
    guard parts.count == 3, parts[1].hasSuffix("]:") else { return nil }
    let said: String?
    switch parts[1].prefix(while: { $0 != "[" }) {
    case "cospoold":
      said = entry(parts[2]).map { "\($0.level): \(plain($0.message) { $0.contains("/") })" }
    case "systemd":
      // `status=2/INVALIDARGUMENT` is not a path.
      said = plain(parts[2], isPath: beginsPath)
    default: said = nil
    }
    return said.map { TextStyle.line("\(parts[0]) \(parts[1]) \($0)") }
  }

  /// Level and message of an entry, as both log formats write them; nil for details, and for lines
  /// that are not an entry.
  private static func entry(_ text: Substring) -> (level: Substring, message: Substring)? {
    let level: Substring
    let message: Substring
    if text.first == "{" {
      guard let tree = JSONTree(Array(text.utf8)), let named = tree["level"]?.text,
        let said = tree["message"]?.text
      else { return nil }
      (level, message) = (Substring(named), Substring(said))
    } else {
      // The time, the level, and `label: metadata [source] message`.
      let words = text.split(separator: " ", maxSplits: 2)
      guard words.count == 3, words[0].wholeMatch(of: /\d{4}-\d\d-\d\dT[0-9:.+Z-]+/) != nil,
        let said = afterSource(words[2])
      else { return nil }
      (level, message) = (words[1], said)
    }
    return levels.contains(level) ? (level, message) : nil
  }

  /// The text after ` [source] `, even if other brackets are in quotation marks.
  private static func afterSource(_ text: Substring) -> Substring? {
    var isQuoted = false
    var isEscaped = false
    for index in text.indices {
      switch text[index] {
      case _ where isEscaped: isEscaped = false
      case "\\" where isQuoted: isEscaped = true
      case "\"": isQuoted.toggle()
      case " " where !isQuoted:
        let rest = text[text.index(after: index)...]
        guard rest.first == "[", let end = rest.firstIndex(of: "]") else { continue }
        return rest[rest.index(after: end)...].drop { $0 == " " }
      default: break
      }
    }
    return nil
  }

  /// A message without the text between its first and its last quotation mark, without addresses,
  /// and cut where a path begins, which may have blanks.
  private static func plain(
    _ message: Substring, isPath: (Substring) -> Bool
  ) -> String {
    var text = String(message)
    if let first = text.firstIndex(of: "\""), let last = text.lastIndex(of: "\"") {
      text = text[..<first] + "\"…\"" + (first == last ? "" : text[text.index(after: last)...])
    }
    var words: [String] = []
    for word in text.split(whereSeparator: \.isWhitespace) {
      if word.contains("://") {
        words.append("URL" + (word.last.map { ":,;.".contains($0) ? String($0) : "" } ?? ""))
      } else if isPath(word) {
        return (words + ["…"]).joined(separator: " ")
      } else {
        words.append(String(word))
      }
    }
    return words.joined(separator: " ")
  }

  private static func beginsPath(_ word: Substring) -> Bool {
    guard let slash = word.firstIndex(of: "/") else { return false }
    guard slash > word.startIndex else { return true }
    let before = word[word.index(before: slash)]
    return !before.isLetter && !before.isNumber
  }
}
