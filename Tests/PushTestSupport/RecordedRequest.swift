import Foundation
package import NIOHTTP1

/// One request as a fake got it.
package struct RecordedRequest: Sendable {
  package var method: String
  package var path: String
  package var headers: HTTPHeaders
  package var body: [UInt8]
  /// Which connection it came over, from 1.
  package var connection: Int

  package func header(_ name: String) -> String? { headers.first(name: name) }

  /// The body as a JSON object; empty where it is none.
  package var json: [String: Any] {
    let read = try? JSONSerialization.jsonObject(with: Data(body))
    return read as? [String: Any] ?? [:]
  }
}

/// What a fake does with a request.
package enum FakeAnswer: Sendable {
  case status(Int, headers: [(String, String)] = [], body: String = "")
  /// Says nothing until it is stopped.
  case silence
  /// Sends the head of an answer and never its end.
  case unfinished(Int)
  /// Ends the request's stream (HTTP/2), or the connection (HTTP/1.1), without an answer.
  case reset
  /// Says that the connection goes away before this request was looked at, and closes it (HTTP/2).
  case goAway
  /// Closes the connection without a word.
  case close
}
