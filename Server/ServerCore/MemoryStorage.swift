package import DispatchAuthority
package import QueueModel
package import WireProtocol

/// The store's port in memory, with faults on demand: for tests and for simulation.
///
/// It keeps the promises of the port and nothing else: no file, no time. A copy of its state equals
/// what a backup or a crash would leave.
// Unchecked: the port promises calls from one thread at a time, and the same caller uses
// `withState`. There is no lock, because the core's room has none.
package final class MemoryStorage: ServerStorage, @unchecked Sendable {
  /// An open pairing code.
  package struct Code: Hashable, Sendable {
    package var workspace: WorkspaceID
    package var expiresAt: Int64
    package var failures = 0
    package var isUsed = false
    /// The request of the device that asked for it; nil: the operator made it.
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
  }

  private var stored = State()

  package init() {}

  /// Reads or changes the state without the server's knowledge.
  package func withState<Result>(_ body: (inout State) -> Result) -> Result {
    body(&stored)
  }

  /// Adds an empty workspace.
  package func addWorkspace(_ id: WorkspaceID, name: String, firstChain: UInt64) {
    stored.workspaces[id] = Tables(name: name, firstChain: firstChain)
  }

  /// Adds an open pairing code.
  package func addCode(hash: [UInt8], for workspace: WorkspaceID, expiresAt: Int64) {
    stored.codes[hash] = Code(workspace: workspace, expiresAt: expiresAt)
  }

  /// Adds a paired device.
  package func addDevice(_ id: DeviceID, name: String, to workspace: WorkspaceID, token: [UInt8]) {
    let record = DeviceRecord(id: id, name: name, seenLogPosition: 0)
    stored.workspaces[workspace]?.devices[id] = Device(record: record)
    stored.tokens[token] = (workspace, id)
  }

  /// Revokes a device.
  package func revoke(_ device: DeviceID, in workspace: WorkspaceID) {
    stored.workspaces[workspace]?.devices[device]?.isRevoked = true
    stored.workspaces[workspace]?.inboxes.forget(device)
    stored.pushOrders.removeAll { $0.workspace == workspace && $0.order.device == device }
  }

  func read<Result>(_ body: (State) -> Result) throws(StorageFault) -> Result {
    if let fault = stored.readFault { throw fault }
    return body(stored)
  }

  func write<Result>(_ body: (inout State) -> Result) throws(StorageFault) -> Result {
    if let fault = stored.writeFault { throw fault }
    return body(&stored)
  }

  // MARK: - ServerStorage

  package func token(hash: [UInt8]) throws(StorageFault) -> TokenRecord? {
    try read { state in
      guard let (workspace, device) = state.tokens[hash],
        let row = state.workspaces[workspace]?.devices[device]
      else { return nil }
      return TokenRecord(
        workspace: workspace, device: row.record, isRevoked: row.isRevoked,
        expiresAt: state.expiries[hash])
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
    try read { state in
      state.workspaces[workspace].map { tables in
        WorkspaceHeader(
          name: tables.name, firstChain: tables.firstChain, head: tables.head,
          devices: tables.records,
          authority: AuthorityRecords(
            leases: Array(tables.leases.values), dispatches: Array(tables.dispatches.values),
            verdicts: Array(tables.verdicts.values)),
          inboxes: tables.inboxesOfConnectable, quota: tables.quota, written: tables.written)
      }
    }
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
    try read { state in
      let tables = state.workspaces[workspace]
      let prefixes = (tables?.log.map(\.prefix) ?? []) + (tables?.snapshots.map(\.prefix) ?? [])
      return prefixes.first { $0.position == position }?.chain
    }
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

  package func commit(_ batch: CommitBatch) throws(StorageFault) {
    try write { state in
      state.commits.append(batch.appends.count)
      for (workspace, entry) in batch.appends {
        state.workspaces[workspace]?.log.append(entry)
        state.workspaces[workspace]?.written.add(
          entry.content.bytes.count, at: batch.wallMilliseconds)
      }
      for (workspace, records) in batch.records {
        for lease in records.leases {
          state.workspaces[workspace]?.leases[lease.session] = lease
        }
        for dispatch in records.dispatches {
          state.workspaces[workspace]?.dispatches[dispatch.message] = dispatch
        }
        for verdict in records.verdicts {
          state.workspaces[workspace]?.verdicts[verdict.request] = verdict
        }
        if let limit = records.verdictsKeptSince {
          let kept = state.workspaces[workspace]?.verdicts.filter {
            $0.value.milliseconds >= limit
          }
          state.workspaces[workspace]?.verdicts = kept ?? [:]
        }
      }
      for (workspace, changes) in batch.inboxes { state.apply(changes, to: workspace) }
      for touch in batch.touches {
        guard var device = state.workspaces[touch.workspace]?.devices[touch.device] else {
          continue
        }
        device.record.name = touch.name
        device.record.seenLogPosition = max(device.record.seenLogPosition, touch.seenLogPosition)
        device.lastSeenAt = touch.wallMilliseconds
        state.workspaces[touch.workspace]?.devices[touch.device] = device
      }
    }
  }

  package func record(_ entries: [AuditEntry]) throws(StorageFault) {
    try write { $0.audit += entries }
  }

  package func probe() throws(StorageFault) {
    try write { _ in }
  }

  package func append(
    _ entry: LogEntry, to workspace: WorkspaceID, at wallMilliseconds: Int64
  ) throws(StorageFault) {
    let follows = try write { state in
      guard let head = state.workspaces[workspace]?.head,
        head.appending(entry.content.bytes) == entry.prefix
      else { return false }
      state.workspaces[workspace]?.log.append(entry)
      state.workspaces[workspace]?.written.add(entry.content.bytes.count, at: wallMilliseconds)
      return true
    }
    guard follows else {
      throw StorageFault(code: .conflict, message: "the entry does not follow the log")
    }
  }

  package func save(
    _ snapshot: StoredSnapshot, of workspace: WorkspaceID, truncatingBefore position: UInt64
  ) throws(StorageFault) {
    try write { $0.workspaces[workspace]?.save(snapshot, truncatingBefore: position) }
  }
}

extension MemoryStorage.Tables {
  package var head: LogPrefix {
    let prefixes = [log.last?.prefix, snapshots.last?.prefix].compactMap { $0 }
    return prefixes.max { $0.position < $1.position } ?? LogPrefix(position: 0, chain: firstChain)
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
