import ClientCore
public import QueueModel
import SequenceCRDT
import WireProtocol

/// A notification for this device's user.
public struct NotificationView: Hashable, Sendable, Identifiable {
  /// Its subject.
  public enum Category: String, Hashable, Sendable, CaseIterable, Codable {
    /// An agent waits for permission.
    case approvalRequest = "APPROVAL_REQUEST"
    /// An agent waits for an answer.
    case questionAsked = "QUESTION_ASKED"
    /// A task succeeded.
    case taskComplete = "TASK_COMPLETE"
    /// A task failed.
    case taskError = "TASK_ERROR"
    /// A thread needs its user again.
    case threadReady = "THREAD_READY"
    /// A message was merged, and waits until a user chooses its text.
    case messageMerged = "MESSAGE_MERGED"
    /// A category that this version does not know; title and body describe it.
    case other = "OTHER"
  }

  /// Its id, the same on every device.
  public var id: String
  /// Its subject.
  public var category: Category
  /// The session.
  public var session: SessionID
  /// The approval or question that can be answered; nil if there is none.
  public var request: RequestID?
  /// The merged message whose text a user must choose; nil if there is none.
  public var message: MessageID?
  /// When it happened, milliseconds since 1970.
  public var createdAt: Int64
  /// When it reached this device, milliseconds since 1970.
  public var receivedAt: Int64
  /// A short title.
  public var title: String
  /// The text, in the agent's own words if it gave some.
  public var body: String
  /// Whether it happened while the device was not connected.
  public var isMissed: Bool
  /// Whether a program of this device already showed it.
  public var isAnnounced: Bool

  /// Creates a notification.
  public init(
    id: String, category: Category, session: SessionID, request: RequestID?,
    message: MessageID? = nil, createdAt: Int64, receivedAt: Int64, title: String, body: String,
    isMissed: Bool = false,
    isAnnounced: Bool = false
  ) {
    self.id = id
    self.category = category
    self.session = session
    self.request = request
    self.message = message
    self.createdAt = createdAt
    self.receivedAt = receivedAt
    self.title = title
    self.body = body
    self.isMissed = isMissed
    self.isAnnounced = isAnnounced
  }

  init(_ kept: DeviceNotification) {
    let notification = kept.notification
    self.init(
      id: NotificationView.id(of: notification.name), category: Category(notification.category),
      session: notification.session, request: notification.request,
      message: notification.message, createdAt: notification.milliseconds,
      receivedAt: kept.receivedAt,
      title: notification.title, body: notification.body, isMissed: notification.isMissed,
      isAnnounced: kept.isAnnounced)
  }

  /// Whether it stays until a user answers or chooses.
  package var awaitsPerson: Bool { request != nil || message != nil }

  /// Whether it reports that a change by this device's user did not take effect.
  package var isOfOwnChange: Bool {
    [.approvalRequest, .questionAsked, .messageMerged].contains(category) && !awaitsPerson
  }

  static func id(of name: OperationID) -> String {
    String(name.replica.rawValue, radix: 16) + "-" + String(name.seq)
  }

  /// Whether this can be a notification's id, even of a dismissed one.
  package static func isID(_ text: String) -> Bool { name(of: text) != nil }

  /// Parses the result of `id(of:)`; nil for other texts.
  static func name(of id: String) -> OperationID? {
    let parts = id.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let replica = UInt64(parts[0], radix: 16), let seq = UInt32(parts[1])
    else { return nil }
    let name = OperationID(replica: ReplicaID(rawValue: replica), seq: seq)
    return NotificationView.id(of: name) == id ? name : nil
  }
}

/// Why a notification is no longer shown.
public enum NotificationRetraction: String, Hashable, Sendable, CaseIterable, Codable {
  /// It is no longer awaited: the request was answered, expired or was given up, or a user chose
  /// the message's text.
  case settled
  /// The user dismissed it on this device.
  case dismissed
  /// It was removed to make room for newer ones.
  case crowdedOut
}

/// Which notifications this device wants, and how.
public struct NotificationSettings: Hashable, Sendable {
  /// Categories that are turned off.
  public var off: Set<NotificationView.Category>
  /// Whether texts outside this device's own programs show more than the category (N-6).
  public var showsDetails: Bool
  /// Whether the state of running tasks is sent to targets that display it.
  public var showsLiveStatus: Bool
  /// The number of seconds without a user at any device after which the user's push targets are
  /// notified, if this device last set it.
  public var personDelaySeconds: Int
  /// The command that runs for every notification while no user looks at the device; nil for none.
  public var command: String?

  /// Creates settings.
  public init(
    off: Set<NotificationView.Category> = [], showsDetails: Bool = false,
    showsLiveStatus: Bool = true,
    personDelaySeconds: Int = SettingName.notifyMeAfterDefault, command: String? = nil
  ) {
    self.off = off
    self.showsDetails = showsDetails
    self.showsLiveStatus = showsLiveStatus
    self.personDelaySeconds = personDelaySeconds
    self.command = command
  }

  var preferences: NotificationPreferences {
    NotificationPreferences(
      off: Set(off.compactMap(\.number)), showsDetails: showsDetails,
      showsLiveStatus: showsLiveStatus,
      personDelaySeconds: min(max(0, personDelaySeconds), WireLimits.personDelaySecondsMax))
  }
}

/// A push address of a device, or of its user, as the server knows it.
public struct PushTargetView: Hashable, Sendable, Identifiable {
  /// The target's id, which the device drew.
  public var id: PushTargetID
  /// `apns`, `ntfy` or `webhook`.
  public var kind: String
  /// The address without its secrets.
  public var address: String
  /// Whether the provider accepts pushes to it.
  public var isValid: Bool
  /// Why it does not, or the latest failure; empty if there is none.
  public var reason: String
  /// When the provider last accepted a push, milliseconds since 1970; nil if it never did.
  public var deliveredAt: Int64?
  /// Whether it belongs to the user: it gets the notifications of all devices while no user looks
  /// at any device, instead of only this device's.
  public var isPersons: Bool

  init(_ state: PushTargetState) {
    id = state.id
    kind = state.kind
    address = state.address
    isValid = state.isValid
    reason = state.reason
    deliveredAt = state.deliveredAt
    isPersons = state.owner == .person
  }
}

extension NotificationView.Category {
  init(_ category: NotificationCategory) {
    self =
      switch category {
      case .approvalRequest: .approvalRequest
      case .questionAsked: .questionAsked
      case .taskComplete: .taskComplete
      case .taskError: .taskError
      case .threadReady: .threadReady
      case .messageMerged: .messageMerged
      default: .other
      }
  }

  /// The category's number on the wire; nil for `other`, which has several.
  var number: NotificationCategory? {
    switch self {
    case .approvalRequest: .approvalRequest
    case .questionAsked: .questionAsked
    case .taskComplete: .taskComplete
    case .taskError: .taskError
    case .threadReady: .threadReady
    case .messageMerged: .messageMerged
    case .other: nil
    }
  }
}

extension NotificationEnding {
  var retraction: NotificationRetraction {
    switch self {
    case .settled: .settled
    case .dismissed: .dismissed
    case .crowdedOut: .crowdedOut
    }
  }
}
