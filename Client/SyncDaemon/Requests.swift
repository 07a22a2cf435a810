import Hummingbird
import QueueModel
import SyncClient

/// What the local API takes in request bodies.

struct PairRequest: Codable {
  var server: String
  var code: String
  /// The server may be asked without encryption, wherever it is; no where absent.
  var insecure: Bool?
}

struct SyncRequest: Codable {
  var enabled: Bool
}

struct WaitRequest: Codable {
  var timeoutSeconds: Double
}

struct SessionRequest: Codable {
  var id: String
  var name: String?
  var project: String?
  /// Whether an agent says that it works there: what the session has stays as it is, and nobody
  /// undoes it.
  var byAgent: Bool?
}

struct RenameRequest: Codable {
  var name: String
}

struct PauseRequest: Codable {
  var reason: String?
}

struct SendRequest: Codable {
  var text: String
  var id: String?
  var priority: String?
  var project: String?
  /// Files that go with it.
  var attachments: [AttachmentRequest]?

  /// The id given, or a fresh one.
  func messageID() throws -> MessageID {
    guard let id else { return .random() }
    guard let parsed = MessageID(id) else {
      throw APIProblem(
        .unprocessableContent, code: "invalidMessageID",
        message: "\"\(id)\" is no UUID. Leave the id out to get a fresh one.", exitCode: 2)
    }
    return parsed
  }
}

struct EditRequest: Codable {
  var content: String
  /// The `base` of the message that the editor showed.
  var base: String?
}

struct PriorityRequest: Codable {
  var priority: String
}

struct MessagesRequest: Codable {
  var ids: [String]
}

struct MoveRequest: Codable {
  var ids: [String]
  var to: Int?
  var before: String?
  var after: String?
}

struct ThreadsRequest: Codable {
  var sessions: [String]
}

struct ThreadsMoveRequest: Codable {
  var sessions: [String]
  var to: Int?
  var before: String?
  var after: String?
}

struct ThreadMoveRequest: Codable {
  var to: Int
}
