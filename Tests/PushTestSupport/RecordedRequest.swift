import Foundation
package import NIOHTTP1

/// One request as a fake received it.
package struct RecordedRequest: Sendable {
  package var method: String
  package var path: String
  package var headers: HTTPHeaders
  package var body: [UInt8]
  /// The number of its connection, from 1.
  package var connection: Int

  package func header(_ name: String) -> String? { headers.first(name: name) }

  /// The body as a JSON object; empty if it is not one.
  package var json: [String: Any] {
    let read = try? JSONSerialization.jsonObject(with: Data(body))
    return read as? [String: Any] ?? [:]
  }
}

/// The reaction of a fake to a request.
package enum FakeAnswer: Sendable {
  case status(Int, headers: [(String, String)] = [], body: String = "")
  /// Sends nothing until it is stopped.
  case silence
  /// Sends the head of an answer and never its end.
  case unfinished(Int)
  /// Ends the request's stream (HTTP/2), or the connection (HTTP/1.1), without an answer.
  case reset
  /// Announces that the connection goes away before this request was processed, and closes it
  /// (HTTP/2).
  case goAway
  /// Closes the connection without an answer.
  case close
}
