import Basics
import LocalAPI
import QueueModel

/// Text about undo, the log and imports.
enum HistoryText {
  static func undone(_ answer: Answer, verb: String) throws -> String {
    let receipt = try answer.decoded(ReceiptAnswer.self)
    guard let what = receipt.what else {
      return "nothing changed: others have changed or forgotten what would be \(verb)"
    }
    return "\(verb): \(TextStyle.line(what))"
  }

  static func undo(_ state: UndoAnswer) -> String {
    func line(_ verb: String, _ what: String?, _ count: Int) -> String {
      guard let what else { return "nothing to \(verb)" }
      let more = count > 1 ? ", and \(count - 1) more" : ""
      return "\(verb): \(TextStyle.line(what))\(more)"
    }
    return line("undo", state.undo, state.undoCount) + "\n"
      + line("redo", state.redo, state.redoCount)
  }

  /// Of one message: each thing that happened to it with its time, age and device. Of more, the age
  /// alone where the terminal has no room for both.
  static func log(
    _ answer: HistoryAnswer, ofMessage: Bool = false, isUTC: Bool = false, style: TextStyle
  ) -> String {
    guard !answer.entries.isEmpty else {
      guard let message = answer.message else { return "nothing is known of it" }
      return "the log of this device begins later\n\n" + QueueText.show(message, style: style)
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

  /// What its latest attempt wrote, or where that is.
  private static func written(_ answer: HistoryAnswer, style: TextStyle) -> String {
    if let output = answer.output {
      let cut = output.truncated ? ", its beginning cut off" : ""
      return "\n\n" + style.coloured("output of attempt \(output.attempt)\(cut):", .dim)
        + "\n" + TextStyle.block(output.text)
    }
    guard let device = answer.outputDevice else { return "" }
    let id =
      answer.message.map {
        ": cospool log \(Shell.quoted(String($0.id.description.prefix(8)))) there"
      } ?? ""
    return "\n\n" + style.coloured("what it wrote is on \(TextStyle.line(device))\(id)", .dim)
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
}
