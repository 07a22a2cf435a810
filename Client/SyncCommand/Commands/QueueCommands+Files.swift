import ArgumentParser
import Basics
import LocalAPI
import Platform
import QueueModel

/// Files of messages, and queues as files.
extension QueueCommands {
  struct Attach: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "attach",
      abstract: "Attach a file to a message; at most 10 MiB.",
      discussion: """
        EXAMPLES
          cospool queue attach 3f2a screenshot.png
        """)
    @Argument(help: ArgumentHelp("The message.", valueName: "id"), completion: .messages)
    var message: String
    @Argument(help: "The file.") var file: String
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(
        .post, ["messages", message, "attachments"], body: AttachmentRequest(ofFile: file))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      let attached = try answer.decoded(AttachedAnswer.self)
      let name = TextStyle.line(attached.attachment.name)
      let message = attached.message.map { " to " + ReceiptText.named([$0]) } ?? ""
      return attached.isNew
        ? "attached \(name), \(ReceiptText.counted(attached.attachment.size, "byte")),\(message)"
        : "\(name) is attached already\(message)"
    }
  }

  struct Detach: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "detach",
      abstract: "Remove a file from a message.",
      discussion: """
        EXAMPLES
          cospool queue detach 3f2a screenshot.png
        """)
    @Argument(help: ArgumentHelp("The message.", valueName: "id"), completion: .messages)
    var message: String
    @Argument(help: "The file's name, or the beginning of its hash.") var file: String
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.delete, ["messages", message, "attachments", file])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(of: answer, done: "detached \(TextStyle.line(file)) from")
    }
  }

  struct Files: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "files",
      abstract: "List the files of a message.",
      discussion: """
        EXAMPLES
          cospool queue files 3f2a
        """)
    @Argument(help: ArgumentHelp("The message.", valueName: "id"), completion: .messages)
    var message: String
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      APIRequest(.get, ["messages", message, "attachments"])
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      AttachmentText.list(try answer.decoded(AttachmentsAnswer.self), style: style)
    }
  }

  struct Fetch: DaemonCommand {
    static let configuration = CommandConfiguration(
      commandName: "fetch",
      abstract: "Save a file of a message; fetch it from the server if needed.",
      discussion: """
        EXAMPLES
          cospool queue fetch 3f2a screenshot.png
          cospool queue fetch 3f2a screenshot.png -o /tmp/shot.png --force
          cospool queue fetch 3f2a notes.txt -o -
        """)
    @Argument(help: ArgumentHelp("The message.", valueName: "id"), completion: .messages)
    var message: String
    @Argument(help: "The file's name, or the beginning of its hash.") var file: String
    @Option(
      name: [.short, .long],
      help: ArgumentHelp(
        "The file to write; - is stdout. Default: its name, in this folder.", valueName: "file"))
    var output: String?
    @Flag(help: "Replace an existing file.") var force = false
    @OptionGroup var options: GlobalOptions

    func validate() throws {
      if options.json { throw ValidationError("The output is the file itself. Leave out --json.") }
    }

    func request(input: StandardInput) throws -> APIRequest {
      var request = APIRequest(.get, ["messages", message, "attachments", file])
      request.timeoutSeconds = 150
      return request
    }

    /// Without a path, the file is written to this folder, whatever its name contains.
    private var path: String { output ?? String(file.split(separator: "/").last ?? "file") }

    func received(_ answer: Answer) throws {
      guard path != "-" else { return }
      try DocumentFile.write(answer.json, to: path, replaces: force)
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      // Bytes that are not text go to a file.
      guard path != "-" else {
        guard let text = String(validating: answer.json, as: UTF8.self) else {
          throw CommandFailure(
            code: "notText", message: "It is not text. Name a file with -o.",
            exitCode: ExitStatus.failed)
        }
        return style.width == nil ? text : TextStyle.block(text)
      }
      return DocumentFile.written(answer.json, to: path)
    }
  }

  struct Export: SessionCommand, DocumentCommand {
    static let configuration = CommandConfiguration(
      commandName: "export",
      abstract: "Export a session's queue as queue-SESSION.json, with its images.",
      discussion: """
        EXAMPLES
          cospool queue export -s review queue-review.json

        The file contains the versioned object that apps keep, and the pause. Importing it loses
        nothing.
        """)
    @OptionGroup var session: SessionOption
    @Argument(help: ArgumentHelp("The file to write. Default, or -: stdout.", valueName: "file"))
    var file: String?
    @Flag(help: "Replace an existing file.") var force = false
    @OptionGroup var options: GlobalOptions

    func request(input: StandardInput) throws -> APIRequest {
      var request = APIRequest(.get, ["sessions", session.id, "queue", "file"])
      request.timeoutSeconds = APIRequest.documentTimeoutSeconds
      return request
    }
  }

  struct Import: SessionMaking {
    static let configuration = CommandConfiguration(
      commandName: "import",
      abstract: "Import the messages of a queue file: the versioned object or the bare list.",
      discussion: """
        EXAMPLES
          cospool queue import queue-review.json --dry-run
          cospool queue import queue-review.json
          cospool queue import --lines todo.txt -s review

        Messages are matched by id, so it is safe to import twice. stdin is limited to 16 MiB;
        a file with pictures may be larger. With --lines, the file is text: each line that is not
        empty becomes a new message, even if you import it again. With -s, it does as cospool send
        does if the session does not exist.
        """)
    @Argument(help: ArgumentHelp("The file; - reads stdin.", valueName: "file")) var file: String
    @Option(
      name: [.customShort("s"), .customLong("session")],
      help: ArgumentHelp(
        "The session to import into. Default: the one in the file.", valueName: "session"),
      completion: .sessions)
    var session: String?
    @Flag(help: "Queue each line of a text file; needs a session.") var lines = false
    @Flag(help: "Create the session if there is none, without asking.") var new = false
    @Flag(help: "Check it and show what it would import; change nothing.") var dryRun = false
    @OptionGroup var options: GlobalOptions

    /// - Throws: `CommandFailure` if the session is not to be created.
    mutating func lookUp(in names: SessionNames, _ environment: Environment) throws {
      guard let text = session else { return }
      guard !text.isEmpty else { throw CommandFailure.usage("The name of the session is empty.") }
      session = try names.idToQueue(
        in: text, isWanted: new || dryRun, isJSON: options.json, environment)
    }

    func validate() throws {
      if lines, session == nil { throw ValidationError("--lines needs a session: -s SESSION.") }
    }

    func request(input: StandardInput) throws -> APIRequest {
      var request = APIRequest(.post, ["queue-files"])
      var query = dryRun ? ["dryRun=true"] : []
      if let session { query.append("session=" + ASCII.percentEncoded(session)) }
      if !query.isEmpty { request.path += "?" + query.joined(separator: "&") }
      let text = try DocumentFile.read(file, or: input)
      request.body =
        if lines, let session { try QueueLines(of: text, in: session).json } else { text }
      request.timeoutSeconds = APIRequest.documentTimeoutSeconds
      return request
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      HistoryText.imported(try answer.decoded(ImportedAnswer.self))
    }

    func warning(of answer: Answer) -> String? { HistoryText.importWarning(answer) }
  }
}

