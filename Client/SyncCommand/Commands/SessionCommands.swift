import ArgumentParser
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
        cospool session delete review
        cospool session host review this
      """,
    subcommands: [
      List.self, Add.self, Rename.self, Delete.self, Host.self, TakeOver.self,
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
          cospool session list --json | jq -r '.sessions[].id'
        """)
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest { APIRequest(.get, ["overview"]) }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      SessionText.list(try answer.decoded(OverviewAnswer.self).sessions, style: style)
    }
  }

  struct Add: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "add",
      abstract: "Add a session; a deleted one is restored, empty.",
      discussion: """
        EXAMPLES
          cospool session add review
          cospool session add review --name "Code review" --project ~/src/app
        """)
    @Argument(help: "The session.", completion: .sessions) var session: String
    @Option(help: "Its display name.") var name: String?
    @Option(help: ArgumentHelp("Its project path.", valueName: "path")) var project: String?
    @OptionGroup var options: GlobalOptions

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
