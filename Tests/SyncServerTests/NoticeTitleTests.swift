import PushNotices
import QueueModel
import SequenceCRDT
import Testing
import WireProtocol

@testable import ServerCore
@testable import SyncServer

/// A connected device and one that gets pushes show the same title.
@Suite struct NoticeTitleTests {
  @Test(arguments: [
    NotificationEvent.approval(tool: "Bash", summary: "make", details: nil),
    .question("Which one?", options: ["a", "b"]), .taskComplete(summary: "green"),
    .taskFailed(error: "red"), .threadReady(name: "main"),
    .messageMerged(text: "Bump the version"),
  ])
  func titleIsTheSameInFrameAndPush(event: NotificationEvent) throws {
    let notification = StoredNotification(
      position: 1, name: OperationID(replica: ReplicaID(rawValue: 1), seq: 1), event: event,
      session: try SessionID("main"), milliseconds: 1)
    let order = PushOrder(
      kind: .alert, device: DeviceID(high: 1, low: 1), notification: notification,
      showsDetails: true)
    guard
      case .alert(let notice)? = PushComposer.push(
        order, of: WorkspaceID(high: 1, low: 1), setBy: order.device)
    else {
      Issue.record("no notice")
      return
    }
    #expect(notice.title == notification.frame(isMissed: false).title)
  }
}
