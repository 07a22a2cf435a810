import QueueModel
import SequenceCRDT
import WireProtocol

/// The notifications of this device, known and displayed. Pure; its results are stored before they
/// are shown.
struct DeviceInbox: Sendable {
  /// How long names are kept, by the specification.
  static let memoryMilliseconds: Int64 = 7 * 86_400_000
  /// The maximum number of displayed notifications; beyond it, the oldest that no user has to
  /// answer is removed first.
  static let standingMax = WireLimits.inboxMax

  private(set) var standing: [OperationID: DeviceNotification]
  private var names: [OperationID: Int64]

  init(_ loaded: LoadedNotifications = LoadedNotifications()) {
    standing = Dictionary(loaded.standing.map { ($0.name, $0) }) { first, _ in first }
    names = loaded.names
  }

  /// The displayed notifications, in the order of their positions.
  var inOrder: [DeviceNotification] {
    standing.values.sorted { left, right in
      let (left, right) = (left.notification, right.notification)
      return (left.position, left.milliseconds, left.name)
        < (right.position, right.milliseconds, right.name)
    }
  }

  /// The greatest displayed position: events of the device's own agents, which have no position
  /// from the server here, come after it.
  var lastPosition: UInt64 { standing.values.map(\.notification.position).max() ?? 0 }

  /// The changes for an incoming notification; nil if it is known.
  func changes(
    receiving notification: InboxNotification, isOver: Bool, wall: Int64
  ) -> NotificationChanges? {
    guard names[notification.name] == nil else { return nil }
    var changes = NotificationChanges()
    let received = DeviceNotification(notification: notification, receivedAt: wall)
    if isOver {
      changes.receivedOver = [received]
    } else {
      changes.received = [received]
      if standing.count >= DeviceInbox.standingMax {
        let oldest = inOrder
        let victim = oldest.first { !$0.notification.awaitsPerson } ?? oldest[0]
        changes.ended = [victim.name]
      }
    }
    let horizon = wall - DeviceInbox.memoryMilliseconds
    if names.contains(where: { $0.value < horizon && standing[$0.key] == nil }) {
      changes.forgetsBefore = horizon
    }
    return changes
  }

  /// The changes if requests are no longer awaited, or texts were chosen.
  func changes(endingRequests isOver: (InboxNotification) -> Bool) -> NotificationChanges? {
    let over = standing.values.map(\.notification).filter { $0.awaitsPerson && isOver($0) }
      .sorted { $0.position < $1.position }
    guard !over.isEmpty else { return nil }
    var changes = NotificationChanges()
    changes.ended = over.map(\.name)
    return changes
  }

  /// Applies stored changes.
  mutating func stored(_ changes: NotificationChanges) {
    for item in changes.received + changes.receivedOver { names[item.name] = item.receivedAt }
    for item in changes.received { standing[item.name] = item }
    for name in changes.ended { standing[name] = nil }
    for name in changes.announced { standing[name]?.isAnnounced = true }
    if let horizon = changes.forgetsBefore {
      names = names.filter { $0.value >= horizon || standing[$0.key] != nil }
    }
  }

  /// Checks the displayed notifications against the known ones.
  func checkInvariants() throws(InvariantViolation) {
    guard standing.allSatisfy({ $0 == $1.name && names[$0] != nil }) else {
      throw InvariantViolation(reason: "a notification is shown whose name is not known")
    }
    guard standing.count <= DeviceInbox.standingMax else {
      throw InvariantViolation(reason: "\(standing.count) notifications are shown")
    }
  }
}
