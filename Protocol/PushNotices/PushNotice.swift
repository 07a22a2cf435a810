import Basics

/// A push to send.
package enum Push: Hashable, Sendable {
  /// An event to show to a user.
  case alert(PushNotice)
  /// The notice with this id was answered or has expired: devices should remove it.
  case retract(PushNoticeID)
  /// The state of a running task, updated in place.
  case liveActivity(LiveActivityPush)

  /// The name under which a provider replaces or drops an earlier one.
  package var collapseID: PushNoticeID {
    switch self {
    case .alert(let notice): notice.id
    case .retract(let id): id
    case .liveActivity(let push): push.id
    }
  }
}

/// The name of a notice: 1 to 64 letters, digits, `-` and `_`.
///
/// Apple accepts 64 bytes of any kind as a collapse id; ntfy these characters as a sequence id.
package struct PushNoticeID: Hashable, Sendable, CustomStringConvertible {
  package static let bytesMax = 64

  package let text: String

  /// Returns nil for other characters, an empty text, and a text that is too long.
  package init?(_ text: String) {
    guard (1...Self.bytesMax).contains(text.utf8.count),
      text.utf8.allSatisfy(ASCII.isIdentifier)
    else { return nil }
    self.text = text
  }

  /// A name derived from any text: the digest (FNV-1a) of its bytes.
  package init(digest text: String) {
    let hash = text.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { hash, byte in
      (hash ^ UInt64(byte)) &* 0x100_0000_01b3
    }
    self.text = "d-" + String(hash, radix: 16)
  }

  package var description: String { text }
}

/// One notification as a user sees it.
package struct PushNotice: Hashable, Sendable {
  package enum Category: String, Hashable, Sendable, CaseIterable {
    case approvalRequest = "APPROVAL_REQUEST"
    case questionAsked = "QUESTION_ASKED"
    case taskComplete = "TASK_COMPLETE"
    case taskError = "TASK_ERROR"
    case threadReady = "THREAD_READY"
    case messageMerged = "MESSAGE_MERGED"
  }

  package var id: PushNoticeID
  package var category: Category
  package var title: String
  package var body: String
  /// More text than the body, shown if the user opens the notice.
  package var details: String?
  package var sessionID: String
  /// The approval or question that can be answered.
  package var requestID: String?
  /// The digest that an approval must name, if the body and the details show the complete request;
  /// otherwise no button of the notice approves it.
  package var digest: String?
  /// The link that a tap opens; `DeepLink`.
  package var link: String
  /// Milliseconds since 1970.
  package var createdAt: Int64
  /// Milliseconds since 1970 after which it is useless; nil if it stays useful.
  package var expiresAt: Int64?
  /// Whether it breaks through a focus mode that allows it.
  package var isTimeSensitive: Bool
  /// The device to whose inbox it belongs; nil for a test by the operator.
  package var addressee: Addressee?

  /// The device that a notice is for, in the text forms of ids.
  package struct Addressee: Hashable, Sendable {
    package var workspaceID: String
    package var deviceID: String

    package init(workspaceID: String, deviceID: String) {
      self.workspaceID = workspaceID
      self.deviceID = deviceID
    }
  }

  package init(
    id: PushNoticeID, category: Category, title: String, body: String, details: String? = nil,
    sessionID: String, requestID: String? = nil, digest: String? = nil, link: String,
    createdAt: Int64,
    expiresAt: Int64? = nil, isTimeSensitive: Bool = false, addressee: Addressee? = nil
  ) {
    self.id = id
    self.category = category
    self.title = title
    self.body = body
    self.details = details
    self.sessionID = sessionID
    self.requestID = requestID
    self.digest = digest
    self.link = link
    self.createdAt = createdAt
    self.expiresAt = expiresAt
    self.isTimeSensitive = isTimeSensitive
    self.addressee = addressee
  }
}

/// The links that a notice opens.
package enum DeepLink {
  package static let scheme = "cospool"

  package static func session(_ id: String) -> String { link("session", id) }
  package static func approval(_ requestID: String) -> String { link("approval", requestID) }
  package static func question(_ requestID: String) -> String { link("question", requestID) }

  private static func link(_ kind: String, _ id: String) -> String {
    "\(scheme)://\(kind)/\(ASCII.percentEncoded(id))"
  }
}
