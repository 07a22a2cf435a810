import Basics
package import QueueModel

/// A file for a message: its bytes as base64, or its path on this machine.
package struct AttachmentRequest: APIValue {
  package static let notes: [String: Note] = [
    "data": .text("Base64; needs a name. At most 10 MiB."),
    "path": .text("An absolute path on this machine, instead of data."),
  ]

  package var data: String?
  package var path: String?
  /// By default the last part of the path.
  package var name: String?
  /// By default derived from the bytes.
  package var mediaType: String?

  package init(
    data: String? = nil, path: String? = nil, name: String? = nil, mediaType: String? = nil
  ) {
    self.data = data
    self.path = path
    self.name = name
    self.mediaType = mediaType
  }
}

/// A file of a message.
package struct AttachedFileAnswer: APIValue {
  package var hash: ContentHash
  package var name: String
  package var mediaType: String
  package var size: Int
  /// Whether the bytes are on this device; otherwise they are fetched on request.
  package var here: Bool
  /// Whether they are gone, because there is no server to fetch them from; absent if not.
  package var gone: Bool?

  package init(_ attachment: Attachment, isHere: Bool, isGone: Bool) {
    hash = attachment.hash
    name = attachment.name
    mediaType = attachment.mediaType
    size = attachment.size
    here = isHere
    gone = isGone ? true : nil
  }
}

/// The files of a message, by name.
package struct AttachmentsAnswer: APIValue {
  package var attachments: [AttachedFileAnswer]

  package init(attachments: [AttachedFileAnswer]) { self.attachments = attachments }
}

package struct AttachedAnswer: APIValue {
  package var attachment: Attachment
  /// Whether the message did not have the file yet.
  package var isNew: Bool
  /// The message that now has it.
  package var message: ReceiptAnswer.Message?

  package init(attachment: Attachment, isNew: Bool, message: ReceiptAnswer.Message?) {
    self.attachment = attachment
    self.isNew = isNew
    self.message = message
  }
}

extension Attachment: APIValue, SchemaExample {
  package static var schemaName: String? { "Attachment" }
  static var example: Attachment? {
    try? Attachment(hash: .none, name: "name", mediaType: "text/plain", size: 1)
  }
}

extension ContentHash: SchemaGiven {
  static var schema: JSONValue {
    ["type": "string", "description": "SHA-256, 64 hexadecimal digits."]
  }
  static var example: ContentHash? { ContentHash.none }
}

extension SessionID: SchemaGiven {
  static var schema: JSONValue { Note.sessionID.schema }
  static var example: SessionID? { try? SessionID("session") }
}
