import QueueModel
import SequenceCRDT
import WireProtocol

/// An event in a batch for which users get notifications.
struct NotificationChange: Hashable, Sendable {
  var name: OperationID
  var event: NotificationEvent
  var session: SessionID
  var request: RequestID?
  var message: MessageID?
  var milliseconds: Int64
  var expiresAt: Int64?
  /// The device that caused it, which is not notified; nil if all devices are.
  var author: DeviceID?
}
