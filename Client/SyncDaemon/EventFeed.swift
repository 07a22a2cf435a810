import Foundation
import Hummingbird
import Logging
import NIOCore
import QueueModel
import ServiceLifecycle
import SyncClient

/// `GET /v1/events`: changes of the workspace and of sync as server-sent events.
///
/// A connection begins with the events that build the present from nothing, so a reader that lost
/// its connection drops its mirror and starts again; there is nothing to resume.
struct EventFeed: Sendable {
  var client: QueueClient
  var logger: Logger

  /// Shows readers and proxies that the connection lives, and finds readers that are gone.
  static let heartbeatPeriod = Duration.seconds(15)
  /// A reader this far behind is cut off; it gets the present when it comes back.
  static let waitingEventsMax = 4_096

  func response() -> Response {
    Response(
      status: .ok,
      headers: [.contentType: "text/event-stream; charset=utf-8", .cacheControl: "no-store"],
      body: ResponseBody { writer in
        let (events, continuation) = AsyncStream<ByteBuffer>.makeStream(
          bufferingPolicy: .bufferingOldest(EventFeed.waitingEventsMax))
        let queue = EventQueue(continuation: continuation)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
          tasks.addTask {
            for await change in client.changes() { try queue.add(change) }
            // It ends for a reader that fell far behind, who must not go on as if nothing changed.
            queue.end()
          }
          tasks.addTask {
            for await status in client.syncStatusUpdates() { try queue.add("sync", status) }
          }
          tasks.addTask {
            while true {
              queue.addHeartbeat()
              try await Task.sleep(for: EventFeed.heartbeatPeriod)
            }
          }
          for await event in events.cancelOnGracefulShutdown() { try await writer.write(event) }
          tasks.cancelAll()
        }
        try await writer.finish(nil)
      })
  }
}

/// Events on their way to one reader.
private struct EventQueue: Sendable {
  var continuation: AsyncStream<ByteBuffer>.Continuation

  func add(_ change: WorkspaceChange) throws {
    switch change {
    case .threads(let steps):
      try add("threads", ThreadsEvent(changes: steps.map { StepAnswer($0, ThreadAnswer.init) }))
    case .messages(let session, let steps):
      let changes = steps.map { StepAnswer($0) { MessageAnswer($0, namesSession: false) } }
      try add("messages", MessagesEvent(session: session, changes: changes))
    case .session(let view):
      try add("session", SessionAnswer(view))
    case .sessionDeleted(let id):
      try add("sessionDeleted", SessionDeletedEvent(id: id))
    }
  }

  func add(_ name: String, _ value: some Encodable) throws {
    var buffer = ByteBuffer(string: "event: \(name)\ndata: ")
    // JSON writes line breaks as escapes, so the data are one line.
    buffer.writeBytes(try CanonicalJSON.data(value))
    buffer.writeString("\n\n")
    add(buffer)
  }

  func addHeartbeat() {
    add(ByteBuffer(string: ": heartbeat\n\n"))
  }

  private func add(_ buffer: ByteBuffer) {
    if case .dropped = continuation.yield(buffer) { end() }
  }

  func end() {
    continuation.finish()
  }
}

/// One step from an old list to a new one, indexes from 0.
struct StepAnswer<Item: Codable & Equatable & Sendable>: Codable, Equatable, Sendable {
  enum Kind: String, Codable {
    case insert, remove, move, update
  }

  var change: Kind
  /// The index after the step; for a removal the one before it.
  var at: Int
  /// The index before a move.
  var from: Int?
  /// The message id or session of a removal or move.
  var id: String?
  /// The new values of an insertion or update.
  var item: Item?

  init<View: PositionedView>(_ step: QueueChange<View>, _ answer: (View) -> Item)
  where View.ID: CustomStringConvertible {
    switch step {
    case .insert(let view, let index):
      change = .insert
      at = index
      item = answer(view)
    case .remove(let id, let index):
      change = .remove
      at = index
      self.id = id.description
    case .move(let id, let from, let to):
      change = .move
      at = to
      self.from = from
      self.id = id.description
    case .update(let view, let index):
      change = .update
      at = index
      item = answer(view)
    }
  }
}

struct ThreadsEvent: Codable, Equatable {
  var changes: [StepAnswer<ThreadAnswer>]
}

struct MessagesEvent: Codable, Equatable {
  var session: SessionID
  var changes: [StepAnswer<MessageAnswer>]
}

struct SessionDeletedEvent: Codable, Equatable {
  var id: SessionID
}
