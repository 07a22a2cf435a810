import ArgumentParser
import LocalAPI
import QueueModel

/// `cospool export`
struct ExportCommand: DocumentCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Export everything as one JSON document.",
    discussion: """
      EXAMPLES
        cospool export queues.json
        cospool export | jq '.sessions[].id'

      The document contains what you see: sessions, messages with text, state, priority and
      time, and the order of queues and threads, but no files. It is not a backup of the sync
      state; for that, copy the data directory.
      """)
  @Argument(
    help: ArgumentHelp("The file to write. Default, or -: stdout.", valueName: "file"),
    completion: .file())
  var file: String?
  @Flag(help: "Replace an existing file.") var force = false
  @OptionGroup var options: GlobalOptions

  func request(input: StandardInput) throws -> APIRequest {
    var request = APIRequest(.get, ["export"])
    request.timeoutSeconds = APIRequest.documentTimeoutSeconds
    return request
  }

  func warning(of answer: Answer) -> String? {
    let document = try? answer.decoded(WorkspaceDocument.self)
    return HistoryText.missing(document.map { $0.files.values.sorted() } ?? []).first
      .map { "cospool: " + $0 }
  }
}

/// `cospool import`
struct ImportCommand: DaemonCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Import what this workspace does not have yet.",
    discussion: """
      EXAMPLES
        cospool import queues.json --dry-run    what it would import
        cospool import queues.json
        cospool export --data A | cospool import --data B -  # up to 16 MiB

      Messages and sessions are matched by id, so it is safe to import twice. Existing
      messages and sessions do not change. If a message was started before the export, the import
      pauses its session, so that nothing runs twice. To revert an import: cospool undo.

      Exit code 6: the document is damaged or has another version, and nothing was
      imported.
      """)
  @Argument(
    help: ArgumentHelp("The document; - reads stdin.", valueName: "file"), completion: .file())
  var file: String
  @Flag(help: "Check it and show what it would import; change nothing.") var dryRun = false
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

  func warning(of answer: Answer) -> String? { HistoryText.importWarning(answer) }
}
