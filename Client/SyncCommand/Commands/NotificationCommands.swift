import ArgumentParser
import LocalAPI
import QueueModel

/// `cospool notifications`
struct NotificationCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "notifications",
    abstract: "Show approvals, questions, finished tasks, ready threads, merges and late edits.",
    discussion: """
      EXAMPLES
        cospool notifications list
        cospool notifications list --watch
        cospool notifications dismiss
        cospool notifications visible --for 300

      Each device has its own list. It catches up when it connects.
      """,
    subcommands: [List.self, Dismiss.self, Visible.self])

  @OptionGroup var options: GlobalOptions

  struct List: WatchableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List notifications that are neither dismissed nor settled.",
      discussion: """
        EXAMPLES
          cospool notifications list
          cospool notifications list --watch
          cospool notifications list --json | jq -r '.notifications[].title'
        """)
    @OptionGroup var watch: WatchOption
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest { APIRequest(.get, ["notifications"]) }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      NotificationText.list(try answer.decoded(NotificationsAnswer.self), style: style)
    }
  }

  struct Dismiss: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "dismiss",
      abstract: "Dismiss notifications on this device.",
      discussion: """
        EXAMPLES
          cospool notifications dismiss              all that need neither an answer nor a choice
          cospool notifications dismiss 1f3a-12
        """)
    @Argument(help: "Their ids. Default: all that need neither an answer nor a choice.") var ids:
      [String] = []
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(
        .post, ["notifications", "dismiss"], body: DismissRequest(ids: ids.isEmpty ? nil : ids))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      NotificationText.list(try answer.decoded(NotificationsAnswer.self), style: style)
    }
  }

  struct Visible: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "visible",
      abstract: "Report that you are looking at this device, so that nothing is pushed to it.",
      discussion: """
        EXAMPLES
          cospool notifications visible --for 300
          cospool notifications visible --no
        """)
    @Option(
      name: .customLong("for"),
      help: ArgumentHelp("The number of seconds, up to 3600.", valueName: "seconds"))
    var seconds = 60
    @Flag(name: .customLong("no"), help: "Report that you are no longer looking.")
    var isOver = false
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(
        .post, ["device", "visibility"],
        body: VisibilityRequest(visible: !isOver, forSeconds: seconds))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try answer.decoded(VisibilityAnswer.self).visible ? "looked at" : "not looked at"
    }
  }
}

enum NotificationText {
  static func list(_ answer: NotificationsAnswer, style: TextStyle) -> String {
    guard !answer.notifications.isEmpty else { return "no notifications" }
    var table = TextTable(["ID", "AGE", "SESSION", "TITLE", "TEXT"], numbers: [1], names: [0, 2])
    table.rows = answer.notifications.map { item in
      [
        .init(item.id), .init(style.age(item.createdAt)), .init(item.session.rawValue),
        .init(item.title),
        .init(item.body),
      ]
    }
    let merged = answer.notifications.compactMap(\.message)
    guard let first = merged.first else { return table.text(style: style) }
    let command = "cospool queue show " + String(first.description.prefix(QueueText.idDigitsMin))
    let others = merged.count == 1 ? "" : " (and \(merged.count - 1) more)"
    return table.text(style: style) + "\n"
      + style.coloured("to choose a text: \(command)\(others)", .dim)
  }
}
