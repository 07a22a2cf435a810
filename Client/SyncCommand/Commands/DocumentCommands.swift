import ArgumentParser
import LocalAPI

/// `cospool export`
struct ExportCommand: DocumentCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Everything as one JSON document, to keep or to import elsewhere.",
    discussion: """
      EXAMPLES
        cospool export queues.json
        cospool export | jq '.sessions[].id'

      The document holds what you see: sessions, messages with text, state, priority and
      time, the order of queues and threads. It is complete for a person; it is not a
      backup of the sync (that is the data directory).
      """)
  @Argument(
    help: ArgumentHelp("Where to; - or none: stdout.", valueName: "file"), completion: .file())
  var file: String?
  @Flag(help: "Replace a file that is there.") var force = false
  @OptionGroup var options: GlobalOptions

  func request(input: StandardInput) throws -> APIRequest {
    var request = APIRequest(.get, ["export"])
    request.timeoutSeconds = APIRequest.documentTimeoutSeconds
    return request
  }
}

/// `cospool import`
struct ImportCommand: DaemonCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Bring in what a document holds and this workspace does not.",
    discussion: """
      EXAMPLES
        cospool import queues.json --dry-run    what would come
        cospool import queues.json
        cospool export --data A | cospool import --data B -  # up to 16 MiB

      Messages and sessions are known by their ids: importing twice adds nothing twice,
      and what is here already stays as it is. What comes is undone with cospool undo.

      Exit code 6 where the document is damaged or of another version; nothing is
      imported then.
      """)
  @Argument(
    help: ArgumentHelp("The document; - reads stdin.", valueName: "file"), completion: .file())
  var file: String
  @Flag(help: "Check it and say what would come; change nothing.") var dryRun = false
  @OptionGroup var options: GlobalOptions

  func request(input: StandardInput) throws -> APIRequest {
    var request = APIRequest(.post, dryRun ? ["import", "check"] : ["import"])
    request.body = try DocumentFile.read(file, or: input)
    request.timeoutSeconds = APIRequest.documentTimeoutSeconds
    return request
  }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    HistoryText.imported(try answer.decoded(ImportedAnswer.self))
  }
}
