package import QueueModel
package import SequenceCRDT

/// What a device remembers besides operations; stored with them in one transaction.
package struct ReplicaRecord: Hashable, Sendable {
  /// This device; the file outside the database decides, this is its mirror.
  package var device: DeviceID
  package var deviceName: String
  /// The author of new operations.
  package var replica: ReplicaID
  /// Counts the replica ids of this store, from 1.
  package var incarnation: UInt32
  /// Every replica id this store ever had, the present one too.
  package var ownReplicas: Set<ReplicaID>
  /// The workspace the queues belong to; nil before the first pairing.
  package var workspace: WorkspaceID?
  /// What the server is known to have stored. For own replicas it rises by acknowledgements and
  /// equal digests alone, never by what others send, since a fork would hide behind that.
  package var acknowledged: VersionVector
  /// The server log that `logPosition` counts in; 0 before the first session.
  package var logIdentity: UInt64
  /// Everything of the server's log up to here is stored on this device.
  package var logPosition: UInt64
  /// The name of the epoch that the base belongs to.
  package var epoch: UInt64
  /// What the base holds: these operations are there as state, no longer in the log, so that
  /// history reaches back to here.
  package var floor: VersionVector
  package var isSyncEnabled: Bool
  /// Digest mismatches that a snapshot repaired.
  package var repairs: Int

  package init(device: DeviceID, deviceName: String, replica: ReplicaID) {
    self.device = device
    self.deviceName = deviceName
    self.replica = replica
    incarnation = 1
    ownReplicas = [replica]
    workspace = nil
    acknowledged = VersionVector()
    logIdentity = 0
    logPosition = 0
    epoch = 0
    floor = VersionVector()
    isSyncEnabled = true
    repairs = 0
  }

  mutating func takeReplica(_ fresh: ReplicaID) {
    replica = fresh
    incarnation &+= 1
    ownReplicas.insert(fresh)
  }
}

/// Where the server put the end of a batch; tells which devices have seen it.
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
