import QueueModel
package import SequenceCRDT
package import WireProtocol

/// A notification as this device stores it.
package struct DeviceNotification: Hashable, Sendable {
  package var notification: InboxNotification
  /// When it arrived, milliseconds since 1970 on this device's clock.
  package var receivedAt: Int64
  /// Whether a program of this device showed it, so that it is not shown again after a restart.
  package var isAnnounced: Bool

  package init(notification: InboxNotification, receivedAt: Int64, isAnnounced: Bool = false) {
    self.notification = notification
    self.receivedAt = receivedAt
    self.isAnnounced = isAnnounced
  }

  package var name: OperationID { notification.name }
}

/// Why a notification is no longer shown.
package enum NotificationEnding: Hashable, Sendable {
  /// The request is no longer awaited.
  case settled
  /// The user dismissed it.
  case dismissed
  /// Newer ones needed its place.
  case crowdedOut
}

/// Changes to the notifications that a device stores.
package struct NotificationChanges: Hashable, Sendable {
  /// Known from now on, and displayed if `isStanding`.
  package var received: [DeviceNotification] = []
  /// Known from now on but not displayed: they were no longer awaited on arrival.
  package var receivedOver: [DeviceNotification] = []
  /// No longer displayed; their names stay known.
  package var ended: [OperationID] = []
  package var announced: [OperationID] = []
  /// Names from before this time that are not displayed are forgotten; milliseconds since 1970.
  package var forgetsBefore: Int64?

  package init() {}

  package var isEmpty: Bool { self == NotificationChanges() }
}

/// The notifications in a store.
package struct LoadedNotifications: Hashable, Sendable {
  package var standing: [DeviceNotification]
  /// The names of all notifications of the last days, and their times.
  package var names: [OperationID: Int64]

  package init(standing: [DeviceNotification] = [], names: [OperationID: Int64] = [:]) {
    self.standing = standing
    self.names = names
  }

  /// The contents of a store after a change: for stores in memory.
  package mutating func apply(_ changes: NotificationChanges) {
    for item in changes.received + changes.receivedOver { names[item.name] = item.receivedAt }
    standing += changes.received
    standing.removeAll { changes.ended.contains($0.name) }
    for index in standing.indices where changes.announced.contains(standing[index].name) {
      standing[index].isAnnounced = true
    }
    if let horizon = changes.forgetsBefore {
      let standing = Set(standing.map(\.name))
      names = names.filter { $0.value >= horizon || standing.contains($0.key) }
    }
  }
}
