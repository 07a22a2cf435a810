package import QueueModel
package import SequenceCRDT
package import WireProtocol

/// A notification as it is stored, once for all devices.
package struct StoredNotification: Hashable, Sendable {
  /// Increases with every notification of the workspace.
  package var position: UInt64
  /// The operation that made it.
  package var name: OperationID
  package var event: NotificationEvent
  package var session: SessionID
  /// The approval or question that can be answered.
  package var request: RequestID?
  /// The merged message whose text must be chosen.
  package var message: MessageID?
  /// When it happened, milliseconds since 1970.
  package var milliseconds: Int64
  /// When the request expires, milliseconds since 1970; nil if it stays useful.
  package var expiresAt: Int64?

  package init(
    position: UInt64, name: OperationID, event: NotificationEvent, session: SessionID,
    request: RequestID? = nil, message: MessageID? = nil, milliseconds: Int64,
    expiresAt: Int64? = nil
  ) {
    self.position = position
    self.name = name
    self.event = event
    self.session = session
    self.request = request
    self.message = message
    self.milliseconds = milliseconds
    self.expiresAt = expiresAt
  }

  /// Whether it asks for an answer.
  package var isRequest: Bool { request != nil }

  /// Whether it stays until a user answers or chooses.
  package var awaitsPerson: Bool { isRequest || message != nil }

  /// Whether a user can answer it only at the agent's own prompt, not from another device.
  package var isAskedAtHost: Bool { expiresAt.map { $0 <= milliseconds } ?? false }

  /// When it becomes useless, milliseconds since 1970; nil if it stays useful.
  package var uselessAt: Int64? { isAskedAtHost ? nil : expiresAt }
}

/// A notification in one device's inbox.
package struct InboxEntry: Hashable, Sendable {
  package var device: DeviceID
  package var position: UInt64
  /// Whether it was pushed, so that it must be retracted once it is no longer awaited.
  package var isPushed: Bool
  /// Whether the device has it. After that, only pushed entries that can still be retracted are
  /// kept.
  package var isAcknowledged: Bool

  package init(
    device: DeviceID, position: UInt64, isPushed: Bool = false, isAcknowledged: Bool = false
  ) {
    self.device = device
    self.position = position
    self.isPushed = isPushed
    self.isAcknowledged = isAcknowledged
  }
}

extension DeviceID {
  /// The user of a workspace, as a stand-in for the device of targets that belong to no device. No
  /// device has this id.
  package static let person = DeviceID(high: 0, low: 0)
}

/// A push address of a device, or of the user.
package struct PushTargetRecord: Hashable, Sendable {
  /// The owner.
  package var device: DeviceID
  /// The device that set it; the target is used as long as that device may connect.
  package var setBy: DeviceID
  package var id: PushTargetID
  package var kind: String
  /// The whole address, secrets included.
  package var address: String
  /// The address without its secrets.
  package var shownAddress: String
  package var isValid: Bool
  /// Why it is not valid, in the provider's words; empty if it is valid.
  package var reason: String
  /// When a device last registered the address as its own or the user's, milliseconds since 1970.
  package var registeredAt: Int64
  /// When its provider last accepted a push, milliseconds since 1970; nil if it never did.
  package var deliveredAt: Int64?

  package init(
    device: DeviceID, id: PushTargetID, kind: String, address: String, shownAddress: String,
    isValid: Bool = true, reason: String = "", registeredAt: Int64, deliveredAt: Int64? = nil,
    setBy: DeviceID? = nil
  ) {
    self.device = device
    self.setBy = setBy ?? device
    self.id = id
    self.kind = kind
    self.address = address
    self.shownAddress = shownAddress
    self.isValid = isValid
    self.reason = reason
    self.registeredAt = registeredAt
    self.deliveredAt = deliveredAt
  }

  /// A mark in the address of a live activity's token.
  package static let activityMark = "purpose=live-activity"

  /// Whether notifications are pushed to it: tokens of live activities accept none.
  package var takesNotices: Bool {
    kind != "apns" || address.firstRange(of: PushTargetRecord.activityMark) == nil
  }

  /// The state for the device.
  package var state: PushTargetState {
    PushTargetState(
      id: id, kind: kind, address: shownAddress, isValid: isValid, reason: reason,
      deliveredAt: deliveredAt, owner: device == .person ? .person : .device)
  }
}

