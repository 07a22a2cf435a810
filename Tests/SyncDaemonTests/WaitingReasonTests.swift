import LocalAPI
import QueueModel
import SyncClient
import Testing

@testable import SyncDaemon

/// A blocked queue shows the reason and the remedy: in the list, in the overview and for programs.
@Suite(.timeLimit(.minutes(10))) struct WaitingReasonTests {
  private static let id = "11111111-1111-4111-8111-111111111111"

  private struct Reasons {
    var note: String?
    var standing: SessionAnswer.Standing?
    var reason: String?
  }

  private func reasons(_ daemon: RunningDaemon) async throws -> Reasons {
    let queue = try await daemon.request("GET", "/v1/sessions/s/queue").decoded(QueueAnswer.self)
    let overview = try await daemon.request("GET", "/v1/overview").decoded(OverviewAnswer.self)
    let execution = try await daemon.request("GET", "/v1/execution").decoded(ExecutionAnswer.self)
    let session = overview.sessions.first
    #expect(session?.standing == .working || session?.note == queue.note)
    #expect(execution.waiting.first.map { $0.note == queue.note } ?? true)
    return Reasons(
      note: queue.note, standing: session?.standing,
      reason: execution.waiting.first?.reason)
  }

  private func set(_ name: String, _ value: String, on daemon: RunningDaemon) async throws {
    let reply = try await daemon.request(
      "PUT", "/v1/settings/\(name)", #"{"value":"\#(value)"}"#)
    #expect(reply.status == 200, "\(reply.body)")
  }

  @Test func aQueueSaysWhyItWaits() async throws {
    try await RunningDaemon.run { daemon in
      _ = try await daemon.request(
        "POST", "/v1/sessions/s/queue", #"{"id":"\#(Self.id)","text":"look"}"#)
      var found = try await reasons(daemon)
      #expect(found.standing == .unhosted && found.reason == nil)
      _ = try await daemon.request("PUT", "/v1/sessions/s/host", #"{"device":"this"}"#)
      found = try await reasons(daemon)
      #expect(found.standing == .agentless && found.reason == "noAgent")
      #expect(found.note == "no agent set up: cospool session agent s claude")
      // An agent that is a command has none either if no command is set.
      try await set("agent", "acp", on: daemon)
      found = try await reasons(daemon)
      #expect(found.standing == .agentless && found.reason == "noAgent")
      #expect(
        found.note == #"no command is set for its agent: cospool config set command "gemini --acp""#
      )
      // A user's own agent gets messages when it asks.
      try await set("agent", "hooks", on: daemon)
      found = try await reasons(daemon)
      #expect(found.standing == .waiting && found.reason == "agentNotAsking")
      _ = try await daemon.request("POST", "/v1/sessions/s/signals", #"{"type":"turn_start"}"#)
      found = try await reasons(daemon)
      #expect(found.reason == "agentBusy")
      _ = try await daemon.request("POST", "/v1/sessions/s/signals", #"{"type":"result"}"#)
      // Another device's choice is not this device's consent.
      _ = try await daemon.request("PUT", "/v1/messages/\(Self.id)/hold", #"{"seconds":600}"#)
      try await set("command", "cat", on: daemon)
      try await set("agent", "command", on: daemon)
      found = try await reasons(daemon)
      #expect(found.reason == "notBefore", "\(found)")
      #expect(found.note?.contains("on hold while it is edited") == true, "\(found)")
    }
  }

  /// A device that is not the host reports what it knows about the next message.
  @Test func anotherHostsHoldIsNamed() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let api = try await RunningDaemon.api(directory: directory)
    let session = try SessionID("s")
    let id = MessageID(high: 1, low: 1)
    func note(after command: Command) async throws -> String? {
      _ = try await api.client.perform(command)
      return try await api.shownQueue(session).note
    }
    let message = Command.Send(session: session, id: id, text: "look")
    #expect(try await note(after: .send(message))?.contains("session host s this") == true)
    #expect(try await note(after: .setHost(session, DeviceID(high: 9, low: 9))) == nil)
    let soon = api.client.time + 600_000
    let held = try await note(after: .hold(id, until: soon))
    #expect(held == "00000000 is on hold while it is edited")
    #expect(try await note(after: .hold(id, until: nil)) == nil)
    let later = try await note(after: .setLater(id, soon))
    #expect(later?.hasSuffix("To start it now: cospool queue start 00000000") == true)
    await api.client.close()
  }

  /// A message for later shows its time; the messages behind it start.
  @Test func laterMessagesShowTheirTime() async throws {
    try await RunningDaemon.run { daemon in
      try await set("command", "cat", on: daemon)
      try await set("agent", "command", on: daemon)
      let refused = try await daemon.request(
        "POST", "/v1/sessions/s/queue", #"{"text":"look","later":"2020-01-01T00:00:00Z"}"#)
      #expect(refused.status == 422 && refused.body.contains("timePassed"), "\(refused.body)")
      let unread = try await daemon.request(
        "POST", "/v1/sessions/s/queue", #"{"text":"look","later":"tonight"}"#)
      #expect(unread.status == 422 && unread.body.contains("invalidTime"), "\(unread.body)")
      _ = try await daemon.request(
        "POST", "/v1/sessions/s/queue",
        #"{"id":"\#(Self.id)","text":"look","later":"2100-01-01T00:00:00Z"}"#)
      _ = try await daemon.request("PUT", "/v1/sessions/s/host", #"{"device":"this"}"#)
      var found = try await reasons(daemon)
      #expect(found.standing == .waiting && found.reason == "notBefore", "\(found)")
      #expect(found.note?.contains("waits until 2100-01-01") == true, "\(found)")
      #expect(
        found.note?.hasSuffix("To start it now: cospool queue start 11111111") == true, "\(found)")

      _ = try await daemon.request("POST", "/v1/sessions/s/queue", #"{"text":"goes first"}"#)
      let deadline = ContinuousClock.now + .seconds(60)
      while try await daemon.request("GET", "/v1/sessions/s/queue").decoded(QueueAnswer.self)
        .messages.count != 1, .now < deadline
      {
        try await Task.sleep(for: .milliseconds(20))
      }
      let left = try await daemon.request("GET", "/v1/messages/\(Self.id)")
        .decoded(MessageAnswer.self)
      #expect(
        left.status == .queued && left.attempts == nil && left.later == "2100-01-01T00:00:00.000Z")
      _ = try await daemon.request(
        "PUT", "/v1/messages/\(Self.id)/later", #"{"later":"2100-01-02T00:00:00Z"}"#)
      found = try await reasons(daemon)
      #expect(found.note?.contains("waits until 2100-01-02") == true, "\(found)")

      _ = try await daemon.request("POST", "/v1/messages/\(Self.id)/start")
      while try await daemon.request("GET", "/v1/messages/\(Self.id)")
        .decoded(MessageAnswer.self).status != .succeeded, .now < deadline
      {
        try await Task.sleep(for: .milliseconds(20))
      }
      #expect(
        try await daemon.request("GET", "/v1/messages/\(Self.id)").decoded(MessageAnswer.self)
          .status
          == .succeeded)
    }
  }

  /// A message that waits for others says for what; the messages behind it start, and it does when they have
  /// succeeded.
  @Test func whatWaitsForOthersSaysForWhat() async throws {
    try await RunningDaemon.run { daemon in
      try await set("command", "cat", on: daemon)
      try await set("agent", "command", on: daemon)
      let need = "22222222-2222-4222-8222-222222222222"
      _ = try await daemon.request(
        "POST", "/v1/sessions/tests/queue", #"{"id":"\#(need)","text":"Build it"}"#)
      let unknown = try await daemon.request(
        "POST", "/v1/sessions/s/queue", #"{"text":"look","needs":["33333333"]}"#)
      #expect(unknown.status == 404, "\(unknown.body)")
      _ = try await daemon.request(
        "POST", "/v1/sessions/s/queue",
        #"{"id":"\#(Self.id)","text":"look","needs":["2222"]}"#)
      let itself = try await daemon.request(
        "PUT", "/v1/messages/\(Self.id)/needs", #"{"needs":["\#(Self.id)"]}"#)
      #expect(itself.status == 422 && itself.body.contains("needsEachOther"), "\(itself.body)")
      _ = try await daemon.request("PUT", "/v1/sessions/s/host", #"{"device":"this"}"#)
      let found = try await reasons(daemon)
      #expect(found.standing == .waiting && found.reason == "needs", "\(found)")
      #expect(
        found.note
          == "11111111 waits for “Build it” in tests. To start it now: cospool queue start 11111111",
        "\(found)")
      let queue = try await daemon.request("GET", "/v1/sessions/s/queue").decoded(QueueAnswer.self)
      #expect(queue.messages.map(\.waitsFor) == ["waits for “Build it” in tests"])
      _ = try await daemon.request("POST", "/v1/sessions/s/queue", #"{"text":"goes first"}"#)
      func wait(until isDone: (MessageAnswer) -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while try await !isDone(
          daemon.request("GET", "/v1/messages/\(Self.id)").decoded(MessageAnswer.self)),
          .now < deadline
        {
          try await Task.sleep(for: .milliseconds(20))
        }
        #expect(.now < deadline)
      }
      try await wait { $0.position == 1 }
      _ = try await daemon.request("PUT", "/v1/sessions/tests/host", #"{"device":"this"}"#)
      try await wait { $0.status == .succeeded }
    }
  }

  /// The agent's limit holds until then, but a user starts it earlier.
  @Test func messagesThatWaitForALimitShowItsTime() async throws {
    try await RunningDaemon.run { daemon in
      try await set("command", "sh -c 'exit 75'", on: daemon)
      try await set("agent", "command", on: daemon)
      _ = try await daemon.request(
        "POST", "/v1/sessions/s/queue", #"{"id":"\#(Self.id)","text":"look"}"#)
      _ = try await daemon.request("PUT", "/v1/sessions/s/host", #"{"device":"this"}"#)
      let deadline = ContinuousClock.now + .seconds(60)
      // The reasons agree with each other once the attempt has ended.
      while try await daemon.request("GET", "/v1/execution").decoded(ExecutionAnswer.self)
        .waiting.first?.reason != "notBefore", .now < deadline
      {
        try await Task.sleep(for: .milliseconds(20))
      }
      let note = try #require(try await reasons(daemon).note)
      #expect(note.hasPrefix("11111111 waits until 20"), "\(note)")
      #expect(note.contains("asked for another try later"), "\(note)")
      #expect(note.hasSuffix("To start it now: cospool queue start 11111111"), "\(note)")

      let reply = try await daemon.request("POST", "/v1/messages/\(Self.id)/start")
      #expect(reply.status == 200, "\(reply.body)")
      // It is tried again at once.
      while try await daemon.request("GET", "/v1/messages/\(Self.id)")
        .decoded(MessageAnswer.self).attempts != 2, .now < deadline
      {
        try await Task.sleep(for: .milliseconds(20))
      }
      #expect(.now < deadline)
    }
  }
}
