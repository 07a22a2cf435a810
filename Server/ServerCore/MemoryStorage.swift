package import DispatchAuthority
package import QueueModel
package import SequenceCRDT

/// The store's port in memory, with faults on demand: for tests and for simulation.
///
/// It keeps the promises of the port and nothing else: no file, no time. A copy of its state is
/// what a backup or a crash would leave.
// Unchecked: the port promises calls from one thread at a time, and `withState` belongs to whoever
// makes those calls. There is no lock, because the core's room has none.
package final class MemoryStorage: ServerStorage, @unchecked Sendable {
  /// What an open pairing code is.
  package struct Code: Hashable, Sendable {
    package var workspace: WorkspaceID
    package var expiresAt: Int64
    package var failures = 0
    package var isUsed = false
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
    package var logIdentity: UInt64
    package var epoch: UInt64 = 0
    package var base: StoredSnapshot?
    package var request: CompactionRequest?
    package var log: [LogEntry] = []
    package var rows: [(row: LogRow, position: UInt64)] = []
    package var replicas: [ReplicaID: ReplicaMark] = [:]
    package var devices: [DeviceID: Device] = [:]
    package var snapshots: [StoredSnapshot] = []
    package var leases: [SessionID: Lease] = [:]
    package var dispatches: [MessageID: Dispatch] = [:]
    package var verdicts: [RequestID: VerdictRecord] = [:]
    package var inboxes = InboxRecords()
  }

  /// Everything that is stored.
  package struct State: Sendable {
    package var workspaces: [WorkspaceID: Tables] = [:]
    package var tokens: [[UInt8]: (workspace: WorkspaceID, device: DeviceID)] = [:]
    package var codes: [[UInt8]: Code] = [:]
    /// Every write fails with this until it is nil.
    package var writeFault: StorageFault?
    /// Every read fails with this until it is nil.
    package var readFault: StorageFault?
    /// The sizes of the transactions so far, in batches.
    package var commits: [Int] = []
    /// Push orders that are not carried out.
    package var pushOrders: [StoredPushOrder] = []
    package var lastPushOrder: Int64 = 0
  }

  private var stored = State()

  package init() {}

  /// Looks at the state or changes it behind the server's back.
  package func withState<Result>(_ body: (inout State) -> Result) -> Result {
    body(&stored)
  }

  /// Adds an empty workspace.
  package func addWorkspace(_ id: WorkspaceID, name: String, logIdentity: UInt64) {
    stored.workspaces[id] = Tables(name: name, logIdentity: logIdentity)
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

  /// Takes a device's access away.
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
      return TokenRecord(workspace: workspace, device: row.record, isRevoked: row.isRevoked)
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
        for (hash, code) in state.codes where isOpen(code) { state.codes[hash]?.failures += 1 }
        return .wrong
      }
      guard code.failures < redemption.failuresMax else { return .exhausted }
      let others = tables.devices.filter { $0.key != redemption.device && !$0.value.isRevoked }
      guard others.count < redemption.devicesMax else { return .tooManyDevices }
      let seen = tables.devices[redemption.device]?.record.seenLogPosition ?? 0
      let wasRevoked = tables.devices[redemption.device]?.isRevoked ?? false
      if wasRevoked {
        state.workspaces[code.workspace]?.inboxes.forget(redemption.device)
      }
      state.workspaces[code.workspace]?.devices[redemption.device] = Device(
        record: DeviceRecord(
          id: redemption.device, name: redemption.deviceName, seenLogPosition: seen))
      state.tokens = state.tokens.filter { $0.value != (code.workspace, redemption.device) }
      state.tokens[redemption.tokenHash] = (code.workspace, redemption.device)
      state.codes[redemption.codeHash]?.isUsed = true
      return .granted(
        workspace: code.workspace, workspaceName: tables.name, wasRevoked: wasRevoked)
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
      return LapsedAccess(tokens: lapsed, devices: devices)
    }
  }

  package func header(of workspace: WorkspaceID) throws(StorageFault) -> WorkspaceHeader? {
    try read { state in
      state.workspaces[workspace].map { tables in
        WorkspaceHeader(
          name: tables.name, logIdentity: tables.logIdentity, epoch: tables.epoch,
          basePosition: tables.base?.position ?? 0, head: tables.head,
          replicas: tables.replicas.values.sorted { $0.replica < $1.replica },
          devices: tables.records,
          authority: AuthorityRecords(
            leases: Array(tables.leases.values), dispatches: Array(tables.dispatches.values),
            verdicts: Array(tables.verdicts.values)),
          inboxes: tables.inboxesOfConnectable)
      }
    }
  }

  package func base(of workspace: WorkspaceID) throws(StorageFault) -> StoredSnapshot? {
    try read { $0.workspaces[workspace]?.base }
  }

  package func latestSnapshot(of workspace: WorkspaceID) throws(StorageFault) -> StoredSnapshot? {
    try read { $0.workspaces[workspace]?.snapshots.last }
  }

  package func entries(
    of workspace: WorkspaceID, after position: UInt64, limit: Int
  ) throws(StorageFault) -> [LogEntry] {
    try read { state in
      let log = state.workspaces[workspace]?.log ?? []
      return Array(log.drop { $0.position <= position }.prefix(limit))
    }
  }

  package func entries(
    of workspace: WorkspaceID, overlapping ranges: [OperationRange]
  ) throws(StorageFault) -> [LogEntry] {
    try read { state in
      guard let tables = state.workspaces[workspace] else { return [] }
      let positions = Set(
        tables.rows.filter { row, _ in
          ranges.contains {
            $0.replica == row.range.replica && $0.first <= row.range.last
              && $0.last >= row.range.first
          }
        }.map(\.position))
      return tables.log.filter { positions.contains($0.position) }
    }
  }

  package func commit(_ batch: CommitBatch) throws(StorageFault) {
    try write { state in
      state.commits.append(batch.appends.count)
      for append in batch.appends {
        let entry = LogEntry(position: append.position, delta: append.delta)
        state.workspaces[append.workspace]?.log.append(entry)
        for row in append.rows {
          state.workspaces[append.workspace]?.rows.append((row, append.position))
          let device =
            state.workspaces[append.workspace]?.replicas[row.range.replica]?.device ?? row.device
          let baseSeq =
            state.workspaces[append.workspace]?.replicas[row.range.replica]?.baseSeq ?? 0
          state.workspaces[append.workspace]?.replicas[row.range.replica] = ReplicaMark(
            replica: row.range.replica, seq: row.range.last, digest: row.digest, device: device,
            baseSeq: baseSeq)
        }
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

  package func probe() throws(StorageFault) {
    try write { _ in }
  }

  package func save(
    _ snapshot: StoredSnapshot, of workspace: WorkspaceID
  ) throws(StorageFault) {
    try write { $0.workspaces[workspace]?.snapshots.append(snapshot) }
  }

  package func start(_ epoch: EpochStart, of workspace: WorkspaceID) throws(StorageFault) {
    let isCurrent = try write { state in
      guard var tables = state.workspaces[workspace], tables.epoch == epoch.previous,
        tables.head == epoch.position || epoch.replicas != nil && tables.head < epoch.position
      else { return false }
      tables.start(epoch)
      state.workspaces[workspace] = tables
      return true
    }
    guard isCurrent else {
      throw StorageFault(code: .conflict, message: "the workspace is in another epoch")
    }
  }

  package func compactionCandidates(
    operationsMin: Int, waiting: Set<WorkspaceID>
  ) throws(StorageFault) -> [CompactionCandidate] {
    try read { state in
      state.workspaces.sorted { $0.key < $1.key }.compactMap { id, tables in
        let count = tables.replicas.values.reduce(0) { $0 + Int($1.seq) - Int($1.baseSeq) }
        guard tables.request != nil || count >= operationsMin || waiting.contains(id) else {
          return nil
        }
        return CompactionCandidate(
          workspace: id, operations: count, request: tables.request, devices: tables.records)
      }
    }
  }
}

extension MemoryStorage.Tables {
  var head: UInt64 { max(log.last?.position ?? 0, base?.position ?? 0) }

  /// Devices that may connect.
  var records: [DeviceRecord] {
    devices.values.filter { !$0.isRevoked }.map { device in
      var record = device.record
      record.lastSeenAt = device.lastSeenAt
      return record
    }.sorted { $0.id < $1.id }
  }

  mutating func start(_ start: EpochStart) {
    epoch = start.epoch
    base = StoredSnapshot(position: start.position, bytes: start.base)
    request = nil
    snapshots = []
    log.removeAll { $0.position <= start.position }
    rows.removeAll { $0.position <= start.position }
    for mark in start.replicas ?? [] { replicas[mark.replica] = mark }
    for (replica, mark) in replicas { replicas[replica]?.baseSeq = mark.seq }
  }
}
