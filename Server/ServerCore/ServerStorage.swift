package import DispatchAuthority
package import QueueModel
package import WireProtocol

/// The port to the server's durable store; `ServerStore` implements it over SQLite, a simulation in
/// memory.
///
/// Calls are synchronous and come from one thread at a time. The workspace is the key of all except
/// `token` and `redeem`, which find it.
package protocol ServerStorage: AnyObject, Sendable {
  /// The token with this hash, revoked or not.
  func token(hash: [UInt8]) throws(StorageFault) -> TokenRecord?

  /// Exchanges a code for a token in one transaction, or counts a wrong guess against the open
  /// codes with its name.
  func redeem(_ redemption: CodeRedemption) throws(StorageFault) -> RedemptionOutcome

  /// Stores a pairing code that a device requested, unless that device no longer has access or
  /// already got too many.
  func addCode(_ proposal: CodeProposal) throws(StorageFault) -> CodeOutcome

  /// The devices that lost their access since the last call, in the workspaces of the given tokens.
  /// Devices that were reported before may be left out.
  func lapsedAccess(among tokens: [ConnectedToken]) throws(StorageFault) -> LapsedAccess

  /// The marks of workspaces whose marks differ from these.
  func marks(
    otherThan known: [WorkspaceID: WorkspaceMark]
  ) throws(StorageFault) -> [WorkspaceID: WorkspaceMark]

  /// The known data about a workspace, except its content; nil if there is none with that id.
  func header(of workspace: WorkspaceID) throws(StorageFault) -> WorkspaceHeader?

  /// The same, for the node that serves the workspace from now on. If another node served it, or
  /// none, it gets a fresh mark, so that no later commit of that node is stored.
  func take(_ workspace: WorkspaceID) throws(StorageFault) -> WorkspaceHeader?

  /// The latest snapshot of a prefix that ends at a position or before it.
  func latestSnapshot(of workspace: WorkspaceID, notBehind position: UInt64)
    throws(StorageFault) -> StoredSnapshot?

  /// The chain at a position, if an entry or a snapshot there has it.
  func chain(of workspace: WorkspaceID, at position: UInt64) throws(StorageFault) -> UInt64?

  /// Log entries after a position, in order, at most `limit`.
  ///
  /// - Parameter bytesMax: the last entry is the one that reaches this number of bytes.
  func entries(of workspace: WorkspaceID, after position: UInt64, limit: Int, bytesMax: Int)
    throws(StorageFault) -> [LogEntry]

  /// Stores everything in one durable transaction, or nothing, except the changes of workspaces
  /// whose marks differ from the batch's. All other changed workspaces get fresh marks.
  func commit(_ batch: CommitBatch) throws(StorageFault) -> CommitResult

  /// Stores events about access, the newest of each kind.
  func record(_ entries: [AuditEntry]) throws(StorageFault)

  /// Writes something small and durable, to check that writing works.
  func probe() throws(StorageFault)

  /// Stores a snapshot of a prefix of the log, and keeps the one before it. Log entries before a
  /// position that both cover are dropped; the one at the position keeps the chain for devices that
  /// have the log up to there. Entries are also dropped if a device without them would get a
  /// snapshot instead.
  ///
  /// - Returns: whether it was stored: false if the log is another one.
  func save(
    _ snapshot: StoredSnapshot, of workspace: WorkspaceID, truncatingBefore position: UInt64
  ) throws(StorageFault) -> Bool

  /// The workspaces that display statuses of tasks, or in which a device with valid push targets
  /// has inbox entries that were neither acknowledged nor pushed. Those that another living node
  /// serves are left out.
  func workspacesWithUnpushed() throws(StorageFault) -> [WorkspaceID]
}

