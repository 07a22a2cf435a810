import DeltaCodec
import QueueModel
import SequenceCRDT
import WireProtocol

/// A paired device that makes real operations, which are sent unchanged or spoilt.
struct Member {
  let number: UInt64
  let workspaceID: WorkspaceID
  let token: [UInt8]
  private var state = Workspace()
  private var batch: UInt64 = 0
  private var writes: Int64 = 0
  /// The log that it claims to have: as a device that continues, or one that begins.
  var prefix = LogPrefix.empty

  init(number: UInt64, workspaceID: WorkspaceID, token: [UInt8]) {
    self.number = number
    self.workspaceID = workspaceID
    self.token = token
  }

  static func device(_ number: UInt64) -> DeviceID { DeviceID(high: 9, low: number) }
  var replica: ReplicaID { Self.replica(number) }
  static func replica(_ number: UInt64) -> ReplicaID { ReplicaID(rawValue: 1_000 + number) }

  var hello: Hello {
    Hello(
      versions: ProtocolVersion.spoken, token: token, workspace: workspaceID,
      device: Self.device(number),
      store: StoreID(rawValue: 2_000 + number), deviceName: "d\(number)", prefix: prefix)
  }

  /// Operations that queue a prompt and cancel it, after the acknowledged ones, so the queue never
  /// gets full.
  ///
  /// - Returns: the state with them, to keep if they are acknowledged.
  func writing(_ text: String) throws -> (operations: [Operation], after: Member) {
    var after = self
    var operations = after.state.announce(
      device: Self.device(number), name: "d\(number)", replica: replica)
    let message = MessageID(high: number, low: UInt64(state.vector[replica]) + 1)
    let send = Command.Send(session: try SessionID("s\(number)"), id: message, text: text)
    for command in [Command.send(send), .cancel([message])] {
      after.writes += 1
      let context = CommandContext(
        replica: replica, stamp: Stamp(milliseconds: 1_700_000_000_000 + after.writes),
        queueSizeMax: Limits.queueSizeRange.upperBound)
      operations += try after.state.perform(command, in: context).operations
    }
    return (operations, after)
  }

  /// The next number of an operation.
  var next: UInt32 { state.vector[replica] + 1 }

  mutating func changes(_ operations: [Operation]) -> [UInt8] {
    batch += 1
    return FrameCodec.encode(
      .changes(Changes(batch: batch, delta: PackedDelta.pack(operations))))
  }

  /// Operations were acknowledged.
  mutating func wrote(_ operations: [Operation]) {
    // Operations that the server lowered differ only in their stamps.
    _ = try? state.merge(operations)
  }

  /// Continues with later numbers of batches.
  mutating func skip(to batch: UInt64) {
    self.batch = batch
  }

  /// The number of the latest batch.
  var latestBatch: UInt64 { batch }
}
