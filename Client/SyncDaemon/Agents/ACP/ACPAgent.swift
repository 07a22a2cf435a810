import AgentFormats
import Foundation
import LocalAPI
import QueueModel

/// A program that speaks the Agent Client Protocol over its standard input and output
/// (agentclientprotocol.com): one process for each turn.
struct ACPAgent: Agent {
  /// The program and its arguments.
  var words: [String]
  var timeoutSeconds: Int?
  /// Passes its requests on to users.
  var ask: OpencodeAgent.Asker
  /// The time limit for beginning a conversation: some programs download themselves first.
  var openingLimit = Duration.seconds(120)
  /// How long a turn that must stop may take to report its end.
  var cancelGrace = Duration.milliseconds(LeaseTimes.stopGraceMilliseconds / 2)
  /// How long its process may take to end after its input has ended.
  var exitGrace = Duration.seconds(2)
  /// The time between SIGTERM and SIGKILL: together with `cancelGrace`, the time that a lease
  /// allows.
  var stopGrace = Duration.milliseconds(LeaseTimes.stopGraceMilliseconds / 2)

  /// The maximum bytes of pictures with one prompt.
  static let picturesBytesMax = 16 << 20

  /// - Throws: if no command is set, or it cannot be read.
  init(
    command: String?, timeoutSeconds: Int?, ask: @escaping OpencodeAgent.Asker
  ) throws(CommandLineFault) {
    let words = try command.map { text throws(CommandLineFault) in try CommandWords.split(text) }
    guard let words, !words.isEmpty else {
      throw CommandLineFault(
        reason: "no command is set that speaks the Agent Client Protocol: cospool config set "
          + "command \"gemini --acp\"")
    }
    self.words = words
    self.timeoutSeconds = timeoutSeconds
    self.ask = ask
  }

  func run(
    _ turn: AgentTurn, report: @escaping @Sendable (TurnEvent) -> Void
  ) async -> TurnResult {
    let folders = TurnFolders(dataDirectory: turn.dataDirectory)
    let link: ACPLink
    do {
      let conversation = ACPConversation(try ACPAgent.begin(turn))
      link = try ACPLink(conversation, report: report) {
        try folders.noteSending(turn.message, attempt: turn.attempt)
      }
    } catch {
      return .notStarted("\(error)")
    }
    folders.noteUnsent(turn.message, attempt: turn.attempt)
    defer { try? folders.noteSending(turn.message, attempt: turn.attempt) }
    let running = Task { await process(link).run(turn) { link.processNoted($0) } }
    let driving = Task {
      await link.drive(turn.session, ask)
      // The turn has ended: a program that does not end with its input is killed.
      try? await Task.sleep(for: exitGrace)
      running.cancel()
    }
    // Without its output, no turn of it can end well.
    let closing = Task { if await link.isSilent(for: exitGrace) { running.cancel() } }
    let opening = Task {
      guard (try? await Task.sleep(for: openingLimit)) != nil else { return }
      link.openingTookTooLong(openingLimit)
    }
    return await withTaskCancellationHandler {
      let result = await running.value
      opening.cancel()
      closing.cancel()
      driving.cancel()
      link.processEnded()
      await driving.value
      return link.result(result, attempt: turn.attempt)
    } onCancel: {
      link.cancel()
      Task {
        try? await Task.sleep(for: cancelGrace)
        running.cancel()
      }
    }
  }

  private func process(_ link: ACPLink) -> ProcessAgent<ACPLink.Output> {
    var process = ProcessAgent(
      commandLine: { [words] _ in AgentCommandLine(words: words) },
      reader: { _ in ACPLink.Output(link: link) }, timeoutSeconds: timeoutSeconds,
      stopGrace: stopGrace)
    process.openInput = { try link.takeReader() }
    process.isLoggedByReader = true
    process.outputEnded = { link.outputEnded() }
    return process
  }

  // MARK: - The prompt

  /// - Throws: if a file cannot be read.
  private static func begin(_ turn: AgentTurn) throws -> ACPTurn {
    let files = turn.files?.files ?? []
    let text: JSONTree = ["type": "text", "text": .string(turn.prompt)]
    let links = files.map { file in link(file) }
    let pictures = files.filter { $0.attachment.mediaType.hasPrefix("image/") }
    let bytes = pictures.reduce(0) { $0 + $1.attachment.size }
    var withPictures: [JSONTree]?
    if !pictures.isEmpty, bytes <= picturesBytesMax {
      withPictures =
        [text]
        + (try zip(files, links).map { file, link in
          pictures.contains(file) ? try picture(file) : link
        })
    }
    return ACPTurn(
      folder: turn.folder ?? "/", conversation: turn.resumed, prompt: [text] + links,
      promptWithPictures: withPictures)
  }

  private static func link(_ file: TurnFiles.File) -> JSONTree {
    [
      "type": "resource_link", "name": .string(file.attachment.name),
      "uri": .string(URL(filePath: file.path).absoluteString),
      "mimeType": .string(file.attachment.mediaType),
      "size": .whole(Int64(file.attachment.size)),
    ]
  }

  private static func picture(_ file: TurnFiles.File) throws -> JSONTree {
    let data = try Data(contentsOf: URL(filePath: file.path)).base64EncodedString()
    return [
      "type": "image", "mimeType": .string(file.attachment.mediaType), "data": .string(data),
    ]
  }
}