/// The owner of a token.
package struct TokenRecord: Hashable, Sendable {
  package var workspace: WorkspaceID
  package var device: DeviceRecord
  package var isRevoked: Bool
  /// When the access ends, milliseconds since 1970; nil for never.
  package var expiresAt: Int64?
  /// The byte limit of the workspace's files, if it has its own.
  package var fileBytesMax: Int?
  /// The mark of the workspace.
  package var mark: WorkspaceMark

  package init(
    workspace: WorkspaceID, device: DeviceRecord, isRevoked: Bool, expiresAt: Int64? = nil,
    fileBytesMax: Int? = nil, mark: WorkspaceMark
  ) {
    self.mark = mark
    self.workspace = workspace
    self.device = device
    self.isRevoked = isRevoked
    self.expiresAt = expiresAt
    self.fileBytesMax = fileBytesMax
  }

  /// Whether the access has ended at that time.
  package func hasExpired(at wallMilliseconds: Int64) -> Bool {
    expiresAt.map { $0 <= wallMilliseconds } ?? false
  }
}

/// A paired device.
package struct DeviceRecord: Hashable, Sendable {
  package var id: DeviceID
  package var name: String
  /// Everything up to here is stored on the device.
  package var seenLogPosition: UInt64
  /// When it was last connected, milliseconds since 1970; nil for never.
  package var lastSeenAt: Int64?
  package var role: DeviceRole

  package init(
    id: DeviceID, name: String, seenLogPosition: UInt64, lastSeenAt: Int64? = nil,
    role: DeviceRole = .host
  ) {
    self.id = id
    self.name = name
    self.seenLogPosition = seenLogPosition
    self.lastSeenAt = lastSeenAt
    self.role = role
  }
}

/// The access of a live connection.
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

/// Devices that lost their access.
package struct LapsedAccess: Hashable, Sendable {
  /// Tokens of connected devices that were revoked, replaced or removed.
  package var tokens: [ConnectedToken]
  /// Devices that were revoked, connected or not.
  package var devices: [WorkspaceID: Set<DeviceID>]
  /// The quotas of the workspaces, if they may have changed.
  package var quotas: [WorkspaceID: WorkspaceQuota]

  package init(
    tokens: [ConnectedToken] = [], devices: [WorkspaceID: Set<DeviceID>] = [:],
    quotas: [WorkspaceID: WorkspaceQuota] = [:]
  ) {
    self.tokens = tokens
    self.devices = devices
    self.quotas = quotas
  }
}

