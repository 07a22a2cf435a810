import ArgumentParser
import Basics
import LocalAPI

/// A command that undoes a change or redoes it, and asks first if its user may not expect that.
protocol TurningCommand: DaemonCommand {
  /// The verb before and after the change.
  static var verbs: (does: String, did: String) { get }
  /// Whether it only shows or forgets something.
  var isHarmless: Bool { get }
  /// The change that a user was shown; not an argument.
  var change: Int64? { get set }
  /// The undo or redo that it would do, of the two that the daemon offers.
  func next(in state: UndoAnswer) -> UndoAnswer.Next?
}

extension TurningCommand {
  /// The age from which a change is shown first and confirmed.
  private static var recentSeconds: Double { 60 }

  /// Whether the change can be shown to a user at a terminal.
  func asks(in environment: Environment) -> Bool {
    environment.confirm != nil && !isHarmless && !options.json
  }

  /// Shows an old change, or one on which others have worked since, and asks for yes or no.
  ///
  /// - Throws: `CommandFailure` if the user says no.
  mutating func lookUp(_ state: UndoAnswer, _ environment: Environment) throws {
    guard let next = next(in: state), next.obstacle == nil else { return }
    change = next.change
    let seconds = environment.style.seconds(since: next.at)
    guard seconds.map({ $0 > Self.recentSeconds }) ?? true || next.shared else { return }
    let question = HistoryText.question(next, does: Self.verbs.does, style: environment.style)
    guard environment.confirm?(question) == true else {
      let skip = Self.verbs.does == "undo" ? " cospool undo --skip leaves it as it is." : ""
      throw CommandFailure(
        code: "notUndone", message: "Nothing was \(Self.verbs.did).\(skip)",
        exitCode: ExitStatus.failed)
    }
  }

  /// Waits for the answer. Ctrl-C before that closes the connection, and the daemon gives up what
  /// it has not written.
  ///
  /// - Parameter stop: the signals that end the command.
  /// - Throws: as `DaemonConnection.answer(to:)`; `CommandFailure` with what is known if it was
  ///   interrupted.
  func answer(
    to request: APIRequest, over connection: DaemonConnection,
    stop: @escaping @Sendable () -> AsyncStream<Void>
  ) async throws -> Answer {
    let answer = try await withThrowingTaskGroup(of: Answer?.self) { group -> Answer? in
      group.addTask { try await connection.answer(to: request) }
      group.addTask {
        for await _ in stop() { return nil }
        // In an environment without signals, the answer ends the wait.
        try await Task.sleep(for: .seconds(86_400))
        return nil
      }
      let first = try await group.next() ?? nil
      group.cancelAll()
      // The connection is closed when this ends.
      while let ended = await group.nextResult() {
        if first == nil, case .success(let late?) = ended { return late }
      }
      return first
    }
    if let answer { return answer }
    throw await interrupted(connection)
  }

  private func interrupted(_ connection: DaemonConnection) async -> CommandFailure {
    let state = try? await connection.answer(to: APIRequest(.get, ["undo"]))
      .decoded(UndoAnswer.self)
    let verbs = Self.verbs
    let message: String
    if let change, let state {
      message =
        next(in: state)?.change == change
        ? "Interrupted: nothing was \(verbs.did)."
        : "Interrupted, but it was \(verbs.did) before. To reverse that: cospool "
          + (verbs.does == "undo" ? "redo" : "undo")
    } else {
      message =
        "Interrupted before the daemon answered. What it had not \(verbs.did) by then stays as it is. "
        + "To see that: cospool undo --show"
    }
    return CommandFailure(
      code: "interrupted", message: message, exitCode: ExitStatus.interrupted)
  }

  func warning(of answer: Answer) -> String? {
    guard !isHarmless, (try? answer.decoded(ReceiptAnswer.self))?.unconfirmed == true else {
      return nil
    }
    return
      "cospool: not confirmed by the server (cospool status). It counts unless the agent started "
      + "meanwhile."
  }
}

