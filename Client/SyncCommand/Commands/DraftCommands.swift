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
      try answer.decoded(DraftAnswer.self).text.isEmpty ? "no draft" : "draft kept"
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

  struct Send: SessionCommand {
    static let configuration = CommandConfiguration(
      commandName: "send",
      abstract: "Queue a session's draft.",
      discussion: """
        EXAMPLES
          cospool draft send -s review
          cospool draft send -s review --urgent
        """)
    @OptionGroup var session: SessionOption
    @Flag(help: "Put it before all normal messages.") var urgent = false
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(
        .post, ["sessions", session.id, "draft", "send"],
        body: DraftSendRequest(priority: urgent ? "urgent" : nil))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      let sent = try answer.decoded(SentAnswer.self)
      return "queued, position \(sent.position) of \(sent.count)"
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
