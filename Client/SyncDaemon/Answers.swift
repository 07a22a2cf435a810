import Foundation
import QueueModel
import SyncClient

/// What the local API answers; the names of the fields are a contract, and fields are only added.

/// About the daemon itself.
struct DaemonAnswer: Codable, Equatable, Sendable {
  var version: String
  var processID: Int
  var dataDirectory: String
  var socket: String
  /// Whether the thread queue is on on this device.
  var threadQueue: Bool
  var queueSizeMax: Int
}

/// `GET /v1/status`.
struct StatusAnswer: Codable, Equatable, Sendable {
  var daemon: DaemonAnswer
  var sync: SyncStatus
  var queues: Counts

  struct Counts: Codable, Equatable, Sendable {
    var sessions: Int
    var messages: Int
    var threads: Int
    /// Threads that are not locked.
    var threadsReady: Int
    /// Requests that wait for somebody's answer.
    var awaited: Int
  }
}

/// One message; `session` where the surrounding answer does not say it.
struct MessageAnswer: Codable, Equatable, Sendable {
  var id: MessageID
  var session: SessionID?
  var content: String
  var priority: String
  var status: MessageStatus
  var position: Int
  var createdAt: String
  /// The name of the device that queued it; null where it is not known yet.
  var device: String?
  /// What a message has besides, where it has it: its own project, attempts, error and files.
  var project: String?
  var attempts: Int?
  var lastError: String?
  /// When it may start at the earliest, where it has to wait for a time.
  var notBefore: String?
  /// Until when somebody keeps it from starting; the time may be over.
  var heldUntil: String?
  var attachments: [Attachment]?
  /// How far it came on its way to the server; left out where the server has it, where there is none,
  /// and in events.
  var delivery: Delivery?
  /// For an edit against this content; where one message is asked for alone.
  var base: String?

  init(_ view: MessageView, namesSession: Bool) {
    id = view.id
    session = namesSession ? view.session : nil
    content = view.content
    priority = view.priority.name
    status = view.status
    position = view.position
    createdAt = Timestamp.text(milliseconds: view.createdAt)
    device = view.device?.name
    project = view.project
    attempts = view.attempts == 0 ? nil : view.attempts
    lastError = view.lastError
    notBefore = view.notBefore.map { Timestamp.text(milliseconds: $0) }
    heldUntil = view.heldUntil.map { Timestamp.text(milliseconds: $0) }
    attachments = view.attachments.isEmpty ? nil : view.attachments
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(id, forKey: .id)
    try container.encodeIfPresent(session, forKey: .session)
    try container.encode(content, forKey: .content)
    try container.encode(priority, forKey: .priority)
    try container.encode(status, forKey: .status)
    try container.encode(position, forKey: .position)
    try container.encode(createdAt, forKey: .createdAt)
    // Always there, so that a script can rely on the field.
    try container.encode(device, forKey: .device)
    try container.encodeIfPresent(project, forKey: .project)
    try container.encodeIfPresent(attempts, forKey: .attempts)
    try container.encodeIfPresent(lastError, forKey: .lastError)
    try container.encodeIfPresent(notBefore, forKey: .notBefore)
    try container.encodeIfPresent(heldUntil, forKey: .heldUntil)
    try container.encodeIfPresent(attachments, forKey: .attachments)
    try container.encodeIfPresent(delivery, forKey: .delivery)
    try container.encodeIfPresent(base, forKey: .base)
  }
}

/// How far a message of this device came that the server is not known to have.
enum Delivery: String, Codable, Sendable {
  /// It is on this device alone, and waits for a connection.
  case here
  /// It is on its way, or the server did not confirm it yet.
  case sending
  /// The server refused it; it is tried again with the next connection.
  case refused

  init?(_ status: QueueStatus, isConnected: Bool) {
    switch status {
    case .queued: self = isConnected ? .sending : .here
    case .sending, .awaitingAck: self = .sending
    case .failed: self = .refused
    case .delivered: return nil
    }
  }
}

/// `GET /v1/messages/unsent`.
struct UnsentAnswer: Codable, Equatable, Sendable {
  struct Message: Codable, Equatable, Sendable {
    var id: MessageID
    var delivery: Delivery
    /// Why the server refused it.
    var error: String?
  }

  var messages: [Message]
}

/// One session's queue.
struct QueueAnswer: Codable, Equatable, Sendable {
  var session: SessionID
  var paused: Bool
  var pauseReasons: [String]
  var messages: [MessageAnswer]
  /// Why it stands still until a person decides; left out where it does not (S0-65).
  var currentError: String?
  /// Where the next page begins; left out on the last one.
  var next: String?

