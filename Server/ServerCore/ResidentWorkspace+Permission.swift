import QueueModel
import SequenceCRDT
import WireProtocol

/// What a workspace may take, and who may write what.
extension ResidentWorkspace {
  /// Whether the device's role includes the operations, and they are its own.
  ///
  /// A device sends what it wrote itself; what others wrote comes in with their own connections, or with
  /// a whole state where a server lost its log.
  func roleObjection(to operations: [Operation], of batch: PendingBatch) -> Objection? {
    var announced: [ReplicaID: DeviceID] = [:]
    for operation in operations {
      let replica = operation.id.replica
      if case .announceDevice(let device, _) = operation.body { announced[replica] = device }
      let author = announced[replica] ?? content?.device(of: replica)?.id
      guard author == batch.device else {
        return Objection(
          code: .notAllowed, message: "operation \(operation.id) is not of the device that sends it")
      }
      guard devices[batch.device]?.role == .author,
        case .setRegister(_, let field, _, _) = operation.body, field.isFenced, field != .decision
      else { continue }
      return Objection(
        code: .notAllowed, message: "the device was paired to queue messages, and runs none")
    }
    return nil
  }

  /// Whether the workspace has all that it may have.
  func quotaObjection(
    to batch: PendingBatch, _ configuration: ServerConfiguration, at now: Moment
  ) -> Objection? {
    let bytesMax = quota.bytesMax ?? configuration.workspaceBytesMax
    guard snapshotBytes + tailBytes + batch.delta.count <= bytesMax else {
      return Objection(
        code: .limitReached,
        message: "the workspace takes all the bytes that the server gives it, "
          + "\(bytesMax >> 20) MiB; its owner may raise that: "
          + "cospool-server workspace quota")
    }
    let unitsMax = quota.unitsMax ?? configuration.workspaceUnitsMax
    let units = content?.vector.sorted.reduce(0) { $0 + UInt64($1.seq) } ?? 0
    guard units <= unitsMax else {
      return Objection(
        code: .limitReached,
        message: "the workspace holds all the units of text and changes that the server gives it, "
          + "\(unitsMax)")
    }
    let dailyMax = quota.dailyBytesMax ?? configuration.workspaceDailyBytesMax
    guard written.bytes(at: now.wallMilliseconds) + batch.delta.count <= dailyMax else {
      let day = DailyWrites.dayMilliseconds
      return Objection(
        code: .limitReached,
        message: "the workspace has brought in all that it may on one day, \(dailyMax >> 20) MiB; "
          + "it goes on at midnight (UTC)",
        retryAfterMilliseconds: UInt32(clamping: day - now.wallMilliseconds % day))
    }
    return nil
  }
}
