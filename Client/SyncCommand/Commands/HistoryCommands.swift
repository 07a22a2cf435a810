import ArgumentParser
import Basics
import LocalAPI

/// `cospool undo`
struct UndoCommand: DaemonCommand {
  static let configuration = CommandConfiguration(
    commandName: "undo",
    abstract: "Take back the latest thing that you did on this device.",
    discussion: """
      EXAMPLES
        cospool undo            again and again: one change further back each time
        cospool undo --show     what would be undone, and what is in the way
        cospool undo --skip     leave the latest change as it is, and go further back next time

      What others did since stays. What an agent has got is not undone: cospool queue stop.
      What has no way back, such as session host, is named with the command that reverses
      it. What would start by an undo waits in a paused session: cospool queue resume.
      Typing without a pause is one change. The list survives restarts.

      On a terminal it asks if the change is older than a minute, or if others have worked
      on the message since. Exit code 1 if nothing was undone.
      """)
  @Flag(help: "Only say what undo and redo would do.") var show = false
  @Flag(help: "Leave the latest change as it is and forget it.") var skip = false
  @OptionGroup var options: GlobalOptions

  /// The change that a person was shown; no argument.
  private var change: Int64?

  private enum CodingKeys: CodingKey { case show, skip, options }

  func validate() throws {
    guard !show || !skip else { throw ValidationError("Give --show or --skip, not both.") }
  }

  /// Whether somebody sits at a terminal who can be shown what would be done.
  func asks(in environment: Environment) -> Bool {
    environment.confirm != nil && !show && !skip && !options.json
  }

  /// Changes so old are asked about.
  static let recentSeconds: Double = 60

  /// Shows an old change, or one that others have worked on since, and takes a yes or a no.
  ///
  /// - Throws: `CommandFailure` if the person says no.
  mutating func lookUp(_ state: UndoAnswer, _ environment: Environment) throws {
    guard let next = state.undo, next.obstacle == nil else { return }
    let seconds = environment.style.seconds(since: next.at)
    let isOld = seconds.map { $0 > Self.recentSeconds } ?? true
    guard isOld || next.shared else { return }
    guard environment.confirm?(HistoryText.question(next, style: environment.style)) == true else {
      throw CommandFailure(
        code: "notUndone", message: "Nothing was undone. cospool undo --skip leaves it as it is.",
        exitCode: ExitStatus.failed)
    }
    // What is passed over on the way is forgotten with it, which is so for the latest alone.
    if next.passedOver == nil { change = next.change }
  }

  func request(input: StandardInput) throws -> APIRequest {
    if show { return APIRequest(.get, ["undo"]) }
    guard change != nil || skip else { return APIRequest(.post, ["undo"]) }
    return try APIRequest(
      .post, ["undo"], body: UndoRequest(change: change, skip: skip ? true : nil))
  }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    guard show else { return try HistoryText.undone(answer, verb: "undone") }
    return HistoryText.undo(try answer.decoded(UndoAnswer.self), style: style)
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

      What would start by it waits in a paused session: cospool queue resume. Exit code 1
      if nothing was undone since the latest change.
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