/// A provider's report about a push target.
package struct PushTargetReport: Hashable, Sendable {
  package var workspace: WorkspaceID
  /// The target as it was used; the report does not apply to one that was set again since.
  package var target: PushTargetRecord
  package var isValid: Bool
  package var reason: String
  /// When it accepted a push, milliseconds since 1970; nil if it did not.
  package var deliveredAt: Int64?

  package init(
    workspace: WorkspaceID, target: PushTargetRecord, isValid: Bool, reason: String,
    deliveredAt: Int64? = nil
  ) {
    self.workspace = workspace
    self.target = target
    self.isValid = isValid
    self.reason = reason
    self.deliveredAt = deliveredAt
  }

  /// A test of a target succeeded.
  static func tested(
    _ target: PushTargetRecord, of workspace: WorkspaceID, at wallMilliseconds: Int64
  ) -> PushTargetReport {
    PushTargetReport(
      workspace: workspace, target: target, isValid: target.isValid,
      reason: target.isValid ? "" : target.reason, deliveredAt: wallMilliseconds)
  }
}

/// A task of the push service for one device, or the user: a push to all its valid targets that
/// accept it.
///
/// Orders are stored in the transaction that caused them and stay until they are completed.
package struct PushOrder: Hashable, Sendable {
  package enum Kind: UInt8, Hashable, Sendable {
    /// Show it.
    case alert = 1
    /// It is no longer awaited: retract it.
    case retract = 2
  }

  package var kind: Kind
  package var device: DeviceID
  package var notification: StoredNotification
  /// Whether the device wants more than the category.
  package var showsDetails: Bool

  package init(
    kind: Kind, device: DeviceID, notification: StoredNotification, showsDetails: Bool
  ) {
    self.kind = kind
    self.device = device
    self.notification = notification
    self.showsDetails = showsDetails
  }
}

/// A push order in the store.
package struct StoredPushOrder: Hashable, Sendable {
  /// Increases with every order.
  package var number: Int64
  package var workspace: WorkspaceID
  package var order: PushOrder

  package init(number: Int64, workspace: WorkspaceID, order: PushOrder) {
    self.number = number
    self.workspace = workspace
    self.order = order
  }
}

/// A status that begins, changes or ends, to be sent once it is stored.
package struct LiveStatusChange: Hashable, Sendable {
  package var event: LiveStatusOrder.Event
  package var task: TaskState
  /// Milliseconds since 1970.
  package var at: Int64

  package init(event: LiveStatusOrder.Event, task: TaskState, at: Int64) {
    self.event = event
    self.task = task
    self.at = at
  }
}

/// The store's data about a status; times are milliseconds since 1970.
package enum ShownStatus: Hashable, Sendable {
  case since(Int64)
  /// Kept until all devices were notified.
  case ended(at: Int64)
}

/// The notifications of a workspace.
package struct InboxRecords: Hashable, Sendable {
  /// The position of the latest notification, even if that no longer exists.
  package var lastPosition: UInt64
  /// The notifications that are in any inbox.
  package var notifications: [StoredNotification]
  package var entries: [InboxEntry]
  package var preferences: [DeviceID: NotificationPreferences]
  package var targets: [PushTargetRecord]
  /// The sessions with displayed statuses, and since when: milliseconds since 1970.
  package var statuses: [SessionID: Int64]
  /// The sessions whose ended status some devices may still display, and when it ended:
  /// milliseconds since 1970.
  package var endedStatuses: [SessionID: Int64]

  package init(
    lastPosition: UInt64 = 0, notifications: [StoredNotification] = [],
    entries: [InboxEntry] = [], preferences: [DeviceID: NotificationPreferences] = [:],
    targets: [PushTargetRecord] = [], statuses: [SessionID: Int64] = [:],
    endedStatuses: [SessionID: Int64] = [:]
  ) {
    self.lastPosition = lastPosition
    self.notifications = notifications
    self.entries = entries
    self.preferences = preferences
    self.targets = targets
    self.statuses = statuses
    self.endedStatuses = endedStatuses
  }
}

/// Changes of the notifications of a workspace, to be stored in this order.
package struct InboxChanges: Hashable, Sendable {
  package enum Target: Hashable, Sendable {
    /// Replaces the target with the same device and id.
    case set(PushTargetRecord)
    case remove(DeviceID, PushTargetID)
  }

  package var posted: [StoredNotification] = []
  /// Each replaces the entry with the same device and position.
  package var entries: [InboxEntry] = []
  package var removed: [InboxEntry] = []
  package var preferences: [DeviceID: NotificationPreferences] = [:]
  package var targets: [Target] = []
  package var orders: [PushOrder] = []
  /// The status changes to send once all this is stored; the store keeps which statuses are
  /// displayed, and since when.
  package var statuses: [LiveStatusChange] = []

  package init() {}

  package var isEmpty: Bool { self == InboxChanges() }

  /// The sessions whose statuses begin or end, each with its latest change.
  package var shown: [SessionID: ShownStatus] {
    var shown: [SessionID: ShownStatus] = [:]
    for status in statuses {
      switch status.event {
      case .started, .renewed: shown[status.task.sessionId] = .since(status.at)
      case .ended: shown[status.task.sessionId] = .ended(at: status.at)
      case .updated: break
      }
    }
    return shown
  }
}
