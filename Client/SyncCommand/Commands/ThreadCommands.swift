import ArgumentParser

/// `cospool thread`
struct ThreadCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "thread",
    abstract: "The sessions that need you next, in order.",
    discussion: """
      EXAMPLES
        cospool thread list
        cospool thread move review --to 1
        cospool thread remove review docs
        cospool thread unlock review

      Sending in a session puts its thread at the end. While it is worked on, it is locked and
      hidden.
      """,
    subcommands: [List.self, Move.self, Remove.self, Clear.self, Unlock.self])

  @OptionGroup var options: GlobalOptions

  struct List: DaemonCommand {
    static let configuration = CommandConfiguration(abstract: "The threads in order.")
    @Flag(help: "Show locked threads too.") var all = false
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest { APIRequest(.get, ["threads"]) }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      ThreadText.list(try answer.decoded(ThreadListAnswer.self), showsLocked: all, style: style)
    }
  }

  struct Move: DaemonCommand {
    static let configuration = CommandConfiguration(abstract: "Move a thread to another place.")
    @Argument(help: "The session.") var session: String
    @Option(
      help: ArgumentHelp("The place, from 1, locked threads counted.", valueName: "n"))
    var to: Int
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(.post, ["threads", session, "move"], body: ["to": to])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(of: answer, done: "moved")
    }
  }

  struct Remove: DaemonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Take threads out of the thread queue; their messages stay.")
    @Argument(help: ArgumentHelp("The sessions.", valueName: "session")) var sessions: [String]
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(.post, ["threads", "remove"], body: ["sessions": sessions])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(
        of: answer, done: "removed", unchanged: "not in the queue", item: "thread")
    }
  }

  struct Clear: DaemonCommand {
    static let configuration = CommandConfiguration(abstract: "Take all threads out.")
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest { APIRequest(.delete, ["threads"]) }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(of: answer, done: "removed", item: "thread")
    }
  }

  struct Unlock: DaemonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show a thread again whose lock stayed.")
    @Argument(help: "The session.") var session: String
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.delete, ["threads", session, "lock"])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(of: answer, done: "unlocked", unchanged: "not locked")
    }
  }
}
