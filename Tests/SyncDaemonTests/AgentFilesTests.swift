import Foundation
import LocalAPI
import QueueModel
import SyncClient
import Testing

@testable import SyncDaemon

/// The files of messages on their way to agents, and the local API's other data about turns.
@Suite(.timeLimit(.minutes(10))) struct AgentFilesTests {
  private static let id = "11111111-1111-4111-8111-111111111111"

  private func send(
    _ files: [AttachmentRequest], to daemon: RunningDaemon, session: String = "s"
  ) async throws -> RawReply {
    let body = SendRequest(text: "look", id: Self.id, attachments: files)
    return try await daemon.request(
      "POST", "/v1/sessions/\(session)/queue",
      String(decoding: try JSONEncoder().encode(body), as: UTF8.self))
  }

  /// Makes the device the host of session `s`, which runs a command.
  private func serve(_ command: String, on daemon: RunningDaemon) async throws {
    _ = try await daemon.request("POST", "/v1/sessions", #"{"id":"s"}"#)
    for (name, value) in [("command", command), ("agent", "command")] {
      let body = String(
        decoding: try JSONEncoder().encode(["value": value]), as: UTF8.self)
      let set = try await daemon.request("PUT", "/v1/settings/\(name)", body)
      #expect(set.status == 200, "\(set.body)")
    }
    let host = try await daemon.request("PUT", "/v1/sessions/s/host", #"{"device":"this"}"#)
    #expect(host.status == 200, "\(host.body)")
  }

  private func message(
    _ status: MessageStatus, on daemon: RunningDaemon
  ) async throws -> MessageAnswer {
    while true {
      let message = try await daemon.request("GET", "/v1/messages/\(Self.id)")
        .decoded(MessageAnswer.self)
      if message.status == status { return message }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  private func contents(of folder: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
  }

  @Test func theAgentFindsTheFilesOfItsMessage() async throws {
    try await RunningDaemon.run { daemon in
      let sent = try await send(
        [
          AttachmentRequest(data: Data("first\n".utf8).base64EncodedString(), name: "notes 1.txt"),
          AttachmentRequest(data: Data("second\n".utf8).base64EncodedString(), name: "notes 2.txt"),
        ], to: daemon)
      #expect(sent.status == 201, "\(sent.body)")
      try await serve(
        #"sh -c 'cat "$COSPOOL_FILES"/*; stat -c %a "$COSPOOL_FILES" "$COSPOOL_FILES"/*; cat'"#,
        on: daemon)
      _ = try await message(.succeeded, on: daemon)
      let output = try await daemon.request("GET", "/v1/messages/\(Self.id)/output")
        .decoded(OutputAnswer.self)
      // A command's prompt is unchanged.
      #expect(output.text == "first\nsecond\n700\n600\n600\nlook")
      #expect(contents(of: daemon.directory + "/turns") == [])
    }
  }

  /// The agent would answer without having seen the file.
  @Test func withoutAFileNothingStarts() async throws {
    try await RunningDaemon.run { daemon in
      let sent = try await send(
        [AttachmentRequest(data: Data("gone".utf8).base64EncodedString(), name: "notes.txt")],
        to: daemon)
      #expect(sent.status == 201, "\(sent.body)")
      for file in contents(of: daemon.directory + "/attachments") {
        try FileManager.default.removeItem(atPath: "\(daemon.directory)/attachments/\(file)")
      }
      try await serve("touch \(daemon.directory)/started", on: daemon)
      let failed = try await message(.failed, on: daemon)
      #expect(failed.lastError?.contains("the file notes.txt cannot be fetched") == true)
      #expect(!FileManager.default.fileExists(atPath: daemon.directory + "/started"))
      #expect(contents(of: daemon.directory + "/turns") == [])
    }
  }

  /// `attachments[].data` is described as for one file, which may have 10 MiB.
  @Test func aLargeFileComesWithItsMessage() async throws {
    try await RunningDaemon.run { daemon in
      let sent = try await send(
        [AttachmentRequest(data: Data(count: 9 << 20).base64EncodedString(), name: "large.bin")],
        to: daemon)
      #expect(sent.status == 201, "\(sent.body.prefix(200))")
    }
  }

  @Test func refusedPromptsLeaveNoFileBehind() async throws {
    try await RunningDaemon.run(queueSizeMax: 1) { daemon in
      let first = try await daemon.request("POST", "/v1/sessions/s/queue", #"{"text":"one"}"#)
      let file = AttachmentRequest(data: Data("file".utf8).base64EncodedString(), name: "file.txt")
      let full = try await send([file], to: daemon)
      #expect(full.status == 409, "\(full.body)")
      #expect(contents(of: daemon.directory + "/attachments") == [])
      let id = try first.decoded(SentAnswer.self).id
      _ = try await daemon.request("POST", "/v1/messages/cancel", #"{"ids":["\#(id)"]}"#)
      let late = try await daemon.request(
        "POST", "/v1/messages/\(id)/attachments",
        String(decoding: try JSONEncoder().encode(file), as: UTF8.self))
      #expect(late.status == 409, "\(late.body)")
      #expect(contents(of: daemon.directory + "/attachments") == [])
      #expect(try await send([file], to: daemon).status == 201)
      #expect(contents(of: daemon.directory + "/attachments").count == 1)
    }
  }

  @Test func aSendWithAnInvalidFileLeavesNoFileBehind() async throws {
    try await RunningDaemon.run { daemon in
      let file = AttachmentRequest(data: Data("file".utf8).base64EncodedString(), name: "file.txt")
      let wrong = [
        AttachmentRequest(path: daemon.directory + "/missing"),
        AttachmentRequest(path: daemon.directory), AttachmentRequest(path: "missing"),
        AttachmentRequest(data: Data("more".utf8).base64EncodedString()),
        AttachmentRequest(data: Data().base64EncodedString(), name: "empty"),
        AttachmentRequest(data: Data("more".utf8).base64EncodedString(), name: "a/b"),
        AttachmentRequest(
          data: Data("more".utf8).base64EncodedString(), name: "a", mediaType: "none"),
        AttachmentRequest(
          data: Data("more".utf8).base64EncodedString(), path: "/dev/null", name: "a"),
      ]
      for second in wrong {
        let sent = try await send([file, second], to: daemon)
        #expect([400, 403, 422].contains(sent.status), "\(second): \(sent.status) \(sent.body)")
        #expect(contents(of: daemon.directory + "/attachments") == [])
      }
    }
  }

  /// Its user stopped it: no error is shown.
  @Test func anAgentThatWasStoppedDidNotFail() async throws {
    try await RunningDaemon.run { daemon in
      #expect(try await send([], to: daemon).status == 201)
      try await serve("sleep 1000", on: daemon)
      _ = try await message(.running, on: daemon)
      var stopped = false
      var named: String?
      while !stopped {
        let reply = try await daemon.request("POST", "/v1/sessions/s/stop").decoded(StopAnswer.self)
        stopped = reply.stopped
        named = reply.message?.text
      }
      #expect(named == "look")
      _ = try await message(.cancelled, on: daemon)
      let activity = try await daemon.request("GET", "/v1/sessions/s/activity")
        .decoded(ActivityAnswer.self)
      #expect(activity.currentError == nil)
      #expect(!activity.isProcessing)
    }
  }

  /// Its agent got the files at its start.
  @Test func aRunningMessageTakesNoFile() async throws {
    try await RunningDaemon.run { daemon in
      #expect(try await send([], to: daemon).status == 201)
      try await serve("sleep 1000", on: daemon)
      _ = try await message(.running, on: daemon)
      let file = #"{"name":"late","data":"bGF0ZQ=="}"#
      let refused = try await daemon.request(
        "POST", "/v1/messages/\(Self.id)/attachments", file)
      #expect(refused.status == 409 && refused.body.contains("alreadyStarted"), "\(refused)")
      #expect(refused.body.contains("To stop it: cospool queue stop -s s\""), "\(refused)")
      _ = try await daemon.request("POST", "/v1/sessions/s/stop")
      _ = try await message(.cancelled, on: daemon)
    }
  }

  // I-39: a text that comes too late is kept, and the answer says where.
  @Test func aTextThatComesTooLateIsKeptAsTheDraft() async throws {
    try await RunningDaemon.run { daemon in
      #expect(try await send([], to: daemon).status == 201)
      try await serve("sleep 1000", on: daemon)
      _ = try await message(.running, on: daemon)
      let refused = try await daemon.request(
        "PUT", "/v1/messages/\(Self.id)/content", #"{"content":"what was meant"}"#)
      #expect(refused.status == 409, "\(refused)")
      for part in [
        "To stop it: cospool queue stop -s s\\n",
        "Your text is kept as the draft of s: cospool draft show -s s",
      ] { #expect(refused.body.contains(part), "\(refused)") }
      let draft = try await daemon.request("GET", "/v1/sessions/s/draft")
      #expect(draft.body.contains("what was meant"), "\(draft)")
      _ = try await daemon.request("POST", "/v1/sessions/s/stop")
      _ = try await message(.cancelled, on: daemon)
    }
  }

  // I-147: a stop that names a message stops its turn or nothing.
  @Test func aStopIsForTheTurnThatItsUserSaw() async throws {
    try await RunningDaemon.run { daemon in
      #expect(try await send([], to: daemon).status == 201)
      try await serve("sleep 1000", on: daemon)
      let running = try await message(.running, on: daemon)
      let other = #"{"message":"00000000-0000-4000-8000-000000000000"}"#
      let missed = try await daemon.request("POST", "/v1/sessions/s/stop", other)
      #expect(try missed.decoded(StopAnswer.self) == StopAnswer(stopped: false), "\(missed)")
      let taken = try await daemon.request(
        "POST", "/v1/sessions/s/take-over",
        #"{"device":"this","message":"00000000-0000-4000-8000-000000000000"}"#)
      #expect(taken.status == 409 && taken.body.contains("notAtWork"), "\(taken)")
      #expect(try await message(.running, on: daemon).id == running.id)
      let meant = try await daemon.request(
        "POST", "/v1/sessions/s/stop", #"{"message":"\#(running.id)"}"#)
      #expect(try meant.decoded(StopAnswer.self).message?.id == running.id, "\(meant)")
      _ = try await message(.cancelled, on: daemon)
    }
  }

  /// After a failed message, no further prompt can arrive, so the hook that asks need not wait.
  @Test func aBlockedQueueKeepsNoHookWaiting() async throws {
    try await RunningDaemon.run { daemon in
      try await serve("unused", on: daemon)
      let set = try await daemon.request("PUT", "/v1/settings/agent", #"{"value":"hooks"}"#)
      #expect(set.status == 200, "\(set.body)")
      #expect(try await send([], to: daemon).status == 201)
      _ = try await daemon.request("POST", "/v1/sessions/s/queue", #"{"text":"behind"}"#)
      let ended = #"{"type":"turn_end","waitSeconds":30}"#
      let given = try await daemon.request("POST", "/v1/sessions/s/feed", ended)
        .decoded(FeedAnswer.self)
      #expect(given.text == "look")
      // Its user types another prompt before it has finished: it failed.
      _ = try await daemon.request("POST", "/v1/sessions/s/feed", #"{"type":"prompt"}"#)
      _ = try await message(.failed, on: daemon)
      let clock = ContinuousClock()
      var answer: FeedAnswer?
      let time = try await clock.measure {
        answer = try await daemon.request("POST", "/v1/sessions/s/feed", ended)
          .decoded(FeedAnswer.self)
      }
      #expect(answer == FeedAnswer())
      #expect(time < .seconds(25))
    }
  }
}
