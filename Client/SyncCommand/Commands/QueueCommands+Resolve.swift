import ArgumentParser
import Basics
import LocalAPI
import QueueModel

extension QueueCommands {
  struct Resolve: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "resolve",
      abstract: "Choose the text of a message that was edited in two places.",
      discussion: """
        EXAMPLES
          cospool queue show 3f2a
          cospool queue resolve 3f2a --take 1-5b0c2c19
          cospool queue resolve 3f2a --take laptop-5b0c2c19
          cospool queue resolve 3f2a --take merged-5b0c2c19

        If two devices edit one message independently, the edits are merged by words, and the
        message waits for your choice. Take one of its versions, which cospool queue show numbers,
        take the merged text, or edit the message. You can also name a version by its device;
        numbers and merged count before names. cospool queue show prints each choice with a mark of
        all texts, as in 1-5b0c2c19: it is refused if they are no longer those that you saw. In a
        terminal, the command shows all texts first, and needs no mark. Elsewhere, the mark is
        required. If a version arrives after that, the message keeps waiting. cospool undo reverts a
        choice.
        """)
    @Argument(help: ArgumentHelp("The message.", valueName: "id"), completion: .messages)
    var message: String
    @Option(
      help: ArgumentHelp(
        "The number of a version, the name of its device, or merged.", valueName: "version"),
      completion: .list(["1", "2", "merged"]))
    var take: String?
    @OptionGroup var options: GlobalOptions

    /// The text that was chosen, and the base of the message in which it was seen; not an argument.
    var chosen: EditRequest?
    /// The author of that text; not an argument.
    var source = ""

    private enum CodingKeys: CodingKey { case message, take, options }

    func validate() throws {
      guard take != nil else {
        throw ValidationError(
          "Give --take with a number, a device, or merged. To see the versions: cospool queue show "
            + Shell.quoted(message))
      }
    }

    /// Finds the chosen text, and shows it to a user at a terminal: another text may have had the
    /// number before.
    ///
    /// - Throws: `QueueError`, or `CommandFailure` if there is no such version or the user says no.
    mutating func lookUp(_ shown: MessageAnswer, _ environment: Environment) throws {
      let confirm = options.json ? nil : environment.confirm
      if shown.editions != nil, let take {
        self.take = try SeenVersions(of: shown).choice(in: take, isShown: confirm != nil)
      }
      let content = try text(in: shown)
      if let confirm {
        let question =
          "This takes \(source):\n\n\(TextStyle.block(content))\n\n"
          + others(than: content, in: shown)
          + "Take it?"
        guard confirm(question) else {
          throw CommandFailure(
            code: "notResolved", message: "Nothing was chosen. The message keeps waiting.",
            exitCode: ExitStatus.failed)
        }
      }
      chosen = EditRequest(content: content, base: shown.base)
    }

    /// The texts that are not taken, with their titles.
    private func others(than content: String, in shown: MessageAnswer) -> String {
      (shown.editions ?? []).enumerated().filter { $0.element.text != content }.map {
        let text = $0.element.text.map(TextStyle.block) ?? "\($0.element.bytes) bytes"
        return "It leaves \(QueueText.title(of: $0.element, number: $0.offset + 1)):\n\n\(text)\n\n"
      }.joined()
    }

    private mutating func text(in shown: MessageAnswer) throws -> String {
      guard let versions = shown.editions else {
        throw QueueError.messageNotMerged(id: shown.id.description)
      }
      if take == "merged" {
        guard !shown.content.allSatisfy(\.isWhitespace) else {
          throw QueueError.mergedTextBlank(id: shown.id.description)
        }
        source = "the merged text"
        return shown.content
      }
      let number = try number(
        of: versions, takesMerged: !shown.content.allSatisfy(\.isWhitespace))
      let version = versions[number - 1]
      guard let text = version.text else {
        throw QueueError.versionTooLong(
          number: number, bytes: version.bytes, id: shown.id.description)
      }
      source = QueueText.title(of: version, number: number)
      return text
    }

    /// From 1.
    private func number(of versions: [EditionAnswer], takesMerged: Bool) throws -> Int {
      let wanted = take ?? ""
      if let number = Int(wanted) {
        guard number > 0, versions.indices.contains(number - 1) else {
          throw QueueError.versionNotFound(
            number: number, count: versions.count, takesMerged: takesMerged)
        }
        return number
      }
      let numbers = versions.indices.filter { versions[$0].device == wanted }.map { $0 + 1 }
      guard let first = numbers.first else {
        throw CommandFailure(
          code: "versionNotFound",
          message: "No version is by a device \"\(wanted)\": choose 1 to \(versions.count), the "
            + "name of a device that saved one, or merged.", exitCode: ExitStatus.failed)
      }
      guard numbers.count == 1 else {
        throw CommandFailure(
          code: "versionAmbiguous",
          message: "\(wanted) saved \(numbers.count) of the versions: choose one by its number, "
            + numbers.map(String.init).joined(separator: " or ") + ".",
          exitCode: ExitStatus.failed)
      }
      return first
    }

    /// The text itself, not a number: whatever arrives meanwhile, it is the one that was shown.
    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(.put, ["messages", message, "content"], body: chosen)
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(of: answer, done: "resolved") + ": " + source
    }

    func warning(of answer: Answer) -> String? {
      (try? answer.decoded(ReceiptAnswer.self)).flatMap(Edit.warning)
    }
  }
}
