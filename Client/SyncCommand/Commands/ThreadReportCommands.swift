import ArgumentParser
import LocalAPI

extension ThreadCommands {
  /// `cospool thread next`
  struct Next: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "next",
      abstract: "View the first thread that needs you.",
      discussion: """
        EXAMPLES
          cospool thread next
          cospool thread next --project .
          cospool thread next --json | jq -r .thread.session

        With the setting autoRemoveOnView, viewing a thread removes it from the queue.
        """)
    @OptionGroup var project: ProjectOption
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.post, ["threads", "next"], query: [("project", project.path)])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      ThreadText.visit(try answer.decoded(ThreadVisitAnswer.self), style: style)
    }
  }

  /// `cospool thread view`
  struct View: SessionNaming {
    static let configuration = CommandConfiguration(
      commandName: "view",
      abstract: "View a thread.",
      discussion: """
        EXAMPLES
          cospool thread view review

        With the setting autoRemoveOnView, that removes it from the queue, unless it is locked.
        """)
    @Argument(help: "The session.", completion: .sessions) var session: String
    @OptionGroup var options: GlobalOptions

    mutating func lookUp(in names: SessionNames) throws {
      session = try names.id(of: session)
    }

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.post, ["threads", session, "view"])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      ThreadText.visit(try answer.decoded(ThreadVisitAnswer.self), style: style)
    }
  }

  /// `cospool thread stats`
  struct Stats: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "stats",
      abstract: "Show how many threads wait, and how long they will take you.",
      discussion: """
        EXAMPLES
          cospool thread stats
          cospool thread stats --project ~/src/app
          cospool thread stats --json

        The time is estimated from your own history: the median of the latest times between
        your prompts in one thread and in the next, without pauses of more than 30 minutes.
        """)
    @OptionGroup var project: ProjectOption
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.get, ["threads", "statistics"], query: [("project", project.path)])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      ThreadText.statistics(try answer.decoded(ThreadStatisticsAnswer.self), style: style)
    }
  }

  /// `cospool thread history`
  struct History: SessionNaming {
    static let configuration = CommandConfiguration(
      commandName: "history",
      abstract: "Show what entered and left the thread queue, newest first.",
      discussion: """
        EXAMPLES
          cospool thread history
          cospool thread history review -n 20
        """)
    @Argument(help: "Only this session's thread.", completion: .sessions) var session: String?
    @Option(
      name: [.customShort("n"), .customLong("limit")],
      help: ArgumentHelp("Number of entries to show (max 1000).", valueName: "n"))
    var limit = 50
    @Option(
      help: ArgumentHelp("Show older entries: the \"next\" of an answer.", valueName: "place"))
    var before: String?
    @OptionGroup var options: GlobalOptions

    func validate() throws {
      guard (1...1_000).contains(limit) else {
        throw ValidationError("--limit \(limit): choose 1 to 1000.")
      }
    }

    mutating func lookUp(in names: SessionNames) throws {
      session = try session.map(names.id(of:))
    }

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(
        .get, ["history"],
        query: [
          ("threads", "true"), ("session", session), ("limit", String(limit)), ("before", before),
        ])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      HistoryText.log(try answer.decoded(HistoryAnswer.self), style: style)
    }
  }
}
