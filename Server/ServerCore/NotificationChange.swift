import QueueModel
import SequenceCRDT
import WireProtocol

/// Something in a batch that people are told of.
struct NotificationChange: Hashable, Sendable {
  var name: OperationID
  var event: NotificationEvent
  var session: SessionID
  var request: RequestID?
  var message: MessageID?
  var milliseconds: Int64
  var expiresAt: Int64?
  /// The device that did it, which is not told; nil if everybody is.
  var author: DeviceID?
}
