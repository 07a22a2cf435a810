import Basics
package import QueueModel

extension WorkspaceDocument: APIValue {
  package static var schemaName: String? { "Document" }
  package static var notes: [String: Note] {
    ["format": .constant(.string(format)), "version": .range(versionsRead)]
  }
}

extension WorkspaceDocument.Session: APIValue {
  package static var notes: [String: Note] {
    ["name": .nullable("string"), "project": .nullable("string")]
  }
}

extension WorkspaceDocument.Message: APIValue {
  package static var notes: [String: Note] {
    [
      "priority": .priority, "device": .nullable("string"), "project": .nullable("string"),
      "attempts": .nullable("integer"),
      "lastError": .nullable("string"), "attachments": .nullable("array"),
      "byAgent": .nullable("boolean"), "editions": .nullable("array"),
      "needs": .nullable("array"),
    ]
  }
}

extension WorkspaceDocument.Edition: APIValue {
  package static var notes: [String: Note] {
    [
      "content": .nullable("string"), "bytes": .nullable("integer"), "digest": .nullable("string"),
      "device": .nullable("string"),
    ]
  }
}

extension WorkspaceDocument.Thread: APIValue {
  package static var isOfDocument: Bool { true }
}

extension DocumentTime: SchemaGiven {
  static var schema: JSONValue {
    [
      "anyOf": [
        Note.time.schema, ["type": "integer", "description": "Milliseconds, as in version 1."],
      ]
    ]
  }
  static var example: DocumentTime? { DocumentTime(0) }
}

extension WorkspaceDump: APIValue {
  package static var schemaName: String? { "Dump" }
}

extension WorkspaceDump.Replica: APIValue {}

extension WorkspaceDump.Session: APIValue {
  package static var isOfDocument: Bool { true }
}

extension WorkspaceDump.Message: APIValue {
  package static var isOfDocument: Bool { true }
  package static var notes: [String: Note] {
    ["priority": .priority, "createdAt": .milliseconds, "later": .milliseconds]
  }
}

extension WorkspaceDump.Thread: APIValue {
  package static var isOfDocument: Bool { true }
  package static var notes: [String: Note] { ["queuedAt": .milliseconds] }
}

/// A queue as a file, as far as it is described here; `SyncClient` reads and writes it.
package struct QueueFileDocument: APIValue {
  package static let schemaName: String? = "QueueFile"
  package static let notes = ["version": Note.constant(1)]

  package struct Message: APIValue {
    package static let notes: [String: Note] = [
      "id": .uuid, "createdAt": .time, "priority": .priority, "imageData": .nullable("string"),
      "lastError": .nullable("string"), "later": .time,
    ]

    package struct File: APIValue {
      var name: String
      var mediaType: String
      var sha256: ContentHash
      /// Base64; by default the message's `imageData`.
      var data: String?
    }

    var id: String
    var content: String
    var projectPath: String?
    var sessionId: String?
    var priority: String?
    var createdAt: String
    var imageData: String?
    var attempts: Int?
    var lastError: String?
    var attachments: [File]?
    /// The texts from which the content was merged.
    var editions: [WorkspaceDocument.Edition]?
    /// The time before which the message is not in line.
    var later: String?
    /// The messages that must succeed before the message is in line.
    var needs: [String]?
  }

  var version: Int
  var sessionId: SessionID
  var messages: [Message]
  var onMerge: String?
  /// The reason of each open pause.
  var pauses: [String]?
}

extension SchemaCatalog {
  /// The schema of imports: a queue file may also be only the list of its messages.
  func document(_ type: any APIValue.Type) -> JSONValue {
    guard type == QueueFileDocument.self else { return schema(of: type) }
    return ["anyOf": [schema(of: type), schema(of: [QueueFileDocument.Message].self)]]
  }
}
