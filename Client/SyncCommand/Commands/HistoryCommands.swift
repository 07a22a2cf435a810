import ArgumentParser
import LocalAPI

/// `cospool undo`
struct UndoCommand: DaemonCommand {
  static let configuration = CommandConfiguration(
    commandName: "undo",
    abstract: "Take back this device's latest change.",
    discussion: """
      EXAMPLES
        cospool undo            again and again: one change further back each time
        cospool undo --show     what would be undone

      What others did since stays; a change that they have overtaken is skipped and
      said so. Typing without a pause is one change. The list survives restarts.

      Exit code 1 where there is nothing to undo.
      """)
  @Flag(help: "Only say what undo and redo would do.") var show = false
  @OptionGroup var options: GlobalOptions

  func request(input: StandardInput) throws -> APIRequest {
    APIRequest(show ? .get : .post, ["undo"])
  }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    guard show else { return try HistoryText.undone(answer, verb: "undone") }
    return HistoryText.undo(try answer.decoded(UndoAnswer.self))
  }
}

/// `cospool redo`
struct RedoCommand: DaemonCommand {
  static let configuration = CommandConfiguration(
    commandName: "redo",
    abstract: "Do again what the latest undo took back.",
    discussion: """
      EXAMPLES
        cospool undo && cospool redo

      Exit code 1 where nothing was undone since the latest change.
      """)
  @OptionGroup var options: GlobalOptions

  func request(input: StandardInput) throws -> APIRequest { APIRequest(.post, ["redo"]) }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    try HistoryText.undone(answer, verb: "redone")
  }
}

/// `cospool log`
struct LogCommand: SessionNaming {
  static let configuration = CommandConfiguration(
    commandName: "log",
    abstract: "Who changed what and when, the newest first.",
    discussion: """
      EXAMPLES
        cospool log                    everything
        cospool log 3f2a               one message, by its id or a beginning of it
        cospool log -s review -n 200   one session
        cospool log --json             with the operations, and "next" for --before

      Times are those of the device that made the change, to the second, shown in the
      time zone of this one. What happened before this device joined is not in its log;
      what it knew stays, when the server shortens its own.
      """)
  @Argument(help: ArgumentHelp("A message.", valueName: "id"), completion: .messages) var message:
    String?
  @Option(
    name: [.customShort("s"), .customLong("session")],
    help: ArgumentHelp("A session.", valueName: "session"), completion: .sessions)
  var session: String?
  @Option(
    name: [.customShort("n"), .customLong("limit")],
    help: ArgumentHelp("So many entries, at most 1000.", valueName: "n"))
  var limit = 50
  @Option(help: ArgumentHelp("Older than this: the \"next\" of an answer.", valueName: "place"))
  var before: String?
  @Flag(help: "Show times in UTC, with milliseconds.") var utc = false
  @OptionGroup var options: GlobalOptions

  func validate() throws {
    guard (1...1_000).contains(limit) else {
      throw ValidationError("--limit \(limit): choose 1 to 1000.")
    }
    guard message == nil || session == nil else {
      throw ValidationError("Give a message or a session, not both.")
    }
  }

  mutating func lookUp(in names: SessionNames) throws {
    session = try session.map(names.id(of:))
  }

  func request(input: StandardInput) throws -> APIRequest {
    APIRequest(
      .get, ["history"],
      query: [
        ("limit", String(limit)), ("message", message), ("session", session), ("before", before),
      ])
  }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    HistoryText.log(
      try answer.decoded(HistoryAnswer.self), ofMessage: message != nil, isUTC: utc, style: style)
  }
}
