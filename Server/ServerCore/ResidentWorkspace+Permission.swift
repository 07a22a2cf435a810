import QueueModel
import SequenceCRDT
import WireProtocol

/// What a workspace may take, and who may write what.
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

  /// Bytes that the workspace's state alone may have.
  func stateBytesMax(_ configuration: ServerConfiguration) -> Int {
    min(quota.bytesMax ?? configuration.quota.bytesMax, configuration.stateBytesMax)
  }

  /// Units that the workspace may have.
  func unitsMax(_ configuration: ServerConfiguration) -> UInt64 {
    min(quota.unitsMax ?? configuration.quota.unitsMax, WorkspaceQuota.unitsMaxMax)
  }

  /// Whether the workspace has all that it may have.
  func quotaObjection(
    to batch: PendingBatch, _ configuration: ServerConfiguration, at now: ServerTime
  ) -> Rejection? {
    let bytesMax = quota.bytesMax ?? configuration.quota.bytesMax
    guard snapshotBytes + tailBytes + batch.delta.count <= bytesMax else {
      return Rejection(
        code: .limitReached,
        message: "the workspace takes all the bytes that the server gives it, "
          + "\(bytesMax >> 20) MiB; its owner may raise that: "
          + "cospool-server workspace quota")
    }
    let stateMax = configuration.stateBytesMax
    guard snapshotBytes <= stateMax else {
      return Rejection(
        code: .limitReached,
        message:
          "the workspace's state has more than \(stateMax >> 20) MiB, which devices take in: "
          + "begin a new workspace")
    }
    let unitsMax = unitsMax(configuration)
    let units = content?.vector.sorted.reduce(0) { $0 + UInt64($1.seq) } ?? 0
    guard units <= unitsMax else {
      return Rejection(
        code: .limitReached,
        message: "the workspace holds all the units of text and changes that the server gives it, "
          + "\(unitsMax)")
    }
    let dailyMax = quota.dailyBytesMax ?? configuration.quota.dailyBytesMax
    guard written.bytes(at: now.wallMilliseconds) + batch.delta.count <= dailyMax else {
      let day = DailyWrites.dayMilliseconds
      return Rejection(
        code: .limitReached,
        message: "the workspace has brought in all that it may on one day, \(dailyMax >> 20) MiB; "
          + "it goes on at midnight (UTC)",
        retryAfterMilliseconds: UInt32(clamping: day - now.wallMilliseconds % day))
    }
    return nil
  }
}
