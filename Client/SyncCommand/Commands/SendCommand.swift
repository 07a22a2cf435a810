import ArgumentParser
import Basics
import LocalAPI
import Platform
import QueueModel

/// `cospool send`
struct SendCommand: SessionCommand, SessionMaking, LaterCommand {
  static let configuration = CommandConfiguration(
    commandName: "send",
    abstract: "Queue a prompt in a session.",
    discussion: """
      EXAMPLES
        cospool send -s review "Fix the flaky test"
        cospool send -s review --urgent "Stop, the build is broken"
        cospool send -s review - < prompt.txt
        cospool send -s review --attach screenshot.png "What is wrong here?"
        cospool send -s review --at 02:00 "Run the long tests"
        cospool send -s review --after 3f2a "Deploy what it built"
        cospool send -s review --interrupt "Wrong branch: use main"
        cospool send -s review -- "-v means verbose here"

      If the session does not exist, the command creates it and says so. In a terminal, it asks you
      first. In a script, it fails if the name looks like that of an existing session. --new creates
      the session without asking. With --id, it is safe to send again.

      A prompt for later, or after others, has its place in the queue, and the prompts behind it start
      until its time comes, or until all the others have succeeded. cospool queue start ID starts it
      earlier.

      --interrupt stops the turn that is running now, if the prompt could start then; its message counts
      as cancelled. The prompt goes before the others of its priority in any case.
      """)

  @OptionGroup var session: SessionOption
  @Option(help: ArgumentHelp("The message's id; sending it again is safe.", valueName: "uuid"))
  var id: String?
  @Flag(help: "Put it before all normal messages.")
  var urgent = false
  @Flag(help: "Stop the running turn, then start it.")
  var interrupt = false
  @Flag(help: "Create the session if there is none, without asking.")
  var new = false
  @Option(help: ArgumentHelp("The session's project path.", valueName: "path"))
  var project: String?
  @Option(help: ArgumentHelp("A file to attach; may be repeated.", valueName: "file"))
  var attach: [String] = []
  @OptionGroup var time: LaterOptions
  @Option(
    help: ArgumentHelp(
      "Not before these messages have succeeded, with commas between them.", valueName: "ids"),
    completion: .messages)
  var after: NeedNames?
  @Argument(help: "The prompt; \"-\" reads stdin.")
  var text: String
  @OptionGroup var options: GlobalOptions
  /// Whether no session of that name was known when it was looked up; not an argument.
  var makesSession = false
  /// The session's project so far; no argument.
  var formerProject = ""

  private enum CodingKeys: CodingKey {
    case session, id, urgent, interrupt, new, project, attach, time, after, text, options
  }

  func validate() throws {
    if let id, MessageID(id) == nil { throw ValidationError("--id \(id) is not a UUID.") }
  }

  /// Takes the id of the chosen session.
  ///
  /// - Throws: `CommandFailure` if the user refuses the action.
  mutating func lookUp(in names: SessionNames, _ environment: Environment) throws {
    guard let text = session.name ?? names.named, !text.isEmpty else {
      return try lookUp(in: names)
    }
    session.isGuessed = session.name == nil
    defer { formerProject = names.sessions.first { $0.id.rawValue == session.id }?.project ?? "" }
    let id = try names.idToQueue(in: text, isWanted: new, isJSON: options.json, environment)
    session.name = id
    makesSession = !names.sessions.contains { $0.id.rawValue == id }
  }

  func request(input: StandardInput) throws -> APIRequest {
    let text = try Content.checked(try input.text(for: text))
    return try APIRequest(
      .post, ["sessions", session.id, "queue"],
      body: SendRequest(
        text: text, id: id, priority: urgent ? "urgent" : nil,
        project: project.map(Paths.project),
        attachments: attach.isEmpty ? nil : attach.map { AttachmentRequest(ofFile: $0) },
        later: try time.later(), needs: after?.names,
        interrupt: interrupt ? InterruptRequest() : nil))
  }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    let sent = try answer.decoded(SentAnswer.self)
    guard sent.status == .queued else {
      return "\(sent.status.rawValue) before, nothing was queued"
    }
    let host = sent.note == nil ? sent.hostName.map { ", for \(TextStyle.line($0))" } ?? "" : ""
    let later = try time.later().map { ", not before \(style.localTime($0))" } ?? ""
    let place = "queued, position \(sent.position) of \(sent.count)\(host)\(later)"
    let stop = sent.stop?.stopping(in: sent.session.rawValue).map { "; \($0)" } ?? ""
    let name = TextStyle.line(sent.session.rawValue)
    if makesSession { return "\(place) in the new session \(name)" }
    return (session.isGuessed ? "\(place) in \(name)" : place) + stop
  }

  func warning(of answer: Answer) -> String? {
    let lines = projectNotes + [(try? answer.decoded(SentAnswer.self))?.notices].compactMap { $0 }
    return lines.isEmpty ? nil : lines.joined(separator: "\n")
  }

  /// What a wrong path would only show when the prompt runs, or never.
  private var projectNotes: [String] {
    guard let project = project.map(Paths.project) else { return [] }
    var notes: [String] = []
    if !formerProject.isEmpty, formerProject != project {
      notes.append("The session's project is now \(project); it was \(formerProject).")
    }
    var isFolder: Bool = false
    if project.hasPrefix("/"),
      !FileManager.default.fileExists(atPath: project, isDirectory: &isFolder) || !isFolder
    {
      notes.append("\(project) is not a folder on this device.")
    }
    return notes.map { "cospool: \(TextStyle.line($0))" }
  }
}

extension SentAnswer {
  /// Further information for the user, besides the fact that it is queued; nil if there is none.
  /// The reason why a queue starts nothing is shown with its first message, and by `queue list`
  /// from then on.
  var notices: String? {
    let lines = [warning, count == 1 ? note : nil, stop?.note].compactMap { $0 }
      .map { "cospool: \(TextStyle.line($0))" }
    return lines.isEmpty ? nil : lines.joined(separator: "\n")
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
