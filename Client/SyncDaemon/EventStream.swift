import Hummingbird
import NIOCore
import QueueModel
import ServiceLifecycle
import SyncClient
import Synchronization

/// `GET /v1/events`: all events, as server-sent events, from a cursor or from the present.
struct EventStream: Sendable {
  var client: QueueClient
  var readers: EventReaders
  var heartbeatPeriod: Duration

  /// Shows readers and proxies that the connection lives, and detects readers that have ended.
  static let heartbeatPeriodDefault = Duration.seconds(30)
  /// How long a reader that follows the standard waits before it connects again.
  static let retryMilliseconds = 1_000

  /// A stream that ends with the daemon, or when its reader is disconnected.
  ///
  /// - Throws: `APIProblem.tooManyReaders`, `ClientError.closed`.
  func response(to request: Request, on channel: any Channel) async throws -> Response {
    let slot = try readers.takeSlot()
    let feed = try await client.events(after: EventStream.cursor(of: request))
    let period = heartbeatPeriod
    let names = AnswerNames(client: client)
    return Response(
      status: .ok,
      headers: [.contentType: "text/event-stream; charset=utf-8", .cacheControl: "no-store"],
      body: ResponseBody { [slot] writer in
        let parts = Parts()
        try await withThrowingTaskGroup(of: Void.self) { tasks in
          tasks.addTask {
            try await AnswerNames.$current.withValue(names) {
              try await parts.addEvents(of: feed, encoded: slot.readers.encoded)
            }
          }
          tasks.addTask { try await parts.addHeartbeats(every: period) }
          tasks.addTask {
            await feed.waitUntilEnded()
            // Nothing else ends a write to a reader that does not read.
            if !Task.isCancelled { try? await channel.close() }
          }
          for await part in parts.stream.cancelOnGracefulShutdown() {
            try await writer.write(part.bytes)
            parts.wasWritten(part)
          }
          tasks.cancelAll()
        }
        try await writer.finish(nil)
        withExtendedLifetime(slot) {}
      })
  }

  /// The header has priority: a client that reconnects by the standard sends it with the old query.
  private static func cursor(of request: Request) -> FeedCursor? {
    let header = request.header("last-event-id").flatMap { $0.isEmpty ? nil : $0 }
    guard let text = header ?? request.uri.queryParameters.get("cursor") else { return nil }
    // Any text that is not a cursor of this feed is answered by a gap.
    return FeedCursor(text) ?? FeedCursor("0-0")
  }
}

extension Request {
  /// The value of the first header field with a name, given in lower case.
  func header(_ name: String) -> String? {
    headers.first { $0.name.canonicalName == name }?.value
  }
}

/// The number of open streams; each holds a connection.
final class EventReaders: Sendable {
  /// The maximum: more streams would leave too few of the daemon's connections for commands.
  static let countMax = 64

  private let count = Mutex(0)
  fileprivate let encoded = EncodedEvents()

  /// The place of one reader, free again once it is released.
  final class Slot: Sendable {
    let readers: EventReaders

    fileprivate init(readers: EventReaders) {
      self.readers = readers
    }

    deinit { readers.count.withLock { $0 -= 1 } }
  }

  func takeSlot() throws -> Slot {
    try count.withLock { count in
      guard count < EventReaders.countMax else { throw APIProblem.tooManyReaders }
      count += 1
    }
    return Slot(readers: self)
  }
}

/// The latest events as bytes: an event is encoded once for all of its readers.
private final class EncodedEvents: Sendable {
  /// Readers that are further behind encode events for themselves.
  private static let countMax = 64

  private struct State {
    var bytes: [FeedCursor: ByteBuffer] = [:]
    /// In the order of their arrival.
    var cursors: [FeedCursor] = []
  }

  private let state = Mutex(State())

  func bytes(of item: FeedItem) throws -> ByteBuffer {
    // A reader's first events are its own, up to `present`, which has the place of the event
    // before.
    guard let cursor = item.cursor, item.event != .present else {
      return try ServerSentEvent(item).bytes
    }
    return try state.withLock { state in
      if let known = state.bytes[cursor] { return known }
      let bytes = try ServerSentEvent(item).bytes
      if state.cursors.count == EncodedEvents.countMax {
        state.bytes[state.cursors.removeFirst()] = nil
      }
      state.cursors.append(cursor)
      state.bytes[cursor] = bytes
      return bytes
    }
  }
}

/// The events on their way to one reader: at most those of one write and one heartbeat, so that a
/// slow reader keeps little in memory.
private struct Parts: Sendable {
  enum Part: Sendable {
    case events(ByteBuffer)
    case heartbeat

    var bytes: ByteBuffer {
      switch self {
      case .events(let bytes): bytes
      case .heartbeat: ByteBuffer(string: ": heartbeat\n\n")
      }
    }
  }

  /// The number of bytes at which nothing more is added to a write.
  static let joinedMax = 64 << 10

  let stream: AsyncStream<Part>
  private let continuation: AsyncStream<Part>.Continuation
  private let eventsWritten = AsyncStream<Void>.makeStream()
  private let heartbeatsWritten = AsyncStream<Void>.makeStream()

  init() {
    (stream, continuation) = AsyncStream<Part>.makeStream()
  }

  func addEvents(of feed: EventFeed, encoded: EncodedEvents) async throws {
    var written = eventsWritten.stream.makeAsyncIterator()
    var items = feed.makeAsyncIterator()
    while let item = await items.next() {
      var bytes = try encoded.bytes(of: item)
      // A write costs more than its bytes, so events that arrive together are written together.
      while bytes.readableBytes < Parts.joinedMax, let more = items.nextAtHand() {
        bytes.writeImmutableBuffer(try encoded.bytes(of: more))
      }
      continuation.yield(.events(bytes))
      await written.next(isolation: #isolation)
    }
    continuation.finish()
  }

  func addHeartbeats(every period: Duration) async throws {
    var written = heartbeatsWritten.stream.makeAsyncIterator()
    while true {
      try await Task.sleep(for: period)
      continuation.yield(.heartbeat)
      await written.next(isolation: #isolation)
    }
  }

  func wasWritten(_ part: Part) {
    switch part {
    case .events: eventsWritten.continuation.yield()
    case .heartbeat: heartbeatsWritten.continuation.yield()
    }
  }
}