/// `cospool undo`
struct UndoCommand: TurningCommand {
  static let configuration = CommandConfiguration(
    commandName: "undo",
    abstract: "Undo your latest change on this device.",
    discussion: """
      EXAMPLES
        cospool undo            repeat it to go further back, one change each time
        cospool undo --show     what would be undone, and the obstacles
        cospool undo --skip     leave the latest change as it is, and go further back next time

      Later changes by others stay. Undo does not affect a message that an agent has received:
      use cospool queue stop. If a change cannot be undone, the command shows what reverses it, if
      anything does, and shows the change first until you skip it. If an undo could start
      messages, it also pauses their session: continue with cospool queue resume. Without a
      connection to the server, it pauses every session in which a message could start. Typing
      without a pause is one change. The list survives restarts.

      In a terminal, the command asks you first if the change is older than a minute, or if others
      have worked on the message since. A text that others have changed stays in the queue, and
      the command shows how to remove it. Exit codes: 1 if nothing was undone, 130 if you
      interrupt it; changes that were not undone by then stay.
      """)
  static let verbs = (does: "undo", did: "undone")

  @Flag(help: "Only show what undo and redo would do.") var show = false
  @Flag(help: "Leave the latest change as it is and forget it.") var skip = false
  @OptionGroup var options: GlobalOptions

  var change: Int64?
  var isHarmless: Bool { show || skip }

  private enum CodingKeys: CodingKey { case show, skip, options }

  func validate() throws {
    guard !show || !skip else { throw ValidationError("Give --show or --skip, not both.") }
  }

  func next(in state: UndoAnswer) -> UndoAnswer.Next? { state.undo }

  func request(input: StandardInput) throws -> APIRequest {
    if show { return APIRequest(.get, ["undo"], query: [("confirmed", "true")]) }
    guard change != nil || skip else { return APIRequest(.post, ["undo"]) }
    return try APIRequest(
      .post, ["undo"], body: UndoRequest(change: change, skip: skip ? true : nil))
  }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    guard show else { return try HistoryText.undone(answer, verb: Self.verbs.did) }
    return HistoryText.undo(try answer.decoded(UndoAnswer.self), style: style)
  }
}

/// `cospool redo`
struct RedoCommand: TurningCommand {
  static let configuration = CommandConfiguration(
    commandName: "redo",
    abstract: "Redo the change that the latest undo reverted.",
    discussion: """
      EXAMPLES
        cospool undo && cospool redo

      If messages could start by it, it also pauses their session: continue with cospool queue
      resume. A message that is sent again needs room in its queue (maxQueueSize). A terminal
      asks first, as for undo. Exit code 1 if nothing was undone since the latest change.
      """)
  static let verbs = (does: "redo", did: "redone")

  @OptionGroup var options: GlobalOptions

  var change: Int64?
  var isHarmless: Bool { false }

  private enum CodingKeys: CodingKey { case options }

  func next(in state: UndoAnswer) -> UndoAnswer.Next? { state.redo }

  func request(input: StandardInput) throws -> APIRequest {
    guard let change else { return APIRequest(.post, ["redo"]) }
    return try APIRequest(.post, ["redo"], body: RedoRequest(change: change))
  }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    try HistoryText.undone(answer, verb: Self.verbs.did)
  }
}

/// `cospool log`
struct LogCommand: SessionNaming {
  static let configuration = CommandConfiguration(
    commandName: "log",
    abstract: "Show who changed what, and when, newest first.",
    discussion: """
      EXAMPLES
        cospool log                    everything
        cospool log 3f2a               one message, by its id or the beginning of it
        cospool log -s review -n 200   one session
        cospool log --json             with the operations, and "next" for --before

      Times are those of the device that made the change, to the second, in the time zone
      of this device. The log begins when this device joined, and keeps its entries when the
      server shortens its own log.
      """)
  @Argument(help: ArgumentHelp("A message.", valueName: "id"), completion: .messages) var message:
    String?
  @Option(
    name: [.customShort("s"), .customLong("session")],
    help: ArgumentHelp("A session.", valueName: "session"), completion: .sessions)
  var session: String?
  @Option(
    name: [.customShort("n"), .customLong("limit")],
    help: ArgumentHelp("The number of entries to show, at most 1000.", valueName: "n"))
  var limit = 50
  @Option(help: ArgumentHelp("Show older entries: the \"next\" of an answer.", valueName: "place"))
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
