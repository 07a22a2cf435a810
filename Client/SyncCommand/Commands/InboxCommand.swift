import ArgumentParser
import Basics
import LocalAPI

/// `cospool inbox`
struct InboxCommand: WatchableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inbox",
    abstract: "List what needs you, with the command that decides it.",
    discussion: """
      EXAMPLES
        cospool inbox
        cospool inbox --watch
        cospool inbox --json | jq -r '.lines[] | select(.reason == "asks").command'

      One line for each session. First come requests, failures, unknown outcomes and merged texts,
      as on the page, and prompts that wait in vain for others, oldest first; then the threads of
      the thread queue, in its order, which cospool thread move changes. Below them are your edits,
      cancels and answers that came too late, until you dismiss them.
      """)
  @OptionGroup var watch: WatchOption
  @OptionGroup var options: GlobalOptions

  func request(input: StandardInput) throws -> APIRequest { APIRequest(.get, ["inbox"]) }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    InboxText.text(of: try answer.decoded(InboxListAnswer.self), style: style)
  }
}

/// The text of the list of what needs its user.
enum InboxText {
  private static let off =
    "The thread queue is off, so finished sessions are not listed. To turn it on: "
    + "cospool config set queueEnabled on"

  static func text(of inbox: InboxListAnswer, style: TextStyle) -> String {
    let lines = inbox.lines.isEmpty ? "nothing needs you" : table(of: inbox.lines, style: style)
    let notices = (inbox.notices ?? []).map { notice in
      style.coloured(TextStyle.line("\(notice.title), in \(notice.session)"), .yellow)
        + "\n\(TextStyle.block(notice.body))\nto dismiss it: cospool notifications dismiss \(Shell.quoted(notice.id))"
    }
    return ([lines] + (inbox.threadQueue ? [] : [style.coloured(off, .dim)]) + notices)
      .joined(separator: "\n")
  }

  private static func table(of lines: [InboxListAnswer.Line], style: TextStyle) -> String {
    var table = TextTable([
      .init(title: "SESSION", isName: true), .init(title: "WHY"),
      .init(title: "AGE", isNumber: true, goes: 2), .init(title: "COMMAND", isName: true),
      .init(title: "WHAT", goes: 1),
    ])
    table.rows = lines.map { line in
      [
        .init(line.sessionName), .init(line.reason.words, colour(of: line.reason)),
        .init(style.age(line.since)), .init(line.command ?? "-"), .init(line.note),
      ]
    }
    return table.text(style: style)
  }

  private static func colour(of reason: InboxListAnswer.Line.Reason) -> TextStyle.Colour {
    switch reason {
    case .asks, .merged, .inVain: .yellow
    case .failed, .unknown: .red
    case .done, .ready: .green
    }
  }
}
