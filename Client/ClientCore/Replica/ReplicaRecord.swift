package import QueueModel
package import SequenceCRDT
package import WireProtocol

/// The data of a device besides operations; stored with them in one transaction.
package struct ReplicaRecord: Hashable, Sendable {
  /// This device's id. The file outside the database decides; this is a copy of it.
  package var device: DeviceID
  package var deviceName: String
  /// Names this store; leases belong to it.
  package var store: StoreID
  /// The workspace of the queues; nil before the first pairing.
  package var workspace: WorkspaceID?
  /// Operations made here that the server's log is not known to hold.
  package var outbox: Outbox
  /// The prefix of the server's log that is stored here.
  package var prefix: LogPrefix
  package var isSyncEnabled: Bool
  /// How many times a copy of this program's memory was found to write under the same ids.
  package var repairs: Int
  /// What the server last said about this device's access; nil if it said nothing.
  package var access: DeviceAccess?

  package init(device: DeviceID, deviceName: String, store: StoreID) {
    self.device = device
    self.deviceName = deviceName
    self.store = store
    workspace = nil
    outbox = Outbox()
    prefix = .empty
    isSyncEnabled = true
    repairs = 0
  }
}

/// The position of a batch's end in the server's log; shows which devices have seen it.
package struct Receipt: Hashable, Sendable {
  package var replica: ReplicaID
  /// The last sequence number of the batch.
  package var lastSeq: UInt32
  package var logPosition: UInt64

  package init(replica: ReplicaID, lastSeq: UInt32, logPosition: UInt64) {
    self.replica = replica
    self.lastSeq = lastSeq
    self.logPosition = logPosition
  }
}