/// The lines of a text as a queue file, each a message of its own.
private struct QueueLines: Encodable {
  struct Message: Encodable {
    var id = UUID().uuidString.lowercased()
    var content: String
    var createdAt: String
  }

  var version = 1
  var sessionId: String
  var messages: [Message]

  init(of text: String, in session: String) {
    let now = Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    sessionId = session
    messages = text.split(whereSeparator: \.isNewline)
      .filter { !$0.allSatisfy(\.isWhitespace) }
      .map { Message(content: String($0), createdAt: now) }
  }

  var json: String {
    get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
  }
}

extension AttachmentRequest {
  /// A file on this machine; its path is absolute, since the daemon has a directory of its own.
  init(ofFile path: String) {
    self.init(
      path: path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path)
  }
}

enum AttachmentText {
  static func list(_ answer: AttachmentsAnswer, style: TextStyle) -> String {
    guard !answer.attachments.isEmpty else { return "no files" }
    var table = TextTable(["HASH", "BYTES", "TYPE", "WHERE", "NAME"], numbers: [1])
    table.rows = answer.attachments.map { file in
      [
        .init(String(file.hash.description.prefix(8))), .init("\(file.size)"),
        .init(file.mediaType),
        file.here
          ? .init("here", .green)
          : file.gone == true ? .init("gone", .red) : .init("server", .dim),
        .init(file.name),
      ]
    }
    return table.text(style: style)
  }
}
