/// A prompt that leaves a device, and its destination.
public struct OutgoingMessage: Hashable, Sendable, Identifiable {
  /// Never changes; the receiver detects repetitions by it (S3-58).
  public var id: MessageID
  /// The session it is for.
  public var session: SessionID
  /// The text; empty if the message is in the workspace anyway.
  public var content: String

  /// Puts the parts together.
  public init(id: MessageID, session: SessionID, content: String) {
    self.id = id
    self.session = session
    self.content = content
  }
}

/// How far a message has come on its way out (S3-12).
public enum QueueStatus: String, Hashable, Sendable, CaseIterable {
  /// Waits to be sent, possibly until the time of its next attempt.
  case queued
  /// Is being handed to the transport.
  case sending
  /// Was handed over; the receiver has not confirmed it.
  case awaitingAck
  /// The receiver has it.
  case delivered
  /// Given up, with a reason; only a user or a new connection starts it again.
  case failed
}

/// A message in an outgoing queue, and what became of it so far.
public struct QueuedMessage: Hashable, Sendable, Identifiable {
  /// The message.
  public var message: OutgoingMessage
  /// Its number in this queue: 1, 2, 3 and so on, also over restarts (S3-23, S3-56).
  public var sequence: UInt64
  /// How far it has come.
  public var status: QueueStatus
  /// Failures since it was queued, or since `retryFailed`.
  public var retryCount: Int
  /// Milliseconds since 1970 on the wall clock.
  public var queuedAt: Int64
  /// The latest attempt, milliseconds since 1970.
  public var lastAttempt: Int64?
  /// When the receiver confirmed it, milliseconds since 1970.
  public var deliveredAt: Int64?
  /// The error of the latest failure.
  public var lastError: String?

  /// A message that was just put in (S3-6 to S3-11).
  public init(message: OutgoingMessage, sequence: UInt64, queuedAt: Int64) {
    self.message = message
    self.sequence = sequence
    self.queuedAt = queuedAt
    status = .queued
    retryCount = 0
  }

  /// The message's.
  public var id: MessageID { message.id }
}

/// How often and how long an outgoing queue tries (S3-1 to S3-5).
public struct MessageQueueConfig: Hashable, Sendable {
  /// The failure with this number is final; nil tries for ever.
  public var maxRetries: Int?
  /// The wait after the first failure; it doubles with each.
  public var baseRetryDelay: Duration
  /// No wait is longer.
  public var maxRetryDelay: Duration
  /// A message that is not confirmed within this time after it was sent counts as failed.
  public var deliveryTimeout: Duration
  /// Messages that may be under way or failed at once; more are refused (S3-19).
  public var maxMessages: Int
  /// How much of a wait is drawn by chance, 0 to 1: the wait is between (1 - jitter) and 1 times
  /// the delay, so that many devices do not try in step (S3-58).
  public var jitter: Double

  /// 3 failures, waits of 1 s and 2 s, at most 10 s; 30 s for a confirmation; 1,000 messages.
  public static let `default` = MessageQueueConfig()

  /// Puts the parts together; numbers out of range are brought into it.
  public init(
    maxRetries: Int? = 3, baseRetryDelay: Duration = .seconds(1),
    maxRetryDelay: Duration = .seconds(10), deliveryTimeout: Duration = .seconds(30),
    maxMessages: Int = 1_000, jitter: Double = 0.5
  ) {
    self.maxRetries = maxRetries.map { max(1, $0) }
    self.baseRetryDelay = max(.zero, baseRetryDelay)
    self.maxRetryDelay = max(.zero, maxRetryDelay)
    self.deliveryTimeout = max(.zero, deliveryTimeout)
    self.maxMessages = max(1, maxMessages)
    self.jitter = min(max(0, jitter), 1)
  }
}

/// Why an outgoing queue refused something, or gave a message up.
public enum MessageQueueError: Error, Hashable, Sendable {
  /// It holds no message with this id, and no receipt of one (S3-16).
  case messageNotFound(MessageID)
  /// The receiver has it already; it is not sent again (S3-17).
  case alreadyDelivered(MessageID)
  /// It failed as often as the configuration allows (S3-18).
  case maxRetriesExceeded(MessageID)
  /// The receiver or the transport refused it for good.
  case refused(MessageID, reason: String)
  /// No more messages may wait (S3-19).
  case queueFull(max: Int)
  /// The message's id is in use, with other content.
  case messageIDTaken(MessageID)
  /// It could not be stored, and nothing changed.
  case persistenceFailed(PersistenceFault)
  /// The queue was closed.
  case closed
}

extension MessageQueueError: CustomStringConvertible {
  /// What happened and what to do.
  public var description: String {
    switch self {
    case .messageNotFound(let id): "No outgoing message \(id)."
    case .alreadyDelivered(let id): "Message \(id) was already delivered; it is not sent again."
    case .maxRetriesExceeded(let id):
      "Message \(id) could not be delivered in any of its attempts. It is kept: retry it."
    case .refused(let id, let reason): "Message \(id) was refused: \(reason). It is kept."
    case .queueFull(let max):
      "\(max) outgoing messages are waiting or have failed. Retry or clear the failed ones."
    case .messageIDTaken(let id):
      "Message \(id) is already on its way with different content. Use a new id."
    case .persistenceFailed(let fault): "Messages cannot be stored: \(fault)."
    case .closed: "The queue is closed."
    }
  }
}

extension OutgoingMessage: Codable {}
extension QueueStatus: Codable {}
