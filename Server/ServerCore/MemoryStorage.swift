package import DispatchAuthority
package import QueueModel
package import WireProtocol

/// The store's port in memory, with faults on demand: for tests and for simulation.
///
/// It keeps the promises of the port and nothing else: no file, no time. A copy of its state equals
/// the result of a backup or a crash.
// Unchecked: the port promises calls from one thread at a time, and the same caller uses
// `withState`. There is no lock, because the core's room has none.
package final class MemoryStorage: ServerStorage, @unchecked Sendable {
  /// An open pairing code.
  package struct Code: Hashable, Sendable {
    package var workspace: WorkspaceID
    package var expiresAt: Int64
    package var failures = 0
    package var isUsed = false
    /// The request of the device that asked for it; nil if the operator created it.
    package var proposal: CodeProposal?
  }

  /// A device's row.
  package struct Device: Hashable, Sendable {
    package var record: DeviceRecord
    package var isRevoked = false
    package var lastSeenAt: Int64?
  }

  /// A workspace's rows.
  package struct Tables: Sendable {
    package var name: String
    package var firstChain: UInt64
    package var mark: WorkspaceMark
    /// The node that serves it.
    package var node: Int
    package var log: [LogEntry] = []
    package var devices: [DeviceID: Device] = [:]
    package var snapshots: [StoredSnapshot] = []
    package var leases: [SessionID: Lease] = [:]
    package var dispatches: [MessageID: Dispatch] = [:]
    package var verdicts: [RequestID: VerdictRecord] = [:]
    package var inboxes = InboxRecords()
    package var quota = WorkspaceQuota()
    package var written = DailyWrites()
  }

  /// Everything that is stored.
  package struct State: Sendable {
    package var workspaces: [WorkspaceID: Tables] = [:]
    package var tokens: [[UInt8]: (workspace: WorkspaceID, device: DeviceID)] = [:]
    /// When tokens expire, if they do.
    package var expiries: [[UInt8]: Int64] = [:]
    package var audit: [AuditEntry] = []
    package var codes: [[UInt8]: Code] = [:]
    /// Every write fails with this until it is nil.
    package var writeFault: StorageFault?
    /// Every read fails with this until it is nil.
    package var readFault: StorageFault?
    /// The sizes of the transactions so far, in batches.
    package var commits: [Int] = []
    /// Open push orders.
    package var pushOrders: [StoredPushOrder] = []
    package var lastPushOrder: Int64 = 0
    /// The nodes that work.
    package var livingNodes: Set<Int> = []
  }

  /// What all nodes share.
  private final class Disk {
    var stored = State()
    /// Not part of the state: a store that goes back in time must not draw the same marks again.
    private var marksDrawn: UInt64 = 0

    /// SplitMix64: the same values in each run, without repetition.
    func drawMark() -> WorkspaceMark {
      marksDrawn &+= 0x9E37_79B9_7F4A_7C15
      var mixed = marksDrawn
      mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
      return WorkspaceMark(rawValue: mixed ^ (mixed >> 31))
    }
  }

  private let disk: Disk
  /// The node that uses this.
  package let node: Int

  package init() {
    disk = Disk()
    node = 0
  }

  /// The same store, for another node.
  package init(sharing other: MemoryStorage, node: Int) {
    disk = other.disk
    self.node = node
  }

  /// Reads or changes the state without the server's knowledge.
  package func withState<Result>(_ body: (inout State) -> Result) -> Result {
    body(&disk.stored)
  }

  /// Adds an empty workspace, which this node serves.
  package func addWorkspace(_ id: WorkspaceID, name: String, firstChain: UInt64) {
    disk.stored.workspaces[id] = Tables(
      name: name, firstChain: firstChain, mark: disk.drawMark(), node: node)
  }

  /// Adds an open pairing code.
  package func addCode(hash: [UInt8], for workspace: WorkspaceID, expiresAt: Int64) {
    disk.stored.codes[hash] = Code(workspace: workspace, expiresAt: expiresAt)
  }

  /// Adds a paired device.
  package func addDevice(_ id: DeviceID, name: String, to workspace: WorkspaceID, token: [UInt8]) {
    let record = DeviceRecord(id: id, name: name, seenLogPosition: 0)
    disk.stored.workspaces[workspace]?.devices[id] = Device(record: record)
    disk.stored.tokens[token] = (workspace, id)
  }

  /// Revokes a device.
  package func revoke(_ device: DeviceID, in workspace: WorkspaceID) {
    disk.stored.workspaces[workspace]?.devices[device]?.isRevoked = true
    disk.stored.workspaces[workspace]?.inboxes.forget(device)
    disk.stored.pushOrders.removeAll { $0.workspace == workspace && $0.order.device == device }
  }

  func read<Result>(_ body: (State) -> Result) throws(StorageFault) -> Result {
    if let fault = disk.stored.readFault { throw fault }
    return body(disk.stored)
  }

  func write<Result>(_ body: (inout State) -> Result) throws(StorageFault) -> Result {
    if let fault = disk.stored.writeFault { throw fault }
    return body(&disk.stored)
  }

  func drawMark() -> WorkspaceMark { disk.drawMark() }

  // MARK: - ServerStorage

  package func token(hash: [UInt8]) throws(StorageFault) -> TokenRecord? {
    try read { state in
      guard let (workspace, device) = state.tokens[hash],
        let tables = state.workspaces[workspace], let row = tables.devices[device]
      else { return nil }
      return TokenRecord(
        workspace: workspace, device: row.record, isRevoked: row.isRevoked,
        expiresAt: state.expiries[hash], mark: tables.mark)
    }
  }

  package func redeem(_ redemption: CodeRedemption) throws(StorageFault) -> RedemptionOutcome {
    try write { state in
      let isOpen = { (code: Code) in
        !code.isUsed && code.expiresAt > redemption.wallMilliseconds
      }
      guard let code = state.codes[redemption.codeHash], isOpen(code),
        let tables = state.workspaces[code.workspace]
      else {
        let name = PairingCode.name(ofStored: redemption.codeHash)
        for (hash, code) in state.codes
        where isOpen(code) && PairingCode.name(ofStored: hash) == name {
          state.codes[hash]?.failures += 1
        }
        return .wrong
      }
      guard code.failures < redemption.failuresMax else { return .exhausted }
      let others = tables.devices.filter { $0.key != redemption.device && !$0.value.isRevoked }
      guard others.count < redemption.devicesMax else { return .tooManyDevices }
      let seen = tables.devices[redemption.device]?.record.seenLogPosition ?? 0
      let wasRevoked = tables.devices[redemption.device]?.isRevoked ?? false
      if let maker = code.proposal?.device {
        guard let device = tables.devices[maker], !device.isRevoked, device.record.role == .host
        else { return .wrong }
        guard !wasRevoked else { return .revoked }
        guard redemption.device == maker || tables.devices[redemption.device] == nil else {
          return .known
        }
      }
      if wasRevoked {
        state.workspaces[code.workspace]?.inboxes.forget(redemption.device)
      }
      state.workspaces[code.workspace]?.devices[redemption.device] = Device(
        record: DeviceRecord(
          id: redemption.device, name: redemption.deviceName, seenLogPosition: seen,
          role: code.proposal?.role ?? .host))
      state.tokens = state.tokens.filter { $0.value != (code.workspace, redemption.device) }
      state.tokens[redemption.tokenHash] = (code.workspace, redemption.device)
      state.codes[redemption.codeHash]?.isUsed = true
      return .granted(
        workspace: code.workspace, workspaceName: tables.name, wasRevoked: wasRevoked,
        letInBy: code.proposal?.device)
    }
  }

  package func addCode(_ proposal: CodeProposal) throws(StorageFault) -> CodeOutcome {
    try write { state in
      let row = state.workspaces[proposal.workspace]?.devices[proposal.device]
      guard let row, !row.isRevoked else { return .noAccess }
      let recent = state.codes.values.count {
        $0.proposal?.device == proposal.device && $0.expiresAt > proposal.wallMilliseconds
      }
      guard recent < proposal.recentMax else { return .tooMany }
      state.codes[proposal.hash] = Code(
        workspace: proposal.workspace, expiresAt: proposal.expiresAt, proposal: proposal)
      state.audit.append(proposal.auditEntry)
      return .added
    }
  }

  package func lapsedAccess(
    among tokens: [ConnectedToken]
  ) throws(StorageFault) -> LapsedAccess {
    try read { state in
      let lapsed = tokens.filter { token in
        guard let (workspace, device) = state.tokens[token.hash], workspace == token.workspace,
          device == token.device
        else { return true }
        return state.workspaces[workspace]?.devices[device]?.isRevoked ?? true
      }
      var devices: [WorkspaceID: Set<DeviceID>] = [:]
      for workspace in Set(tokens.map(\.workspace)) {
        let rows = state.workspaces[workspace]?.devices ?? [:]
        devices[workspace] = Set(rows.filter(\.value.isRevoked).keys)
      }
      let quotas = Dictionary(
        uniqueKeysWithValues: devices.keys.compactMap { id in
          state.workspaces[id].map { (id, $0.quota) }
        })
      return LapsedAccess(tokens: lapsed, devices: devices, quotas: quotas)
    }
  }

  package func header(of workspace: WorkspaceID) throws(StorageFault) -> WorkspaceHeader? {
    try read { $0.workspaces[workspace]?.header }
  }

  package func latestSnapshot(
    of workspace: WorkspaceID, notBehind position: UInt64
  ) throws(StorageFault) -> StoredSnapshot? {
    try read { state in
      state.workspaces[workspace]?.snapshots.last { $0.prefix.position <= position }
    }
  }

  package func chain(
    of workspace: WorkspaceID, at position: UInt64
  ) throws(StorageFault) -> UInt64? {
    try read { $0.workspaces[workspace]?.chain(at: position) }
  }

  package func entries(
    of workspace: WorkspaceID, after position: UInt64, limit: Int, bytesMax: Int
  ) throws(StorageFault) -> [LogEntry] {
    try read { state in
      let log = state.workspaces[workspace]?.log ?? []
      var bytes = 0
      return log.drop { $0.prefix.position <= position }.prefix(limit).prefix { entry in
        defer { bytes += entry.content.bytes.count }
        return bytes < bytesMax
      }.map { $0 }
    }
  }

  package func record(_ entries: [AuditEntry]) throws(StorageFault) {
    try write { $0.audit += entries }
  }

  package func probe() throws(StorageFault) {
    try write { _ in }
  }

  package func save(
    _ snapshot: StoredSnapshot, of workspace: WorkspaceID, truncatingBefore position: UInt64
  ) throws(StorageFault) -> Bool {
    try write {
      guard $0.workspaces[workspace]?.holds(snapshot.prefix) == true else { return false }
      $0.workspaces[workspace]?.save(snapshot, truncatingBefore: position)
      return true
    }
  }
}