  init(_ view: MessageQueueView) {
    self.init(view, page: Page(items: view.messages))
  }

  init(_ view: MessageQueueView, page: Page<MessageView>) {
    currentError = view.currentError
    session = view.session
    paused = view.paused
    pauseReasons = view.pauseReasons
    messages = page.items.map { MessageAnswer($0, namesSession: false) }
    next = page.next
  }
}

/// One thread of the thread queue.
struct ThreadAnswer: Codable, Equatable, Sendable {
  var session: SessionID
  var name: String
  var project: String
  var position: Int
  var queuedAt: String
  var locked: Bool
  /// `approval` or `answer`, where its task waits for one; left out where it does not, and in steps.
  var awaits: String?

  init(_ view: ThreadView) {
    session = view.session
    name = view.name
    project = view.project
    position = view.position
    queuedAt = Timestamp.text(milliseconds: view.queuedAt)
    locked = view.locked
  }
}

/// The thread queue, locked threads included; empty and `enabled: false` where it is off.
struct ThreadsAnswer: Codable, Equatable, Sendable {
  var enabled: Bool
  var threads: [ThreadAnswer]
  /// Where the next page begins; left out on the last one.
  var next: String?
}

/// One session.
struct SessionAnswer: Codable, Equatable, Sendable {
  var id: SessionID
  var name: String
  var project: String
  var paused: Bool
  var waiting: Int
  /// Place in the thread queue; left out where it is not in it.
  var threadPosition: Int?
  var locked: Bool
  /// The device where its agent runs; left out where none was named.
  var host: DeviceID?

  init(_ view: SessionView) {
    host = view.host
    id = view.id
    name = view.name
    project = view.project
    paused = view.paused
    waiting = view.waiting
    threadPosition = view.threadPosition
    locked = view.locked
  }
}

/// Every session that exists.
struct SessionsAnswer: Codable, Equatable, Sendable {
  var sessions: [SessionAnswer]
  /// Where the next page begins; left out on the last one.
  var next: String?
}

/// `GET /v1/messages`: the messages that stand in a queue, session by session.
struct MessageIDsAnswer: Codable, Equatable, Sendable {
  var ids: [MessageID]
}

/// The answer to a send.
struct SendAnswer: Codable, Equatable, Sendable {
  var id: MessageID
  var session: SessionID
  var status: MessageStatus
  var position: Int
  var count: Int
  /// For the person, from 80 % of the cap on.
  var warning: String?
}

/// The answer to any other command.
struct ReceiptAnswer: Codable, Equatable, Sendable {
  enum Result: String, Codable {
    case done, unchanged, queued, moved, affected, undone, redone, imported
  }

  var result: Result
  /// The effective position of the (first) message or thread, where it was moved or queued.
  var position: Int?
  /// How many items were affected, or wait in the queue now.
  var count: Int?
  /// What was undone or redone, in words.
  var what: String?
  /// Of messages that were cancelled: whether that was in time.
  var outcomes: [CancelAnswer]?
  /// Of an edit: the authority did not say whether it was in time; left out where it did.
  var unconfirmed: Bool?

  init(_ notice: CommandOutcome.Notice) {
    switch notice {
    case .done: result = .done
    case .unchanged: result = .unchanged
    case .queued(_, let position, let count, _):
      result = .queued
      self.position = position
      self.count = count
    case .moved(let position):
      result = .moved
      self.position = position
    case .affected(let count):
      result = .affected
      self.count = count
    case .imported(let counts):
      result = .imported
      count = counts.messages
    case .undone(let label):
      result = .undone
      what = label.description
    case .redone(let label):
      result = .redone
      what = label.description
    }
  }
}

/// Whether a message was cancelled in time: `cancelled`, `invoked` or `unconfirmed`.
struct CancelAnswer: Codable, Equatable, Sendable {
  var id: MessageID
  var outcome: String
}

/// The answer to `sync wait`.
struct SyncedAnswer: Codable, Equatable, Sendable {
  var synced: Bool
}

/// Times as text: ISO 8601, UTC, milliseconds.
enum Timestamp {
  static func text(milliseconds: Int64) -> String {
    // Whole seconds go through the formatter, and the milliseconds are put in as digits: a time
    // interval is a floating-point number and would round some of them.
    var (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1_000)
    if rest < 0 {
      seconds -= 1
      rest += 1_000
    }
    let whole = Date(timeIntervalSince1970: Double(seconds)).formatted(Date.ISO8601FormatStyle())
    let digits = String(rest)
    let padded = String(repeating: "0", count: 3 - digits.count) + digits
    return "\(whole.dropLast()).\(padded)Z"
  }
}
