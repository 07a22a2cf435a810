import QueueModel
import SequenceCRDT
import WireProtocol

/// The notifications of this device: which are known, and which stand. Pure; what it returns is
/// stored before it is told.
struct DeviceInbox: Sendable {
  /// Names are kept for so long, as the specification says.
  static let memoryMilliseconds: Int64 = 7 * 86_400_000
  /// Notifications that stand at most; the oldest that asks nothing goes first.
  static let standingMax = WireLimits.inboxMax

  private(set) var standing: [OperationID: DeviceNotification]
  private var names: [OperationID: Int64]

  init(_ loaded: LoadedNotifications = LoadedNotifications()) {
    standing = Dictionary(loaded.standing.map { ($0.name, $0) }) { first, _ in first }
    names = loaded.names
  }

  /// Those that stand, in the order of their positions.
  var inOrder: [DeviceNotification] {
    standing.values.sorted { left, right in
      let (left, right) = (left.notification, right.notification)
      return (left.position, left.milliseconds, left.name)
        < (right.position, right.milliseconds, right.name)
    }
  }

  /// The greatest position that stands: what the device's own agents do, which the server gives no
  /// position here, comes behind it.
  var lastPosition: UInt64 { standing.values.map(\.notification.position).max() ?? 0 }

  /// What follows from a notification that came; nil where it is known.
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

  /// What follows where requests are not awaited any more, or texts were chosen.
  func changes(endingRequests isOver: (InboxNotification) -> Bool) -> NotificationChanges? {
    let over = standing.values.map(\.notification).filter { $0.awaitsPerson && isOver($0) }
      .sorted { $0.position < $1.position }
    guard !over.isEmpty else { return nil }
    var changes = NotificationChanges()
    changes.ended = over.map(\.name)
    return changes
  }

  /// Takes over what was stored.
  mutating func stored(_ changes: NotificationChanges) {
    for item in changes.received + changes.receivedOver { names[item.name] = item.receivedAt }
    for item in changes.received { standing[item.name] = item }
    for name in changes.ended { standing[name] = nil }
    for name in changes.announced { standing[name]?.isAnnounced = true }
    if let horizon = changes.forgetsBefore {
      names = names.filter { $0.value >= horizon || standing[$0.key] != nil }
    }
  }

  /// Checks what stands against what is known.
  func checkInvariants() throws(InvariantViolation) {
    guard standing.allSatisfy({ $0 == $1.name && names[$0] != nil }) else {
      throw InvariantViolation(reason: "a notification stands whose name is not known")
    }
    guard standing.count <= DeviceInbox.standingMax else {
      throw InvariantViolation(reason: "\(standing.count) notifications stand")
    }
  }
}
