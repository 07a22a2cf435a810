import ClientCore
public import QueueModel
import SequenceCRDT
import WireProtocol

/// Something that the person of this device should see.
public struct NotificationView: Hashable, Sendable, Identifiable {
  /// What it is about.
  public enum Category: String, Hashable, Sendable, CaseIterable, Codable {
    /// An agent waits to be allowed something.
    case approvalRequest = "APPROVAL_REQUEST"
    /// An agent waits for an answer.
    case questionAsked = "QUESTION_ASKED"
    /// A task ended well.
    case taskComplete = "TASK_COMPLETE"
    /// A task failed.
    case taskError = "TASK_ERROR"
    /// A thread needs its person again.
    case threadReady = "THREAD_READY"
    /// A message was merged, and waits until somebody chooses its text.
    case messageMerged = "MESSAGE_MERGED"
    /// Something that this version does not know; title and body say what.
    case other = "OTHER"
  }

  /// Its name, the same on every device.
  public var id: String
  /// What it is about.
  public var category: Category
  /// The session.
  public var session: SessionID
  /// The approval or question that can be answered; nil where nothing is asked.
  public var request: RequestID?
  /// The merged message whose text is to be chosen; nil if it is about none.
  public var message: MessageID?
  /// When it came about, milliseconds since 1970.
  public var createdAt: Int64
  /// When it came to this device, milliseconds since 1970.
  public var receivedAt: Int64
  /// In a few words.
  public var title: String
  /// What exactly, in the agent's own words where it has some.
  public var body: String
  /// It came about while the device was not connected.
  public var isMissed: Bool
  /// A program of this device showed it already.
  public var isAnnounced: Bool

  /// Puts the parts together.
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

  /// Whether it stands until somebody answers or chooses.
  package var awaitsPerson: Bool { request != nil || message != nil }

  static func id(of name: OperationID) -> String {
    String(name.replica.rawValue, radix: 16) + "-" + String(name.seq)
  }

  /// Whether this can be a notification's id, one that was put aside before too.
  package static func isID(_ text: String) -> Bool { name(of: text) != nil }

  /// Reads what `id(of:)` wrote; nil where it is something else.
  static func name(of id: String) -> OperationID? {
    let parts = id.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let replica = UInt64(parts[0], radix: 16), let seq = UInt32(parts[1])
    else { return nil }
    let name = OperationID(replica: ReplicaID(rawValue: replica), seq: seq)
    return NotificationView.id(of: name) == id ? name : nil
  }
}

/// Why a notification is not to be shown any more.
public enum NotificationRetraction: String, Hashable, Sendable, CaseIterable, Codable {
  /// It is over: the request was answered, expired or was given up, or the message's text
  /// was chosen.
  case settled
  /// The person put it aside on this device.
  case dismissed
  /// Newer ones needed its room.
  case crowdedOut
}

/// What this device wants to be notified of, and how.
public struct NotificationSettings: Hashable, Sendable {
  /// Of these nothing comes.
  public var off: Set<NotificationView.Category>
  /// What leaves this device's own programs tells more than what kind of thing happened (N-6).
  public var showsDetails: Bool
  /// The state of running tasks goes to targets that show it.
  public var showsLiveStatus: Bool
  /// For how many seconds nobody has looked at any device before the person's push targets are told,
  /// where this device set them last.
  public var personDelaySeconds: Int
  /// Runs for every notification while nobody looks at the device; nil: nothing does.
  public var command: String?

  /// Puts the settings together.
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

/// Where notifications of a device, or of its person, are pushed to, as the server knows it.
public struct PushTargetView: Hashable, Sendable, Identifiable {
  /// Made by the device.
  public var id: PushTargetID
  /// `apns`, `ntfy` or `webhook`.
  public var kind: String
  /// The address without its secrets.
  public var address: String
  /// Whether the provider takes what is sent there.
  public var isValid: Bool
  /// Why it does not, or what went wrong last; empty for nothing.
  public var reason: String
  /// When the provider last took a push, milliseconds since 1970; nil for not yet.
  public var deliveredAt: Int64?
  /// It is told of all devices' notifications whenever nobody looks at any of them, and not of this
  /// device's alone.
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

  /// The wire's; nil for `other`, which is many.
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
