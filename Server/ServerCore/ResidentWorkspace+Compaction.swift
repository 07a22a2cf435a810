import QueueModel
import SequenceCRDT

/// What is known about compacting a workspace.
struct CompactionOutlook: Hashable, Sendable {
  /// Somebody asked for it.
  var request: CompactionRequest?
  /// A device's state that waits to be taken over.
  var offer: StateOffer?
  /// The store is starting an epoch; nothing is staged meanwhile.
  var isUnderWay = false
  /// How many operations lay beyond the base when the state was weighed last.
  private(set) var weighedOperations = 0
  private(set) var weight = DeadWeight()

  /// Weighs the state, unless hardly anything came since the last time.
  mutating func weigh(
    _ content: Workspace, operations: Int, _ configuration: ServerConfiguration
  ) {
    let isFresh = operations - weighedOperations >= configuration.compactionDeadMin / 2
    guard isFresh, operations > 0 else { return }
    weighedOperations = operations
    weight = content.deadWeight
  }

  func isWorthwhile(operations: Int, _ configuration: ServerConfiguration) -> Bool {
    operations >= configuration.compactionOperationsMax
      || weight.dead >= configuration.compactionDeadMin && weight.dead * 2 >= weight.total
  }
}

extension ResidentWorkspace {
  /// Operations that the log holds beyond the base.
  var loggedOperations: Int { committed.operationCount(missingFrom: floor) }

  /// Whether every device that may still come back with changes has all that is durable.
  ///
  /// - Parameter connected: the devices that are there now.
  func isSeenByAll(
    connected: Set<DeviceID>, since wallMilliseconds: Int64
  ) -> Bool {
    devices.allSatisfy { id, device in
      let counts = connected.contains(id) || device.lastSeenAt ?? .min >= wallMilliseconds
      return !counts || device.seen >= head
    }
  }
}