extension MemoryStorage.Tables {
  package var head: LogPrefix {
    let prefixes = [log.last?.prefix, snapshots.last?.prefix].compactMap { $0 }
    return prefixes.max { $0.position < $1.position } ?? LogPrefix(position: 0, chain: firstChain)
  }

  /// The chain at a position, if an entry or a snapshot there has it.
  func chain(at position: UInt64) -> UInt64? {
    (log.map(\.prefix) + snapshots.map(\.prefix)).first { $0.position == position }?.chain
  }

  /// Whether this log begins with that one.
  func holds(_ prefix: LogPrefix) -> Bool {
    prefix == head || chain(at: prefix.position) == prefix.chain
  }

  var header: WorkspaceHeader {
    WorkspaceHeader(
      name: name, firstChain: firstChain, head: head, mark: mark, devices: records,
      authority: AuthorityRecords(
        leases: Array(leases.values), dispatches: Array(dispatches.values),
        verdicts: Array(verdicts.values)),
      inboxes: inboxesOfConnectable, quota: quota, written: written)
  }

  /// Devices that may connect.
  var records: [DeviceRecord] {
    devices.values.filter { !$0.isRevoked }.map { device in
      var record = device.record
      record.lastSeenAt = device.lastSeenAt
      return record
    }.sorted { $0.id < $1.id }
  }

  mutating func save(_ snapshot: StoredSnapshot, truncatingBefore position: UInt64) {
    snapshots = Array((snapshots + [snapshot]).suffix(2))
    guard snapshots.count == 2 else { return }
    let limit = min(position, snapshots[0].prefix.position)
    log.removeAll { $0.prefix.position < limit }
  }
}