/// A device that presents a pairing code.
package struct CodeRedemption: Hashable, Sendable {
  /// The stored form of the code.
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

/// A pairing code that a device requested, to be stored.
package struct CodeProposal: Hashable, Sendable {
  /// The stored form of the code.
  package var hash: [UInt8]
  package var workspace: WorkspaceID
  /// The device that requested it.
  package var device: DeviceID
  package var role: DeviceRole
  /// How long the new device has access, never longer than the requesting device; nil for as long
  /// as that one.
  package var accessMilliseconds: Int64?
  package var wallMilliseconds: Int64
  package var expiresAt: Int64
  /// The maximum number of the device's codes that are younger than a code's lifetime.
  package var recentMax: Int
  /// The source address of the request.
  package var source: String

  package init(
    hash: [UInt8], workspace: WorkspaceID, device: DeviceID, role: DeviceRole,
    accessMilliseconds: Int64?, wallMilliseconds: Int64, expiresAt: Int64, recentMax: Int,
    source: String
  ) {
    self.hash = hash
    self.workspace = workspace
    self.device = device
    self.role = role
    self.accessMilliseconds = accessMilliseconds
    self.wallMilliseconds = wallMilliseconds
    self.expiresAt = expiresAt
    self.recentMax = recentMax
    self.source = source
  }

  /// The operator's entry about it.
  package var auditEntry: AuditEntry {
    AuditEntry(
      at: wallMilliseconds, event: .code, workspace: workspace, device: device, source: source,
      detail: "role \(role.name), by the device")
  }
}

/// The result of the proposal.
package enum CodeOutcome: Hashable, Sendable {
  case added
  /// The device already got its maximum of codes for that time.
  case tooMany
  /// The device no longer has access.
  case noAccess
}

/// The result of a pairing code.
package enum RedemptionOutcome: Hashable, Sendable {
  case granted(
    workspace: WorkspaceID, workspaceName: String, wasRevoked: Bool = false,
    letInBy: DeviceID? = nil)
  /// The device's access was revoked, and the code was requested by another device.
  case revoked
  /// The workspace already knows the device, and another device requested the code.
  case known
  /// Unknown, used or expired; the guess was counted.
  case wrong
  /// The code was right but had ended after too many wrong guesses.
  case exhausted
  /// The workspace has the maximum number of devices.
  case tooManyDevices
}

/// The known data about a workspace, except its content.
package struct WorkspaceHeader: Hashable, Sendable {
  package var name: String
  /// The chain of the empty log: random, so that no two logs are alike.
  package var firstChain: UInt64
  package var head: LogPrefix
  package var mark: WorkspaceMark
  /// Devices that may connect.
  package var devices: [DeviceRecord]
  /// Leases and dispatches.
  package var authority: AuthorityRecords
  /// Notifications, and the settings for sending them.
  package var inboxes: InboxRecords
  package var quota: WorkspaceQuota
  package var written: DailyWrites

  package init(
    name: String, firstChain: UInt64, head: LogPrefix, mark: WorkspaceMark,
    devices: [DeviceRecord], authority: AuthorityRecords = AuthorityRecords(),
    inboxes: InboxRecords = InboxRecords(),
    quota: WorkspaceQuota = WorkspaceQuota(), written: DailyWrites = DailyWrites()
  ) {
    self.mark = mark
    self.quota = quota
    self.written = written
    self.name = name
    self.firstChain = firstChain
    self.head = head
    self.devices = devices
    self.authority = authority
    self.inboxes = inboxes
  }
}

/// An entry of a workspace's log.
package struct LogEntry: Hashable, Sendable {
  package enum Content: Hashable, Sendable {
    /// An accepted batch.
    case delta([UInt8])
    /// The whole state from here on, packed: the log's content joined with a device's state.
    case state([UInt8])

    package var bytes: [UInt8] {
      switch self {
      case .delta(let bytes), .state(let bytes): bytes
      }
    }
  }

  /// The log up to and including it.
  package var prefix: LogPrefix
  package var content: Content

  package init(prefix: LogPrefix, content: Content) {
    self.prefix = prefix
    self.content = content
  }
}

/// A packed image of a workspace at a prefix of its log.
package struct StoredSnapshot: Hashable, Sendable {
  package var prefix: LogPrefix
  package var bytes: [UInt8]

  package init(prefix: LogPrefix, bytes: [UInt8]) {
    self.prefix = prefix
    self.bytes = bytes
  }
}

/// The content of one transaction of the group commit.
package struct CommitBatch: Sendable {
  package var appends: [(workspace: WorkspaceID, entry: LogEntry)] = []
  /// When the batches were accepted, milliseconds since 1970.
  package var wallMilliseconds: Int64 = 0
  package var touches: [DeviceTouch] = []
  /// Leases and dispatches; each row replaces the one with the same key.
  package var records: [(workspace: WorkspaceID, records: AuthorityRecords)] = []
  package var inboxes: [(workspace: WorkspaceID, changes: InboxChanges)] = []
  /// The marks that the node knows: of all these workspaces, and of those whose state it reports
  /// and the store must confirm.
  package var marks: [WorkspaceID: WorkspaceMark] = [:]

  package init() {}

  /// The workspaces whose content, authority or inboxes it changes: they get fresh marks. Touches
  /// alone change nothing that a node relies on.
  package var changedWorkspaces: Set<WorkspaceID> {
    Set(appends.map(\.workspace)).union(records.map(\.workspace)).union(inboxes.map(\.workspace))
  }
}

/// An update about a device that may wait for the next transaction.
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
