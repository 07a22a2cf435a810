import Foundation
import LocalAPI
import Testing

@testable import SyncDaemon

/// The page of a running daemon, as seen by a browser with a key.
struct OpenPage: Sendable {
  var port: Int
  var key: String

  init(port: Int, key: String) {
    self.port = port
    self.key = key
  }

  /// Gives a browser access, by a link of the daemon.
  init(of daemon: RunningDaemon, name: String = "Firefox on Linux") async throws {
    let link = try await OpenPage.link(of: daemon)
    port = link.port
    key = ""
    let reply = try await send(
      "POST", "/v1/web/keys", body: #"{"ticket":"\#(link.ticket)","name":"\#(name)"}"#,
      headers: ownHeaders)
    try #require(reply.status == 201, "\(reply.body)")
    key = try reply.decoded(WebKeyAnswer.self).key
  }

  /// The data that `cospool web` gets: the port, and the ticket of the link.
  static func link(of daemon: RunningDaemon) async throws -> (port: Int, ticket: String) {
    let reply = try await daemon.request("POST", "/v1/web", #"{"port":0}"#)
    try #require(reply.status == 201, "\(reply.body)")
    let link = try #require(URL(string: try reply.decoded(WebTicketAnswer.self).url))
    #expect(link.host() == "127.0.0.1" && link.query() == nil)
    let ticket = try #require(link.fragment()).dropFirst("t=".count)
    return (try #require(link.port), String(ticket))
  }

  /// The headers of the page's own requests besides their key.
  var ownHeaders: [String] {
    [
      "origin: http://127.0.0.1:\(port)", "sec-fetch-site: same-origin", "sec-fetch-mode: cors",
      "content-type: application/json",
    ]
  }

  var keyHeader: String { "authorization: Bearer \(key)" }

  /// A request as the page sends it.
  func request(_ method: String, _ path: String, _ body: String? = nil) async throws -> RawReply {
    try await send(method, path, body: body, headers: ownHeaders + [keyHeader])
  }

  /// A request with exactly these headers.
  func send(
    _ method: String, _ path: String, body: String? = nil, host: String? = nil, headers: [String]
  ) async throws -> RawReply {
    let connection = try RawConnection(port: port)
    defer { connection.close() }
    try await connection.write(bytes(method, path, body: body, host: host, headers: headers))
    return try RawReply(try await connection.readToEnd())
  }

  func bytes(
    _ method: String, _ path: String, body: String? = nil, host: String? = nil, headers: [String]
  ) -> [UInt8] {
    var lines = ["\(method) \(path) HTTP/1.1", "host: \(host ?? "127.0.0.1:\(port)")"]
    lines += ["connection: close"] + headers
    if let body { lines.append("content-length: \(body.utf8.count)") }
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")).utf8)
  }
}
