package import QueueModel
package import SequenceCRDT
package import WireProtocol

/// A notification as it is stored, once for all devices.
package struct StoredNotification: Hashable, Sendable {
  /// Rises with every notification of the workspace.
  package var position: UInt64
  /// The operation that made it.
  package var name: OperationID
  package var event: NotificationEvent
  package var session: SessionID
  /// The approval or question that can be answered.
  package var request: RequestID?
  /// The merged message whose text is to be chosen.
  package var message: MessageID?
  /// When it came about, milliseconds since 1970.
  package var milliseconds: Int64
  /// From when on nobody can answer, milliseconds since 1970; nil: it stays of use.
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

  /// Somebody waits for an answer.
  package var isRequest: Bool { request != nil }

  /// It stands until somebody answers or chooses.
  package var awaitsPerson: Bool { isRequest || message != nil }

  /// Nobody could ever answer it from another device: the agent asks at its own prompt.
  package var isAskedAtHost: Bool { expiresAt.map { $0 <= milliseconds } ?? false }

  /// From when on nobody needs to be told of it, milliseconds since 1970; nil: it stays of use.
  package var uselessAt: Int64? { isAskedAtHost ? nil : expiresAt }
}

/// A notification in one device's inbox.
package struct InboxEntry: Hashable, Sendable {
  package var device: DeviceID
  package var position: UInt64
  /// It was given to the push service, which has to take it back once nobody awaits it any more.
  package var isPushed: Bool
  /// The device has it. Only what was pushed and can still be taken back is kept after that.
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
  /// The person of a workspace, in the place of a device, where targets belong to no device. No
  /// device is let in under it.
  package static let person = DeviceID(high: 0, low: 0)
}

/// An address that a device, or the person, has notifications pushed to.
package struct PushTargetRecord: Hashable, Sendable {
  /// Whose it is.
  package var device: DeviceID
  /// The device that set it: the target is used for as long as that one may connect.
  package var setBy: DeviceID
  package var id: PushTargetID
  package var kind: String
  /// The whole address, secrets included.
  package var address: String
  /// The address without its secrets.
  package var shownAddress: String
  package var isValid: Bool
  /// Why it is not valid, in the provider's word; empty for nothing.
  package var reason: String
  /// When a device last said that the address is its own or the person's, milliseconds since 1970.
  package var registeredAt: Int64
  /// When its provider last took a push, milliseconds since 1970; nil for not yet.
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

  /// What stands in the address of a live activity's token.
  package static let activityMark = "purpose=live-activity"

  /// Whether notifications are pushed there: tokens of live activities take none.
  package var takesNotices: Bool {
    kind != "apns" || address.firstRange(of: PushTargetRecord.activityMark) == nil
  }

  /// What the device is told.
  package var state: PushTargetState {
    PushTargetState(
      id: id, kind: kind, address: shownAddress, isValid: isValid, reason: reason,
      deliveredAt: deliveredAt, owner: device == .person ? .person : .device)
  }
}

/// What a provider said of a push target.
package struct PushTargetReport: Hashable, Sendable {
  package var workspace: WorkspaceID
  /// As it was used; one that was set anew since is not meant.
  package var target: PushTargetRecord
  package var isValid: Bool
  package var reason: String
  /// When it took a push, milliseconds since 1970; nil: it took none.
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

  /// A test of a target went well.
  static func tested(
    _ target: PushTargetRecord, of workspace: WorkspaceID, at wallMilliseconds: Int64
  ) -> PushTargetReport {
    PushTargetReport(
      workspace: workspace, target: target, isValid: target.isValid,
      reason: target.isValid ? "" : target.reason, deliveredAt: wallMilliseconds)
  }
}

/// What the push service has to do for one device, or the person: to all its valid targets that take such things.
///
/// Orders are stored in the transaction that led to them and stay until they are carried out.
package struct PushOrder: Hashable, Sendable {
  package enum Kind: UInt8, Hashable, Sendable {
    /// Show it.
    case alert = 1
    /// It is not awaited any more: take it back where it is shown.
    case retract = 2
  }

  package var kind: Kind
  package var device: DeviceID
  package var notification: StoredNotification
  /// The device wants to be told more than what kind of thing happened.
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

/// A push order as it waits in the store.
package struct StoredPushOrder: Hashable, Sendable {
  /// Rises with every order.
  package var number: Int64
  package var workspace: WorkspaceID
  package var order: PushOrder

  package init(number: Int64, workspace: WorkspaceID, order: PushOrder) {
    self.number = number
    self.workspace = workspace
    self.order = order
  }
}

/// A status that begins, changes or ends, to be told once it is stored.
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

/// What the store is to know of a status; milliseconds since 1970.
package enum ShownStatus: Hashable, Sendable {
  case since(Int64)
  /// Kept until everybody was told.
  case ended(at: Int64)
}

/// What there is of notifications in a workspace.
package struct InboxRecords: Hashable, Sendable {
  /// The position of the latest notification, whether it is still there or not.
  package var lastPosition: UInt64
  /// Those that are in any inbox.
  package var notifications: [StoredNotification]
  package var entries: [InboxEntry]
  package var preferences: [DeviceID: NotificationPreferences]
  package var targets: [PushTargetRecord]
  /// The sessions whose tasks are shown in place, and since when: milliseconds since 1970.
  package var statuses: [SessionID: Int64]
  /// The sessions of which somebody may still be shown what has ended, and when it ended:
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

/// What changed of the notifications of a workspace, to be stored in this order.
package struct InboxChanges: Hashable, Sendable {
  package enum Target: Hashable, Sendable {
    /// Takes the place of the one with the same device and id.
    case set(PushTargetRecord)
    case remove(DeviceID, PushTargetID)
  }

  package var posted: [StoredNotification] = []
  /// Each takes the place of the one with the same device and position.
  package var entries: [InboxEntry] = []
  package var removed: [InboxEntry] = []
  package var preferences: [DeviceID: NotificationPreferences] = [:]
  package var targets: [Target] = []
  package var orders: [PushOrder] = []
  /// What is told of running tasks once all this is stored; of these the store keeps which are
  /// shown since when.
  package var statuses: [LiveStatusChange] = []

  package init() {}

  package var isEmpty: Bool { self == InboxChanges() }

  /// The sessions whose statuses begin or end, each with the latest of it.
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
