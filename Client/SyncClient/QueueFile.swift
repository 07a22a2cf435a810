import Basics
import Foundation
import QueueModel

/// One session's queue as a file, `queue-{sessionId}.json`: the format of apps that predate the
/// daemon (S0-43 … S0-56). Read as the object with its version, or as the bare list.
struct QueueFile: Codable {
  static let version = 1

  var version: Int
  var sessionId: String
  var messages: [Message]
  /// `run` if messages of the session with a merged text start. An addition by this program; if it
  /// is absent or has any other value, they wait.
  var onMerge: String?
  /// `stop` if the agent of the session is stopped when its host loses the server; an addition by
  /// this program. If it is absent or has any other value, the agent finishes.
  var onLostServer: String?
  /// The reason of each open pause; an addition by this program. A session that receives messages
  /// of the file is paused in the same way.
  var pauses: [String]?

  /// A message; `attachments`, `editions`, `later`, `needs` and `byAgent` are additions by this
  /// program, which other programs ignore.
  struct Message: Codable {
    var id: String
    var content: String
    var projectPath: String?
    var sessionId: String?
    var priority: String?
    var createdAt: String
    /// Base64.
    var imageData: String?
    var attempts: Int?
    var lastError: String?
    var attachments: [File]?
    /// The texts from which `content` was merged, until a user has checked it.
    var editions: [WorkspaceDocument.Edition]?
    /// The time before which the message is not in line.
    var later: String?
    /// The messages that must succeed before the message is in line.
    var needs: [MessageID]?
    /// Whether an agent queued the message; absent if its user did.
    var byAgent: Bool?

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(id, forKey: .id)
      try container.encode(content, forKey: .content)
      try container.encode(projectPath ?? "", forKey: .projectPath)
      try container.encode(sessionId ?? "", forKey: .sessionId)
      try container.encode(priority ?? "normal", forKey: .priority)
      try container.encode(createdAt, forKey: .createdAt)
      // Null if there is none, as the format requires.
      try container.encode(imageData, forKey: .imageData)
      try container.encode(attempts ?? 0, forKey: .attempts)
      try container.encode(lastError, forKey: .lastError)
      try container.encodeIfPresent(attachments, forKey: .attachments)
      try container.encodeIfPresent(editions, forKey: .editions)
      try container.encodeIfPresent(later, forKey: .later)
      try container.encodeIfPresent(needs, forKey: .needs)
      try container.encodeIfPresent(byAgent, forKey: .byAgent)
    }
  }

  /// A file of a message; its bytes are `data`, or the message's `imageData` if that is absent.
  struct File: Codable {
    var name: String
    var mediaType: String
    var sha256: ContentHash
    var data: String?
  }

  /// Reads either form.
  ///
  /// - Throws: `ClientError.invalidDocument` with the field or line.
  static func read(
    _ data: Data
  ) throws(ClientError) -> QueueFile {
    do {
      if let first = data.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }),
        first == UInt8(ascii: "[")
      {
        let messages = try JSONDecoder().decode([Message].self, from: data)
        return QueueFile(
          version: version, sessionId: messages.first?.sessionId ?? "", messages: messages)
      }
      let head = try JSONDecoder().decode(Head.self, from: data)
      guard head.version == version else {
        throw ClientError.invalidDocument(
          message: "version: \(head.version) is unknown; this version of Cospool reads \(version).")
      }
      return try JSONDecoder().decode(QueueFile.self, from: data)
    } catch let error as ClientError {
      throw error
    } catch let error as DecodingError {
      throw .invalidDocument(message: error.place(in: data))
    } catch {
      throw .invalidDocument(message: "\(error)")
    }
  }

  private struct Head: Decodable {
    var version: Int
  }
}

/// Times of queue files and of requests: ISO 8601. Written in UTC, with milliseconds if there are
/// any; read with any zone.
package enum ZonedTime {
  static func text(_ milliseconds: Int64) -> String {
    ISOTime.shortText(milliseconds: milliseconds)
  }

  /// Milliseconds since 1970; nil for any other text, or for a time before 1970.
  package static func milliseconds(_ text: String) -> Int64? {
    for hasFraction in [false, true] {
      let format = Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction)
      guard let date = try? format.parse(text) else { continue }
      let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
      return milliseconds >= 0 && milliseconds < 1e15 ? Int64(milliseconds) : nil
    }
    return nil
  }
}
