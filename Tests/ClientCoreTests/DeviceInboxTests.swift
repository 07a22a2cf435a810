import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

@testable import ClientCore

/// The notifications that a device keeps: each once, whatever arrives again.
@Suite struct DeviceInboxTests {
  private static let wall: Int64 = 1_700_000_000_000
  private static let day: Int64 = 86_400_000

  private func notification(
    _ position: UInt64, request: RequestID? = nil
  ) -> InboxNotification {
    InboxNotification(
      position: position,
      name: OperationID(replica: ReplicaID(rawValue: 9), seq: UInt32(position)),
      category: request == nil ? .taskComplete : .approvalRequest, isMissed: false,
      session: .named("s"), request: request, milliseconds: 1, title: "t", body: "b")
  }

  private func take(
    _ notification: InboxNotification, _ inbox: inout DeviceInbox, isOver: Bool = false,
    wall: Int64 = wall
  ) -> NotificationChanges? {
    let changes = inbox.changes(receiving: notification, isOver: isOver, wall: wall)
    if let changes { inbox.stored(changes) }
    return changes
  }

  @Test func knownNotificationsAreNotAcceptedAgain() {
    var inbox = DeviceInbox()
    #expect(take(notification(1), &inbox)?.received.count == 1)
    #expect(take(notification(1), &inbox) == nil)
    var ended = NotificationChanges()
    ended.ended = [notification(1).name]
    inbox.stored(ended)
    #expect(inbox.inOrder.isEmpty)
    #expect(take(notification(1), &inbox) == nil, "its name stays known")
  }

  @Test func requestThatIsOverIsKnownAndNotShown() {
    var inbox = DeviceInbox()
    let changes = take(
      notification(1, request: RequestID(high: 1, low: 1)), &inbox, isOver: true)
    #expect(changes?.received.isEmpty == true)
    #expect(changes?.receivedOver.count == 1)
    #expect(inbox.inOrder.isEmpty)
    #expect(take(notification(1), &inbox) == nil)
  }

  @Test func namesAreForgottenAfterSevenDaysUnlessInUse() {
    var inbox = DeviceInbox()
    _ = take(notification(1), &inbox)
    _ = take(notification(2), &inbox, isOver: true)
    let later = Self.wall + 7 * Self.day + 1
    let changes = take(notification(3), &inbox, wall: later)
    #expect(changes?.forgetsBefore == later - 7 * Self.day)
    #expect(take(notification(1), &inbox, wall: later) == nil, "it stands")
    #expect(take(notification(2), &inbox, wall: later) != nil, "it is forgotten")
  }

  @Test func oldestThatAsksNothingGoesFirst() {
    var inbox = DeviceInbox()
    _ = take(notification(1, request: RequestID(high: 1, low: 1)), &inbox)
    for position in 2...UInt64(DeviceInbox.standingMax) {
      _ = take(notification(position), &inbox)
    }
    #expect(inbox.standing.count == DeviceInbox.standingMax)
    let changes = take(notification(5_000), &inbox)
    #expect(changes?.ended == [notification(2).name])
    #expect(inbox.standing.count == DeviceInbox.standingMax)
  }

  @Test func storesInMemoryFollowTheSameRules() {
    var inbox = DeviceInbox()
    var loaded = LoadedNotifications()
    var generator = TestSeeds.generator(standard: 3)
    for step in 0..<2_000 {
      let wall = Self.wall + Int64(step) * Self.day / 20
      let position = UInt64(generator.below(300) + 1)
      var changes: NotificationChanges?
      switch generator.below(4) {
      case 0:
        var ended = NotificationChanges()
        ended.ended = [notification(position).name]
        changes = ended
      case 1:
        var announced = NotificationChanges()
        announced.announced = [notification(position).name]
        changes = announced
      default:
        changes = inbox.changes(
          receiving: notification(position), isOver: generator.chance(20), wall: wall)
      }
      guard let changes else { continue }
      inbox.stored(changes)
      loaded.apply(changes)
      let again = DeviceInbox(loaded)
      #expect(again.inOrder == inbox.inOrder)
    }
  }
}
