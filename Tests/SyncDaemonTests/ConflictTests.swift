import Foundation
import LocalAPI
import QueueModel
import SyncClient
import Testing

@testable import SyncDaemon

/// The API's answers if the current state conflicts with a request, and edits against what an
/// editor saw.
@Suite(.timeLimit(.minutes(10))) struct ConflictTests {
  private static let first = "11111111-1111-4111-8111-111111111111"

  private func send(_ text: String, id: String, to daemon: RunningDaemon) async throws {
    let reply = try await daemon.request(
      "POST", "/v1/sessions/review/queue", #"{"id":"\#(id)","text":"\#(text)"}"#)
    #expect(reply.status == 201, "\(reply.body)")
  }

  private func details(_ reply: RawReply) throws -> RefusalAnswer.Details {
    try reply.decoded(RefusalAnswer.self).error
  }

  private func message(_ daemon: RunningDaemon) async throws -> MessageAnswer {
    try await daemon.request("GET", "/v1/messages/\(Self.first)").decoded(MessageAnswer.self)
  }

  private func edit(
    _ content: String, base: String?, at daemon: RunningDaemon, asHeader: Bool = false
  ) async throws -> RawReply {
    let field = asHeader ? "" : base.map { #","base":"\#($0)""# } ?? ""
    let headers = asHeader ? base.map { [#"If-Match: "\#($0)""#] } ?? [] : []
    return try await daemon.request(
      "PUT", "/v1/messages/1111/content", #"{"content":"\#(content)"\#(field)}"#,
      headers: headers)
  }

  @Test(arguments: [true, false])
  func editAgainstWhatWasSeenKeepsBothEdits(asHeader: Bool) async throws {
    try await RunningDaemon.run { daemon in
      try await send("fix the test", id: Self.first, to: daemon)
      let reply = try await daemon.request("GET", "/v1/messages/\(Self.first)")
      let base = try #require(try reply.decoded(MessageAnswer.self).base)
      #expect(reply.head.contains("etag: \"\(base.lowercased())\""))
      #expect(try await edit("fix the flaky test", base: nil, at: daemon).status == 200)
      let saved = try await edit("Please fix the test", base: base, at: daemon, asHeader: asHeader)
      #expect(saved.status == 200, "\(saved.body)")
      #expect(try await message(daemon).content == "Please fix the flaky test")
    }
  }

  @Test func baseIsGoodOverARestartAndAfterOtherWork() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let (bases, keep) = AsyncStream<String>.makeStream()
    try await RunningDaemon.run(directory: directory) { daemon in
      try await send("one two", id: Self.first, to: daemon)
      keep.yield(try #require(try await message(daemon).base))
      keep.finish()
      _ = try await edit("zero one two", base: nil, at: daemon)
    }
    try await RunningDaemon.run(directory: directory) { daemon in
      _ = try await daemon.request("POST", "/v1/sessions/other/queue", #"{"text":"more"}"#)
      for await base in bases {
        #expect(try await edit("one two three", base: base, at: daemon).status == 200)
      }
      #expect(try await message(daemon).content == "zero one two three")
    }
  }

  @Test func baseOfAnotherStoreIsRefusedWithThePresentMessage() async throws {
    let (bases, keep) = AsyncStream<String>.makeStream()
    try await RunningDaemon.run { daemon in
      try await send("elsewhere", id: Self.first, to: daemon)
      keep.yield(try #require(try await message(daemon).base))
      keep.finish()
    }
    try await RunningDaemon.run { daemon in
      try await send("here", id: Self.first, to: daemon)
      for await base in bases {
        let reply = try await edit("changed", base: base, at: daemon)
        #expect(reply.status == 412)
        let details = try details(reply)
        #expect(details.code == "baseForgotten")
        let current = try #require(details.current?.message)
        #expect(current == (try await message(daemon)))
        let again = try await edit("here and there", base: current.base, at: daemon)
        #expect(again.status == 200)
      }
      #expect(try await message(daemon).content == "here and there")
    }
  }

  @Test(arguments: ["", "x", "AQ", "////", "AQAAAAAAAAAAAAAAAAAAAAAAAAAA", "🙂"])
  func invalidBasesAreRefused(base: String) async throws {
    try await RunningDaemon.run { daemon in
      try await send("text", id: Self.first, to: daemon)
      let reply = try await edit("changed", base: base, at: daemon)
      #expect(reply.status == 400)
      #expect(try await message(daemon).content == "text")
    }
  }

  @Test func fullQueueIsShownWithItsRefusal() async throws {
    try await RunningDaemon.run(queueSizeMax: 2) { daemon in
      try await send("one", id: Self.first, to: daemon)
      _ = try await daemon.request("POST", "/v1/sessions/Review/queue", #"{"text":"two"}"#)
      let reply = try await daemon.request(
        "POST", "/v1/sessions/Review/queue", #"{"text":"three"}"#)
      #expect(reply.status == 409)
      let details = try details(reply)
      #expect(details.code == "queueFull")
      #expect(
        details.message == "Queue full (2/2). Cancel a message or wait for one to complete.")
      #expect(details.current?.queue?.messages.map(\.content) == ["one", "two"])
      var asked = try await daemon.request("GET", "/v1/sessions/review/queue")
        .decoded(QueueAnswer.self)
      // The reason why nothing starts is not a part of a refusal.
      asked.note = nil
      #expect(details.current?.queue == asked)
    }
  }

  @Test func messageThatIsElsewhereIsShownWithTheRefusal() async throws {
    try await RunningDaemon.run { daemon in
      try await send("one", id: Self.first, to: daemon)
      let taken = try await daemon.request(
        "POST", "/v1/sessions/review/queue", #"{"id":"\#(Self.first)","text":"other"}"#)
      #expect(taken.status == 409)
      #expect(try details(taken).current?.message?.content == "one")
      let waiting = try await daemon.request("POST", "/v1/messages/1111/restore")
      #expect(try details(waiting).current?.message?.status == .queued)
      _ = try await daemon.request("POST", "/v1/messages/cancel", #"{"ids":["1111"]}"#)
      for (path, body) in [
        ("content", #"{"content":"x"}"#), ("priority", #"{"priority":"urgent"}"#),
      ] {
        let reply = try await daemon.request("PUT", "/v1/messages/1111/\(path)", body)
        #expect(reply.status == 409)
        #expect(try details(reply).current?.message?.status == .cancelled)
      }
    }
  }

  @Test func syncAndUndoShowTheirState() async throws {
    try await RunningDaemon.run { daemon in
      let sync = try await daemon.request("POST", "/v1/sync/now")
      #expect(try details(sync).current?.sync?.state == .notPaired)
      let undo = try await daemon.request("POST", "/v1/undo")
      #expect(try details(undo).current?.undo?.undoCount == 0)
      let unknown = try await daemon.request("GET", "/v1/messages/ffff")
      #expect(try details(unknown).current == nil)
    }
  }

  /// Undo from a notice undoes only that change, whatever was done since.
  @Test func undoOfAChangeThatIsNotTheLatestUndoesItAlone() async throws {
    try await RunningDaemon.run { daemon in
      try await send("one", id: Self.first, to: daemon)
      let urgent = try await daemon.request(
        "PUT", "/v1/messages/1111/priority", #"{"priority":"urgent"}"#)
      let change = try #require(try urgent.decoded(ReceiptAnswer.self).change)
      try await send("two", id: "2" + Self.first.dropFirst(), to: daemon)
      let undone = try await daemon.request("POST", "/v1/undo", #"{"change":\#(change)}"#)
        .decoded(ReceiptAnswer.self)
      #expect(undone.result == .undone)
      #expect(undone.what == #"setting the priority of "one" in review"#)
      let message = try await daemon.request("GET", "/v1/messages/1111")
      #expect(try message.decoded(MessageAnswer.self).priority == "normal")
      let queue = try await daemon.request("GET", "/v1/sessions/review/queue")
        .decoded(QueueAnswer.self)
      #expect(queue.messages.map(\.content) == ["one", "two"])
      // It can no longer be undone.
      let again = try await daemon.request("POST", "/v1/undo", #"{"change":\#(change)}"#)
      #expect(again.status == 409)
      #expect(try details(again).code == "changeUnknown")
      #expect(try details(again).current?.undo?.undoCount == 2)
      // The number of the change does not name a change that can be redone.
      let redo = try #require(undone.change)
      let unknown = try await daemon.request("POST", "/v1/redo", #"{"change":\#(redo + 7)}"#)
      #expect(unknown.status == 409)
      #expect(try await daemon.request("POST", "/v1/redo", #"{"change":\#(redo)}"#).status == 200)
    }
  }

  /// What an undo would do, its obstacles, and the change that is skipped.
  @Test func anUndoTellsWhatItIsAbout() async throws {
    try await RunningDaemon.run { daemon in
      func state() async throws -> UndoAnswer {
        try await daemon.request("GET", "/v1/undo").decoded(UndoAnswer.self)
      }
      #expect(try await state() == UndoAnswer(undo: nil, redo: nil, undoCount: 0, redoCount: 0))
      try await send(#"one\ntwo"#, id: Self.first, to: daemon)
      let first = try #require(try await state().undo)
      #expect(first.what == #"sending "one" to review"#)
      #expect(first.text == "one" && first.session?.rawValue == "review")
      #expect(!first.shared && first.obstacle == nil)
      let host = try await daemon.request(
        "PUT", "/v1/sessions/review/host", #"{"device":"this"}"#)
      #expect(host.status == 200)
      let second = try #require(try await state().undo)
      #expect(second.change != first.change)
      #expect(second.obstacle?.reason == "needsCommand")
      #expect(second.obstacle?.command == "cospool session host --none review")
      let refused = try await daemon.request("POST", "/v1/undo")
      #expect(refused.status == 409)
      #expect(try details(refused).code == "notUndoable")
      #expect(try details(refused).exitCode == 1)
      #expect(try details(refused).message.contains("cospool session host --none review"))
      #expect(try details(refused).current?.undo?.undo == second)
      let skipped = try await daemon.request("POST", "/v1/undo", #"{"skip":true}"#)
        .decoded(ReceiptAnswer.self)
      #expect(skipped.result == .skipped && skipped.change == nil)
      #expect(try await state().undo == first)
      #expect(try await daemon.request("POST", "/v1/redo", #"{"skip":true}"#).status == 400)
    }
  }

  @Test func sameIDIsOneMessageAndTheSameAnswer() async throws {
    try await RunningDaemon.run(queueSizeMax: 1) { daemon in
      let body = #"{"id":"\#(Self.first)","text":"once","priority":"urgent"}"#
      let answers = try await [1, 2, 3].asyncMap { _ in
        try await daemon.request("POST", "/v1/sessions/review/queue", body)
      }
      // Also at the cap, because it is not a further message.
      #expect(answers.map(\.status) == [201, 201, 201])
      #expect(Set(answers.map(\.body)).count == 1)
      let queue = try await daemon.request("GET", "/v1/sessions/review/queue")
        .decoded(QueueAnswer.self)
      #expect(queue.messages.count == 1)
    }
  }

  @Test func listsComeInPages() async throws {
    try await RunningDaemon.run { daemon in
      for number in 1...5 {
        _ = try await daemon.request(
          "POST", "/v1/sessions/s\(number)/queue", #"{"text":"in \#(number)"}"#)
        _ = try await daemon.request(
          "POST", "/v1/sessions/review/queue", #"{"text":"\#(number)"}"#)
      }
      var texts: [String] = []
      var query = "limit=2"
      while true {
        let page = try await daemon.request("GET", "/v1/sessions/review/queue?\(query)")
          .decoded(QueueAnswer.self)
        #expect(page.messages.count <= 2)
        texts += page.messages.map(\.content)
        guard let next = page.next else { break }
        query = "limit=2&after=\(next)"
      }
      #expect(texts == ["1", "2", "3", "4", "5"])
      let sessions = try await daemon.request("GET", "/v1/sessions?limit=1&after=s3")
        .decoded(SessionsAnswer.self)
      #expect(sessions.sessions.map(\.id.rawValue) == ["s4"])
      #expect(sessions.next == "s4")
      let threads = try await daemon.request("GET", "/v1/threads?limit=6")
        .decoded(ThreadsAnswer.self)
      #expect(threads.threads.count == 6 && threads.next == nil)
      for bad in ["limit=0", "limit=1001", "limit=x", "limit=-1"] {
        #expect(try await daemon.request("GET", "/v1/threads?\(bad)").status == 400)
      }
      let gone = try await daemon.request("GET", "/v1/threads?after=none")
      #expect(gone.status == 409)
      #expect(try details(gone).code == "pageGone")
    }
  }
}

extension Array {
  /// One after the other.
  func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
    var results: [Result] = []
    for element in self { results.append(try await transform(element)) }
    return results
  }
}
