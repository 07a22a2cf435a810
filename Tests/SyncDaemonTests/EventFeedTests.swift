import Foundation
import QueueModel
import Testing

@testable import SyncDaemon

@Suite(.timeLimit(.minutes(2))) struct EventFeedTests {
  private static let first = "11111111-1111-4111-8111-111111111111"

  // S0-73.
  @Test func changesArriveOnTheStream() async throws {
    try await RunningDaemon.run { daemon in
      let feed = try RawConnection(path: daemon.socket)
      defer { feed.close() }
      try await feed.write(RawReply.request("GET", "/v1/events"))
      let beginning = try await feed.read(through: "event: sync")
      #expect(beginning.lowercased().contains("content-type: text/event-stream"))
      _ = try await daemon.request(
        "POST", "/v1/sessions/review/queue", #"{"id":"\#(Self.first)","text":"one"}"#)
      let sent = try await feed.read(through: #""change":"insert""#)
      #expect(sent.contains("event: "))
      _ = try await daemon.request("POST", "/v1/messages/cancel", #"{"ids":["1111"]}"#)
      let cancelled = try await feed.read(through: #""change":"remove","id":"\#(Self.first)""#)
      #expect(cancelled.contains("event: messages"))
    }
  }

  @Test func readerThatComesLaterGetsThePresent() async throws {
    try await RunningDaemon.run { daemon in
      _ = try await daemon.request(
        "POST", "/v1/sessions/review/queue", #"{"id":"\#(Self.first)","text":"early"}"#)
      let feed = try RawConnection(path: daemon.socket)
      defer { feed.close() }
      try await feed.write(RawReply.request("GET", "/v1/events"))
      let present = try await feed.read(through: #""content":"early""#)
      #expect(present.contains(#"{"changes":[{"at":0,"change":"insert","item":{"#))
    }
  }

  @Test func streamBeginsWithAHeartbeatAndEndsWithTheDaemon() async throws {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let (feeds, keep) = AsyncStream<RawConnection>.makeStream()
    try await RunningDaemon.run(directory: directory) { daemon in
      let feed = try RawConnection(path: daemon.socket)
      try await feed.write(RawReply.request("GET", "/v1/events"))
      _ = try await feed.read(through: ": heartbeat")
      keep.yield(feed)
      keep.finish()
    }
    for await feed in feeds {
      // The daemon has stopped: the stream ended properly, with the last chunk of the body.
      let rest = String(decoding: try await feed.readToEnd(), as: UTF8.self)
      #expect(rest.hasSuffix("0\r\n\r\n"))
      feed.close()
    }
  }
}
