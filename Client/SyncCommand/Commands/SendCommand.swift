import ArgumentParser
import LocalAPI
import QueueModel

/// `cospool send`
struct SendCommand: DaemonCommand {
  static let configuration = CommandConfiguration(
    commandName: "send",
    abstract: "Queue a prompt in a session.",
    discussion: """
      EXAMPLES
        cospool send -s review "Fix the flaky test"
        cospool send -s review --urgent "Stop, the build is broken"
        cospool send -s review - < prompt.txt
        cospool send -s review --attach screenshot.png "What is wrong here?"
        cospool send -s review -- "-v means verbose here"

      A session that is not known yet is made. With --id, sending again changes nothing.
      """)

  @OptionGroup var session: SessionOption
  @Option(help: ArgumentHelp("The message's id; sending it again is safe.", valueName: "uuid"))
  var id: String?
  @Flag(help: "Before all normal messages.")
  var urgent = false
  @Option(help: ArgumentHelp("The session's project path.", valueName: "path"))
  var project: String?
  @Option(help: ArgumentHelp("A file that goes with it; may be repeated.", valueName: "file"))
  var attach: [String] = []
  @Argument(help: "The prompt; \"-\" reads stdin.")
  var text: String
  @OptionGroup var options: GlobalOptions

  func validate() throws {
    if let id, MessageID(id) == nil { throw ValidationError("--id \(id): that is no UUID.") }
  }

  func request(input: StandardInput) throws -> APIRequest {
    let text = try Content.checked(try input.text(for: text))
    return try APIRequest(
      .post, ["sessions", session.id, "queue"],
      body: SendRequest(
        text: text, id: id, priority: urgent ? "urgent" : nil,
        project: project.map(Paths.project),
        attachments: attach.isEmpty ? nil : attach.map { AttachmentRequest(ofFile: $0) }))
  }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    let sent = try answer.decoded(SentAnswer.self)
    guard sent.status == .queued else {
      return "\(sent.status.rawValue) before, nothing was queued"
    }
    return "queued, position \(sent.position) of \(sent.count)"
  }

  func warning(of answer: Answer) -> String? {
    (try? answer.decoded(SentAnswer.self))?.warning.map { "cospool: \($0)" }
  }
}

/// Checks that need no daemon, so that a huge text is not sent in vain.
enum Content {
  static func checked(_ text: String) throws(QueueError) -> String {
    let bytes = text.trimmedOfWhitespace().utf8.count
    guard bytes > 0 else { throw .blankText }
    guard bytes <= Limits.contentBytesMax else {
      throw .contentTooLong(bytes: bytes, max: Limits.contentBytesMax)
    }
    return text
  }
}
