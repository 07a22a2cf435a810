import QueueModel
import SequenceCRDT
import WireProtocol

/// Who may write what.
extension ResidentWorkspace {
  /// Whether the device's role includes the operations.
  ///
  /// Whose replica they are of is not asked: an outbox goes along with a database that comes to another
  /// device, and keeps its ids.
  func roleObjection(to operations: [Operation], of batch: PendingBatch) -> Rejection? {
    guard devices[batch.device]?.role == .author else { return nil }
    let isReport = operations.contains { operation in
      guard case .setRegister(_, let field, _, _) = operation.body else { return false }
      return field.isFenced && field != .decision
    }
    guard isReport else { return nil }
    return Rejection(
      code: .notAllowed, message: "the device was paired to queue messages, and runs none")
  }
}
