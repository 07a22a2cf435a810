import LocalAPI
import QueueModel
import SyncClient
import Testing

@testable import SyncDaemon

/// A message whose text was merged waits for a check: this is shown everywhere, and a choice lets
/// it start.
@Suite(.timeLimit(.minutes(10))) struct MergedMessageTests {
  private static let id = "11111111-1111-4111-8111-111111111111"

  private func message(_ daemon: RunningDaemon) async throws -> MessageAnswer {
    try await daemon.request("GET", "/v1/messages/1111").decoded(MessageAnswer.self)
  }

  private func edit(_ text: String, _ base: String?, on daemon: RunningDaemon) async throws {
    let field = base.map { #","base":"\#($0)""# } ?? ""
    let reply = try await daemon.request(
      "PUT", "/v1/messages/1111/content", #"{"content":"\#(text)"\#(field)}"#)
    #expect(reply.status == 200, "\(reply.body)")
  }

  private func resolve(
    _ take: String, _ base: String? = nil, on daemon: RunningDaemon
  ) async throws -> RawReply {
    let field = base.map { #","base":"\#($0)""# } ?? ""
    return try await daemon.request(
      "POST", "/v1/messages/1111/resolve", #"{"take":"\#(take)"\#(field)}"#)
  }

  /// Two editors that were open at the same time save.
  private func merge(_ first: String, _ second: String, on daemon: RunningDaemon) async throws {
    let sent = try await daemon.request(
      "POST", "/v1/sessions/s/queue", #"{"id":"\#(Self.id)","text":"Use a file for the store"}"#)
    #expect(sent.status == 201, "\(sent.body)")
    let base = try await message(daemon).base
    try await edit(first, base, on: daemon)
    try await edit(second, base, on: daemon)
  }

  @Test func aMergedMessageIsShownAndWaits() async throws {
    try await RunningDaemon.run { daemon in
      try await merge("Use SQLite for the store", "Use MySQL for the store", on: daemon)
      let shown = try await message(daemon)
      #expect(shown.merged == true && shown.status == .queued)
      #expect(
        shown.editions?.map(\.text) == ["Use SQLite for the store", "Use MySQL for the store"])
      #expect(shown.editions?.map(\.device) == ["desk", "desk"])
      #expect(shown.editions?.map(\.bytes) == [24, 23])
      let list = try await daemon.request("GET", "/v1/sessions/s/queue").decoded(QueueAnswer.self)
      #expect(list.messages.first?.merged == true && list.messages.first?.editions?.count == 2)
      for (name, value) in [("command", "cat"), ("agent", "command")] {
        let reply = try await daemon.request(
          "PUT", "/v1/settings/\(name)", #"{"value":"\#(value)"}"#)
        #expect(reply.status == 200, "\(reply.body)")
      }
      _ = try await daemon.request("PUT", "/v1/sessions/s/host", #"{"device":"this"}"#)
      let execution = try await daemon.request("GET", "/v1/execution").decoded(ExecutionAnswer.self)
      #expect(execution.waiting.first?.reason == "merged", "\(execution)")
      let queue = try await daemon.request("GET", "/v1/sessions/s/queue").decoded(QueueAnswer.self)
      #expect(queue.note?.contains("cospool queue show 11111111") == true, "\(queue)")
      #expect(try await message(daemon).status == .queued)
    }
  }

  /// Lists of sessions show it, and its thread is visible, since nothing can start.
  @Test func itsSessionAndItsThreadSaySo() async throws {
    try await RunningDaemon.run { daemon in
      try await merge("Use SQLite for the store", "Use MySQL for the store", on: daemon)
      var session = try await daemon.request("GET", "/v1/overview").decoded(OverviewAnswer.self)
        .sessions.first
      #expect(session?.merged == 1 && session?.standing == .unhosted, "\(session as Any)")
      var threads = try await daemon.request("GET", "/v1/threads").decoded(ThreadsAnswer.self)
      #expect(threads.threads.map(\.merged) == [1] && threads.threads.map(\.lifted) == ["no host"])
      for (name, value) in [("command", "cat"), ("agent", "command")] {
        _ = try await daemon.request("PUT", "/v1/settings/\(name)", #"{"value":"\#(value)"}"#)
      }
      _ = try await daemon.request("PUT", "/v1/sessions/s/host", #"{"device":"this"}"#)
      session = try await daemon.request("GET", "/v1/overview").decoded(OverviewAnswer.self)
        .sessions.first
      #expect(session?.merged == 1 && session?.standing == .merged, "\(session as Any)")
      #expect(session?.note?.contains("cospool queue show 11111111") == true)
      threads = try await daemon.request("GET", "/v1/threads").decoded(ThreadsAnswer.self)
      #expect(threads.threads.map(\.lifted) == ["merged: needs you"], "\(threads)")
      // A session that a user paused is shown as paused, and also that a message waits for a check.
      _ = try await daemon.request("PUT", "/v1/sessions/s/pause")
      session = try await daemon.request("GET", "/v1/overview").decoded(OverviewAnswer.self)
        .sessions.first
      #expect(session?.merged == 1 && session?.standing == .paused, "\(session as Any)")
      threads = try await daemon.request("GET", "/v1/threads").decoded(ThreadsAnswer.self)
      #expect(threads.threads.map(\.merged) == [1] && threads.threads.map(\.lifted) == ["paused"])
      // A message that was checked is no longer marked, also in a paused session.
      #expect(try await resolve("1", on: daemon).status == 200)
      session = try await daemon.request("GET", "/v1/overview").decoded(OverviewAnswer.self)
        .sessions.first
      #expect(session?.merged == nil && session?.standing == .paused, "\(session as Any)")
      threads = try await daemon.request("GET", "/v1/threads").decoded(ThreadsAnswer.self)
      #expect(threads.threads.map(\.merged) == [nil] && threads.threads.map(\.lifted) == [nil])
    }
  }

  /// Merged messages that run do not wait.
  @Test func messagesThatRunMergedDoNotWait() async throws {
    try await RunningDaemon.run { daemon in
      try await merge("Use SQLite for the store", "Use MySQL for the store", on: daemon)
      for (name, value) in [("command", "cat"), ("agent", "command")] {
        _ = try await daemon.request("PUT", "/v1/settings/\(name)", #"{"value":"\#(value)"}"#)
      }
      _ = try await daemon.request("PUT", "/v1/sessions/s/pause")
      _ = try await daemon.request("PUT", "/v1/sessions/s/host", #"{"device":"this"}"#)
      let set = try await daemon.request("PUT", "/v1/sessions/s/on-merge", #"{"onMerge":"run"}"#)
      #expect(set.status == 200, "\(set.body)")
      let threads = try await daemon.request("GET", "/v1/threads").decoded(ThreadsAnswer.self)
      #expect(threads.threads.map(\.lifted) == [nil], "\(threads)")
    }
  }

  /// Its user gets one notification, also without a server, until a text is chosen.
  @Test func itsUserIsNotifiedUntilAUserChooses() async throws {
    try await RunningDaemon.run { daemon in
      func notices() async throws -> [NotificationAnswer] {
        try await daemon.request("GET", "/v1/notifications").decoded(NotificationsAnswer.self)
          .notifications
      }
      try await merge("Use SQLite for the store", "Use MySQL for the store", on: daemon)
      let notice = try #require(await notices().first)
      #expect(notice.category == "MESSAGE_MERGED" && notice.message?.description == Self.id)
      #expect(notice.request == nil && notice.title == "Message Merged")
      // Dismissing a notification that asks nothing leaves it in place.
      _ = try await daemon.request("POST", "/v1/notifications/dismiss")
      #expect(try await notices().count == 1)
      #expect(try await resolve("1", on: daemon).status == 200)
      #expect(try await notices().isEmpty)
    }
  }

  @Test(arguments: ["1", "2", "merged"]) func aChoiceSettlesIt(take: String) async throws {
    try await RunningDaemon.run { daemon in
      let texts = ["Use SQLite for the store", "Use MySQL for the store"]
      try await merge(texts[0], texts[1], on: daemon)
      let merged = try await message(daemon).content
      let wanted = try take == "merged" ? merged : texts[#require(Int(take)) - 1]
      let reply = try await resolve(take, on: daemon)
      #expect(reply.status == 200, "\(reply.body)")
      let shown = try await message(daemon)
      #expect(shown.content == wanted && shown.merged == nil && shown.editions == nil)
      let again = try await resolve(take, on: daemon)
      #expect(again.status == 409 && again.body.contains("messageNotMerged"), "\(again.body)")
      // The choice is undone like an edit.
      _ = try await daemon.request("POST", "/v1/undo")
      #expect(try await message(daemon).editions?.map(\.text) == texts)
    }
  }

  @Test func anUnavailableVersionSaysWhy() async throws {
    try await RunningDaemon.run { daemon in
      let long = String(repeating: "word ", count: 14_000)
      try await merge("Use SQLite for the store", long + "for the store", on: daemon)
      let shown = try await message(daemon)
      #expect(shown.editions?.map(\.text) == ["Use SQLite for the store", nil])
      for (take, status, code) in [
        ("3", 422, "versionNotFound"), ("2", 422, "versionTooLong"), ("0", 400, "badRequest"),
        ("both", 400, "badRequest"),
      ] {
        let reply = try await resolve(take, on: daemon)
        #expect(reply.status == status && reply.body.contains(code), "\(take): \(reply.body)")
      }
      #expect(try await message(daemon).merged == true)
    }
  }

  /// A choice based on the checked state leaves a version that arrived later.
  @Test func aLaterVersionGoesOnWaiting() async throws {
    try await RunningDaemon.run { daemon in
      let sent = try await daemon.request(
        "POST", "/v1/sessions/s/queue", #"{"id":"\#(Self.id)","text":"Use a file"}"#)
      #expect(sent.status == 201)
      let base = try await message(daemon).base
      try await edit("Use SQLite", base, on: daemon)
      try await edit("Use MySQL", base, on: daemon)
      let seen = try await message(daemon).base
      try await edit("Use Redis", base, on: daemon)
      #expect(try await resolve("1", seen, on: daemon).status == 200)
      #expect(try await message(daemon).editions?.map(\.text) == ["Use Redis", "Use SQLite"])
    }
  }

  /// After a restart, and after an import elsewhere, it waits, too.
  @Test func itWaitsAfterARestartAndAnImport() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let (documents, keep) = AsyncStream<String>.makeStream()
    try await RunningDaemon.run(directory: directory) { daemon in
      try await merge("Use SQLite for the store", "Use MySQL for the store", on: daemon)
    }
    try await RunningDaemon.run(directory: directory) { daemon in
      #expect(try await message(daemon).editions?.count == 2)
      keep.yield(try await daemon.request("GET", "/v1/export").body)
      keep.finish()
    }
    try await RunningDaemon.run { daemon in
      for await document in documents {
        let reply = try await daemon.request("POST", "/v1/import", document)
        #expect(reply.status == 200, "\(reply.body)")
      }
      #expect(try await message(daemon).merged == true)
    }
  }
}
