package import DispatchAuthority
package import QueueModel
package import SequenceCRDT

/// The port to the server's durable store; `ServerStore` implements it over SQLite, a simulation
/// in memory.
///
/// Calls are synchronous and come from one thread at a time. Everything but `token` and `redeem`,
/// which find out the workspace, is keyed by the workspace.
package protocol ServerStorage: AnyObject, Sendable {
  /// The token with this hash, revoked or not.
  func token(hash: [UInt8]) throws(StorageFault) -> TokenRecord?

  /// Trades a code for a token in one transaction, or counts a wrong guess against all open codes.
  func redeem(_ redemption: CodeRedemption) throws(StorageFault) -> RedemptionOutcome

  /// Who lost their access since, in the workspaces of the given tokens. Devices that lost it may be
  /// left out where they were named before.
  func lapsedAccess(among tokens: [ConnectedToken]) throws(StorageFault) -> LapsedAccess

  /// What is known about a workspace besides its content; nil where there is none of that id.
  func header(of workspace: WorkspaceID) throws(StorageFault) -> WorkspaceHeader?

  /// The latest snapshot.
  func latestSnapshot(of workspace: WorkspaceID) throws(StorageFault) -> StoredSnapshot?

  /// What the epoch starts with; nil before the first compaction.
  func base(of workspace: WorkspaceID) throws(StorageFault) -> StoredSnapshot?

  /// Log entries after a position, in order, at most `limit`.
  func entries(of workspace: WorkspaceID, after position: UInt64, limit: Int)
    throws(StorageFault) -> [LogEntry]

  /// Log entries that hold any operation of the ranges, in order.
  func entries(of workspace: WorkspaceID, overlapping ranges: [OperationRange])
    throws(StorageFault) -> [LogEntry]

  /// Stores everything in one durable transaction, or nothing.
  func commit(_ batch: CommitBatch) throws(StorageFault)

  /// Writes something small and durable, to see whether that is possible.
  func probe() throws(StorageFault)

  /// Stores a snapshot and drops those it makes superfluous.
  func save(_ snapshot: StoredSnapshot, of workspace: WorkspaceID) throws(StorageFault)

  /// Starts an epoch in one durable transaction, or does nothing: the base takes the place of the
  /// log up to its position and of all snapshots, and a request for it is settled.
  ///
  /// - Throws: `StorageFault.conflict` where the workspace is not in the epoch and at the position
  ///   that the start follows.
  func start(_ epoch: EpochStart, of workspace: WorkspaceID) throws(StorageFault)

  /// The workspaces for which somebody asked for a compaction, those whose log holds at least so
  /// many operations beyond the base, and the named ones.
  func compactionCandidates(
    operationsMin: Int, waiting: Set<WorkspaceID>
  ) throws(StorageFault) -> [CompactionCandidate]

  /// The workspaces in which the inbox of a device with valid push targets holds what was neither
  /// acknowledged nor pushed, or of whose tasks something is shown in place.
  func workspacesWithUnpushed() throws(StorageFault) -> [WorkspaceID]
}

/// Whom a token belongs to.
package struct TokenRecord: Hashable, Sendable {
  package var workspace: WorkspaceID
  package var device: DeviceRecord
  package var isRevoked: Bool

  package init(workspace: WorkspaceID, device: DeviceRecord, isRevoked: Bool) {
    self.workspace = workspace
    self.device = device
    self.isRevoked = isRevoked
  }
}

/// A paired device.
package struct DeviceRecord: Hashable, Sendable {
  package var id: DeviceID
  package var name: String
  /// Everything up to here is stored on the device.
  package var seenLogPosition: UInt64
  /// When it was connected last, milliseconds since 1970; nil for never.
  package var lastSeenAt: Int64?

  package init(id: DeviceID, name: String, seenLogPosition: UInt64, lastSeenAt: Int64? = nil) {
    self.id = id
    self.name = name
    self.seenLogPosition = seenLogPosition
    self.lastSeenAt = lastSeenAt
  }
}

/// A live connection's right to be there.
package struct ConnectedToken: Hashable, Sendable {
  package var workspace: WorkspaceID
  package var device: DeviceID
  package var hash: [UInt8]

  package init(workspace: WorkspaceID, device: DeviceID, hash: [UInt8]) {
    self.workspace = workspace
    self.device = device
    self.hash = hash
  }
}

/// Who lost their access.
package struct LapsedAccess: Hashable, Sendable {
  /// Those of the connected that were revoked, replaced or removed.
  package var tokens: [ConnectedToken]
  /// Devices that were revoked, connected or not.
  package var devices: [WorkspaceID: Set<DeviceID>]

  package init(tokens: [ConnectedToken] = [], devices: [WorkspaceID: Set<DeviceID>] = [:]) {
    self.tokens = tokens
    self.devices = devices
  }
}

