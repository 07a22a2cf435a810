import AgentFormats
import Basics
import LocalAPI

/// The prompt of an editor as a message's text and files.
struct EditorPrompt: Equatable {
  var text: String
  var attachments: [AttachmentRequest] = []

  /// - Throws: `CommandFailure` if a block is of a kind that Cospool does not announce.
  init(_ blocks: [JSONTree]) throws {
    var texts = ""
    var files = ""
    for block in blocks {
      switch block["type"]?.text {
      case "text": texts += block["text"]?.text ?? ""
      case "resource_link": texts += Self.place(block["uri"])
      case "resource":
        let resource = block["resource"]
        files += "\n\n\(Self.place(resource?["uri"])):\n\(resource?["text"]?.text ?? "")"
      case "image":
        let type = block["mimeType"]?.text
        let ending = type?.split(separator: "/").last.map(String.init) ?? "png"
        attachments.append(
          AttachmentRequest(
            data: block["data"]?.text, name: "picture-\(attachments.count + 1).\(ending)",
            mediaType: type))
      default:
        throw CommandFailure.usage("The prompt has a part that is neither text, picture nor file.")
      }
    }
    text = texts + files
  }

  /// A file's path, or else the address itself.
  private static func place(_ address: JSONTree?) -> String {
    let text = address?.text ?? ""
    guard text.hasPrefix("file:///") else { return text }
    return ASCII.percentDecoded(String(text.dropFirst(7))) ?? text
  }
}
