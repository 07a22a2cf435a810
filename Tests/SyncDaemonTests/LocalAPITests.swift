import Foundation
import LocalAPI
import QueueModel
import SyncClient
import Testing

@testable import SyncDaemon

@Suite(.timeLimit(.minutes(10))) struct LocalAPITests {
  private static let first = "11111111-1111-4111-8111-111111111111"
  private static let second = "11112222-2222-4222-8222-222222222222"
  private static let third = "33333333-3333-4333-8333-333333333333"

  private func send(
    _ text: String, id: String, to daemon: RunningDaemon, session: String = "review"
  ) async throws {
    let reply = try await daemon.request(
      "POST", "/v1/sessions/\(session)/queue", #"{"id":"\#(id)","text":"\#(text)"}"#)
    #expect(reply.status == 201, "\(reply.body)")
  }

  private func contents(_ daemon: RunningDaemon, session: String = "review") async throws
    -> [String]
  {
    try await daemon.request("GET", "/v1/sessions/\(session)/queue").decoded(QueueAnswer.self)
      .messages.map(\.content)
  }

  private func error(_ reply: RawReply) throws -> RefusalAnswer.Details {
    try reply.decoded(RefusalAnswer.self).error
  }

  @Test func queueHasTheContractsShape() async throws {
    try await RunningDaemon.run { daemon in
      let sent = try await daemon.request(
        "POST", "/v1/sessions/Review/queue", #"{"id":"\#(Self.first)","text":" a \"b\" / c "}"#)
      #expect(
        sent.body
          == #"{"count":1,"id":"\#(Self.first)","note":"not assigned to a device: cospool session host "#
          + #"review this","position":1,"session":"review","sessionName":"review","status":"queued"}"#
      )
      let list = try await daemon.request("GET", "/v1/sessions/review/queue")
      #expect(list.head.contains("content-type: application/json"))
      let time = try #require(
        try list.decoded(QueueAnswer.self).messages.first?.createdAt)
      let form = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/
      #expect(time.wholeMatch(of: form) != nil)
      #expect(
        list.body.replacing(time, with: "TIME")
          == #"{"messages":[{"content":"a \"b\" / c","createdAt":"TIME","device":"desk","#
          + #""id":"\#(Self.first)","position":1,"priority":"normal","status":"queued"}],"#
          + #""note":"not assigned to a device: cospool session host review this","#
          + #""pauseReasons":[],"paused":false,"session":"review","sessionName":"review"}"#)
      let threads = try await daemon.request("GET", "/v1/threads")
      #expect(
        threads.body.replacing(form, with: "TIME")
          == #"{"enabled":true,"threads":[{"lifted":"no host","locked":false,"#
          + #""position":1,"#
          + #""project":"","queuedAt":"TIME","session":"review","sessionName":"review"}]}"#)
    }
  }

  @Test func idsOfQueuedMessagesAreListed() async throws {
    try await RunningDaemon.run { daemon in
      #expect(try await daemon.request("GET", "/v1/messages").body == #"{"ids":[]}"#)
      try await send("a", id: Self.first, to: daemon, session: "review")
      try await send("b", id: Self.second, to: daemon, session: "docs")
      try await send("c", id: Self.third, to: daemon, session: "review")
      _ = try await daemon.request("POST", "/v1/messages/cancel", #"{"ids":["\#(Self.first)"]}"#)
      #expect(
        try await daemon.request("GET", "/v1/messages").body
          == #"{"ids":["\#(Self.second)","\#(Self.third)"]}"#)
    }
  }

  /// A receipt without the number of its change and without the messages that it names.
  private func plain(_ body: String) -> String {
    body.replacing(#/"change":\d+,/#, with: "").replacing(#/"messages":\[[^\]]*\],/#, with: "")
  }

  @Test func messagesMoveChangeAndComeBack() async throws {
    try await RunningDaemon.run { daemon in
      try await send("one", id: Self.first, to: daemon)
      try await send("two", id: Self.second, to: daemon)
      try await send("three", id: Self.third, to: daemon)
      let moved = try await daemon.request(
        "POST", "/v1/messages/move", #"{"ids":["3333"],"to":1}"#)
      #expect(plain(moved.body) == #"{"position":1,"result":"moved"}"#)
      #expect(try await contents(daemon) == ["three", "one", "two"])
      _ = try await daemon.request(
        "POST", "/v1/messages/move", #"{"ids":["3333"],"after":"1111-2222"}"#)
      _ = try await daemon.request(
        "PUT", "/v1/messages/\(Self.first)/content", #"{"content":"one, changed"}"#)
      _ = try await daemon.request(
        "PUT", "/v1/messages/\(Self.third)/priority", #"{"priority":"urgent"}"#)
      #expect(try await contents(daemon) == ["three", "one, changed", "two"])
      let cancelled = try await daemon.request(
        "POST", "/v1/messages/cancel", #"{"ids":["\#(Self.first)","\#(Self.second)"]}"#)
      #expect(
        plain(cancelled.body)
          == #"{"count":2,"outcomes":[{"id":"\#(Self.first)","outcome":"cancelled"},"#
          + #"{"id":"\#(Self.second)","outcome":"cancelled"}],"result":"affected"}"#)
      #expect(try await contents(daemon) == ["three"])
      let restored = try await daemon.request("POST", "/v1/messages/\(Self.first)/restore")
      #expect(plain(restored.body) == #"{"count":2,"position":2,"result":"queued"}"#)
      let cleared = try await daemon.request("DELETE", "/v1/sessions/review/queue")
      #expect(
        plain(cleared.body)
          == #"{"count":2,"outcomes":[{"id":"\#(Self.first)","outcome":"cancelled"},"#
          + #"{"id":"\#(Self.third)","outcome":"cancelled"}],"result":"affected"}"#)
      let message = try await daemon.request("GET", "/v1/messages/\(Self.first)")
        .decoded(MessageAnswer.self)
      #expect(message.status == .cancelled)
      #expect(message.session?.rawValue == "review")
      #expect(message.position == 0)
    }
  }

  @Test func sessionsAndThreadsHaveTheirRoutes() async throws {
    try await RunningDaemon.run { daemon in
      let added = try await daemon.request(
        "POST", "/v1/sessions", #"{"id":"docs","name":"Docs","project":"/src"}"#)
      #expect(plain(added.body) == #"{"result":"done"}"#)
      try await send("one", id: Self.first, to: daemon)
      try await send("two", id: Self.second, to: daemon, session: "docs")
      #expect(
        plain(try await daemon.request("POST", "/v1/threads/docs/move", #"{"to":1}"#).body)
          == #"{"position":1,"result":"moved"}"#)
      #expect(
        plain(try await daemon.request("DELETE", "/v1/threads/docs/lock").body)
          == #"{"result":"done"}"#)
      let threads = try await daemon.request("GET", "/v1/threads").decoded(ThreadsAnswer.self)
      #expect(threads.threads.map(\.session.rawValue) == ["docs", "review"])
      #expect(threads.threads.map(\.lifted) == [nil, "no host"])
      _ = try await daemon.request("PUT", "/v1/sessions/docs/pause", #"{"reason":"holiday"}"#)
      _ = try await daemon.request("PUT", "/v1/sessions/review/pause")
      let queue = try await daemon.request("GET", "/v1/sessions/docs/queue")
        .decoded(QueueAnswer.self)
      #expect(queue.paused)
      #expect(queue.pauseReasons == ["holiday"])
      _ = try await daemon.request("DELETE", "/v1/sessions/docs/pause")
      _ = try await daemon.request("PATCH", "/v1/sessions/docs", #"{"name":"Manual"}"#)
      let sessions = try await daemon.request("GET", "/v1/sessions").decoded(SessionsAnswer.self)
      #expect(sessions.sessions.map(\.name) == ["Manual", "review"])
      #expect(sessions.sessions.map(\.paused) == [false, true])
      #expect(
        plain(
          try await daemon.request("POST", "/v1/threads/remove", #"{"sessions":["docs"]}"#).body)
          == #"{"count":1,"result":"affected"}"#)
      #expect(
        plain(try await daemon.request("DELETE", "/v1/threads").body)
          == #"{"count":1,"result":"affected"}"#)
      _ = try await daemon.request("DELETE", "/v1/sessions/docs")
      #expect(
        try error(await daemon.request("GET", "/v1/sessions/docs/queue")).code
          == "sessionNotFound")
    }
  }

  @Test func sessionNamesTravelPercentEncoded() async throws {
    try await RunningDaemon.run { daemon in
      try await send("one", id: Self.first, to: daemon, session: "a%2Fb%20%C3%A9%25")
      let sessions = try await daemon.request("GET", "/v1/sessions").decoded(SessionsAnswer.self)
      #expect(sessions.sessions.map(\.id.rawValue) == ["a/b é%"])
      let wrong = try await daemon.request("GET", "/v1/sessions/%FF/queue")
      #expect(wrong.status == 400)
      #expect(try error(wrong).code == "badRequest")
    }
  }

  @Test func ambiguousPrefixListsTheCandidates() async throws {
    try await RunningDaemon.run { daemon in
      try await send("one", id: Self.first, to: daemon)
      try await send("two", id: Self.second, to: daemon)
      let reply = try await daemon.request("GET", "/v1/messages/1111")
      #expect(reply.status == 409)
      let details = try error(reply)
      #expect(details.code == "messageAmbiguous")
      #expect(details.candidates == [Self.first, Self.second])
      #expect(try await daemon.request("GET", "/v1/messages/11112").status == 200)
      #expect(try error(await daemon.request("GET", "/v1/messages/9")).code == "messageNotFound")
    }
  }

  @Test func refusalsHaveCodesStatusesAndExitCodes() async throws {
    try await RunningDaemon.run(queueSizeMax: 1) { daemon in
      try await send("one", id: Self.first, to: daemon)
      let cases: [(String, String, String?, Int, String, Int32)] = [
        ("POST", "/v1/sessions/review/queue", #"{"text":"two"}"#, 409, "queueFull", 1),
        ("POST", "/v1/sessions/review/queue", #"{"text":"  \n"}"#, 422, "blankText", 1),
        ("GET", "/v1/sessions/none/queue", nil, 404, "sessionNotFound", 1),
        (
          "POST", "/v1/sessions/review/queue", #"{"id":"\#(Self.first)","text":"other"}"#, 409,
          "messageIDTaken", 5
        ),
        (
          "POST", "/v1/sessions/review/queue", #"{"id":"7","text":"x"}"#, 422, "invalidMessageID",
          2
        ),
        ("GET", "/v1/sessions/%20/queue", nil, 422, "invalidSessionID", 2),
        ("POST", "/v1/messages/move", #"{"ids":["1111"],"to":0}"#, 422, "invalidPosition", 1),
        ("POST", "/v1/messages/move", #"{"ids":["1111"]}"#, 400, "badRequest", 2),
        ("POST", "/v1/messages/cancel", #"{"ids":[]}"#, 400, "badRequest", 2),
        (
          "PUT", "/v1/messages/1111/priority", #"{"priority":"high"}"#, 422, "invalidPriority", 2
        ),
        ("POST", "/v1/messages/1111/restore", nil, 409, "messageNotCancelled", 1),
        ("POST", "/v1/threads/none/move", #"{"to":1}"#, 404, "sessionNotFound", 1),
        ("POST", "/v1/sync/now", nil, 409, "notPaired", 1),
        ("POST", "/v1/sync/probe", nil, 409, "notPaired", 1),
        ("POST", "/v1/sync/wait", #"{"timeoutSeconds":1}"#, 409, "notPaired", 1),
        ("POST", "/v1/sync/wait", #"{"timeoutSeconds":-1}"#, 422, "invalidTimeout", 2),
        ("POST", "/v1/sync/wait", #"{"timeoutSeconds":1e300}"#, 422, "invalidTimeout", 2),
        ("POST", "/v1/pair", #"{"server":"ftp://x","code":"A"}"#, 422, "invalidServerURL", 2),
        ("POST", "/v1/pair", #"{"server":"ws://x.org","code":"A"}"#, 422, "notEncrypted", 2),
        ("GET", "/v1/nothing", nil, 404, "unknownRoute", 1),
        ("DELETE", "/v1/status", nil, 405, "methodNotAllowed", 1),
        ("GET", "/", nil, 404, "unknownRoute", 1),
      ]
      for (method, path, body, status, code, exitCode) in cases {
        let reply = try await daemon.request(method, path, body)
        #expect(reply.status == status, "\(method) \(path): \(reply.body)")
        let details = try error(reply)
        #expect(details.code == code, "\(method) \(path)")
        #expect(details.exitCode == exitCode, "\(method) \(path)")
        #expect(!details.message.isEmpty)
      }
      #expect(try await contents(daemon) == ["one"])
    }
  }

  @Test func wrongBodiesAreExplained() async throws {
    try await RunningDaemon.run { daemon in
      let cases: [(String?, String)] = [
        (nil, "needs a JSON body"), ("{", "line 1, column 2"), ("\u{0}", "line 1, column 1"),
        ("{}", "field text is missing"),
        (#"{"text":7}"#, "field text (line 1, column 9) has the wrong type"),
        ("[]", "must be a JSON object"),
        (String(repeating: "[", count: 100_000), "is invalid JSON"),
      ]
      for (body, part) in cases {
        let reply = try await daemon.request("POST", "/v1/sessions/review/queue", body)
        #expect(reply.status == 400, "\(body?.prefix(20) ?? "")")
        #expect(try error(reply).message.contains(part), "\(reply.body)")
      }
      let broken = try await daemon.send(
        RawReply.request("POST", "/v1/sessions/review/queue", body: [0x7B, 0xFF, 0xFE]))
      #expect(broken.status == 400)
    }
  }

  @Test func bodyLimitIsClear() async throws {
    try await RunningDaemon.run { daemon in
      let limit = Route.attachmentBodyBytesMax
      let path = "/v1/sessions/review/queue"
      let tooLarge = try await daemon.send(
        RawReply.request("POST", path, body: [UInt8](repeating: 0x20, count: limit + 1)))
      #expect(tooLarge.status == 413)
      #expect(try error(tooLarge).code == "bodyTooLarge")
      let atLimit = try await daemon.send(
        RawReply.request("POST", path, body: [UInt8](repeating: 0x20, count: limit)))
      #expect(atLimit.status == 400)
      #expect(try error(atLimit).code == "malformedJSON")
    }
  }

  @Test func bodyLimitLeavesRoomForTheLargestMessageEscaped() async throws {
    try await RunningDaemon.run { daemon in
      // Every byte takes six in JSON; the message is one byte too long, but the body is not.
      let text = String(repeating: #"\u0001"#, count: Limits.contentBytesMax - 1)
      let reply = try await daemon.request(
        "POST", "/v1/sessions/review/queue", #"{"text":"xy\#(text)"}"#)
      #expect(reply.status == 413)
      #expect(try error(reply).code == "contentTooLong")
    }
  }

  @Test func sendingAnIDAgainChangesNothing() async throws {
    try await RunningDaemon.run { daemon in
      try await send("one", id: Self.first, to: daemon)
      try await send("one", id: Self.first, to: daemon)
      #expect(try await contents(daemon) == ["one"])
    }
  }

  @Test func warningComesFromFourFifthsOfTheCap() async throws {
    try await RunningDaemon.run(queueSizeMax: 5) { daemon in
      var warnings: [String?] = []
      for number in 1...5 {
        let reply = try await daemon.request(
          "POST", "/v1/sessions/review/queue", #"{"text":"\#(number)"}"#)
        warnings.append(try reply.decoded(SentAnswer.self).warning)
      }
      #expect(
        warnings == [
          nil, nil, nil, "The queue of review is nearly full (4/5).",
          "The queue of review is full (5/5).",
        ])
    }
  }

  @Test func threadQueueThatIsOffShowsAndAddsNothing() async throws {
    try await RunningDaemon.run(threadQueue: false) { daemon in
      try await send("one", id: Self.first, to: daemon)
      #expect(
        try await daemon.request("GET", "/v1/threads").body == #"{"enabled":false,"threads":[]}"#)
      let status = try await daemon.request("GET", "/v1/status").decoded(StatusAnswer.self)
      #expect(status.queues.threads == 0)
      #expect(status.queues.messages == 1)
      #expect(!status.daemon.threadQueue)
    }
  }

  @Test func dumpIsCanonicalAndComplete() async throws {
    try await RunningDaemon.run { daemon in
      try await send("a/b", id: Self.first, to: daemon)
      let dump = try await daemon.request("GET", "/v1/dump")
      let decoded = try dump.decoded(WorkspaceDump.self)
      #expect(decoded.sessions.first?.messages.first?.content == "a/b")
      #expect(String(decoding: try CanonicalJSON.data(decoded), as: UTF8.self) == dump.body)
      #expect(dump.body.contains("a/b"))
    }
  }

  @Test(arguments: ["import", "import/check"])
  func taskOfAnImportIsWhateverItIs(_ route: String) async throws {
    try await RunningDaemon.run { daemon in
      let reply = try await daemon.request(
        "POST", "/v1/\(route)",
        #"""
        {"format": "cospool-workspace", "version": 1, "threads": [], "sessions": [{"id": "s",
         "pauses": [], "locked": false, "messages": [], "cancelled": [], "task": {"status": 7}}]}
        """#)
      #expect(reply.status == 200, "\(reply.body)")
    }
  }

  @Test func syncIsSwitchedOffAndOn() async throws {
    try await RunningDaemon.run { daemon in
      #expect(try await daemon.request("PUT", "/v1/sync", #"{"enabled":false}"#).status == 200)
      #expect(try await daemon.request("PUT", "/v1/sync", #"{"enabled":true}"#).status == 200)
      let status = try await daemon.request("GET", "/v1/status").decoded(StatusAnswer.self)
      #expect(status.sync.state == .notPaired)
      #expect(status.sync.deviceName == "desk")
    }
  }
}
