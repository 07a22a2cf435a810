import ArgumentParser
import Basics
import LocalAPI
import QueueModel

/// `cospool draft`
struct DraftCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "draft",
    abstract: "Work with prompts that you have not sent yet, on this device.",
    discussion: """
      EXAMPLES
        cospool draft set -s review "Fix the flaky"
        cospool draft show -s review
        cospool draft send -s review --urgent
        cospool draft list

      A session has one draft. Sending to the session removes it.
      """,
    subcommands: [List.self, Show.self, Set.self, Clear.self, Send.self])

  @OptionGroup var options: GlobalOptions

  struct List: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List all drafts.",
      discussion: """
        EXAMPLES
          cospool draft list
        """)
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest { APIRequest(.get, ["drafts"]) }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      DraftText.list(try answer.decoded(DraftsAnswer.self), style: style)
    }
  }

  struct Show: SessionCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show a session's draft.",
      discussion: """
        EXAMPLES
          cospool draft show -s review
        """)
    @OptionGroup var session: SessionOption
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.get, ["sessions", session.id, "draft"])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      TextStyle.block(try answer.decoded(DraftAnswer.self).text)
    }
  }

  struct Set: SessionCommand {
    static let configuration = CommandConfiguration(
      commandName: "set",
      abstract: "Save a text as a session's draft.",
      discussion: """
        EXAMPLES
          cospool draft set -s review "Fix the flaky"
          cospool draft set -s review - < prompt.txt
        """)
    @OptionGroup var session: SessionOption
    @Argument(help: "The text; \"-\" reads stdin.") var text: String
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      let text = try input.text(for: text)
      guard text.contains(where: { !$0.isWhitespace }) else {
        throw CommandFailure.usage(
          "The text is blank, so the draft is as before. To remove it: cospool draft clear "
            + Shell.quotedOption("-s", session.id))
      }
      return try APIRequest(
        .put, ["sessions", session.id, "draft"], body: DraftRequest(text: text))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      guard try !answer.decoded(DraftAnswer.self).text.isEmpty else { return "no draft" }
      return session.isUnknown
        ? "draft kept for \(TextStyle.line(session.id)), which is not a session yet" : "draft kept"
    }
  }

  struct Clear: SessionCommand {
    static let configuration = CommandConfiguration(
      commandName: "clear",
      abstract: "Remove a session's draft.",
      discussion: """
        EXAMPLES
          cospool draft clear -s review
        """)
    @OptionGroup var session: SessionOption
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.delete, ["sessions", session.id, "draft"])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String { "no draft" }
  }

  struct Send: SessionCommand, SessionMaking {
    static let configuration = CommandConfiguration(
      commandName: "send",
      abstract: "Queue a session's draft.",
      discussion: """
        EXAMPLES
          cospool draft send -s review
          cospool draft send -s review --urgent

        If the session does not exist, it does as cospool send does.
        """)
    @OptionGroup var session: SessionOption
    @Flag(help: "Put it before all normal messages.") var urgent = false
    @Flag(help: "Create the session if there is none, without asking.") var new = false
    @OptionGroup var options: GlobalOptions

    /// - Throws: `CommandFailure` if the session is not to be created; the draft stays.
    mutating func lookUp(in names: SessionNames, _ environment: Environment) throws {
      try session.lookUp(in: names)
      guard session.isUnknown else { return }
      try names.checkNew(session.id, isWanted: new, isJSON: options.json, environment)
    }

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(
        .post, ["sessions", session.id, "draft", "send"],
        body: DraftSendRequest(priority: urgent ? "urgent" : nil))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      let sent = try answer.decoded(SentAnswer.self)
      let place = "queued, position \(sent.position) of \(sent.count)"
      return session.isUnknown
        ? "\(place) in the new session \(TextStyle.line(session.id))" : place
    }

    func warning(of answer: Answer) -> String? {
      (try? answer.decoded(SentAnswer.self))?.notices
    }
  }
}

enum DraftText {
  static func list(_ answer: DraftsAnswer, style: TextStyle) -> String {
    guard !answer.drafts.isEmpty else { return "no drafts" }
    var table = TextTable(["SESSION", "AGE", "TEXT"], numbers: [1], names: [0])
    table.rows = answer.drafts.map { draft in
      [
        .init(draft.session.rawValue), .init(draft.updatedAt.map(style.age) ?? "-"),
        .init(draft.text),
      ]
    }
    return table.text(style: style)
  }
}
