package import QueueModel
import WireProtocol

/// What starts an epoch.
package struct EpochStart: Hashable, Sendable {
  /// The name of the epoch.
  package var epoch: UInt64
  /// The epoch that it follows.
  package var previous: UInt64
  /// The log position up to which the base takes the place of the log.
  package var position: UInt64
  /// The packed base.
  package var base: [UInt8]
  /// The replicas that the base knows, where it came from a device; nil where the base is made of
  /// what is stored, so that they are known.
  package var replicas: [ReplicaMark]?

  package init(
    epoch: UInt64, previous: UInt64, position: UInt64, base: [UInt8],
    replicas: [ReplicaMark]? = nil
  ) {
    self.epoch = epoch
    self.previous = previous
    self.position = position
    self.base = base
    self.replicas = replicas
  }
}

/// A workspace whose log may be worth compacting.
package struct CompactionCandidate: Hashable, Sendable {
  package var workspace: WorkspaceID
  /// Operations that the log holds beyond the base.
  package var operations: Int
  package var request: CompactionRequest?
  /// Devices that may connect.
  package var devices: [DeviceRecord]

  package init(
    workspace: WorkspaceID, operations: Int, request: CompactionRequest?, devices: [DeviceRecord]
  ) {
    self.workspace = workspace
    self.operations = operations
    self.request = request
    self.devices = devices
  }
}

/// A person's wish for a compaction, whether there is much to drop or not.
package enum CompactionRequest: Int, Hashable, Comparable, Sendable {
  /// As soon as every device has seen everything.
  case whenSeen = 1
  /// At once; devices that are behind get a snapshot.
  case now = 2

  package static func < (left: CompactionRequest, right: CompactionRequest) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// An epoch that the store has started.
package struct StartedEpoch: Sendable {
  package var epoch: UInt64
  package var position: UInt64
  /// The base.
  package var workspace: Workspace
  package var baseBytes: Int
  /// The weight of the state before.
  package var weight: DeadWeight
}

extension ServerStorage {
  /// Compacts a state and starts an epoch with it.
  func startEpoch(
    of workspace: WorkspaceID, with content: Workspace, after previous: UInt64, at position: UInt64
  ) throws(StorageFault) -> StartedEpoch {
    let base = content.compacted()
    let image = base.image()
    let bytes = PackedSnapshot.pack(image)
    let epoch = EpochName.following(previous, base: image)
    try start(
      EpochStart(epoch: epoch, previous: previous, position: position, base: bytes),
      of: workspace)
    return StartedEpoch(
      epoch: epoch, position: position, workspace: base, baseBytes: bytes.count,
      weight: content.deadWeight)
  }
}
