import QueueModel
package import SequenceCRDT
package import WireProtocol

/// A notification as this device keeps it.
package struct DeviceNotification: Hashable, Sendable {
  package var notification: InboxNotification
  /// When it came, milliseconds since 1970 on this device's clock.
  package var receivedAt: Int64
  /// A program of this device showed it, so that it is not shown again after a restart.
  package var isAnnounced: Bool

  package init(notification: InboxNotification, receivedAt: Int64, isAnnounced: Bool = false) {
    self.notification = notification
    self.receivedAt = receivedAt
    self.isAnnounced = isAnnounced
  }

  package var name: OperationID { notification.name }
}

/// Why a notification is not shown any more.
package enum NotificationEnding: Hashable, Sendable {
  /// Nobody awaits the request any more.
  case settled
  /// The person put it aside.
  case dismissed
  /// Newer ones needed its room.
  case crowdedOut
}

/// What changed of the notifications that a device keeps.
package struct NotificationChanges: Hashable, Sendable {
  /// Known from now on, and standing if `isStanding`.
  package var received: [DeviceNotification] = []
  /// Known from now on but not shown: nobody awaited them any more when they came.
  package var receivedOver: [DeviceNotification] = []
  /// Not shown any more; their names stay known.
  package var ended: [OperationID] = []
  package var announced: [OperationID] = []
  /// Names that came before and stand no more are forgotten; milliseconds since 1970.
  package var forgetsBefore: Int64?

  package init() {}

  package var isEmpty: Bool { self == NotificationChanges() }
}

/// What a store holds of notifications.
package struct LoadedNotifications: Hashable, Sendable {
  package var standing: [DeviceNotification]
  /// The names of all that came in the last days, and when.
  package var names: [OperationID: Int64]

  package init(standing: [DeviceNotification] = [], names: [OperationID: Int64] = [:]) {
    self.standing = standing
    self.names = names
  }

  /// What a store holds after a change: for stores in memory.
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
