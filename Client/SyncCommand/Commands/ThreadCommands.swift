import ArgumentParser
import LocalAPI

/// `cospool thread`
struct ThreadCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "thread",
    abstract: "List the sessions that need you next, in order.",
    discussion: """
      EXAMPLES
        cospool thread list
        cospool thread next
        cospool thread list --project ~/src/app
        cospool thread move review docs --to 1
        cospool thread remove review docs
        cospool thread unlock review
        cospool thread stats

      When you send to a session, its thread goes to the end. While the agent works, the thread is
      locked and hidden. If no agent can work (no host, no agent, the host away), it shows the reason.
      """,
    subcommands: [
      List.self, Next.self, View.self, Add.self, Move.self, Remove.self, Clear.self, Unlock.self,
      Stats.self,
      History.self,
    ])

  @OptionGroup var options: GlobalOptions

  struct List: WatchableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List the threads in order.",
      discussion: """
        EXAMPLES
          cospool thread list
          cospool thread list --all
          cospool thread list --watch
          cospool thread list --project .
        """)
    @Flag(help: "Show locked threads too.") var all = false
    @OptionGroup var project: ProjectOption
    @OptionGroup var watch: WatchOption
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.get, ["threads"], query: [("project", project.path)])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      ThreadText.list(try answer.decoded(ThreadsAnswer.self), showsLocked: all, style: style)
    }
  }

  struct Add: SessionNaming {
    static let configuration = CommandConfiguration(
      commandName: "add",
      abstract: "Add threads to the end of the queue.",
      discussion: """
        EXAMPLES
          cospool thread add review
          cospool thread add review docs

        A thread that is already in the queue moves to the end, as when you send.
        """)
    @Argument(help: ArgumentHelp("The sessions.", valueName: "session"), completion: .sessions)
    var sessions: [String]
    @OptionGroup var options: GlobalOptions

    mutating func lookUp(in names: SessionNames) throws {
      sessions = try sessions.map(names.id(of:))
    }

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(.post, ["threads", "add"], body: ThreadsRequest(sessions: sessions))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(
        of: answer, done: "queued", item: "thread", session: sessions.joined(separator: ", "))
    }
  }

  struct Move: SessionNaming {
    static let configuration = CommandConfiguration(
      commandName: "move",
      abstract: "Move threads to another position.",
      discussion: """
        EXAMPLES
          cospool thread move review --to 1
          cospool thread move review docs --after login-page

        Several threads keep the order in which they are named.
        """)
    @Argument(help: ArgumentHelp("The sessions.", valueName: "session"), completion: .sessions)
    var sessions: [String]
    @Option(
      help: ArgumentHelp(
        "The position of the first one, from 1, locked threads included.", valueName: "n"))
    var to: Int?
    @Option(
      help: ArgumentHelp("Before this thread.", valueName: "session"), completion: .sessions)
    var before: String?
    @Option(help: ArgumentHelp("After this thread.", valueName: "session"), completion: .sessions)
    var after: String?
    @OptionGroup var options: GlobalOptions

    func validate() throws {
      let targets = [to != nil, before != nil, after != nil].filter { $0 }.count
      guard targets == 1 else {
        throw ValidationError(
          "Give exactly one of --to N, --before SESSION and --after SESSION.")
      }
      if let to, to < 1 { throw ValidationError("--to \(to): choose 1 or more.") }
    }

    mutating func lookUp(in names: SessionNames) throws {
      sessions = try sessions.map(names.id(of:))
      before = try before.map(names.id(of:))
      after = try after.map(names.id(of:))
    }

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(
        .post, ["threads", "move"],
        body: ThreadsMoveRequest(sessions: sessions, to: to, before: before, after: after))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(of: answer, done: "moved", session: sessions.joined(separator: ", "))
    }
  }

  struct Remove: SessionNaming {
    static let configuration = CommandConfiguration(
      commandName: "remove",
      abstract: "Remove threads from the thread queue; their messages stay.",
      discussion: """
        EXAMPLES
          cospool thread remove review
          cospool thread remove review docs && cospool undo
          cospool thread remove                     the session that you are in
        """)
    @Argument(
      help: ArgumentHelp(
        "The sessions. Default: $COSPOOL_SESSION, or the session of this folder.",
        valueName: "session"), completion: .sessions)
    var sessions: [String] = []
    @OptionGroup var options: GlobalOptions

    mutating func lookUp(in names: SessionNames) throws {
      sessions =
        sessions.isEmpty ? [try names.id(ofOption: nil)] : try sessions.map(names.id(of:))
    }

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(.post, ["threads", "remove"], body: ThreadsRequest(sessions: sessions))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(
        of: answer, done: "removed", unchanged: "not in the queue", item: "thread",
        session: sessions.joined(separator: ", "))
    }
  }

  struct Clear: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "clear",
      abstract: "Remove all threads from the queue.",
      discussion: """
        EXAMPLES
          cospool thread clear && cospool undo
        """)
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest { APIRequest(.delete, ["threads"]) }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(of: answer, done: "removed", item: "thread")
    }
  }

  struct Unlock: SessionNaming {
    static let configuration = CommandConfiguration(
      commandName: "unlock",
      abstract: "Unlock a thread, so that it shows again.",
      discussion: """
        EXAMPLES
          cospool thread unlock review
        """)
    @Argument(help: "The session.", completion: .sessions) var session: String
    @OptionGroup var options: GlobalOptions

    mutating func lookUp(in names: SessionNames) throws {
      session = try names.id(of: session)
    }

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.delete, ["threads", session, "lock"])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(of: answer, done: "unlocked", unchanged: "not locked", session: session)
    }
  }
}

/// The project that a list is about.
struct ProjectOption: ParsableArguments {
  @Option(
    name: .customLong("project"),
    help: ArgumentHelp(
      "Only threads of this project: a path and what is below it, or a folder's name.",
      valueName: "path"))
  var given: String?

  /// The path in the form that sessions have: absolute, if it is a path.
  var path: String? {
    given.map(Paths.project)
  }
}
