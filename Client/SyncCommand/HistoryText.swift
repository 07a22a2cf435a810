import Basics
import LocalAPI
import QueueModel

/// Text about undo, the log and imports.
enum HistoryText {
  /// What was undone or redone, and further information about it.
  static func undone(_ answer: Answer, verb: String) throws -> String {
    let receipt = try answer.decoded(ReceiptAnswer.self)
    var lines: [String] = []
    switch (receipt.result, receipt.what) {
    case (.skipped, let what?): lines.append(TextStyle.line("left as it is: \(what)"))
    case (.undone, let what?), (.redone, let what?):
      lines.append(TextStyle.line("\(verb): \(what)"))
    default: lines.append("nothing changed: others have changed or forgotten what would be \(verb)")
    }
    lines += (receipt.left ?? []).map { "a part is left as it is: \($0.note)" }
    lines += (receipt.paused ?? []).map { session in
      "\(session) is paused, so that nothing starts. To let it go on: cospool queue resume "
        + Shell.quotedOption("-s", session.rawValue)
    }
    return lines.map(TextStyle.block).joined(separator: "\n")
  }

  static func undo(_ state: UndoAnswer, style: TextStyle) -> String {
    func lines(_ verb: String, _ next: UndoAnswer.Next?, _ count: Int) -> [String] {
      guard let next else { return ["nothing to \(verb)"] }
      let more = count > 1 ? ", and \(count - 1) more" : ""
      let notes =
        (next.shared ? [sharedWords] : []) + (next.obstacle.map { [$0.note] } ?? [])
        + (next.leaving ?? []).map { "A part stays as it is: \($0.note)" }
        + (next.pausing ?? []).map { "It pauses \($0), so that nothing starts." }
      // The details follow below it. A command keeps its line breaks.
      return [TextStyle.line("\(verb): \(next.what) (\(age(of: next, style)))\(more)")]
        + notes.map { "  " + TextStyle.block($0) }
    }
    return (lines("undo", state.undo, state.undoCount) + lines("redo", state.redo, state.redoCount))
      .joined(separator: "\n")
  }

  /// The question to a user before an undo that they may not expect.
  static func question(_ next: UndoAnswer.Next, does verb: String, style: TextStyle) -> String {
    let shared = next.shared ? "\n" + sharedWords : ""
    let third = verb == "undo" ? "undoes" : "redoes"
    return TextStyle.line("This \(third) \(next.what) (\(age(of: next, style))).") + shared
      + "\n\(verb == "undo" ? "Undo" : "Redo") it?"
  }

  private static let sharedWords = "Others have worked on it since; what they did stays."

  private static func age(of next: UndoAnswer.Next, _ style: TextStyle) -> String {
    let age = style.age(next.at)
    return age == "now" ? age : "\(age) ago"
  }

  /// For one message: each of its events with its time, age and device. For several, only the age
  /// if the terminal has no room for both.
  static func log(
    _ answer: HistoryAnswer, ofMessage: Bool = false, isUTC: Bool = false, style: TextStyle
  ) -> String {
    guard !answer.entries.isEmpty else {
      guard let message = answer.message else { return "this device's log has nothing about it" }
      return "this device's log begins later\n\n" + QueueText.show(message, style: style)
        + written(answer, style: style)
    }
    var table = TextTable([
      .init(title: "TIME", goes: 4), .init(title: "AGE", isNumber: true),
      .init(title: "DEVICE", goes: 2), .init(title: "SESSION", goes: 1, isName: true),
      .init(title: "ID", goes: 3, isName: true), .init(title: "WHAT"),
    ])
    table.rows = answer.entries.map { entry in
      [
        .init(entry.at.map { isUTC ? $0 : style.localTime($0) } ?? "-", .dim),
        .init(entry.at.map(style.age) ?? "-"),
        .init(entry.device ?? "-"), .init(ofMessage ? "" : entry.session?.rawValue ?? ""),
        .init(
          ofMessage
            ? "" : entry.message.map { String($0.description.prefix(QueueText.idDigitsMin)) } ?? ""),
        .init(entry.what),
      ]
    }
    let text = table.text(style: style) + written(answer, style: style)
    guard let next = answer.next else { return text }
    return text + "\n" + style.coloured("older: --before \(TextStyle.line(next))", .dim)
  }

  /// The output of its latest attempt, or where to find it.
  private static func written(_ answer: HistoryAnswer, style: TextStyle) -> String {
    if let output = answer.output {
      let cut = output.truncated ? ", its beginning cut off" : ""
      return "\n\n" + style.coloured("output of attempt \(output.attempt)\(cut):", .dim)
        + "\n" + TextStyle.block(output.text)
    }
    guard let device = answer.outputDevice else { return "" }
    let id =
      answer.message.map {
        ": cospool output \(Shell.quoted(String($0.id.description.prefix(8))))"
      } ?? ""
    return "\n\n" + style.coloured("its output is on \(TextStyle.line(device))\(id)", .dim)
  }

  static func imported(_ answer: ImportedAnswer) -> String {
    let brought = [
      ReceiptText.counted(answer.messages, "message"),
      ReceiptText.counted(answer.sessions, "session"),
      ReceiptText.counted(answer.threads, "thread"),
    ].joined(separator: ", ")
    let known = answer.known > 0 ? "; \(answer.known) known already" : ""
    return (answer.dryRun ? "would import " : "imported ") + brought + known
  }

  /// What needs its user after an import: messages that an agent had before, and files.
  static func importWarning(_ answer: Answer) -> String? {
    guard let imported = try? answer.decoded(ImportedAnswer.self) else { return nil }
    var lines: [String] = []
    if let started = imported.started, let held = imported.held {
      let were = ReceiptText.counted(started, "message") + (started == 1 ? " was" : " were")
      let sessions = held.map { "cospool queue resume \(Shell.quotedOption("-s", $0.rawValue))" }
      lines.append(
        imported.dryRun
          ? "\(were) started before: the import will pause "
            + (started == 1 ? "its" : "their") + " session\(held.count == 1 ? "" : "s")."
          : "\(were) started before, so nothing starts there. To go on after you looked: "
            + sessions.joined(separator: "; ") + ".")
    }
    if let count = imported.inVain {
      lines.append(
        "\(ReceiptText.counted(count, "message")) \(count == 1 ? "waits" : "wait") for others that "
          + "are not here. To see how to start \(count == 1 ? "it" : "them"): cospool inbox")
    }
    lines += missing(imported.missingFiles ?? [], ", nor on this device")
    return lines.isEmpty ? nil : lines.map { "cospool: " + $0 }.joined(separator: "\n")
  }

  /// Files that a document lacks, in one sentence; empty if there are none.
  static func missing(_ files: [String], _ place: String = "") -> [String] {
    guard !files.isEmpty else { return [] }
    let are = ReceiptText.counted(files.count, "file") + (files.count == 1 ? " is" : " are")
    let named = files.prefix(5).map(TextStyle.line).joined(separator: ", ")
    let more = files.count > 5 ? " and \(files.count - 5) more" : ""
    return [
      "\(are) not in the document\(place): \(named)\(more). To carry them over: cospool queue export."
    ]
  }
}
