import Foundation
import LocalAPI
import NIOCore
import QueueModel
import SyncClient

/// One event of the feed as the lines of a server-sent event.
struct ServerSentEvent {
  /// The place after it, or an empty text to make the reader forget its own; nil leaves the
  /// reader's place.
  var id: String?
  var name: String
  /// JSON, which writes line breaks as escapes, so it is one line.
  var data: Data
  var retryMilliseconds: Int?

  init(_ item: FeedItem) throws {
    switch item.event {
    case .resumed(.ok):
      try self.init("resume", ResumeEvent(resume: .ok))
      retryMilliseconds = EventStream.retryMilliseconds
    case .resumed(.gap(let reason)):
      try self.init("resume", ResumeEvent(resume: .gap, reason: reason.rawValue))
      // If it is lost before the state is complete, the state has to be sent from the beginning.
      id = ""
      retryMilliseconds = EventStream.retryMilliseconds
    case .changed(.threads(let steps)):
      let changes = steps.map { StepAnswer($0, ThreadAnswer.init) }
      try self.init("threads", ThreadsEvent(changes: changes))
    case .changed(.messages(let session, let steps)):
      let changes = steps.map { StepAnswer($0) { MessageAnswer($0, namesSession: false) } }
      try self.init("messages", MessagesEvent(session: session, changes: changes))
    case .changed(.session(let view)):
      try self.init("session", SessionAnswer(view))
    case .changed(.sessionDeleted(let id)):
      try self.init("sessionDeleted", SessionDeletedEvent(id: id))
    case .changed(.task(let task)):
      try self.init("task", TaskStateAnswer(task))
    case .sync(let status):
      try self.init("sync", SyncAnswer(status))
    case .warning(let warning):
      try self.init(
        "warning",
        WarningEvent(session: warning.session, count: warning.count, max: warning.max))
    case .threadReady(let view):
      try self.init("threadReady", ThreadAnswer(view))
    case .device(let event):
      let (name, data) = DeviceEventAnswer.event(event)
      try self.init(name, data)
    case .present:
      try self.init("present", PresentEvent())
    }
    if let cursor = item.cursor { id = cursor.description }
  }

  private init(_ name: String, _ value: some Encodable) throws {
    self.name = name
    data = try CanonicalJSON.answer(value)
  }

  var bytes: ByteBuffer {
    var buffer = ByteBuffer()
    if let retryMilliseconds { buffer.writeString("retry: \(retryMilliseconds)\n") }
    if let id { buffer.writeString("id: \(id)\n") }
    buffer.writeString("event: \(name)\ndata: ")
    buffer.writeBytes(data)
    buffer.writeString("\n\n")
    return buffer
  }
}

/// The first event of every stream.
struct ResumeEvent: Codable, Equatable {
  enum Outcome: String, Codable {
    case ok, gap
  }

  var resume: Outcome
  /// Why there is a gap.
  var reason: String?
}

/// The state that followed a gap is complete.
struct PresentEvent: Codable, Equatable {}

/// A queue that is nearly or quite full.
struct WarningEvent: Codable, Equatable {
  var session: SessionID
  var count: Int
  var max: Int
  /// For the user.
  var message: String

  init(session: SessionID, count: Int, max: Int) {
    self.session = session
    self.count = count
    self.max = max
    message =
      "The queue of \(session) is \(count < max ? "nearly full" : "full") (\(count)/\(max))."
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
