import ArgumentParser
import Basics
import LocalAPI
import QueueModel

/// `cospool session`
struct SessionCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "session",
    abstract: "List and change sessions.",
    discussion: """
      EXAMPLES
        cospool session list
        cospool session add review --name "Code review" --project ~/src/app
        cospool session rename review "Review of the parser"
        cospool session archive review
        cospool session delete review
        cospool session host review this
      """,
    subcommands: [
      List.self, Add.self, Rename.self, Archive.self, Unarchive.self, Delete.self, Host.self,
      TakeOver.self,
      SessionAgentCommand.self, OnLostServer.self, OnMerge.self,
    ])

  @OptionGroup var options: GlobalOptions

  struct List: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List all sessions, with their devices and states.",
      discussion: """
        EXAMPLES
          cospool session list
          cospool session list --archived
          cospool session list --json | jq -r '.sessions[].id'
        """)
    @Flag(help: "List the archived sessions instead.") var archived = false
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.get, ["overview"], query: [("archived", archived ? "true" : nil)])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      let overview = try answer.decoded(OverviewAnswer.self)
      guard !archived || !overview.sessions.isEmpty else { return "no archived sessions" }
      let list = SessionText.list(overview.sessions, style: style)
      guard let count = overview.archived else { return list }
      let note = "\(count) archived: cospool session list --archived"
      return "\(list)\n\(style.coloured(note, .dim))"
    }
  }

  struct Archive: SessionNaming {
    static let configuration = CommandConfiguration(
      commandName: "archive",
      abstract: "Take a session out of the lists, and keep everything in it.",
      discussion: """
        EXAMPLES
          cospool session archive review
          cospool session list --archived

        History, output, pause and host stay, on all devices. A prompt that is sent into the session
        brings it back, and so does its agent when it works. A session in which messages wait, or
        whose agent is at work, is not archived.
        """)
    @Argument(help: "The session.", completion: .sessions) var session: String
    @OptionGroup var options: GlobalOptions

    mutating func lookUp(in names: SessionNames) throws {
      session = try names.id(of: session)
    }

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.put, ["sessions", session, "archive"])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(
        of: answer, done: "archived", unchanged: "archived already", session: session)
    }
  }

  struct Unarchive: SessionNaming {
    static let configuration = CommandConfiguration(
      commandName: "unarchive",
      abstract: "List an archived session again.",
      discussion: """
        EXAMPLES
          cospool session unarchive review
        """)
    @Argument(help: "The session.", completion: .sessions) var session: String
    @OptionGroup var options: GlobalOptions

    mutating func lookUp(in names: SessionNames) throws {
      session = try names.id(of: session)
    }

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.delete, ["sessions", session, "archive"])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(
        of: answer, done: "brought back", unchanged: "not archived", session: session)
    }
  }

  struct Add: SessionNaming {
    static let configuration = CommandConfiguration(
      commandName: "add",
      abstract: "Add a session; a deleted one is restored, empty.",
      discussion: """
        EXAMPLES
          cospool session add review
          cospool session add review --name "Code review" --project ~/src/app

        It is refused if another session has that name: -s NAME would mean either.
        """)
    @Argument(help: "The session.", completion: .sessions) var session: String
    @Option(help: "Its display name.") var name: String?
    @Option(help: ArgumentHelp("Its project path.", valueName: "path")) var project: String?
    @OptionGroup var options: GlobalOptions

    /// - Throws: `CommandFailure` if another session is called so.
    mutating func lookUp(in names: SessionNames) throws {
      let isID = names.sessions.contains {
        $0.id.rawValue.lowercased() == session.lowercased()
      }
      guard !isID, let other = names.sessions.first(where: { $0.name == session }) else { return }
      throw CommandFailure(
        code: "nameTaken",
        message: "The session \(other.id) has the name \(session). Nothing was added. Choose "
          + "another word, or rename that session first: cospool session rename "
          + "\(Shell.quotedOperand(other.id.rawValue)) NAME", exitCode: ExitStatus.conflict)
    }

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(
        .post, ["sessions"],
        body: SessionRequest(id: session, name: name, project: project.map(Paths.project)))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(of: answer, done: "added", unchanged: "there already", session: session)
    }
  }

  struct Rename: SessionNaming {
    static let configuration = CommandConfiguration(
      commandName: "rename",
      abstract: "Set a session's display name.",
      discussion: """
        EXAMPLES
          cospool session rename review "Review of the parser"
        """)
    @Argument(help: "The session.", completion: .sessions) var session: String
    @Argument(help: "The new name.") var name: String
    @OptionGroup var options: GlobalOptions

    mutating func lookUp(in names: SessionNames) throws {
      session = try names.id(of: session)
    }

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(.patch, ["sessions", session], body: RenameRequest(name: name))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(of: answer, done: "renamed", session: session)
    }
  }

  struct Delete: SessionNaming {
    static let configuration = CommandConfiguration(
      commandName: "delete",
      abstract: "Delete a session, stop its agent and cancel its messages.",
      discussion: """
        EXAMPLES
          cospool session delete review && cospool undo
        """)
    @Argument(help: "The session.", completion: .sessions) var session: String
    @OptionGroup var options: GlobalOptions
    /// How many messages wait in it; no argument.
    var waiting = 0

    private enum CodingKeys: CodingKey {
      case session, options
    }

    mutating func lookUp(in names: SessionNames) throws {
      session = try names.id(of: session)
      waiting = names.sessions.first { $0.id.rawValue == session }?.waiting ?? 0
    }

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.delete, ["sessions", session])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      let text = try ReceiptText.text(of: answer, done: "deleted", session: session)
      guard waiting > 0 else { return text }
      return
        "\(text) with \(ReceiptText.counted(waiting, "message")); to bring it back: cospool undo"
    }

    func warning(of answer: Answer) -> String? {
      guard (try? answer.decoded(ReceiptAnswer.self))?.unconfirmed == true else { return nil }
      return "cospool: not confirmed: the server did not answer. The session's agent works on "
        + "another device until this device is connected again. If that device uses the session "
        + "meanwhile, the session stays."
    }
  }
}
