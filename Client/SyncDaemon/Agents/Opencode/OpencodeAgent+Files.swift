import AgentFormats
import Foundation
import LocalAPI
import QueueModel

/// Files of messages: pictures and PDFs are sent with the prompt, as opencode keeps them in its
/// conversation. Other files are named by their paths if its server can read them.
extension OpencodeAgent {
  /// The maximum bytes of files with one prompt: the list of messages, which contains them, must
  /// stay readable.
  static let filesBytesMax = 16 << 20

  /// More than a prompt may include.
  struct FilesFault: Error, CustomStringConvertible {
    var bytes: Int

    var description: String {
      "the files have \(bytes) bytes, and opencode gets at most \(filesBytesMax) with a prompt"
    }
  }

  /// The prompt and its files as parts of a message.
  ///
  /// - Throws: `FilesFault`, or an error if a file cannot be read.
  func parts(of turn: AgentTurn) throws -> [JSONTree] {
    let files = turn.files?.files ?? []
    let sent = files.filter { !isHere || OpencodeAgent.isShown($0.attachment.mediaType) }
    let bytes = sent.reduce(0) { $0 + $1.attachment.size }
    guard bytes <= OpencodeAgent.filesBytesMax else { throw FilesFault(bytes: bytes) }
    let text = turn.prompt(naming: files.filter { !sent.contains($0) })
    return [.object(["type": "text", "text": .string(text)])] + (try sent.map(part))
  }

  private static func isShown(_ mediaType: String) -> Bool {
    mediaType.hasPrefix("image/") || mediaType == "application/pdf"
  }

  private func part(_ file: TurnFiles.File) throws -> JSONTree {
    let type = file.attachment.mediaType
    let data = try Data(contentsOf: URL(filePath: file.path)).base64EncodedString()
    return .object([
      "type": "file", "mime": .string(type), "filename": .string(file.attachment.name),
      "url": .string("data:\(type);base64,\(data)"),
    ])
  }
}