/// A device that presents a pairing code.
package struct CodeRedemption: Hashable, Sendable {
  package var codeHash: [UInt8]
  package var device: DeviceID
  package var deviceName: String
  package var tokenHash: [UInt8]
  package var wallMilliseconds: Int64
  package var failuresMax: Int
  package var devicesMax: Int

  package init(
    codeHash: [UInt8], device: DeviceID, deviceName: String, tokenHash: [UInt8],
    wallMilliseconds: Int64, failuresMax: Int, devicesMax: Int
  ) {
    self.codeHash = codeHash
    self.device = device
    self.deviceName = deviceName
    self.tokenHash = tokenHash
    self.wallMilliseconds = wallMilliseconds
    self.failuresMax = failuresMax
    self.devicesMax = devicesMax
  }
}

/// What became of a pairing code.
package enum RedemptionOutcome: Hashable, Sendable {
  case granted(workspace: WorkspaceID, workspaceName: String, wasRevoked: Bool = false)
  /// Unknown, used or expired; the guess was counted.
  case wrong
  /// The code was right but died of wrong guesses.
  case exhausted
  /// The workspace has as many devices as it may.
  case tooManyDevices
}

/// What is known about a workspace besides its content.
package struct WorkspaceHeader: Hashable, Sendable {
  package var name: String
  package var logIdentity: UInt64
  package var epoch: UInt64
  /// The log position whose state is the base; 0 before the first compaction.
  package var basePosition: UInt64
  /// The position of the last log entry, or of the base where none is behind it.
  package var head: UInt64
  package var replicas: [ReplicaMark]
  /// Devices that may connect.
  package var devices: [DeviceRecord]
  /// Leases and dispatches.
  package var authority: AuthorityRecords
  /// Notifications, and who is to be told of them how.
  package var inboxes: InboxRecords

  package init(
    name: String, logIdentity: UInt64, epoch: UInt64, basePosition: UInt64 = 0, head: UInt64,
    replicas: [ReplicaMark], devices: [DeviceRecord],
    authority: AuthorityRecords = AuthorityRecords(), inboxes: InboxRecords = InboxRecords()
  ) {
    self.authority = authority
    self.inboxes = inboxes
    self.name = name
    self.logIdentity = logIdentity
    self.epoch = epoch
    self.basePosition = basePosition
    self.head = head
    self.replicas = replicas
    self.devices = devices
  }
}

/// How far a replica is stored, and whose it is.
package struct ReplicaMark: Hashable, Sendable {
  package var replica: ReplicaID
  package var seq: UInt32
  package var digest: UInt64
  package var device: DeviceID
  /// Up to here its operations are in the base and not in the log.
  package var baseSeq: UInt32

  package init(
    replica: ReplicaID, seq: UInt32, digest: UInt64, device: DeviceID, baseSeq: UInt32 = 0
  ) {
    self.replica = replica
    self.seq = seq
    self.digest = digest
    self.device = device
    self.baseSeq = baseSeq
  }
}

/// One accepted batch, as stored.
package struct LogEntry: Hashable, Sendable {
  package var position: UInt64
  package var delta: [UInt8]

  package init(position: UInt64, delta: [UInt8]) {
    self.position = position
    self.delta = delta
  }
}

/// A packed image of a workspace at a log position.
package struct StoredSnapshot: Hashable, Sendable {
  package var position: UInt64
  package var bytes: [UInt8]

  package init(position: UInt64, bytes: [UInt8]) {
    self.position = position
    self.bytes = bytes
  }
}

/// What one transaction of the group commit writes.
package struct CommitBatch: Sendable {
  package var appends: [LogAppend] = []
  package var touches: [DeviceTouch] = []
  /// Leases and dispatches; each row takes the place of the one with the same key.
  package var records: [(workspace: WorkspaceID, records: AuthorityRecords)] = []
  package var inboxes: [(workspace: WorkspaceID, changes: InboxChanges)] = []

  package init() {}

  package var isEmpty: Bool {
    appends.isEmpty && touches.isEmpty && records.isEmpty && inboxes.isEmpty
  }
}

/// One log entry to be stored.
package struct LogAppend: Hashable, Sendable {
  package var workspace: WorkspaceID
  package var position: UInt64
  package var delta: [UInt8]
  /// One per replica in the delta.
  package var rows: [LogRow]

  package init(workspace: WorkspaceID, position: UInt64, delta: [UInt8], rows: [LogRow]) {
    self.workspace = workspace
    self.position = position
    self.delta = delta
    self.rows = rows
  }
}

/// The operations of one replica within a log entry.
package struct LogRow: Hashable, Sendable {
  package var range: OperationRange
  /// The replica's rolling digest after the last of them.
  package var digest: UInt64
  /// The device the replica is bound to.
  package var device: DeviceID

  package init(range: OperationRange, digest: UInt64, device: DeviceID) {
    self.range = range
    self.digest = digest
    self.device = device
  }
}

/// News about a device that may wait for the next transaction.
package struct DeviceTouch: Hashable, Sendable {
  package var workspace: WorkspaceID
  package var device: DeviceID
  package var name: String
  package var seenLogPosition: UInt64
  package var wallMilliseconds: Int64

  package init(
    workspace: WorkspaceID, device: DeviceID, name: String, seenLogPosition: UInt64,
    wallMilliseconds: Int64
  ) {
    self.workspace = workspace
    self.device = device
    self.name = name
    self.seenLogPosition = seenLogPosition
    self.wallMilliseconds = wallMilliseconds
  }
}
