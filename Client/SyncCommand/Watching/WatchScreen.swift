/// The display of a watched answer.
///
/// In a terminal, it uses the alternate screen and writes each picture over the previous one, in
/// one piece, so that the picture does not flicker and nothing of longer lines is left. At the end,
/// the previous screen returns, with the latest picture below. Elsewhere, each new answer is
/// written once.
struct WatchScreen {
  private let surroundings: WatchSurroundings
  private let isTerminal: Bool
  private var isOpen = false
  private var shown: String?
  private var answer: Answer?

  init(surroundings: WatchSurroundings) {
    self.surroundings = surroundings
    isTerminal = surroundings.screen() != nil
  }

  private enum Control {
    static let enter = "\u{1B}[?1049h\u{1B}[?25l"
    static let leave = "\u{1B}[?25h\u{1B}[?1049l"
    /// Terminals that know these codes show the text between the two at once; others ignore them.
    static let begin = "\u{1B}[?2026h\u{1B}[H"
    static let end = "\u{1B}[J\u{1B}[?2026l"
    static let clearToEnd = "\u{1B}[K"
  }

  /// - Returns: false if the reader has closed its end.
  mutating func show(_ text: String, answer: Answer, note: String?, style: TextStyle) -> Bool {
    guard isTerminal else { return print(text, answer: answer, note: note) }
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let footer = note ?? "watching; press Ctrl-C to stop"
    let size = surroundings.screen() ?? ScreenSize(rows: 24, columns: 80)
    let room = max(1, size.rows - 2)
    if lines.count > room {
      let hidden = lines.count - room + 1
      lines = lines.prefix(room - 1) + [style.coloured("… \(hidden) more lines", .dim)]
    }
    let cut = TextStyle.cut(footer, toColumns: size.columns)
    lines += ["", style.coloured(cut, note == nil ? .dim : .yellow)]
    let picture = lines.joined(separator: Control.clearToEnd + "\n") + Control.clearToEnd
    guard picture != shown else { return true }
    let opening = isOpen ? "" : Control.enter
    isOpen = true
    shown = picture
    latest = text
    return surroundings.write(opening + Control.begin + picture + Control.end)
  }

  private var latest = ""

  private mutating func print(_ text: String, answer: Answer, note: String?) -> Bool {
    // A note is for a user who watches; a script gets only the answers.
    guard self.answer != answer else { return true }
    let isFirst = self.answer == nil
    self.answer = answer
    let gap = isFirst || !text.contains("\n") ? "" : "\n"
    return surroundings.write(gap + text + "\n")
  }

  /// Restores the terminal.
  mutating func close() {
    guard isOpen else { return }
    isOpen = false
    _ = surroundings.write(Control.leave + latest + "\n")
  }
}
