import Foundation
import LocalAPI
import QueueModel
import Testing

@testable import SyncDaemon

/// Wrong values from people and programs, sent to a real daemon: each gets the documented, clear
/// refusal, and changes nothing.
@Suite(.timeLimit(.minutes(10))) struct BadInputTests {
  private static let here = "11111111-1111-4111-8111-111111111111"
  private static let second = "22222222-2222-4222-8222-222222222222"
  private static let elsewhere = "33333333-3333-4333-8333-333333333333"
  private static let withdrawn = "44444444-4444-4444-8444-444444444444"

  struct Row: Sendable, CustomTestStringConvertible {
    var name: String
    var method = "POST"
    var path = "/v1/sessions/here/queue"
    var body: String?
    var status: Int
    var code: String
    var says = ""

    var testDescription: String { name }
  }

  /// A daemon with two messages waiting in session `here`, and one in `elsewhere`.
  private func withQueues(_ body: @Sendable (RunningDaemon) async throws -> Void) async throws {
    try await RunningDaemon.run(queueSizeMax: 3) { daemon in
      for (id, session) in [
        (Self.here, "here"), (Self.second, "here"), (Self.elsewhere, "elsewhere"),
        (Self.withdrawn, "elsewhere"),
      ] {
        let reply = try await daemon.request(
          "POST", "/v1/sessions/\(session)/queue", #"{"id":"\#(id)","text":"text of \#(id)"}"#)
        #expect(reply.status == 201)
      }
      _ = try await daemon.request("POST", "/v1/messages/cancel", #"{"ids":["4444"]}"#)
      try await body(daemon)
    }
  }

  private static let rows: [Row] =
    [
      Row(name: "empty", body: #"{"text":""}"#, status: 422, code: "blankText"),
      Row(name: "blank", body: #"{"text":" \n\t\u00a0\u3000 "}"#, status: 422, code: "blankText"),
      Row(
        name: "edit to blank", method: "PUT", path: "/v1/messages/1111/content",
        body: #"{"content":" "}"#, status: 422, code: "blankText"),
      Row(
        name: "no UUID", body: #"{"id":"1","text":"a"}"#, status: 422, code: "invalidMessageID"),
      Row(
        name: "id of another session's message", body: #"{"id":"\#(elsewhere)","text":"a"}"#,
        status: 409, code: "messageIDTaken"),
      Row(
        name: "priority", body: #"{"text":"a","priority":"high"}"#, status: 422,
        code: "invalidPriority", says: "choose urgent or normal"),
      Row(
        name: "unpaired surrogate", body: #"{"text":"\ud800"}"#, status: 400,
        code: "malformedJSON"),
      Row(
        name: "blank session", path: "/v1/sessions/%20/queue", body: #"{"text":"a"}"#,
        status: 422, code: "invalidSessionID"),
      Row(
        name: "NUL in a session", path: "/v1/sessions/a%00b/queue", body: #"{"text":"a"}"#,
        status: 422, code: "invalidSessionID"),
      Row(
        name: "session of 129 bytes",
        path: "/v1/sessions/\(String(repeating: "s", count: 129))/queue",
        body: #"{"text":"a"}"#, status: 422, code: "invalidSessionID"),
      Row(
        name: "unknown session", method: "GET", path: "/v1/sessions/nowhere/queue", status: 404,
        code: "sessionNotFound"),
      Row(
        name: "unknown message", method: "GET", path: "/v1/messages/ffff", status: 404,
        code: "messageNotFound"),
      Row(
        name: "message named by its session", method: "GET", path: "/v1/messages/here",
        status: 404, code: "messageNotFound"),
      Row(
        name: "cancelled already", method: "PUT", path: "/v1/messages/4444/content",
        body: #"{"content":"b"}"#, status: 409, code: "messageCancelled"),
      Row(
        name: "thread that is not queued", path: "/v1/threads/nowhere/move", body: #"{"to":1}"#,
        status: 404, code: "sessionNotFound"),
    ] + positions + shapes

  private static let positions: [Row] = ["0", "-1", "3", "99", "9223372036854775807"].flatMap {
    place in
    [
      Row(
        name: "message to \(place)", path: "/v1/messages/move",
        body: #"{"ids":["1111"],"to":\#(place)}"#, status: 422, code: "invalidPosition",
        says: "choose 1 to 2"),
      Row(
        name: "thread to \(place)", path: "/v1/threads/here/move", body: #"{"to":\#(place)}"#,
        status: 422, code: "invalidPosition", says: "choose 1 to 2"),
    ]
  }

  private static let shapes: [Row] = [
    Row(
      name: "position beyond whole numbers", path: "/v1/messages/move",
      body: #"{"ids":["1111"],"to":9223372036854775808}"#, status: 400, code: "badRequest"),
    Row(
      name: "position that is not a whole number", path: "/v1/messages/move",
      body: #"{"ids":["1111"],"to":1.5}"#, status: 400, code: "badRequest"),
    Row(
      name: "beside itself", path: "/v1/messages/move",
      body: #"{"ids":["1111"],"before":"1111"}"#, status: 422, code: "invalidMove"),
    Row(
      name: "none named", path: "/v1/messages/cancel", body: #"{"ids":[]}"#, status: 400,
      code: "badRequest"),
    Row(
      name: "progress below nothing", method: "PUT", path: "/v1/sessions/here/task/progress",
      body: #"{"completed":0,"total":-1}"#, status: 400, code: "badRequest", says: "from 0 on"),
    Row(
      name: "two places", path: "/v1/messages/move",
      body: #"{"ids":["1111"],"to":1,"after":"2222"}"#, status: 400, code: "badRequest"),
  ]

  @Test func eachGetsItsRefusalAndChangesNothing() async throws {
    try await withQueues { daemon in
      let before = try await daemon.request("GET", "/v1/dump").body
      for row in Self.rows {
        let reply = try await daemon.request(row.method, row.path, row.body)
        #expect(reply.status == row.status, "\(row.name): \(reply.body)")
        let error = try reply.decoded(RefusalAnswer.self).error
        #expect(error.code == row.code, "\(row.name): \(reply.body)")
        #expect(
          row.says.isEmpty || error.message.contains(row.says), "\(row.name): \(error.message)")
        #expect(error.message.hasSuffix("."), "\(row.name): \(error.message)")
      }
      #expect(try await daemon.request("GET", "/v1/dump").body == before)
    }
  }

  // I-36
  @Test func aLongTextReplacesALongText() async throws {
    try await withQueues { daemon in
      let path = "/v1/messages/\(Self.here)/content"
      for letter in ["x", "y"] {
        let text = String(repeating: letter, count: 900_000)
        let reply = try await daemon.request("PUT", path, #"{"content":"\#(text)"}"#)
        #expect(reply.status == 200, "\(reply.body.prefix(500))")
      }
      let log = try await daemon.request("GET", "/v1/history")
      #expect(log.status == 200, "\(log.body.prefix(500))")
      let shown = try await daemon.request("GET", "/v1/messages/\(Self.here)")
      #expect(shown.status == 200 && shown.body.contains("yyyy"))
    }
  }

  @Test func textOfTheLargestSizeIsTakenAndOneByteMoreIsNot() async throws {
    try await withQueues { daemon in
      let largest = String(repeating: "x", count: Limits.contentBytesMax)
      let tooLong = try await daemon.request(
        "POST", "/v1/sessions/here/queue", #"{"text":"\#(largest)y"}"#)
      #expect(tooLong.status == 413)
      #expect(try tooLong.decoded(RefusalAnswer.self).error.code == "contentTooLong")
      let fits = try await daemon.request(
        "POST", "/v1/sessions/here/queue", #"{"text":"\#(largest)"}"#)
      #expect(fits.status == 201)
      // The body may be much longer than the text: every byte of this one is escaped.
      let escaped = String(repeating: #"\u0078"#, count: Limits.contentBytesMax)
      let edited = try await daemon.request(
        "PUT", "/v1/messages/2222/content", #"{"content":"\#(escaped)"}"#)
      #expect(edited.status == 200, "\(edited.body)")
    }
  }

  /// Characters of every kind come back as they were sent.
  @Test(arguments: [
    "👩‍👩‍👧‍👦🏳️‍🌈", "e\u{301} and é", "\u{202E}right to left\u{202C}", "שלום، مرحبا",
    "a\u{0}b\u{7F}\u{1B}[31m",
    "\u{FEFF}mark", "line\u{2028}separator\r\nand\nfeeds", "\u{10FFFF}",
    "\"quotes\" \\ / </script>",
    "\u{0301}alone",
  ])
  func textsAreReadUnchanged(text: String) async throws {
    try await RunningDaemon.run { daemon in
      let body = try JSONEncoder().encode(SendRequest(text: text, id: Self.here))
      let sent = try await daemon.request(
        "POST", "/v1/sessions/here/queue", String(decoding: body, as: UTF8.self))
      #expect(sent.status == 201, "\(sent.body)")
      let message = try await daemon.request("GET", "/v1/messages/1111")
        .decoded(MessageAnswer.self)
      #expect(message.content.unicodeScalars.elementsEqual(text.unicodeScalars))
    }
  }
}
