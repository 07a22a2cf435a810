import DeltaCodec
package import QueueModel
package import SequenceCRDT

/// One entry of a device's inbox as the server delivers it; SPECIFICATION.md, section
/// "Notifications".
package struct InboxNotification: Hashable, Sendable {
  /// Increases with every notification of the workspace.
  package var position: UInt64
  /// The operation that caused it: its name, the same for every device.
  package var name: OperationID
  package var category: NotificationCategory
  /// Whether it arrived while the device was not connected.
  package var isMissed: Bool
  package var session: SessionID
  /// The approval or question that can be answered.
  package var request: RequestID?
  /// The merged message whose text a user must choose.
  package var message: MessageID?
  /// When it happened, milliseconds since 1970.
  package var milliseconds: Int64
  package var title: String
  package var body: String

  package init(
    position: UInt64, name: OperationID, category: NotificationCategory, isMissed: Bool,
    session: SessionID, request: RequestID? = nil, message: MessageID? = nil, milliseconds: Int64,
    title: String, body: String
  ) {
    self.position = position
    self.name = name
    self.category = category
    self.isMissed = isMissed
    self.session = session
    self.request = request
    self.message = message
    self.milliseconds = milliseconds
    self.title = title
    self.body = body
  }

  /// Whether it stays until a user answers or chooses.
  package var awaitsPerson: Bool { request != nil || message != nil }
}

/// The subject of a notification; raw values are those of the wire, unknown ones are kept.
package struct NotificationCategory: RawRepresentable, Hashable, Comparable, Sendable {
  package var rawValue: UInt8

  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// An agent waits for permission.
  package static let approvalRequest = NotificationCategory(rawValue: 1)
  /// An agent waits for an answer.
  package static let questionAsked = NotificationCategory(rawValue: 2)
  /// A task succeeded.
  package static let taskComplete = NotificationCategory(rawValue: 3)
  /// A task failed.
  package static let taskError = NotificationCategory(rawValue: 4)
  /// A thread needs its user again.
  package static let threadReady = NotificationCategory(rawValue: 5)
  /// A message was merged, and waits until a user chooses its text.
  package static let messageMerged = NotificationCategory(rawValue: 6)

  /// The categories of this version.
  package static let all: [NotificationCategory] = [
    .approvalRequest, .questionAsked, .taskComplete, .taskError, .threadReady,
    .messageMerged,
  ]

  package static func < (left: NotificationCategory, right: NotificationCategory) -> Bool {
    left.rawValue < right.rawValue
  }

  /// Whether it stays until a user answers or chooses.
  package var awaitsPerson: Bool {
    self == .approvalRequest || self == .questionAsked || self == .messageMerged
  }
}

extension ByteWriter {
  /// - Precondition: title and body are within their limits.
  mutating func write(_ notification: InboxNotification) {
    number(notification.position)
    fixed(notification.name.replica.rawValue)
    number(UInt64(notification.name.seq))
    byte(notification.category.rawValue)
    byte(notification.isMissed ? 1 : 0)
    text(notification.session.rawValue)
    if let message = notification.message {
      identifier(message)
    } else {
      identifier(notification.request ?? RequestID(high: 0, low: 0))
    }
    signed(notification.milliseconds)
    text(notification.title)
    text(notification.body)
  }
}

extension ByteReader {
  mutating func notification() throws(DecodingFault) -> InboxNotification {
    let position = try number()
    let name = try operationName()
    let category = NotificationCategory(rawValue: try byte())
    let isMissed = try flag()
    let session = try sessionID()
    let subject = try identifier(RequestID.self)
    let isNamed = subject != RequestID(high: 0, low: 0)
    let isOfMessage = category == .messageMerged
    return InboxNotification(
      position: position, name: name, category: category, isMissed: isMissed, session: session,
      request: isNamed && !isOfMessage ? subject : nil,
      message: isNamed && isOfMessage ? MessageID(high: subject.high, low: subject.low) : nil,
      milliseconds: try signed(),
      title: try text(max: WireLimits.notificationTitleBytesMax, "a title"),
      body: try text(max: WireLimits.notificationBodyBytesMax, "a body"))
  }

  private mutating func operationName() throws(DecodingFault) -> OperationID {
    let offset = self.position
    let replica = try fixed()
    let seq = try number(max: Limits.sequenceMax, "a sequence number")
    guard replica != 0, seq >= 1 else {
      throw DecodingFault(.invalidValue, at: offset, "no operation has this id")
    }
    return OperationID(replica: ReplicaID(rawValue: replica), seq: seq)
  }

  mutating func flag() throws(DecodingFault) -> Bool {
    let offset = position
    let value = try byte()
    guard value <= 1 else {
      throw DecodingFault(.invalidValue, at: offset, "\(value) is neither 0 nor 1")
    }
    return value == 1
  }

  mutating func sessionID() throws(DecodingFault) -> SessionID {
    let offset = position
    let name = try text(max: Limits.sessionIDBytesMax, "a session id")
    guard let session = SessionID(canonical: name) else {
      throw DecodingFault(.invalidText, at: offset, "this is not a session id")
    }
    return session
  }
}
