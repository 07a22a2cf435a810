import Foundation
import LocalAPI
import QueueModel
import Testing

@testable import SyncDaemon

/// Requests that a route does not accept.
@Suite(.timeLimit(.minutes(10))) struct RequestCheckTests {
  private func error(_ reply: RawReply) throws -> RefusalAnswer.Details {
    try reply.decoded(RefusalAnswer.self).error
  }

  @Test(arguments: [
    ("PUT", "/v1/sessions/review/queue", "DELETE, GET, POST"), ("DELETE", "/v1/status", "GET"),
    ("HEAD", "/v1/status", "GET"),
    ("PATCH", "/v1/threads", "DELETE, GET"),
  ])
  func methodThatAPathHasNotIsNamed(method: String, path: String, allowed: String) async throws {
    try await RunningDaemon.run { daemon in
      let reply = try await daemon.send(RawReply.request(method, path))
      #expect(reply.status == 405)
      #expect(reply.head.contains("allow: \(allowed.lowercased())"), "\(reply.head)")
    }
  }

  @Test(arguments: [
    ("{\"text\":", 1, 9), ("{\n  \"text\": tru\n}", 2, 11), ("{\"text\":\"a\"} x", 1, 14),
    ("", 0, 0), ("\"\u{0}\"", 0, 0), ("[", 1, 2),
  ])
  func brokenJSONIsRefusedWithItsPlace(body: String, line: Int, column: Int) async throws {
    try await RunningDaemon.run { daemon in
      let reply = try await daemon.request("POST", "/v1/sessions/review/queue", body)
      #expect(reply.status == 400)
      let error = try error(reply)
      #expect(error.exitCode == 2)
      guard line > 0 else { return }
      #expect(error.code == "malformedJSON")
      #expect(error.message.contains("line \(line), "), "\(error.message)")
    }
  }

  @Test func fieldsThatAreNullAreRefused() async throws {
    try await RunningDaemon.run { daemon in
      let reply = try await daemon.request(
        "POST", "/v1/sessions/review/queue", #"{"text":"a","project":null}"#)
      #expect(reply.status == 400)
      #expect(try error(reply).message.contains("\"project\" is null"))
      let list = try await daemon.request("GET", "/v1/sessions/review/queue")
      #expect(!list.body.contains("\"content\""))
    }
  }

  @Test func unknownFieldsAndParametersAreRefused() async throws {
    try await RunningDaemon.run { daemon in
      let field = try await daemon.request(
        "POST", "/v1/sessions/review/queue", #"{"text":"a","urgent":true}"#)
      #expect(field.status == 400)
      #expect(try error(field).code == "unknownField")
      #expect(try error(field).message.contains("\"urgent\""))
      #expect(
        try error(field).message.contains("id, interrupt, later, needs, priority, project, text"))
      let parameter = try await daemon.request("GET", "/v1/threads?limits=1")
      #expect(parameter.status == 400)
      #expect(try error(parameter).code == "unknownParameter")
      let none = try await daemon.request("GET", "/v1/status?verbose")
      #expect(try error(none).code == "unknownParameter")
    }
  }

  @Test(arguments: [
    ("application/json", 201), ("Application/JSON; charset=utf-8", 201),
    ("application/x-www-form-urlencoded", 201), ("text/plain", 415), ("application/xml", 415),
    ("multipart/form-data; boundary=x", 415), ("", 415),
  ])
  func bodiesOfOtherKindsAreRefused(type: String, status: Int) async throws {
    try await RunningDaemon.run { daemon in
      let reply = try await daemon.request(
        "POST", "/v1/sessions/review/queue", #"{"text":"a"}"#, headers: ["content-type: \(type)"])
      #expect(reply.status == status)
      if status == 415 { #expect(try error(reply).code == "unsupportedMediaType") }
    }
  }

  @Test(arguments: ["[]", "1", "null", "\"text\"", #"{"text":1}"#, #"{"text":null}"#, "{}"])
  func otherShapesAreRefused(body: String) async throws {
    try await RunningDaemon.run { daemon in
      let reply = try await daemon.request("POST", "/v1/sessions/review/queue", body)
      #expect(reply.status == 400)
      #expect(try error(reply).code == "badRequest")
    }
  }

  @Test func sessionIDsArePercentEncoded() async throws {
    try await RunningDaemon.run { daemon in
      for (path, id) in [
        ("a%20b", "a b"), ("%C3%A9t%C3%A9", "été"), ("a%2Fb", "a/b"), ("%F0%9F%99%82", "🙂"),
        ("a+b", "a+b"),
      ] {
        let sent = try await daemon.request("POST", "/v1/sessions/\(path)/queue", #"{"text":"x"}"#)
        #expect(sent.status == 201, "\(sent.body)")
        #expect(try sent.decoded(SentAnswer.self).session.rawValue == id)
        let session = try await daemon.request("GET", "/v1/sessions/\(path)")
        #expect(try session.decoded(SessionAnswer.self).id.rawValue == id)
        let thread = try await daemon.request("GET", "/v1/threads/\(path)")
        #expect(try thread.decoded(ThreadAnswer.self).session.rawValue == id)
      }
      for path in ["%FF", "%C3", "%ZZ", "%"] {
        #expect(try await daemon.request("GET", "/v1/sessions/\(path)/queue").status == 400)
      }
      #expect(try await daemon.request("GET", "/v1/sessions/none").status == 404)
      #expect(try await daemon.request("GET", "/v1/threads/none").status == 404)
    }
  }
}
