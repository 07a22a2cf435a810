import ArgumentParser
import Basics
import LocalAPI
import QueueModel

/// `cospool queue`
struct QueueCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "queue",
    abstract: "List and change the prompts in your queues.",
    discussion: """
      EXAMPLES
        cospool queue list -s review
        cospool queue move 3f2a --to 1
        cospool queue move 3f2a 77b1 --after c0de
        cospool queue edit 3f2a "Fix both flaky tests"
        cospool queue cancel 3f2a && cospool queue restore 3f2a
        cospool queue pause -s review --reason "on holiday"
        cospool queue resolve 3f2a --take 1-5b0c2c19
        cospool queue retry 3f2a
        cospool queue later 3f2a --at 02:00
        cospool queue after 3f2a 77b1
        cospool queue start 3f2a
        cospool queue skip 3f2a
        cospool queue attach 3f2a screenshot.png
        cospool queue files 3f2a
        cospool queue fetch 3f2a screenshot.png -o /tmp/screenshot.png
        cospool queue export -s review queue-review.json
        cospool queue import queue-review.json

      Ids may be shortened to 4 characters or more if they stay unique.
      """,
    subcommands: [
      List.self, Show.self, Edit.self, Move.self, Cancel.self, Restore.self, Clear.self,
      PriorityCommand.self, Pause.self, Resume.self, Attach.self, Detach.self, Files.self,
      Fetch.self, Export.self, Import.self, Retry.self, Later.self, After.self, Start.self,
      Skip.self, Stop.self, Hold.self, Resolve.self,
    ])

  @OptionGroup var options: GlobalOptions

  struct List: WatchableCommand, SessionNaming {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List the waiting prompts, in order. Default: of all sessions.",
      discussion: """
        EXAMPLES
          cospool queue list
          cospool queue list -s review
          cospool queue list -s review --watch
          cospool queue list --done
          cospool queue list -s review --cancelled
          cospool queue list -s review --json | jq -r '.queues[].messages[].content'
        """)
    @Option(
      name: [.customShort("s"), .customLong("session")],
      help: ArgumentHelp("Only of this session.", valueName: "session"), completion: .sessions)
    var session: String?
    @Flag(help: "Show finished messages instead: succeeded, skipped or abandoned ones.")
    var done = false
    @Flag(help: "Show cancelled messages instead; cospool queue restore brings one back.")
    var cancelled = false
    @OptionGroup var watch: WatchOption
    @OptionGroup var options: GlobalOptions

    func validate() throws {
      if done, cancelled { throw ValidationError("Give --done or --cancelled, not both.") }
    }

    mutating func lookUp(in names: SessionNames) throws { session = try session.map(names.id(of:)) }

    func request(input: StandardInput) throws -> APIRequest {
      let state = done ? "done" : cancelled ? "cancelled" : nil
      return APIRequest(.get, ["queues"], query: [("state", state), ("session", session)])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      let queues = try answer.decoded(QueuesAnswer.self).queues
      if session != nil, !done, !cancelled, let queue = queues.first {
        return QueueText.list(queue, style: style)
      }
      guard queues.contains(where: { !$0.messages.isEmpty }) else {
        return done ? "nothing is done" : cancelled ? "nothing was cancelled" : "nothing waits"
      }
      return queues.map { queue in
        style.coloured(TextStyle.line(queue.session.rawValue), .dim) + "\n"
          + QueueText.list(queue, isOver: done || cancelled, style: style)
      }.joined(separator: "\n\n")
    }
  }

  struct Show: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show one message in full.",
      discussion: """
        EXAMPLES
          cospool queue show 3f2a
        """)
    @Argument(help: ArgumentHelp("The message.", valueName: "id"), completion: .messages)
    var message: String
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.get, ["messages", message])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      QueueText.show(try answer.decoded(MessageAnswer.self), style: style)
    }
  }

  struct Edit: EditorCommand {
    static let configuration = CommandConfiguration(
      commandName: "edit",
      abstract: "Change the text of a message.",
      discussion: """
        EXAMPLES
          cospool queue edit 3f2a
          cospool queue edit 3f2a "Fix both flaky tests"
          cospool queue edit 3f2a - < prompt.txt

        Without a text, $VISUAL or $EDITOR opens the current one, and the message does not start
        until the editor ends. Edits that several devices make independently are merged. With a text,
        the command replaces the text that this device has; if another device saved that, it says so.
        """)
    @Argument(help: ArgumentHelp("The message.", valueName: "id"), completion: .messages)
    var message: String
    @Argument(help: "The new content; \"-\" reads stdin. Default: your editor.") var text: String?
    @OptionGroup var options: GlobalOptions

    var editedMessage: String? { text == nil ? message : nil }

    func request(input: StandardInput) throws -> APIRequest {
      let content = try input.text(for: text ?? "-")
      guard !content.trimmedOfWhitespace().isEmpty else {
        throw CommandFailure.usage(
          "The text is blank. Nothing was changed. To remove the message: cospool queue cancel "
            + Shell.quoted(message))
      }
      return try APIRequest(
        .put, ["messages", message, "content"],
        body: EditRequest(content: try Content.checked(content)))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(of: answer, done: "edited")
    }

    func warning(of answer: Answer) -> String? {
      guard let receipt = try? answer.decoded(ReceiptAnswer.self) else { return nil }
      let lines = [Self.replaced(receipt), Self.warning(of: receipt)].compactMap(\.self)
      return lines.isEmpty ? nil : lines.joined(separator: "\n")
    }

    /// The text of another device that the edit replaced.
    private static func replaced(_ receipt: ReceiptAnswer) -> String? {
      guard let text = receipt.replaced else { return nil }
      let device = TextStyle.line(text.device ?? "another device")
      let line = (text.text ?? "").split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
      return "cospool: it replaced \"\(TextStyle.line(line.cut(toUTF8Bytes: 120)))\", which "
        + "\(device) saved at \(text.savedAt); cospool undo takes that back."
    }

    /// The message is still merged, or it is uncertain that the edit counts.
    static func warning(of receipt: ReceiptAnswer) -> String? {
      guard let message = receipt.messages?.first, message.merged == true else {
        return unconfirmed(receipt)
      }
      return "cospool: another version was saved meanwhile. The message waits until you choose: "
        + "cospool queue show \(Shell.quoted(message.id.description))"
    }

    /// The warning about an edit that may not count.
    static func unconfirmed(_ receipt: ReceiptAnswer) -> String? {
      guard receipt.unconfirmed == true else { return nil }
      return
        "cospool: not confirmed by the server (cospool status). The edit counts unless the agent "
        + "started with the old text meanwhile. If another device cancelled the message meanwhile, "
        + "it is in cospool queue list --cancelled, with your text."
    }
  }

  struct Move: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "move",
      abstract: "Move messages to another position.",
      discussion: """
        EXAMPLES
          cospool queue move 3f2a --to 1
          cospool queue move 3f2a 77b1 --after c0de

        Several messages keep the order in which they are named. Urgent messages stay before
        normal ones. With --before and --after they may move to another session's queue.
        """)
    @Argument(help: ArgumentHelp("The messages.", valueName: "id"), completion: .messages)
    var messages: [String]
    @Option(help: ArgumentHelp("The position of the first one, from 1.", valueName: "n")) var to:
      Int?
    @Option(help: ArgumentHelp("Before this message.", valueName: "id"), completion: .messages)
    var before: String?
    @Option(help: ArgumentHelp("After this message.", valueName: "id"), completion: .messages)
    var after: String?
    @OptionGroup var options: GlobalOptions

    func validate() throws {
      let targets = [to != nil, before != nil, after != nil].filter { $0 }.count
      guard targets == 1 else {
        throw ValidationError("Give exactly one of --to N, --before ID and --after ID.")
      }
      if let to, to < 1 { throw ValidationError("--to \(to): choose 1 or more.") }
    }

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(
        .post, ["messages", "move"],
        body: MoveRequest(ids: messages, to: to, before: before, after: after))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      let note = try answer.decoded(ReceiptAnswer.self).note.map { ". \($0)" } ?? ""
      return try ReceiptText.text(
        of: answer, done: "moved", unchanged: "unchanged: it is there already") + note
    }
  }

  struct Cancel: WithdrawingCommand {
    static let configuration = CommandConfiguration(
      commandName: "cancel",
      abstract: "Cancel messages; cospool queue restore brings them back.",
      discussion: """
        EXAMPLES
          cospool queue cancel 3f2a
          cospool queue cancel 3f2a 77b1

        Exit code 5: the agent has the message already. Without a connection, the server cannot confirm
        the cancellation: a warning on stderr says so, and the exit code is 0.
        """)
    @Argument(help: ArgumentHelp("The messages.", valueName: "id"), completion: .messages)
    var messages: [String]
    @OptionGroup var options: GlobalOptions

    var clearedSession: String? { nil }

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(.post, ["messages", "cancel"], body: MessagesRequest(ids: messages))
    }
  }

  struct Restore: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "restore",
      abstract: "Restore a cancelled message.",
      discussion: """
        EXAMPLES
          cospool queue restore 3f2a
        """)
    @Argument(help: ArgumentHelp("The message.", valueName: "id"), completion: .messages)
    var message: String
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.post, ["messages", message, "restore"])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(of: answer, done: "restored")
    }

    func warning(of answer: Answer) -> String? {
      guard let gone = try? answer.decoded(ReceiptAnswer.self).missingFiles else { return nil }
      return "cospool: \(gone.count == 1 ? "a file of it is" : "files of it are") gone: "
        + gone.map(TextStyle.line).joined(separator: ", ") + ". Attach "
        + "\(gone.count == 1 ? "it" : "them") again, or its agent does not start: "
        + "cospool queue attach \(Shell.quoted(message)) FILE."
    }
  }

  struct Clear: WithdrawingCommand, SessionCommand {
    static let configuration = CommandConfiguration(
      commandName: "clear",
      abstract: "Cancel all messages of a session.",
      discussion: """
        EXAMPLES
          cospool queue clear -s review && cospool undo
        """)
    @OptionGroup var session: SessionOption
    @OptionGroup var options: GlobalOptions

    var clearedSession: String? { session.id }

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.delete, ["sessions", session.id, "queue"])
    }
  }

  struct PriorityCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "priority",
      abstract: "Make a message urgent or normal.",
      discussion: """
        EXAMPLES
          cospool queue priority 3f2a urgent
          cospool queue priority 3f2a normal
        """)
    @Argument(help: ArgumentHelp("The message.", valueName: "id"), completion: .messages)
    var message: String
    @Argument(
      help: ArgumentHelp("urgent or normal.", valueName: "priority"),
      completion: .list(["urgent", "normal"])) var priority: String
    @OptionGroup var options: GlobalOptions

    func validate() throws {
      guard Priority(name: priority) != nil else {
        throw ValidationError("\(priority): choose urgent or normal.")
      }
    }

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(
        .put, ["messages", message, "priority"], body: PriorityRequest(priority: priority))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(of: answer, done: "made \(priority.lowercased()):")
    }
  }

  struct Pause: SessionCommand {
    static let configuration = CommandConfiguration(
      commandName: "pause",
      abstract: "Pause a session's queue until you resume it.",
      discussion: """
        EXAMPLES
          cospool queue pause -s review
          cospool queue pause -s review --reason "on holiday"
        """)
    @OptionGroup var session: SessionOption
    @Option(help: ArgumentHelp("The reason that other devices show.", valueName: "reason"))
    var reason: String?
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      let path = ["sessions", session.id, "pause"]
      guard let reason else { return APIRequest(.put, path) }
      return try APIRequest(.put, path, body: PauseRequest(reason: reason))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(of: answer, done: "paused", session: session.id)
    }
  }

  struct Resume: SessionCommand {
    static let configuration = CommandConfiguration(
      commandName: "resume",
      abstract: "Resume a session's queue.",
      discussion: """
        EXAMPLES
          cospool queue resume -s review
        """)
    @OptionGroup var session: SessionOption
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.delete, ["sessions", session.id, "pause"])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(
        of: answer, done: "resumed", unchanged: "not paused", session: session.id)
    }
  }
}
