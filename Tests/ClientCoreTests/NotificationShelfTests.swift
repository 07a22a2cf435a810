import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

@testable import ClientCore

/// What a device keeps of notifications: each once, whatever comes again.
@Suite struct NotificationShelfTests {
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
    _ notification: InboxNotification, _ shelf: inout NotificationShelf, isOver: Bool = false,
    wall: Int64 = wall
  ) -> NotificationChanges? {
    let changes = shelf.changes(receiving: notification, isOver: isOver, wall: wall)
    if let changes { shelf.stored(changes) }
    return changes
  }

  @Test func whatIsKnownIsNotTakenAgain() {
    var shelf = NotificationShelf()
    #expect(take(notification(1), &shelf)?.received.count == 1)
    #expect(take(notification(1), &shelf) == nil)
    var ended = NotificationChanges()
    ended.ended = [notification(1).name]
    shelf.stored(ended)
    #expect(shelf.inOrder.isEmpty)
    #expect(take(notification(1), &shelf) == nil, "its name stays known")
  }

  @Test func requestThatIsOverIsKnownAndNotShown() {
    var shelf = NotificationShelf()
    let changes = take(
      notification(1, request: RequestID(high: 1, low: 1)), &shelf, isOver: true)
    #expect(changes?.received.isEmpty == true)
    #expect(changes?.receivedOver.count == 1)
    #expect(shelf.inOrder.isEmpty)
    #expect(take(notification(1), &shelf) == nil)
  }

  @Test func namesAreForgottenAfterSevenDaysUnlessTheyStand() {
    var shelf = NotificationShelf()
    _ = take(notification(1), &shelf)
    _ = take(notification(2), &shelf, isOver: true)
    let later = Self.wall + 7 * Self.day + 1
    let changes = take(notification(3), &shelf, wall: later)
    #expect(changes?.forgetsBefore == later - 7 * Self.day)
    #expect(take(notification(1), &shelf, wall: later) == nil, "it stands")
    #expect(take(notification(2), &shelf, wall: later) != nil, "it is forgotten")
  }

  @Test func oldestThatAsksNothingGoesFirst() {
    var shelf = NotificationShelf()
    _ = take(notification(1, request: RequestID(high: 1, low: 1)), &shelf)
    for position in 2...UInt64(NotificationShelf.standingMax) {
      _ = take(notification(position), &shelf)
    }
    #expect(shelf.standing.count == NotificationShelf.standingMax)
    let changes = take(notification(5_000), &shelf)
    #expect(changes?.ended == [notification(2).name])
    #expect(shelf.standing.count == NotificationShelf.standingMax)
  }

  @Test func storesInMemoryFollowTheSameRules() {
    var shelf = NotificationShelf()
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
        changes = shelf.changes(
          receiving: notification(position), isOver: generator.chance(20), wall: wall)
      }
      guard let changes else { continue }
      shelf.stored(changes)
      loaded.apply(changes)
      let again = NotificationShelf(loaded)
      #expect(again.inOrder == shelf.inOrder)
    }
  }
}
